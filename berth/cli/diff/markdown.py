"""`berth diff --format markdown`: the changes as the comment on a pull request.

Whatever comes from a stack file is escaped: a comment is written by a workflow that may do more than the author of a
pull request. Long parts are folded.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from berth.cli.diff import plain_text
from berth.diff import text as words
from berth.diff.compare import Changes
from berth.diff.headline import headline
from berth.text import many

_LONG = 12
"""Lines or rows above which a part is folded."""
_MOST = 400
"""Lines of one folded part: GitHub takes 65,536 characters in a comment."""

_MARKUP = re.compile(r"([\\`*_\[\]|~])|(?<=[#@])(?=\S)|(?<=:)(?=//)|^(?=[-+#>])")
"""What Markdown would take for its own, and where GitHub would see a mention, an issue or an address."""


_NOTHING = "\u200b"
"""A space without width: it parts what must not be read together."""


def markdown(changes: Changes) -> str:
    """The changes as GitHub-flavoured Markdown, always in the same order."""
    told = changes.entitlements
    parts = [
        f"### {escaped(headline(changes))}",
        _bullets("Teams", plain_text.team_lines(told)),
        _table(
            ["team", "flavor", "guaranteed", "ceiling", ""],
            [
                [e.team, e.flavor, _bold(words.step(e.guaranteed), e.guaranteed.gain), words.step(e.ceiling), e.noun]
                for e in told.entitlements
            ],
            "entitlements",
        ),
        _table(
            ["cohort", "flavor", "guaranteed", ""],
            [[c.cohort, c.flavor, words.step(c.guaranteed), c.noun] for c in told.cohorts],
            "totals of cohorts",
        ),
        _table(
            ["quota tree", "min", "max", "lent", ""],
            [
                [n.node, words.step(n.minimum), words.step(n.maximum), words.step(n.lent), n.resource]
                for n in told.quota_tree
            ],
            "nodes of the quota tree",
        ),
        _table(
            ["flavor", "capacity", "promised", "oversubscription", ""],
            [
                [
                    f.flavor,
                    words.step(f.capacity),
                    words.step(f.promised),
                    plain_text.oversubscription(f.oversubscription),
                    f.noun,
                ]
                for f in told.flavors
            ],
            "flavors",
        ),
        _table(
            ["worker", "flavor", "capacity", "guaranteed", ""],
            list(plain_text.worker_rows(changes)),
            "workers' flavors",
        ),
        _table(
            ["queue", "worker", "flavor", "guaranteed", ""], list(plain_text.share_rows(changes)), "shares of workers"
        ),
        _bullets("Who can push out whom", plain_text.relations(told)),
        _bullets("Workloads", _joined(plain_text.workloads(changes))),
        _bullets("Files", plain_text.files(changes)),
        _bullets("Guarded", _joined(plain_text.guarded(changes))),
        _bullets("Capacity", _joined(plain_text.capacity(changes))),
        _bullets("Allowed", plain_text.allowed(changes)),
        _bullets("Allowances", (words.idle(each) for each in changes.idle)),
        _folded(
            f"{many(len(changes.objects), 'Kubernetes object')} created, changed or deleted",
            plain_text.objects(changes),
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown and HTML show as it is, and that mentions nobody."""
    return html.escape(_MARKUP.sub(lambda found: f"\\{found[1]}" if found[1] else _NOTHING, text), quote=False)


def _bold(text: str, gain: int) -> str:
    before, arrow, after = text.partition(" → ")
    return f"{before}{arrow}**{after}**" if gain else text


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """A line with those that are indented under it."""
    whole = ""
    for line in lines:
        if not line.startswith("    "):
            if whole:
                yield whole
            whole = line
        else:
            whole += f"\n{line.strip()}"
    if whole:
        yield whole


def _bullets(head: str, lines: Iterable[str]) -> str:
    found = [_bullet(line) for line in lines]
    if not found:
        return ""
    body = "\n".join(_cut(found))
    return _details(f"{head} ({len(found)})", body) if len(found) > _LONG else f"**{head}**\n\n{body}"


def _bullet(line: str) -> str:
    first, *rest = line.split("\n")
    return "\n".join([f"- {escaped(first)}", *(f"  - {escaped(each)}" for each in rest)])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    body = "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *_cut(lines)])
    return _details(f"{len(rows)} {name}", body) if len(rows) > _LONG else body


def _cell(text: str) -> str:
    """A cell; the stars of a number in bold are ours."""
    before, bold, after = text.partition("**")
    return f"{escaped(before)}{bold}{after}" if bold else escaped(text)


def _folded(summary: str, lines: Iterable[str]) -> str:
    """Lines as they are, in a block that opens on a click; no line can end the block."""
    found = _cut([html.escape(line, quote=False) for line in lines])
    return (
        f"<details><summary>{summary}</summary>\n\n<pre>\n" + "\n".join(found) + "\n</pre>\n\n</details>"
        if found
        else ""
    )


def _details(summary: str, body: str) -> str:
    return f"<details><summary>{html.escape(summary, quote=False)}</summary>\n\n{body}\n\n</details>"


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"… and {len(lines) - _MOST} lines more"]
