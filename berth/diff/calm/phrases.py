"""Loud differences as phrases of a headline: what they are of, and what changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from berth.diagnostics import join_words
from berth.diff.calm.differences import LIMITS, NOUNS, Difference
from berth.diff.fields import format_on_one_line
from berth.diff.kinds import ChangeKind
from berth.diff.text import EMPHASIZED
from berth.plan.node_settings import Bounds
from berth.resource import ResourceKind
from berth.text import pluralize

_MAX_NAMES: Final = 3
_MAX_VALUE: Final = 40
"""Maximum length of a value in a headline; the lines below have it whole."""
_WORDS: Final = (
    (r"(values\.managerConfig\.controllerManagerConfigYaml|values|spec\.template\.spec|spec|metadata)\.", ""),
    (r"resourceGroups\.flavors\.(.+)\.resources\.(.+)\.nominalQuota", r"\2 of \1"),
    (r"resourceGroups\.flavors\.(.+)\.resources\.(.+)\.borrowingLimit", r"\2 of \1 to borrow"),
    (r"resourceGroups\.flavors\.(.+)\.resources\.(.+)\.lendingLimit", r"\2 of \1 to lend"),
    (r"root\.(?:.+\.)?children\.(.+)\.attributes\.[a-z.]+/lendlimit\.(.+)", r"\2 of \1 to lend"),
    (r"resourceGroups\.flavors", "flavors"),
    (r"admissionChecksStrategy\.admissionChecks\.", "admission check "),
    (r"nodeConfig\.", ""),
    (r"maintenancePolicy\.", ""),
    (r"annotations\.berth\.dev/", ""),
)
"""How paths begin → what a headline says instead."""
_WHATS: Final = {
    **EMPHASIZED,
    ChangeKind.UNMANAGED: "no longer managed here",
    ChangeKind.RECREATED: "changed: its nodes are recreated one by one",
    ChangeKind.UPDATED: "changed",
}


def loud_parts(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield a phrase for each thing with loud differences; things of one kind share a phrase if they are many."""
    things: dict[tuple[str, str], list[Difference]] = {}
    for each in differences:
        things.setdefault((each.of, each.name), []).append(each)
    by_kind: dict[str, list[list[Difference]]] = {}
    for (of, _), inner in things.items():
        by_kind.setdefault(of, []).append(inner)
    for of, alike in by_kind.items():
        if len(alike) <= _MAX_NAMES:
            yield from map(_of_one_thing, alike)
        else:
            yield _of_many_things(of, alike)


def _of_one_thing(differences: Sequence[Difference]) -> str:
    """Return `ClusterQueue a: queueingStrategy BestEffortFIFO → StrictFIFO`, or what becomes of the whole thing."""
    first = differences[0]
    if not first.path:
        return f"{first.name} is {_what(first)}"
    if first.of == LIMITS and first.note:
        what = join_words([_short_path(each).removeprefix("hard.").removeprefix("requests.") for each in differences])
        return f"namespace {first.namespace} can use other {what} in total, because {first.note}"
    if len(differences) == 1 and not first.block:
        return f"{first.name}: {_short_path(first)} {_values(first)}"
    if len({each.block for each in differences}) == 1 and first.block:
        is_added = first.before is None
        return f"{first.name}: {_short_path(first)} is {'added' if is_added else 'removed'}"
    names = _names(differences)
    return f"{first.name}: {names} {'change' if ' and ' in names else 'changes'}"


def _of_many_things(of: str, alike: Sequence[Sequence[Difference]]) -> str:
    of = NOUNS.get(of, of)
    plural = f"{of[:-1]}ies" if of.endswith("y") else f"{of}es" if of.endswith("ss") else f"{of}s"
    count = f"{len(alike)} {plural}"
    flat = [each for inner in alike for each in inner]
    if all(not each.path for each in flat):
        whats = dict.fromkeys(map(_what, flat))
        return f"{count} are {join_words(list(whats))}"
    return f"{count} change ({_names([each for each in flat if each.path])})"


def _what(difference: Difference) -> str:
    if difference.of in (ResourceKind.DASHBOARD, ResourceKind.SERVICE, ResourceKind.ALERT):
        return difference.what  # what is drawn, enabled or watched holds neither jobs nor data
    return _WHATS.get(difference.what, difference.what)


def _names(differences: Sequence[Difference]) -> str:
    names = list(dict.fromkeys(map(_short_path, differences)))
    if len({name.rpartition(".")[0] for name in names}) == 1 and len(names) > 2 and "." in names[0]:
        names = [names[0].rpartition(".")[0]]
    if len(names) > _MAX_NAMES:
        names = [*names[: _MAX_NAMES - 1], pluralize(len(names) - _MAX_NAMES + 1, "more setting")]
    return join_words(names)


def _short_path(difference: Difference) -> str:
    path = difference.block or difference.path
    for beginning, words in _WORDS:
        path = re.sub(f"^{beginning}", words, path)
    return path


def _values(difference: Difference) -> str:
    before, after = difference.before, difference.after
    if isinstance(before, Bounds) and before == after:
        return ""
    sides = [format_on_one_line(each) for each in (before, after)]
    return "changes" if any(len(side) > _MAX_VALUE for side in sides) else " → ".join(sides)
