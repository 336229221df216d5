"""Single changes of a stack file that `berth simulate --advise` tries, in a fixed order.

A change has new values for the stack as it is planned, and the edit of its files, which is made only for what is shown.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from berth.diagnostics import FieldPath
from berth.rotate.steps import queue_entries
from berth.rotate.yaml_editor import YamlEditor

FREE, BUYS = 0, 1
"""What a change asks for: nothing, or more machines."""

_COUNTED = re.compile(r"([0-9]{1,6})(?: ([A-Za-z]+?)s?)?")
_KINDS = {"on-demand": ("spot",), "spot": ("on-demand",), "queued": ("on-demand", "spot")}
"""Kinds of capacity that a pool can have instead of its own, by the written one."""


class PlannedChange(Struct, frozen=True):
    """A change: its sentence, what it asks for, the new values by path, and the edit of the files."""

    title: str
    asks_for: int
    values: Mapping[FieldPath, object]
    edit: Callable[[YamlEditor], YamlEditor]


class _Entry(Struct, frozen=True):
    """A flavor of a queue as it is written: the list that has it, its number there, and the name of the queue."""

    path: FieldPath
    index: int
    queue: str
    flavors: list[dict[str, Any]]

    @property
    def pool(self) -> str:
        own = self.flavors[self.index]
        return str(own.get("pool") or own.get("flavor"))

    def amount(self, key: str) -> tuple[int, str] | None:
        """Return a number and its unit ("" for accelerators); None for another form."""
        written = self.flavors[self.index].get(key, 0)
        match = _COUNTED.fullmatch(str(written))
        return None if match is None or isinstance(written, bool) else (int(match[1]), match[2] or "")

    def with_value(self, key: str, value: str) -> tuple[dict[FieldPath, object], Callable[[YamlEditor], YamlEditor]]:
        """Return the new list and the edit that sets a key of this flavor."""
        typed: object = int(value) if value.isdigit() else value
        changed = [{**each, key: typed} if n == self.index else each for n, each in enumerate(self.flavors)]
        return {self.path: changed}, lambda editor: editor.set_value((*self.path, self.index), key, value)


def list_changes(editor: YamlEditor, idle: set[str], waiting: set[str]) -> list[PlannedChange]:
    """Return all changes of a stack; `idle` queues do not use their guarantee, and jobs of `waiting` queues wait.

    Guarantees move only from idle to waiting queues. What `teamDefaults` set for all teams is left alone.
    """
    entries = [entry for path, name, queue in queue_entries(editor) for entry in _entries(editor, path, name, queue)]
    cohorts = [
        entry
        for name, cohort in _section(editor, "cohorts")
        for entry in _entries(editor, ("cohorts", name), f"cohort {name}", cohort)
    ]
    return [
        *(change for entry in entries if entry.queue in idle for change in _lowered(entry)),
        *_moved(entries, idle, waiting),
        *(change for entry in (*entries, *cohorts) for change in _limits(entry)),
        *(change for entry in entries for change in _reordered(entry)),
        *_weights(editor),
        *_kinds(editor),
        *(change for entry in entries if entry.queue in waiting for change in _bought(editor, entry)),
    ]


def _entries(editor: YamlEditor, path: FieldPath, name: str, owner: Mapping[str, Any]) -> Iterator[_Entry]:
    flavors = cast("list[dict[str, Any]]", owner.get("flavors") or [])
    own = (*path, "flavors")
    for index in range(len(flavors)):
        if editor.written_path((*own, index)) == (*own, index):
            yield _Entry(own, index, name, flavors)


def _written(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}" if unit else str(number)


def _lowered(entry: _Entry) -> Iterator[PlannedChange]:
    amount = entry.amount("guaranteed")
    for number in dict.fromkeys((amount[0] // 2, 0)) if amount and amount[0] else ():
        text = _written(number, amount[1]) if amount else ""
        values, edit = entry.with_value("guaranteed", text)
        yield PlannedChange(f"guarantee {entry.queue} {text} of {entry.pool}", FREE, values, edit)


def _moved(entries: list[_Entry], idle: set[str], waiting: set[str]) -> Iterator[PlannedChange]:
    """Yield moves of half of a guarantee and of all of it."""
    for giver, taker in itertools.permutations(entries, 2):
        given, taken = giver.amount("guaranteed"), taker.amount("guaranteed")
        if giver.queue not in idle or taker.queue not in waiting or giver.path == taker.path:
            continue
        if giver.pool != taker.pool or not given or not taken or not given[0] or (taken[0] and taken[1] != given[1]):
            continue
        for number in dict.fromkeys((-(-given[0] // 2), given[0])):
            yield _together(
                f"move {_written(number, given[1])} of {giver.pool} from {giver.queue} to {taker.queue}",
                FREE,
                giver.with_value("guaranteed", _written(given[0] - number, given[1])),
                taker.with_value("guaranteed", _written(taken[0] + number, given[1])),
            )


def _limits(entry: _Entry) -> Iterator[PlannedChange]:
    """Yield twice each limit, and none."""
    own = entry.flavors[entry.index]
    for key in ("borrow", "lend"):
        amount = entry.amount(key)
        if amount and amount[0]:
            text = _written(2 * amount[0], amount[1])
            yield PlannedChange(f"let {entry.queue} {key} {text} of {entry.pool}", FREE, *entry.with_value(key, text))
    if own.get("borrow") != "unlimited":
        values, edit = entry.with_value("borrow", "unlimited")
        yield PlannedChange(f"let {entry.queue} borrow unlimited of {entry.pool}", FREE, values, edit)
    if "lend" in own:
        without = {key: value for key, value in own.items() if key != "lend"}
        yield PlannedChange(
            f"let {entry.queue} lend all of {entry.pool}",
            FREE,
            {entry.path: [*entry.flavors[: entry.index], without, *entry.flavors[entry.index + 1 :]]},
            lambda editor: editor.remove((*entry.path, entry.index, "lend")),
        )


def _reordered(entry: _Entry) -> Iterator[PlannedChange]:
    first, flavors = entry.index, entry.flavors
    if first + 1 < len(flavors):
        order = [*flavors[:first], flavors[first + 1], flavors[first], *flavors[first + 2 :]]
        names = [str(each.get("pool") or each.get("flavor")) for each in order]
        title = f"let {entry.queue} try {names[first]} before {names[first + 1]}"
        yield PlannedChange(title, FREE, {entry.path: order}, lambda editor: editor.swap_items(entry.path, first))


def _weights(editor: YamlEditor) -> Iterator[PlannedChange]:
    """Yield half and twice the weight of each queue, under fair sharing."""
    kueue = editor.effective_value_at(("kueue",))
    if not isinstance(kueue, dict) or "fairSharing" not in kueue:
        return
    for path, name, queue in queue_entries(editor):
        weight = float(queue.get("fairShareWeight", 1))
        for value in (weight / 2, weight * 2) if weight and editor.written_path(path) == path else ():
            yield PlannedChange(
                f"give {name} the weight {value:g}",
                FREE,
                {(*path, "fairShareWeight"): value},
                lambda editor, path=path, value=value: editor.set_value(path, "fairShareWeight", f"{value:g}"),
            )


def _kinds(editor: YamlEditor) -> Iterator[PlannedChange]:
    for name, pool in _section(editor, "pools"):
        written = pool.get("capacity", "on-demand")
        named = next(iter(cast("dict[str, object]", written)), "") if isinstance(written, dict) else written
        for kind in _KINDS.get(str(named), ()):
            yield PlannedChange(
                f"make {name} {kind}",
                FREE,
                {("pools", name, "capacity"): kind},
                lambda editor, name=name, kind=kind: editor.set_value(("pools", name), "capacity", kind),
            )


def _section(editor: YamlEditor, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of a section that are mappings."""
    for name, entry in cast("dict[str, object]", editor.value_at((key,)) or {}).items():
        if isinstance(entry, dict):
            yield name, cast("dict[str, Any]", entry)


