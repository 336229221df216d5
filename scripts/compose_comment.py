"""Write one comment from the Markdown of several stacks: what matters most first, and nothing left out unsaid.

`python scripts/compose_comment.py FOLDER COMMIT COMMENT WHOLE`, with Berth installed, reads FOLDER/1.name, 1.status and
1.md, 2.name and so on, which scripts/diff-comment writes. COMMENT begins with a table of all stacks, then has each
stack's rights by what they give, blocked changes and quotas, and objects last. What does not fit a comment is counted
by kind; WHOLE has everything. Exits 3 if a right does not fit: nobody could approve it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from comment import disabled  # scripts/comment.py, which posts the text

from berth.diff.rights.changes import RIGHTS_TITLES

LONGEST = 56_000
"""Maximum length of the comment, in characters. GitHub accepts 65,536; scripts/comment.py adds what is around it.

Active markup is disabled before anything is counted, because that makes the text longer."""
_CELL = 300
"""Maximum length of a headline in the table, in characters."""
_ROWS = 200
"""Maximum number of stacks in the table."""
_TITLE = re.compile(r"(?:\*\*(?P<bold>.+?)\*\*|<details><summary>(?P<folded>.+?)</summary>)")
_FIRST = ("Blocked", "Beside the fleet", "Refused", "Not available", "Found by policies")
"""How the titles of parts begin that a reader must see first, with the rights of administrators."""
_LAST = ("Kubernetes objects", "Stack file and team files")
"""How the titles of parts begin that repeat in detail what others say."""
_LAST_RANK = len(RIGHTS_TITLES) + 1
_MARKUP = re.compile(r"[\\`*_\[\]|~<>]")
_TAKES_ROOM = 120
"""Room for the line that says how much is cut, in characters."""


@dataclass
class Part:
    """A part of a stack's Markdown: its title, the lines around its items, and the items."""

    title: str
    before: list[str]
    items: list[str]
    after: list[str]
    kept: int = 0

    @property
    def rank(self) -> int:
        """0 for what comes first, then the other rights by what they give, the rest, and what comes last."""
        if self.title in RIGHTS_TITLES:
            return RIGHTS_TITLES.index(self.title)
        return 0 if self.title.startswith(_FIRST) else _LAST_RANK - (not self.title.startswith(_LAST))

    @property
    def length(self) -> int:
        """The characters of the whole part."""
        return sum(len(line) + 1 for line in (*self.before, *self.items, *self.after))

    def fit(self, room: int) -> int:
        """Keep as many items as fit into the room, and return the characters that they take."""
        around = sum(len(line) + 1 for line in (*self.before, *self.after)) + 2 + _TAKES_ROOM
        used = around
        for item in self.items:
            if used + len(item) + 1 > room:
                break
            used += len(item) + 1
            self.kept += 1
        if self.items and not self.kept:
            return 0
        return used

    def lines(self) -> Iterator[str]:
        """Yield what is kept, and how much is not."""
        if self.items and not self.kept:
            return
        yield from self.before
        yield from self.items[: self.kept]
        if self.kept < len(self.items):
            yield f"{'- ' if self.items[0].startswith('- ') else ''}… and {len(self.items) - self.kept} more"
        yield from self.after


@dataclass
class Stack:
    """A stack: its name, how its check ended, its headline and its parts."""

    name: str
    status: str
    headline: str = ""
    parts: list[Part] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """Its cell in the table: the headline, or the title of its first part; text of a fence is not Markdown."""
        return self.headline or _MARKUP.sub(r"\\\g<0>", self.parts[0].title.rstrip(".") if self.parts else "")


