"""Parse unquoted YAML scalars, and report those that parsers read differently.

A stack file has three readers: this parser, Pulumi's (Go, mostly YAML 1.2), and people who know YAML 1.1. Pulumi keeps
plain words, decimal integers, true and false, null and fractions; it changes the type of anything else, in the program
and in the file that it rewrites, so anything else must be quoted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite

_CONSTANTS: dict[str, object] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_OLD_BOOLEANS = {
    **dict.fromkeys(("yes", "Yes", "YES", "on", "On", "ON"), "true"),
    **dict.fromkeys(("no", "No", "NO", "off", "Off", "OFF"), "false"),
}
_NUMBER_STARTS = frozenset("0123456789+-.")

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ODD_NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"  # hexadecimal, binary, octal
    r"|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"  # base sixty, as YAML 1.1 reads 12:30
    r"|\.(?:inf|Inf|INF|nan|NaN|NAN))"
)
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]*)?[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?)?)?"
)
_INT64 = range(-(2**63), 2**63)


@lru_cache(maxsize=4096)  # a fleet repeats its values
def parse_scalar(text: str) -> tuple[object, str]:
    """Return the value of an unquoted scalar, and what is wrong with leaving it unquoted ("" if nothing is).

    The value is a str, int, float, bool or None; a scalar that must be quoted keeps its text.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text], ""
    if text in _OLD_BOOLEANS:
        boolean = _OLD_BOOLEANS[text]
        remedy = f'write {boolean}, or "{text}" in quotes for the word'
        return text, f"'{text}' is {boolean} to some YAML parsers and text to others; {remedy}"
    return _number(text) if text[0] in _NUMBER_STARTS else (text, "")


def _number(text: str) -> tuple[object, str]:
    if _INTEGER.fullmatch(text) and (value := int(text)) in _INT64:
        return value, ""
    if _TIMESTAMP.fullmatch(text):
        return text, _retyped_message(text)
    if _FLOAT.fullmatch(text) and not text.lstrip("+-").isdigit() and isfinite(value := float(text)):
        if not value.is_integer():
            return value, ""
        # Pulumi passes config as JSON, in which a float without a fraction is an integer.
        integer = f"{int(value)}" if int(value) in _INT64 else "plain digits"
        return text, f"{_retyped_message(text)}, or write {integer} for a number"
    if _ODD_NUMBER.fullmatch(text) or _FLOAT.fullmatch(text.replace("_", "")):
        if text.lstrip("+-").isdigit() and text.lstrip("+-")[0] != "0":
            return (
                text,
                f"'{text}' is too large for a number; write a smaller number, or put it in quotes if it is text",
            )
        return text, f"{_retyped_message(text)}, or write plain digits for a number"
    return text, ""


def _retyped_message(text: str) -> str:
    return f"Pulumi would change the type of '{text}'; put it in quotes"
