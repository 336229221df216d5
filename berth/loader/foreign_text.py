"""Find lines of a stack file that are not YAML: left by a merge, a diff or a template, or written for another tool."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import accumulate

from berth.diagnostics import Problem, Severity, format_value, join_words

_QUOTES = dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"') | dict.fromkeys("\u2018\u2019\u201a", "'")
"""Typographic quotes, and the quotes of YAML."""
DASHES = "\u2013\u2014\u2022"
"""Signs that a word processor puts before an item."""
_BLOCK = re.compile(r"""\s*([A-Za-z_][\w-]*)((?:\s+"[^"]*")*)\s*(=\s*)?\{\s*""")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_][\w-]*)\s*=\s*(\S.*?)\s*")
_TEMPLATE = re.compile(r"\{\{-?.*?-?\}\}|\{%-?.*?-?%\}")
_DIFF_HEADER = re.compile(r"(@@ -\d|diff --git |index [0-9a-f]{7,}\.\.|--- [ab]/|\+\+\+ [ab]/)")
_MARKER = re.compile(r"(?m)^(<{7}|={7}|>{7}|\|{7})(?= |$)")


def merge_conflicts(text: str, display_path: str) -> list[Problem]:
    """Return one fault `bad-yaml` for each unresolved merge conflict, complete or in part, by the conflict's lines."""
    if not _MARKER.search(text):
        return []
    markers = [(number, found[0]) for number, line in enumerate(text.splitlines(), 1) if (found := _MARKER.match(line))]
    groups: list[list[int]] = []
    for number, marker in markers:
        if marker == "<" * 7 or not groups or markers[0][0] == number:
            groups.append([number])
        else:
            groups[-1].append(number)
    faults: list[Problem] = []
    for lines in groups:
        where = f"lines {join_words([*map(str, lines)])}" if len(lines) > 1 else f"line {lines[0]}"
        message = f"unresolved merge conflict, {_span(lines[0], lines[-1])}; keep one side, and remove {where}"
        faults.append(_fault(display_path, lines[0], message))
    return faults


def foreign_lines(text: str, display_path: str) -> list[Problem]:
    """Return a fault `bad-yaml` for each line that cannot be meant as YAML, of a file that the parser refuses.

    Comments and quoted text are left out. Lines of the same kind that follow each other are one fault.
    """
    lines = text.split("\n")
    plain = [*_plain_lines(lines)]
    is_diff = any(line[:1] == "+" for line in lines)  # a diff adds lines; no line of YAML begins so
    faults: list[tuple[int, int, str, str]] = []  # first line, last line, kind, message
    for number, (line, content) in enumerate(zip(lines, plain, strict=True), 1):
        checked = ((kind, check(line, content)) for kind, check in _CHECKS.items() if content)
        kind, message = next((each for each in checked if each[1]), (line[:1], ""))
        message = message or (_DIFF_LINE.get(kind, "") if is_diff else "")
        if not message:
            continue
        if faults and kind == faults[-1][2] and kind in {"+", "-", "header"} and number == faults[-1][1] + 1:
            faults[-1] = (faults[-1][0], number, kind, faults[-1][3])
        else:
            faults.append((number, number, kind, message))
    return [
        _fault(
            display_path,
            first,
            message
            + (f" (so {'is' if last == first + 1 else 'are'} {_span(first + 1, last)})" if last > first else ""),
        )
        for first, last, _, message in _whole_blocks(faults, plain)
    ]


def _whole_blocks(faults: list[tuple[int, int, str, str]], plain: list[str]) -> Iterator[tuple[int, int, str, str]]:
    """Yield the faults without those inside of a Terraform block that is named already."""
    end = 0
    for first, last, kind, message in faults:
        if first <= end:
            continue
        if kind == "block":
            depths = accumulate(line.count("{") - line.count("}") for line in plain[first - 1 :])
            end = next((number for number, depth in enumerate(depths, first) if depth <= 0), len(plain))
            message = message.replace("LINES", _span(first, end))
        yield first, last, kind, message


_DIFF_LINE = {
    "+": "this line begins with '+', as one that a diff adds; remove the '+'",
    "-": "this line begins with '-', as one that a diff removes; remove the line",
}


def _meant(sign: str) -> str:
    """Return the sign of YAML for one that looks like it (a wide form, a typographic quote, another space), or ""."""
    if sign.isascii():
        return ""
    if "\uff01" <= sign <= "\uff5e":
        return chr(ord(sign) - 0xFEE0)
    is_space = unicodedata.category(sign) == "Zs" or sign in "\u200b\u2060\ufeff"
    return " " if is_space else _QUOTES.get(sign, "")