def read_stack(name: str, status: str, text: str) -> Stack:
    """Return a stack from its Markdown, as `berth diff --format markdown` and scripts/diff-comment write it."""
    stack = Stack(disabled(name), status)
    for block in _blocks(disabled(text)):
        if block[0].startswith("### ") and not stack.headline:
            stack.headline = block[0].removeprefix("### ")
        else:
            stack.parts.append(_part(block))
    return stack


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the blocks of a text: lines between empty lines, outside of folded parts and fences."""
    block: list[str] = []
    depth, fenced = 0, False
    for line in text.splitlines():
        depth += line.count("<details>") - line.count("</details>")
        fenced ^= line == "```"
        if line.strip() or depth > 0 or fenced:
            block.append(line)
        elif block and not block[-1].startswith("**") and not block[-1].endswith(":"):
            yield block
            block = []
        elif block:  # the empty line below a title
            block.append(line)
    if block:
        yield block


def _part(block: list[str]) -> Part:
    """Return a block as a part: what it lists are bullets with those below them, rows of a table, or lines of text."""
    match = _TITLE.match(block[0])
    title = (match["bold"] or match["folded"]) if match else block[0].removesuffix(":").strip("# ")
    starts = [n for n, line in enumerate(block) if line.startswith(("- ", "|---", "```", "<pre>"))]
    if not starts:
        return Part(title, [], ["\n".join(block)], [])
    first = starts[0] if block[starts[0]].startswith("- ") else starts[0] + 1
    last = len(block)
    while last > first and (not block[last - 1] or block[last - 1] in ("</details>", "</pre>", "```")):
        last -= 1
    items: list[str] = []
    for line in block[first:last]:
        if items and line.startswith("  - "):
            items[-1] += f"\n{line}"
        else:
            items.append(line)
    return Part(title, block[:first], items, block[last:])


def compose(stacks: list[Stack], commit: str) -> tuple[str, bool]:
    """Return the comment, and whether every right is in it."""
    table = _table(stacks, commit)
    room = LONGEST - len(table) - 2_000 - sum(len(stack.name) + len(stack.headline[:_CELL]) + 40 for stack in stacks)
    ranked = sorted((part for stack in stacks for part in stack.parts), key=lambda part: part.rank)
    # Of the parts of one rank each gets its share, so that a long one does not hide those of the next stack.
    for rank in range(_LAST_RANK + 1):
        parts = [part for part in ranked if part.rank == rank]
        for left, part in zip(range(len(parts), 0, -1), sorted(parts, key=lambda part: part.length), strict=True):
            room -= part.fit(room // left)
    lines = [table, ""]
    cut = [(stack, part) for stack in stacks for part in stack.parts if part.kept < len(part.items)]
    lost_rights = any(part.title in RIGHTS_TITLES for _, part in cut)
    if cut:
        lines += [*_cut_lines(cut, lost_rights), ""]
    for stack in stacks:
        lines += [f"## Stack {stack.name}", ""]
        if stack.headline:
            lines += [f"### {_short(stack.headline)}", ""]
        for part in sorted((part for part in stack.parts if part.rank < _LAST_RANK), key=lambda part: part.rank):
            lines += [*part.lines(), ""]
    for stack in stacks:
        for part in (part for part in stack.parts if part.rank == _LAST_RANK and part.kept):
            lines += [f"Stack {stack.name}:", "", *part.lines(), ""]
    return "\n".join(lines).rstrip("\n") + "\n", not lost_rights


def _table(stacks: list[Stack], commit: str) -> str:
    rows = [f"| {stack.name} | {stack.status} | {_short(stack.summary)} | {commit} |" for stack in stacks[:_ROWS]]
    more = [f"| … and {len(stacks) - _ROWS} more | | | |"] if len(stacks) > _ROWS else []
    return "\n".join(["| stack | status | headline | commit |", "|---|---|---|---|", *rows, *more])


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _CELL else f"{one_line[:_CELL].rstrip(chr(92))}…"


def _cut_lines(cut: list[tuple[Stack, Part]], lost_rights: bool) -> Iterator[str]:
    """Yield what does not fit, by kind, and what follows from it."""
    if lost_rights:
        yield "**A right does not fit in this comment, so the check fails; split the change.**"
        yield ""
    counts: dict[tuple[int, str], int] = {}
    for _, part in cut:
        title = re.sub(r" \(\d+\)$", "", part.title)
        counts[part.rank, title] = counts.get((part.rank, title), 0) + len(part.items) - part.kept
    told = ", ".join(f"{count} of “{title}”" for (_, title), count in sorted(counts.items()))
    yield f"Does not fit in a comment: {told}. The artifact berth-diff-whole of the run has all of it."


def main(folder: Path, commit: str, comment: Path, whole: Path) -> int:
    """Write the comment and the whole text; return 3 if a right does not fit."""
    stacks: list[Stack] = []
    texts: list[str] = []
    for file in sorted(folder.glob("*.name"), key=lambda path: int(path.stem)):
        name, text = file.read_text(encoding="utf-8").strip(), file.with_suffix(".md").read_text(encoding="utf-8")
        stacks.append(read_stack(name, file.with_suffix(".status").read_text(encoding="utf-8").strip(), text))
        texts.append(f"## Stack {name}\n\n{text}")
    text, has_every_right = compose(stacks, commit)
    comment.write_text(text, encoding="utf-8")
    whole.write_text("\n".join(texts), encoding="utf-8")
    if not has_every_right:
        print("a right does not fit in the comment; split the change", file=sys.stderr)
    return 0 if has_every_right else 3


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