def _bought(editor: YamlEditor, entry: _Entry) -> Iterator[PlannedChange]:
    """Yield one more slice or node of a pool, guaranteed to a queue whose jobs wait."""
    pool = dict(_section(editor, "pools")).get(entry.pool, {})
    key = "slices" if "slices" in pool else "nodes"
    amount, count = entry.amount("guaranteed"), pool.get(key)
    number = cast("dict[str, object]", count).get("max") if isinstance(count, dict) else count
    unit = key.removesuffix("s")
    if not isinstance(number, int) or amount is None or (amount[0] and amount[1] != unit):
        return
    path: FieldPath = ("pools", entry.pool, key, "max") if isinstance(count, dict) else ("pools", entry.pool, key)
    yield _together(
        f"buy a {unit} of {entry.pool} for {entry.queue}",
        BUYS,
        (
            {path: number + 1},
            lambda editor: (
                editor.set_value(path[:-1], str(path[-1]), str(number + 1))
                if path[-1] == key
                else editor.replace_value(path, str(number + 1))
            ),
        ),
        entry.with_value("guaranteed", _written(amount[0] + 1, unit)),
    )


def _together(
    title: str, asks_for: int, *parts: tuple[Mapping[FieldPath, object], Callable[[YamlEditor], YamlEditor]]
) -> PlannedChange:
    def edit(editor: YamlEditor) -> YamlEditor:
        for _, each in parts:
            editor = each(editor)
        return editor

    values = {path: value for part, _ in parts for path, value in part.items()}
    return PlannedChange(title, asks_for, values, edit)
