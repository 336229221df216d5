"""A stack file with its misspelt keys as their faults say, to find what else is wrong with the same entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Severity
from berth.spec.parse import SPLITTABLE_SECTIONS

_MEANT: Final = re.compile(r"unknown key '.*'; (?:did you mean|remove the '.' before) '(?P<key>[^']+)'")
"""A fault that names the key which was meant."""
_MEANS_NOTHING: Final = re.compile(r"unknown key '.*'; (?:write one of |the nearest of |it is a key of [^:]+: move )")
"""A fault of a key that changes nothing in its entry, whatever was meant."""


class MeantKeys(Struct, frozen=True):
    """The `fleet` with the keys that were meant, and without those that mean nothing.

    `renamed` has the path of each key that was meant → the key as it is written, and `entries` what had a misspelt key.
    """

    fleet: Mapping[str, Any]
    renamed: Mapping[FieldPath, str]
    entries: frozenset[FieldPath]

    def more_faults(self, found: Iterable[Problem], reported: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the faults `found` of this fleet that are in the entries and not `reported` of the written one.

        A value of another type than that of the key was perhaps not meant for it.
        """
        known = {(each.path, each.code) for each in reported}
        faults = (each for each in found if each.severity == Severity.FAULT and _entry(each.path) in self.entries)
        more = (each for each in faults if each.path not in self.renamed or each.code not in ("bad-type", "bad-value"))
        written = (replace(each, path=self._written(each.path)) for each in more)
        return tuple(each for each in written if (each.path, each.code) not in known)

    def _written(self, path: FieldPath) -> FieldPath:
        return tuple(self.renamed.get(path[: index + 1], step) for index, step in enumerate(path))


def meant_keys(fleet: object, problems: Iterable[Problem]) -> MeantKeys | None:
    """Return a fleet with its keys as they were meant, by its problems; None if no key is misspelt.

    A key that other tools have, or that belongs below another one, stays: what it says may be all that the rest lacks.
    """
    renamed, entries = dict[FieldPath, str](), set[FieldPath]()
    for problem in problems:
        meant = _MEANT.match(problem.message) if problem.code == "unknown-key" else None
        if problem.code != "unknown-key" or (meant is None and not _MEANS_NOTHING.match(problem.message)):
            continue
        key = meant["key"] if meant else None
        changed = _with_key(fleet, problem.path, key)
        if changed is None:
            continue
        fleet = changed
        entries.add(_entry(problem.path if key is None else (*problem.path[:-1], key)))
        entries.add(_entry(problem.path))
        if key is not None:
            renamed[*problem.path[:-1], key] = str(problem.path[-1])
    return MeantKeys(cast("Mapping[str, Any]", fleet), renamed, frozenset(entries)) if entries else None


def _entry(path: FieldPath) -> FieldPath:
    """Return the part of a file with which a faulty key sets aside what else is in it."""
    return path[:2] if path[0] in SPLITTABLE_SECTIONS else path[:1]


def _with_key(value: object, path: FieldPath, key: str | None) -> Any:
    """Return a value whose key at `path` has the name `key`, or is left out where it is None or there already.

    None if the path is not that of a key.
    """
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping) and step in value:
        entries = cast("Mapping[object, object]", value)
        if rest:
            inner = _with_key(entries[step], rest, key)
            return None if inner is None else {**entries, step: inner}
        renamed = {} if key is None or key in entries else {key: entries[step]}
        return {**{name: each for name, each in entries.items() if name != step}, **renamed}
    if isinstance(value, list) and isinstance(step, int) and rest:
        items = cast("list[object]", value)
        inner = _with_key(items[step], rest, key)
        return None if inner is None else [*items[:step], inner, *items[step + 1 :]]
    return None
