"""Draw the comment of 600 rights and one owner as docs/pictures/comment.svg: `python -m tests.comment_picture`.

The golden of tests/workflows/test_compose_comment.py has its first lines as Markdown; they are laid out as on GitHub.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
GOLDEN: Final = ROOT / "tests" / "workflows" / "golden" / "owner.md"
PICTURE: Final = ROOT / "docs" / "pictures" / "comment.svg"
_WIDTH: Final = 1000
_LINE: Final = 21
_COLUMNS: Final = ((16, 6), (76, 9), (166, 96), (868, 14))
"""Where the columns of the table begin, and how many characters fit."""
_STYLE: Final = (
    "text{font:14px sans-serif;fill:#1f2328}.strong{font-weight:600}.title{font-size:20px;font-weight:600}"
    ".quiet{fill:#59636e}line{stroke:#d1d9e0}"
)


def drawn(markdown: str) -> str:
    """Return the picture of the first lines of a comment."""
    top, parts = 30, list[str]()
    for kind, lines in _blocks(markdown):
        if kind == "row":
            cells = [textwrap.wrap(cell, fits) for cell, (_, fits) in zip(lines, _COLUMNS, strict=True)]
            style = "strong" if parts == [] else ""
            for (left, _), words in zip(_COLUMNS, cells, strict=True):
                parts += [_text(left, top + _LINE * at, word, style) for at, word in enumerate(words)]
            top += _LINE * max(map(len, cells))
            parts.append(f'<line x1="16" x2="{_WIDTH - 16}" y1="{top - 12}" y2="{top - 12}"/>')
            top += 8
            continue
        wide = 80 if kind == "title" else 130
        for at, words in enumerate(textwrap.wrap(lines[0], wide)):
            left = 36 if kind == "item" else 16
            bullet = _text(22, top, "•") if kind == "item" and at == 0 else ""
            parts.append(bullet + _text(left, top, words, kind))
            top += 27 if kind == "title" else _LINE
        top += 0 if kind == "item" else 8
    parts.append(_text(16, top + 4, "… and the other rights, each on a line of its own", "quiet"))
    height = top + 24
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff" stroke="#d1d9e0"/>\n{body}\n</svg>\n'
    )


def _blocks(markdown: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield rows of the table, titles, items and other lines, without the markup."""
    for line in markdown.splitlines():
        plain = re.sub(r"\*\*|\\(?=[^\w\s])|^(?:#+|-) ", "", line)
        if re.fullmatch(r"\|(-+\|)+", line) or not line:
            continue
        if line.startswith("|"):
            yield "row", [cell.strip() for cell in plain.strip("|").split("|")]
        else:
            yield (
                ("title" if line[0] == "#" else "item" if line[0] == "-" else "strong" if line[0] == "*" else ""),
                [plain],
            )


def _text(left: int, top: int, words: str, style: str = "") -> str:
    of_style = f' class="{style}"' if style not in ("", "item") else ""
    return f'<text x="{left}" y="{top}"{of_style}>{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(GOLDEN.read_text(encoding="utf-8")), encoding="utf-8")
