"""`berth diff --format markdown`: the changes as a comment on a pull request.

Text from a stack file is escaped, because the workflow that posts the comment has more rights than the author of the
pull request. Long parts are folded.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from berth.cli.diff import plain_text
from berth.cli.diff.rows import cohort_rows, flavor_rows, quota_tree_rows, team_quota_rows
from berth.diff.compare import Changes
from berth.diff.entitlements import QuotaChanges
from berth.diff.guard import text as guard_text
from berth.diff.headline import headline
from berth.text import pluralize

_FOLD_ABOVE = 12
"""A part with more lines or rows than this is folded."""
_MAX_FOLDED_LINES = 400
"""Maximum number of lines in a folded part; GitHub accepts 65,536 characters in a comment."""

_MARKUP = re.compile(r"([\\`*_\[\]|~])|(?<=[#@])(?=\S)|(?<=:)(?=//)|^(?=[-+#>])")
"""Markdown syntax, and the positions where GitHub would read a mention, an issue number or a URL."""


_ZERO_WIDTH_SPACE = "\u200b"
"""Inserted between characters that must not be read together."""


def render_markdown(changes: Changes) -> str:
    """Return the changes as GitHub-flavoured Markdown, in a fixed order."""
    parts = [
        f"### {escape_markdown(headline(changes))}",
        _bullets("Rights", plain_text.right_lines(changes), fold=False),
        _bullets("Blocked", _join_indented(plain_text.guarded_lines(changes)), fold=False),
        *_quota_parts(changes.entitlements),
        *_worker_parts(changes),
        _bullets("Who can preempt whom", plain_text.preemption_lines(changes.entitlements)),
        _bullets("Workloads", _join_indented(plain_text.workload_lines(changes))),
        _bullets("Files", plain_text.file_lines(changes)),
        _bullets("Capacity", _join_indented(plain_text.capacity_lines(changes))),
        *(_bullets(heading, _join_indented(lines)) for heading, lines in plain_text.resource_parts(changes)),
        _bullets("Allowed", plain_text.allowed_lines(changes)),
        _bullets("New warnings", changes.warnings, fold=False),
        _bullets("Allowances", (guard_text.describe_idle_allowance(each) for each in changes.idle)),
        _folded(
            f"{pluralize(len(changes.objects), 'Kubernetes object')} created, changed or deleted",
            plain_text.object_lines(changes),
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _quota_parts(changes: QuotaChanges) -> Iterator[str]:
    """Tables of teams, cohorts and flavors; a guarantee that changes is bold."""
    yield _bullets("Teams", plain_text.team_lines(changes))
    team_rows = [
        [team, flavor, _bold(guaranteed, quota.guaranteed.delta), *rest]
        for (team, flavor, guaranteed, *rest), quota in zip(team_quota_rows(changes), changes.entitlements, strict=True)
    ]
    yield _table(["team", "flavor", "guaranteed", "ceiling", ""], team_rows, "entitlements")
    yield _table(["cohort", "flavor", "guaranteed", ""], cohort_rows(changes), "totals of cohorts")
    yield _table(["quota tree", "min", "max", "lent", ""], quota_tree_rows(changes), "nodes of the quota tree")
    yield _table(["flavor", "capacity", "guaranteed", "oversubscription", ""], flavor_rows(changes), "flavors")


def _worker_parts(changes: Changes) -> Iterator[str]:
    head = ["worker", "flavor", "capacity", "guaranteed", ""]
    yield _table(head, list(plain_text.worker_rows(changes)), "workers' flavors")
    head = ["queue", "worker", "flavor", "guaranteed", ""]
    yield _table(head, list(plain_text.share_rows(changes)), "shares of workers")


def escape_markdown(text: str) -> str:
    """Return text that Markdown and HTML show unchanged, and that mentions no GitHub user."""
    return html.escape(_MARKUP.sub(lambda match: f"\\{match[1]}" if match[1] else _ZERO_WIDTH_SPACE, text), quote=False)


def _bold(text: str, gain: int) -> str:
    before, arrow, after = text.partition(" → ")
    return f"{before}{arrow}**{after}**" if gain else text


def _join_indented(lines: Iterable[str]) -> Iterator[str]:
    """Join each line with the indented lines below it."""
    item = ""
    for line in lines:
        if not line.startswith("    "):
            if item:
                yield item
            item = line
        else:
            item += f"\n{line.strip()}"
    if item:
        yield item


def _bullets(head: str, lines: Iterable[str], *, fold: bool = True) -> str:
    """Return a list under a heading. A long list is folded and truncated, unless `fold` is false."""
    bullets = [_bullet(line) for line in lines]
    if not bullets:
        return ""
    body = "\n".join(_truncate(bullets) if fold else bullets)
    return (
        _details(f"{head} ({len(bullets)})", body) if fold and len(bullets) > _FOLD_ABOVE else f"**{head}**\n\n{body}"
    )


def _bullet(line: str) -> str:
    first, *rest = line.split("\n")
    return "\n".join([f"- {escape_markdown(first)}", *(f"  - {escape_markdown(each)}" for each in rest)])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    body = "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *_truncate(lines)])
    return _details(f"{len(rows)} {name}", body) if len(rows) > _FOLD_ABOVE else body


def _cell(text: str) -> str:
    """Return an escaped table cell; asterisks around a bold number are kept."""
    before, bold, after = text.partition("**")
    return f"{escape_markdown(before)}{bold}{after}" if bold else escape_markdown(text)


def _folded(summary: str, lines: Iterable[str]) -> str:
    """Return lines as a code block in a collapsed section; no line can close the block."""
    kept_lines = _truncate([html.escape(line, quote=False) for line in lines])
    return (
        f"<details><summary>{summary}</summary>\n\n<pre>\n" + "\n".join(kept_lines) + "\n</pre>\n\n</details>"
        if kept_lines
        else ""
    )


def _details(summary: str, body: str) -> str:
    return f"<details><summary>{html.escape(summary, quote=False)}</summary>\n\n{body}\n\n</details>"


def _truncate(lines: list[str]) -> list[str]:
    return (
        lines
        if len(lines) <= _MAX_FOLDED_LINES
        else [*lines[:_MAX_FOLDED_LINES], f"… and {len(lines) - _MAX_FOLDED_LINES} more lines"]
    )