def _odd_sign(line: str, content: str) -> str:
    """Explain a sign outside of quotes that looks like one of YAML."""
    odd = (
        "" if content.isascii() else next((sign for sign in content if _meant(sign) and not _meant(sign).isalnum()), "")
    )
    if not odd:
        return ""
    name = unicodedata.name(odd, "an unseen character").lower()
    plain = "".join(_meant(sign) or sign for sign in line.strip())
    plain = re.sub(r"(?<=[\w\"']):(?=[^\s\d/:])", ": ", re.sub(r" +", " ", plain).strip())
    return f"column {content.index(odd) + 1} has {name} (U+{ord(odd):04X}); write '{format_value(plain)}'"


def _dash(line: str, content: str) -> str:
    return (
        f"this item begins with '{line.strip()[0]}', which is not the '-' of a list; write '- ' instead"
        if re.match(rf"\s*[{DASHES}] ", content)
        else ""
    )


def _header(line: str, content: str) -> str:
    return "this is a line of a diff, not of the file; remove it" if _DIFF_HEADER.match(line) else ""


def _ellipsis(line: str, content: str) -> str:
    return (
        f"'{line.strip()}' stands for lines that were left out; write them, or remove it"
        if re.fullmatch(r"\s+(\.\.\.|…)\s*", line)
        else ""
    )


def _template(line: str, content: str) -> str:
    found = _TEMPLATE.search(content)
    if found is None:
        return ""
    return (
        f"'{format_value(found[0])}' is a template of Helm or Jinja, and nothing fills it in; write the value, or "
        "render the template first"
    )


def _interpolation(line: str, content: str) -> str:
    found = re.fullmatch(r"\s*(\$\{[^}]*\})\s*", content)
    return (
        f"'{format_value(found[1])}' is an interpolation, and nothing fills it in; write what it stands for"
        if found
        else ""
    )


def _comment(line: str, content: str) -> str:
    found = re.fullmatch(r"\s*(?://+|/\*+|;+)\s*(.*?)\s*(?:\*+/)?", line)
    if found is None or not content.strip():
        return ""
    return f"'{format_value(line.strip())}' is no comment of YAML; write '{format_value(f'# {found[1]}')}'"


def _block(line: str, content: str) -> str:
    found = _BLOCK.fullmatch(content)
    if found is None or line.lstrip().startswith("- "):
        return ""
    return (
        f"'{format_value(line.strip())}' opens a block of Terraform, LINES; a stack file is YAML: write its values "
        "below Berth's own keys, which docs/stack-file.md lists"
    )


def _assignment(line: str, content: str) -> str:
    found = _ASSIGNMENT.fullmatch(content)
    if found is None or ":" in content.partition("=")[0]:
        return ""
    value = line.partition("=")[2].strip()
    written = format_value(f"{found[1]}: {value}")
    return f"'{format_value(line.strip())}' is an assignment of Terraform or a shell; write '{written}'"


_CHECKS: dict[str, Callable[[str, str], str]] = {
    "header": _header,
    "fence": lambda line, _: (
        "this is the fence of a code block in Markdown; remove the line" if re.match(r"\s*(```|~~~)", line) else ""
    ),
    "template": _template,
    "interpolation": _interpolation,
    "comment": _comment,
    "block": _block,
    "assignment": _assignment,
    "sign": _odd_sign,
    "dash": _dash,
    "ellipsis": _ellipsis,
}


def _plain_lines(lines: list[str]) -> Iterator[str]:
    """Yield each line without quoted text and comments; "" for the lines of a block scalar (`|`, `>`)."""
    block = -1  # the indentation of the key whose block scalar is read
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if block >= 0 and (indent > block or not line.strip()):
            yield ""
            continue
        content = _unquoted(line)
        block = indent if re.search(r"(:|- )\s*[|>][-+0-9]*\s*$", content) else -1
        yield content


def _unquoted(line: str) -> str:
    """Return the line with the text inside of quotes, and a comment, blank: columns stay."""
    result, quote = "", ""
    for index, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
            result += "x" if quote else sign
        elif sign in "\"'" and not line[index - 1 : index].isalnum():
            quote, result = sign, result + sign
        elif sign == "#" and (index == 0 or line[index - 1].isspace()):
            break
        else:
            result += sign
    return result


def _span(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _fault(display_path: str, line: int, message: str) -> Problem:
    return Problem(Severity.FAULT, "bad-yaml", (), message, f"{display_path}:{line}:1")
