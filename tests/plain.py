"""Plaintext secrets in a state, a request or an output."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

_SECRET_PATTERNS: Final = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "a service account's key": r'"private_key"\s*:',
    "a JSON Web Token": r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}",
    "an access token of Google": r"\bya29\.[\w-]+",
    "an API key of Google": r"\bAIza[\w-]{30,}",
    "an access key": r"\b(?:AKIA|ASIA|LTAI)[A-Z0-9a-z]{12,}",
    "a token of GitHub": r"\b(?:gh[pousr]_|github_pat_)\w{20,}",
    "a token of Hugging Face": r"\bhf_\w{20,}",
    "a token of Pulumi": r"\bpul-[0-9a-f]{40}",
    "a password in a URL": r"://[^/\s:@]+:[^/\s:@]+@",
    "a kubeconfig": r"\bcurrent-context\b|\bclient-key-data\b",
}
_SECRET_KEYS: Final = re.compile(
    r"(?i)(?:.*[._-])?(?:access|bearer|id|auth|refresh)?-?_?(?:token|password|passwd|passphrase)"
    r"|.*(?:private|client|secret|access|api)[._-]?key(?:data)?|client-key-data|certificate-authority-data|authorization"
)
_PLACEHOLDERS: Final = ("", "[secret]", "[unknown]")
_SIGNATURE_KEY: Final = "4dabf18193072939515e22adb298388d"
"""The engine's key of a value that is not plain, in its state and on its wire."""


def plaintext_secrets(value: object, path: str = "") -> Iterator[str]:
    """A line for each thing that a token, a key, a password or a kubeconfig stands in, base64 seen through.

    Values that the engine encrypts, and marks such as `[secret]`, are none.
    """
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        if _SIGNATURE_KEY not in entries:
            for key, each in entries.items():
                yield from _secret_by_key(str(key), each, f"{path}.{key}")
                yield from plaintext_secrets(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, each in enumerate(cast("list[object]", value)):
            yield from plaintext_secrets(each, f"{path}[{index}]")
    elif isinstance(value, str):
        yield from (f"{path}: {what}" for text in _decodings(value) for what in _matching_kinds(text))


def _secret_by_key(key: str, value: object, path: str) -> Iterator[str]:
    """What stands under a name that only secrets have."""
    has_value = isinstance(value, str | int | float) and not isinstance(value, bool) and value not in _PLACEHOLDERS
    if has_value and _SECRET_KEYS.fullmatch(key):
        yield f"{path}: called so"


def _decodings(text: str) -> Iterator[str]:
    yield text
    if len(text) >= 16 and re.fullmatch(r"[A-Za-z0-9+/\s]+={0,2}", text):
        try:
            yield base64.b64decode(text, validate=False).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return


def _matching_kinds(text: str) -> Iterator[str]:
    return (what for what, pattern in _SECRET_PATTERNS.items() if re.search(pattern, text))
