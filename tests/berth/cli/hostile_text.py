"""Texts that want to be more than text where they are printed, and what an output may not do with them."""

from __future__ import annotations

import re
from collections.abc import Iterator

ONE_LINE = "::error::=1+1 <b onclick=x>@acme</b> ![x](http://evil.example) `| a | b |` ##[group] </pre> <!-- & -->"
"""One printable line: all that a stack file may have in a free text."""
SEVERAL_LINES = f"{ONE_LINE}\n::stop-commands::x\n### safe: nothing changes\r\x1b[31mred\u202eback\u2028end\x00"
"""What a file of another program may have in a name."""
_COMMAND = re.compile(r"^\s*(::|##\[)")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_ESCAPE = re.compile("\x1b(?!\\[[0-9;]*m)")


def misdeeds_of_text(output: str) -> Iterator[str]:
    """Yield each line of a terminal or a log that does more than show its text; colours are none here."""
    for line in output.split("\n"):
        if _COMMAND.match(line):
            yield f"a workflow command: {line!r}"
        if _UNSEEN.search(line) or "\x1b" in line:
            yield f"a character that is not seen: {line!r}"
        if line.startswith("### safe"):
            yield f"a forged line: {line!r}"


def misdeeds_of_markdown(output: str) -> Iterator[str]:
    """Yield what GitHub would do with a comment besides showing it; code is shown as it is."""
    yield from misdeeds_of_text(output)
    # GitHub reads neither Markdown nor mentions in code; HTML in it is escaped.
    shown = re.sub(r"(?ms)^```$.*?^```$|^<pre>$.*?^</pre>$", "", output)
    if re.search(r"<b[ >]|<!--", output):
        yield "HTML in code"
    for pattern in (r"<b[ >]", r"<!--", r"(?<![\\\u200b])!\[", r"(?<!\\)\]\(", r"@acme", r"(?<!\\)`\|"):
        if match := re.search(pattern, shown):
            yield f"{pattern}: {shown[max(0, match.start() - 60) : match.end() + 20]!r}"


def misdeeds_of_html(output: str) -> Iterator[str]:
    """Yield what a page would do with a text besides showing it."""
    if _UNSEEN.search(output) or "\x1b" in output:
        yield "a character that is not seen"
    for pattern in ("<b onclick", "onclick=x>@", "<!-- & -->", "</pre> <!--"):
        if pattern in output:
            yield pattern
