"""The only place of Berth that opens a URL: `read_url` returns an answer, or why there is none."""

from __future__ import annotations

import http.client
import ipaddress
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from email.message import Message
from typing import IO, Final

from msgspec import Struct

MAX_ANSWER_BYTES: Final = 256 << 20
"""Largest answer that is read: as much as a file of answers may have."""
TIMEOUT: Final = 60.0
"""Seconds in which a server must send the next bytes, and at most ten times as many for the whole answer."""
_CHUNK: Final = 1 << 16
_TOO_SLOW: Final = "answers too slowly; ask for a shorter period"
_PORTS: Final = {"http": 80, "https": 443}
ALLOW_HTTP: Final = "--allow-http"
"""The option that sends a token without encryption."""


class UnreadableUrl(Exception):
    """The address has no answer that can be used; the text says why in one line and never holds the token."""


class Origin(Struct, frozen=True):
    """What a token is for: a scheme, a host and a port."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine, by name or address."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def origin_of(url: str) -> Origin:
    """Return the origin of an address. Raises UnreadableUrl if it is not an http or https address with a host."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        parts, host, port = urllib.parse.urlsplit(""), "", None
    if parts.scheme not in _PORTS or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise UnreadableUrl("is not an address; write one such as http://localhost:9090")
    if parts.username is not None or parts.password is not None:
        raise UnreadableUrl("has a name or a password in it; remove them, and give a token with --token-file")
    return Origin(parts.scheme, host, _PORTS[parts.scheme] if port is None else port)


def without_login(url: str) -> str:
    """Return an address as messages show it: a name and a password before its host are left out."""
    return re.sub(r"//[^/?#]*@", "//…@", url)


def check_token(url: str, token: str, *, allow_http: bool = False) -> None:
    """Check that a token can be sent to an address: one line of ASCII, encrypted or on this machine.

    Raises UnreadableUrl.
    """
    origin = origin_of(url)
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UnreadableUrl("needs a token of one line without spaces; write the file of the token again")
    if origin.scheme != "https" and not origin.is_loopback and not allow_http:
        raise UnreadableUrl(
            f"would get the token without encryption; write https://, or allow it with {ALLOW_HTTP} in a network that "
            "you trust"
        )


def read_url(
    url: str,
    token: str | None = None,
    *,
    allow_http: bool = False,
    max_bytes: int = MAX_ANSWER_BYTES,
    timeout: float = TIMEOUT,
) -> bytes:
    """Return the answer to a GET request; `token` is sent as a bearer token, to the origin of `url` and no other.

    Raises UnreadableUrl for an address that is none, a token that would be readable on the way, a redirect to
    another origin, an answer of more than `max_bytes`, and every failure of the network.
    """
    origin = origin_of(url)
    request = urllib.request.Request(url)  # the scheme is checked
    if token is not None:
        check_token(url, token, allow_http=allow_http)
        request.add_header("Authorization", f"Bearer {token}")
    # A proxy of the environment is for other machines: one that is asked for localhost would get the token.
    proxies = urllib.request.ProxyHandler({} if origin.is_loopback else None)
    opener = urllib.request.build_opener(proxies, _SameOrigin(origin))
    found: list[bytes | str] = []
    # The library has a limit for each wait, and none for a server that sends a header, or `100 Continue`, without end.
    thread = threading.Thread(
        target=lambda: found.append(_answer(opener, request, max_bytes, timeout)), name="read_url", daemon=True
    )
    thread.start()
    thread.join(10 * timeout)
    result = found[0] if found else _TOO_SLOW
    if isinstance(result, str):
        raise UnreadableUrl(result)
    return result


def _answer(
    opener: urllib.request.OpenerDirector, request: urllib.request.Request, max_bytes: int, timeout: float
) -> bytes | str:
    """Return the body of an answer, or why there is none."""
    try:
        with opener.open(request, timeout=timeout) as answer:
            return _read(answer, max_bytes, time.monotonic() + 10 * timeout)
    except UnreadableUrl as error:
        return str(error)
    except urllib.error.HTTPError as error:
        reason = f"status {error.code}"
        error.close()
    except TimeoutError:
        reason = f"no answer within {timeout:g} seconds"
    except urllib.error.URLError as error:
        reason = str(error.reason)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
    return f"does not answer: {' '.join(reason.split())[:200]}"


def _read(answer: http.client.HTTPResponse, max_bytes: int, deadline: float) -> bytes:
    """Return a body of at most `max_bytes`, whatever length the server claims. Raises UnreadableUrl."""
    body = bytearray()
    while part := answer.read1(_CHUNK):
        body += part
        if len(body) > max_bytes:
            raise UnreadableUrl(f"answers with more than {max_bytes:,} bytes; ask for a shorter period")
        if time.monotonic() > deadline:
            raise UnreadableUrl(_TOO_SLOW)
    return bytes(body)


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """Follows a redirect inside the origin, and refuses any other: the token would go with it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request to the new address. Raises UnreadableUrl for another origin."""
        fp.close()
        target = origin_of(newurl)
        if target != self._origin:
            raise UnreadableUrl(
                f"redirects to {target.scheme}://{target.host}:{target.port}, which Berth does not follow; write the "
                "address that answers itself"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # pyright: ignore[reportArgumentType]
