"""The one opener of URLs against servers that want the token, or the memory, of the machine."""

from __future__ import annotations

import contextlib
import http.server
import pathlib
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.opener import UnreadableUrl, check_token, origin_of, read_url

SECRET = "ya29.secret"
Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextmanager
def server(answer: Answer) -> Generator[tuple[str, list[tuple[str, str]]]]:
    """A server on loopback, and what it is asked: path and Authorization."""
    asked: list[tuple[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization", "")))
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", asked
    finally:
        running.shutdown()
        running.server_close()


def reply(status: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def endless(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "10")  # a lie
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"10000\r\n" + b"a" * 0x10000 + b"\r\n")
    except OSError:
        pass


def trickle(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(200):
            handler.wfile.write(b"a")
            time.sleep(0.05)
    except OSError:
        pass


def slow_header(handler: http.server.BaseHTTPRequestHandler) -> None:
    """One byte at a time: none comes late enough for the timeout of a wait."""
    with contextlib.suppress(OSError):
        for byte in b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 500:
            handler.wfile.write(bytes([byte]))
            time.sleep(0.02)


def continues(handler: http.server.BaseHTTPRequestHandler) -> None:
    with contextlib.suppress(OSError):
        for _ in range(100):
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            time.sleep(0.05)


def many_headers(handler: http.server.BaseHTTPRequestHandler) -> None:
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(1_000)))


def long_line(handler: http.server.BaseHTTPRequestHandler) -> None:
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 1_000_000 + b"\r\n\r\n")


def no_http(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"+OK redis\r\n")


def bad_chunk(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\naaa")


def short_body(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\naaa")


@pytest.mark.parametrize("answer", [slow_header, continues])
def test_a_server_that_never_comes_to_its_answer_ends_at_the_deadline(answer: Answer) -> None:
    started = time.monotonic()
    with server(answer) as (url, _), pytest.raises(UnreadableUrl, match="too slowly"):
        read_url(url, SECRET, timeout=0.1)
    assert time.monotonic() - started < 8


@pytest.mark.parametrize("answer", [many_headers, long_line, no_http, bad_chunk])
def test_an_answer_that_is_none_is_one_line_without_the_token(answer: Answer) -> None:
    with server(answer) as (url, _), pytest.raises(UnreadableUrl) as found:
        read_url(url, SECRET, timeout=1)
    assert "\n" not in str(found.value)
    assert SECRET not in str(found.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_never_follows_a_redirect_to_another_origin(status: int) -> None:
    """Another port of the same machine is another origin too."""
    with server(reply(200, b"{}")) as (thief, stolen):
        with server(reply(status, Location=f"{thief}/api")) as (url, asked):
            with pytest.raises(UnreadableUrl, match=f"redirects to {thief}, which Berth does not follow"):
                read_url(f"{url}/api", SECRET)
            assert asked == [("/api", f"Bearer {SECRET}")]
        assert stolen == []


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "//example.org/x", "http://["]
)
def test_a_redirect_opens_no_other_scheme_or_host(target: str) -> None:
    with server(reply(302, Location=target)) as (url, _), pytest.raises(UnreadableUrl):
        read_url(url, SECRET)


def test_a_redirect_inside_the_origin_is_followed() -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        (reply(302, Location="/b") if handler.path == "/a" else reply(200, b"here"))(handler)

    with server(answer) as (url, asked):
        assert read_url(f"{url}/a", SECRET) == b"here"
        assert [path for path, _ in asked] == ["/a", "/b"]


def test_a_circle_of_redirects_ends() -> None:
    with server(reply(302, Location="/a")) as (url, _), pytest.raises(UnreadableUrl, match="does not answer"):
        read_url(url)


def test_an_endless_answer_is_read_up_to_its_limit() -> None:
    with server(endless) as (url, _), pytest.raises(UnreadableUrl, match="more than 1,000,000 bytes"):
        read_url(url, max_bytes=1_000_000)


def test_a_slow_answer_ends_at_its_deadline() -> None:
    with server(trickle) as (url, _), pytest.raises(UnreadableUrl, match="too slowly"):
        read_url(url, timeout=0.1)


def test_a_server_that_says_nothing_ends_at_its_timeout() -> None:
    with server(lambda _: time.sleep(1)) as (url, _), pytest.raises(UnreadableUrl, match="does not answer"):
        read_url(url, timeout=0.1)


@pytest.mark.parametrize("status", [400, 401, 404, 500, 503])
def test_a_failure_names_its_status(status: int) -> None:
    with (
        server(reply(status, b"<script>")) as (url, _),
        pytest.raises(UnreadableUrl, match=f"^does not answer: status {status}$"),
    ):
        read_url(url, SECRET)


@pytest.mark.parametrize(
    "url",
    ["", "localhost:9090", "file:///etc/passwd", "ftp://a/b", "http://", "http:///x", "https://a b/", "http://a\nb/",
     "http://a:99999/", "http://[::1", "http://user:pw@a/", "http://a\u202e/", "HTTP", "javascript:alert(1)"],
)  # fmt: skip
def test_what_is_not_an_address_is_refused_before_any_request(url: str) -> None:
    with pytest.raises(UnreadableUrl):
        origin_of(url)


@pytest.mark.parametrize(
    ("url", "allow_http", "is_sent"),
    [
        ("https://a.example", False, True),
        ("http://a.example", False, False),
        ("http://a.example", True, True),
        ("http://10.0.0.1:9090", False, False),
        ("http://localhost:9090", False, True),
        ("http://LOCALHOST./", False, True),
        ("http://127.9.9.9", False, True),
        ("http://[::1]:9090", False, True),
        ("http://localhost.evil.example", False, False),
        ("http://127.0.0.1.evil.example", False, False),
        ("http://0.0.0.0", False, False),
    ],
)
def test_a_token_needs_encryption_loopback_or_the_option(url: str, allow_http: bool, is_sent: bool) -> None:
    if is_sent:
        check_token(url, SECRET, allow_http=allow_http)
    else:
        with pytest.raises(UnreadableUrl, match="without encryption; write https://, or allow it with --allow-http"):
            check_token(url, SECRET, allow_http=allow_http)


@pytest.mark.parametrize("token", ["", "a b", "a\nHost: evil", "a\r\nX: y", "t\u00f6ken", "a\x00b"])
def test_a_token_of_several_lines_or_other_signs_is_refused_and_not_printed(token: str) -> None:
    with pytest.raises(UnreadableUrl) as found:
        read_url("http://127.0.0.1:1", token)
    assert "one line" in str(found.value)
    assert not token or token not in str(found.value)


def test_a_proxy_of_the_environment_does_not_see_a_token_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(reply(200, b"proxied")) as (proxy, seen), server(reply(200, b"direct")) as (url, _):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert read_url(url, SECRET) == b"direct"
        assert seen == []


def test_usage_says_each_failure_in_one_line_without_the_token(tmp_path: pathlib.Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{SECRET}\n", encoding="utf-8")
    with server(reply(302, Location="http://example.org/")) as (url, _):
        for address, options, words in (
            (url, [], "redirects to http://example.org:80"),
            ("http://prometheus.example", [], "allow it with --allow-http"),
            ("http://127.0.0.1:1", ["--allow-http"], "does not answer"),
            (f"https://me:{SECRET}@prometheus.example/x", [], "'https://…@prometheus.example/x' has a name"),
        ):
            done = CliRunner().invoke(
                app, ["usage", "dev", "--prometheus", address, "--token-file", str(token), *options]
            )
            assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
            assert words in done.stderr
            assert SECRET not in done.stderr
