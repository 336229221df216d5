"""A stack file without the keys and values that cannot be read, to find what else is wrong with the same entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any, Final, cast

from msgspec import DecodeError, Struct
from msgspec.json import decode
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Severity, format_value
from berth.diagnostics.hints import plain_key
from berth.names import to_camel
from berth.spec.parse import SPLITTABLE_SECTIONS

_MEANT: Final = re.compile(r"unknown (?:key '.*'|argument); (?:did you mean|remove the '.' before) '(?P<key>[^']+)'")
"""A fault that names the key which was meant."""
_SAME_VALUE: Final = re.compile(r"unknown key '.*'; write (?P<key>\w+): (?P<value>\S+)")
"""A fault that names the key of another tool's; it was meant if the value is the same."""
_MEANS_NOTHING: Final = re.compile(
    r"unknown (?:key '.*'|argument); (?:write one of |the nearest of |it is a key of [^:]+: move |\S+ lists )"
)
"""A fault of a key that changes nothing in its entry, whatever was meant."""

_QUOTES: Final = re.compile(r"(?:write (?P<plain>\S+?),? without quotes|quote it: (?P<quoted>\".*\"))")
"""A fault of a value that is right but for its quotes."""
_DECISIVE: Final = frozenset(
    {"autoProvisioned", "capacity", "chips", "cohort", "computeClass", "count", "dispatcherName", "existing"}
    | {"integrations", "kind", "kubeconfig", "location", "machineType", "medium", "mode", "namespace", "namespaces"}
    | {"networking", "region", "stack", "unit", "zone", "zones"}
)
"""Keys that decide what others of their entry mean: without their values no fault of the rest is certain."""
_OF_ENTRIES: Final = frozenset({"pools", "queues", "reservations"})
"""Keys inside an entry whose own entries others need as a whole."""
_MIN_LIKENESS: Final = 0.85
"""How like the nearest key one must be to be read as that: `pool` and `pools` are, `max` and `maxJobs` are not."""


