"""The reviewed kinds of harmless differences (harmless.yaml): whether a difference is of one."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from ipaddress import ip_network
from typing import Any, Final, cast

from msgspec import Struct

from berth.diff.calm.differences import NEW_NODES, NOT_APPLIED, Difference
from berth.diff.kinds import ChangeKind
from berth.plan.node_settings import Bounds
from berth.yaml_loader import load_table

FAIR_SHARING: Final = "fair sharing"
ADMISSION_FAIR_SHARING: Final = "admission fair sharing"
MEMBERS: Final = "members"
"""A fact about one thing: its name follows."""
_TABLE: Final = pathlib.Path(__file__).with_name("harmless.yaml")
_NUMBER: Final = re.compile(r"(-?\d+(?:\.\d+)?)(m|s|min|h|d|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?")
_UNITS: Final = {
    "": 1, "m": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400,
    "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip
_OFF: Final = (None, False, "", "CHANNEL_DISABLED", "DISABLED")
_VERSION: Final = re.compile(r"/versions/[^\"]+")


class HarmlessKind(Struct, frozen=True):
    """A kind of harmless differences: its name, and why nobody loses anything by one."""

    name: str
    because: str


class _Row(Struct, frozen=True):
    kind: HarmlessKind
    of: frozenset[str]
    path: re.Pattern[str]
    when: str
    unless: str | None

    def has(self, difference: Difference, facts: Collection[str]) -> bool:
        """Return whether the row has the difference, in a fleet with these facts."""
        if (
            not ("*" in self.of or difference.of in self.of)
            or self.unless in facts
            or f"{self.unless} {difference.key}" in facts
            or self.path.fullmatch(difference.path) is None
        ):
            return False
        to, _, value = self.when.partition(" ")
        if to == "to":
            return _is_update(difference) and difference.after == value
        return _WHEN[self.when](difference)


def harmless_kind(difference: Difference, facts: Collection[str]) -> HarmlessKind | None:
    """Return the kind of a harmless difference, None for one that a headline must name.

    `facts` are those of `unless` in harmless.yaml that hold before or after the change.
    """
    return next((row.kind for row in _rows() if row.has(difference, facts)), None)


@cache
def _rows() -> Sequence[_Row]:
    return [
        _Row(kind, frozenset(str(of).split("|")), re.compile(str(path)), str(when), unless[0] if unless else None)
        for name, entry in load_table(_TABLE).items()
        for kind in [HarmlessKind(name, " ".join(str(entry["because"]).split()))]
        for of, path, when, *unless in entry["rows"]
    ]


def harmless_kinds() -> tuple[HarmlessKind, ...]:
    """Return all kinds, in the order of the table."""
    return tuple(dict.fromkeys(row.kind for row in _rows()))


# --- when -------------------------------------------------------------------------------------------------------------


def _is_update(difference: Difference) -> bool:
    """Return whether the difference is inside of a thing that stays."""
    return bool(difference.path) and difference.what in (ChangeKind.CHANGED, ChangeKind.UPDATED, ChangeKind.RESIZED)


def _grows(difference: Difference) -> bool:
    """Return whether a number, quantity, duration, time or range grows, or a limit that was not set before is set."""
    before, after = difference.before, difference.after
    if isinstance(before, Bounds) and isinstance(after, Bounds):
        return after.min >= before.min and after.max >= before.max
    if isinstance(before, str) and isinstance(after, str) and re.match(r"\d{4}-\d\d-\d\dT", before):
        return after > before
    if isinstance(before, str) and isinstance(after, str) and "/" in before and "/" in after:
        return _is_wider(before, after)
    sides = number(before), number(after)
    return sides[0] is not None and sides[1] is not None and sides[1] > sides[0]


def _is_wider(before: str, after: str) -> bool:
    try:
        old, new = cast("Any", ip_network(before)), cast("Any", ip_network(after))
    except ValueError:
        return False
    return old.version == new.version and old.subnet_of(new)


def number(value: object) -> float | None:
    """Return a number, or that of a quantity or duration (`96Gi`, `500m`, `600s`), in its base unit; else None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) * _UNITS[match[2] or ""] if match else None


def _gains_only(difference: Difference) -> bool:
    before, after = cast("object", difference.before or ()), cast("object", difference.after or ())
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        old, new = cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", after)
        return all(key in new and new[key] == value for key, value in old.items())
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return all(each in after for each in cast("Sequence[object]", before))
    return False


def _is_reordered(difference: Difference) -> bool:
    sides = [
        cast("Sequence[object]", each)
        for each in (difference.before, difference.after)
        if isinstance(each, (list, tuple))
    ]
    return len(sides) == 2 and sorted(map(repr, sides[0])) == sorted(map(repr, sides[1]))


_WHEN: Final[Mapping[str, Callable[[Difference], bool]]] = {
    "any": _is_update,
    "more": lambda each: _is_update(each) and _grows(each),
    "on": lambda each: _is_update(each) and each.before in _OFF and each.after not in _OFF,
    "off": lambda each: _is_update(each) and each.before not in _OFF and each.after in _OFF,
    "first": lambda each: _is_update(each) and each.before is None and bool(each.block),
    "added": lambda each: _is_update(each) and (each.before is None or _gains_only(each)),
    "more entries": lambda each: _is_update(each) and bool(each.before) and _gains_only(each),
    "not zero": lambda each: _is_update(each) and number(each.after) not in (None, 0),
    "order": lambda each: _is_update(each) and _is_reordered(each),
    "empty": lambda each: (
        _is_update(each) and each.before is None and (number(each.after) == 0 or each.path.endswith(".name"))
    ),
    "versions": lambda each: (
        _is_update(each)
        and isinstance(each.before, str)
        and isinstance(each.after, str)
        and _VERSION.sub("", each.before) == _VERSION.sub("", each.after)
    ),
    "created": lambda each: not each.path and each.what == ChangeKind.CREATED,
    "updated": lambda each: not each.path and each.what == ChangeKind.UPDATED,
    "not applied": lambda each: each.note == NOT_APPLIED,
    "new nodes": lambda each: _is_update(each) and each.note == NEW_NODES,
}
"""What the column `when` says → whether a difference is so."""