class AsMeant(Struct, frozen=True):
    """The `fleet` with the keys that were meant, and without those that mean nothing or have a value that is none.

    `renamed` has the path of each key that was meant → the key as it is written, `omitted` the paths of keys without a
    value, `open` those of mappings inside an entry with a key that means nothing, and `entries` what was set aside for
    them; None stands for all. `corrected` are the paths of the faults that this fleet no longer has.
    """

    fleet: Mapping[str, Any]
    renamed: Mapping[FieldPath, str]
    omitted: frozenset[FieldPath]
    open: frozenset[FieldPath]
    entries: frozenset[FieldPath] | None
    corrected: frozenset[FieldPath]

    def more_faults(self, found: Iterable[Problem], reported: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the faults `found` of this fleet that are in the entries and not `reported` of the written one.

        A fault that names an omitted key may follow from that, and a value that does not fit a key that was meant was
        perhaps not meant for it. What a mapping lacks may be what its key without a meaning says.
        """
        known = {(each.path, each.code) for each in reported}
        keys = {each[-1] for each in self.omitted}
        named = re.compile(rf"\b(?:{'|'.join(re.escape(str(key)) for key in keys)})\b") if keys else None
        more = (
            replace(each, path=tuple(self.renamed.get(each.path[: i + 1], step) for i, step in enumerate(each.path)))
            for each in found
            if each.severity == Severity.FAULT
            and (self.entries is None or _entry(each.path) in self.entries)
            and not (each.path in self.renamed and each.code in ("bad-type", "bad-value"))
            and each.path not in self.corrected | self.open
            and not (
                (each.path in self.omitted or len(each.path) > len(_entry(each.path)))
                and any(path[: len(each.path)] == each.path[: len(path)] for path in self.omitted)
            )
            and not (named and named.search(each.message))
        )
        return tuple(each for each in more if (each.path, each.code) not in known)


def as_meant(fleet: object, problems: Iterable[Problem], *, by_entry: bool = False) -> AsMeant:
    """Return a fleet as it was meant, by the `problems` for which parts of it are set aside, `by_entry` or all of it.

    A key that other tools have, or that belongs below another one, stays: what it says may be all that the rest lacks.
    One that is only similar to the nearest is left out, and so are the faults that name the nearest.
    """
    renamed, corrected = dict[FieldPath, str](), set[FieldPath]()
    omitted, without_meaning, entries = set[FieldPath](), set[FieldPath](), set[FieldPath]()
    for problem in problems:
        if problem.severity != Severity.FAULT or (change := _change(problem, fleet)) is None:
            continue
        path, key, value = change.path, change.key, change.value
        if key is not None and _value_at(fleet, (*path[:-1], key)) is not None:
            key = None
        if problem.code != "unknown-key" and path == _entry(path) and by_entry:
            continue
        changed = _with_key(fleet, path, key, value)
        if changed is None:
            continue
        fleet = changed
        corrected.add(problem.path)
        entries |= {_entry(path), _entry(path if key is None else (*path[:-1], key))}
        if key is not None:
            renamed[*path[:-1], key] = str(path[-1])
        elif change.near is not None and _value_at(fleet, (*path[:-1], change.near)) is None:
            omitted.add((*path[:-1], change.near))
        elif problem.code != "unknown-key" and value is None:
            omitted.add(path)
        elif problem.code == "unknown-key" and len(path) - 1 > len(_entry(path)):
            without_meaning.add(path[:-1])
    return AsMeant(
        cast("Mapping[str, Any]", fleet),
        renamed,
        frozenset(omitted),
        frozenset(without_meaning),
        frozenset(entries) if by_entry else None,
        frozenset(corrected),
    )


class _Change(Struct, frozen=True):
    """What is changed at the `path` of a key: the `key` that was meant takes its place, or it has another `value`.

    If both are None it is left out; `near` is the nearest key then, if that was perhaps meant.
    """

    path: FieldPath
    key: str | None = None
    value: object = None
    near: str | None = None


def _change(problem: Problem, fleet: object) -> _Change | None:
    """Return the change after which a fleet no longer has a fault; None if that is open.

    Of an item of a list it is a change of the list.
    """
    path = problem.path
    if problem.code == "unknown-key":
        meant = _MEANT.match(problem.message)
        same = _SAME_VALUE.fullmatch(problem.message)
        if same and same["value"] == format_value(_value_at(fleet, path)):
            meant = same
        if meant is None:
            return _Change(path) if _MEANS_NOTHING.match(problem.message) else None
        key = to_camel(meant["key"])
        likeness = SequenceMatcher(None, plain_key(str(path[-1])), plain_key(key)).ratio()
        is_meant = meant is same or likeness >= _MIN_LIKENESS
        return _Change(path, key if is_meant else None, near=None if is_meant else key)
    if (quotes := _QUOTES.search(problem.message)) and isinstance(path[-1], str):
        with suppress(DecodeError):
            return _Change(path, value=decode(quotes["plain"] or quotes["quoted"]))
    while path and isinstance(path[-1], int) and not isinstance(_value_at(fleet, path[:-1]), Mapping):
        path = path[:-1]
    if not path or not _DECISIVE.isdisjoint(path) or not _OF_ENTRIES.isdisjoint(path[2:][-2:]):
        return None
    return _Change(path)


def _entry(path: FieldPath) -> FieldPath:
    """Return the part of a file that is set aside for a fault in it."""
    return path[:2] if path and path[0] in SPLITTABLE_SECTIONS else path[:1]


def _value_at(fleet: object, path: FieldPath) -> object:
    """Return the value at a path; None if there is none."""
    for step in path:
        if isinstance(fleet, Mapping):
            fleet = cast("Mapping[object, object]", fleet).get(step)
        elif isinstance(fleet, list) and isinstance(step, int):
            fleet = cast("list[object]", fleet)[step]
        else:
            return None
    return fleet


def _with_key(fleet: object, path: FieldPath, key: str | None, value: object) -> Any:
    """Return a fleet whose key at `path` is called `key`, or has the `value`; where both are None it is left out.

    None if the path is not that of a key.
    """
    step, rest = path[0], path[1:]
    if isinstance(fleet, Mapping) and step in fleet:
        entries = cast("Mapping[object, object]", fleet)
        if rest:
            inner = _with_key(entries[step], rest, key, value)
            return None if inner is None else {**entries, step: inner}
        if value is not None:
            return {**entries, step: value}
        renamed = {} if key is None else {key: entries[step]}
        return {**{name: each for name, each in entries.items() if name != step}, **renamed}
    if isinstance(fleet, list) and isinstance(step, int) and rest:
        items = cast("list[object]", fleet)
        inner = _with_key(items[step], rest, key, value)
        return None if inner is None else [*items[:step], inner, *items[step + 1 :]]
    return None
