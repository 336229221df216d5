"""The steps of a rotation: stack-file edits in an order in which no promise is broken, one pull request each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from berth.diagnostics import Path
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.rotate.yaml_editor import NotEdited, Sheet

BESIDE, IN_PLACE = "beside", "in place"


class Step(Struct, frozen=True):
    """One pull request: what it does, what to wait for once it is deployed, its edits as a unified diff, and the faults
    that its stack file would have (none: it may be deployed)."""

    title: str
    then: str
    difference: str
    faults: tuple[str, ...]


def way(plan: FleetPlan, pool: PoolPlan) -> str:
    """Beside, where machines can be had twice: not those of a reservation."""
    return IN_PLACE if pool.reservation is not None or pool.made_by == "gke" else BESIDE


def rotate(sheet: Sheet, plan: FleetPlan, pool: PoolPlan, changes: Mapping[str, str], how: str) -> list[Step]:
    """The steps that replace a pool, with `changes` (key → YAML text of the pool's entry) made on the way.

    Raises NotEdited where an edit cannot be made without a person.
    """
    edits = _beside(plan, pool, changes) if how == BESIDE else _in_place(sheet, plan, pool, changes)
    steps: list[Step] = []
    for title, then, edit in edits:
        after = edit(sheet)
        faults = tuple(fault.line() for fault in after.verdict().faults)
        steps.append(Step(title, then, after.difference(sheet), faults))
        sheet = after
    return steps


Edit = tuple[str, str, Callable[[Sheet], Sheet]]


# --- the old pool goes before the new one comes -----------------------------------------------------------------------


def _in_place(sheet: Sheet, plan: FleetPlan, pool: PoolPlan, changes: Mapping[str, str]) -> Iterator[Edit]:
    if not changes:
        raise NotEdited(f"say what {pool.name} is to have instead: --set topology=4x4")
    behind = [queue.name for queue in plan.cluster_queues if any(e.flavor == pool.flavor for e in queue.flavors)]

    stopped = _running(sheet, behind)

    def drain(sheet: Sheet) -> Sheet:
        for path in stopped:
            sheet = sheet.put(path, "stopPolicy", "HoldAndDrain")
        return sheet

    def replace(sheet: Sheet) -> Sheet:
        sheet = _allow(sheet, "allowReplacement", pool.name, "rotation")
        for key, value in changes.items():
            sheet = sheet.put(("pools", pool.name), key, value)
        return sheet

    def resume(sheet: Sheet) -> Sheet:
        for path in stopped:
            sheet = sheet.take((*path, "stopPolicy"))
        return _disallow(sheet, "allowReplacement", pool.name)

    queues = ", ".join(behind) or "no queue"
    yield f"hold and drain {queues}", "wait until no workload of these queues is admitted", drain
    yield f"replace {pool.name}", "wait until its nodes are ready", replace
    yield f"resume {queues}", "done", resume


# --- the new pool comes before the old one goes -----------------------------------------------------------------------


def _beside(plan: FleetPlan, pool: PoolPlan, changes: Mapping[str, str]) -> Iterator[Edit]:
    new = f"{pool.name}-next"
    flavor = new if _KIND & changes.keys() else pool.flavor

    def add(sheet: Sheet) -> Sheet:
        sheet = sheet.copy(("pools", pool.name), new)
        for key, value in {**changes, "flavor": flavor}.items():
            sheet = sheet.put(("pools", new), key, value)
        return sheet

    def move(sheet: Sheet) -> Sheet:
        for path, word in _mentions(sheet, pool):
            sheet = sheet.replace((*path, word), new if word == "pool" else flavor)
        return _allow(sheet, "allowDeletion", pool.name, f"rotated to {new}")

    def remove(sheet: Sheet) -> Sheet:
        return _disallow(sheet.take(("pools", pool.name)), "allowDeletion", pool.name)

    yield f"add {new} beside {pool.name}", f"wait until the nodes of {new} are ready", add
    one = f" (both are the flavor {flavor}: cordon the old nodes)" if flavor == pool.flavor else ""
    yield f"move the queues to {new}", f"wait until nothing runs on {pool.name} any more{one}", move
    yield f"take {pool.name} out", "done", remove


_KIND = {"machineType", "topology", "capacity", "accelerator", "gpuSharing", "gpuPartition", "labels", "taints"}
"""Keys of a pool that make its machines another kind, which is another flavor."""


def _allow(sheet: Sheet, section: str, key: str, reason: str) -> Sheet:
    """With an allowance, beside those that are there."""
    if sheet.value((section,)):
        return sheet.put((section,), key, f'"{reason}"')
    return sheet.put((), section, f'{{{key}: "{reason}"}}')


def _disallow(sheet: Sheet, section: str, key: str) -> Sheet:
    alone = sheet.value((section,)) == {key: sheet.value((section, key))}
    return sheet.take((section,) if alone else (section, key))


def _running(sheet: Sheet, names: list[str]) -> list[Path]:
    """Where those of the cluster queues were written that are not stopped anyway."""
    return [path for path, name, queue in _written(sheet) if name in names and "stopPolicy" not in queue]


def _mentions(sheet: Sheet, pool: PoolPlan) -> list[tuple[Path, str]]:
    """Every entry of a queue's flavors that names the pool or its flavor, with the word by which it does."""
    found: list[tuple[Path, str]] = []
    for path, _, queue in _written(sheet):
        entries: list[dict[str, Any]] = queue.get("flavors") or []
        for index, entry in enumerate(entries):
            if entry.get("pool") == pool.name:
                found.append(((*path, "flavors", index), "pool"))
            elif entry.get("flavor") == pool.flavor:
                found.append(((*path, "flavors", index), "flavor"))
    return found


def _written(sheet: Sheet) -> Iterator[tuple[Path, str, Mapping[str, Any]]]:
    """Every queue as it was written: where, Kueue's name, and the entry."""
    for team, entry in _entries(sheet.value(("teams",))):
        for key, queue in _entries(entry.get("queues")):
            yield ("teams", team, "queues", key), queue.get("name") or f"{team}-{key}", queue
    for key, queue in _entries(sheet.value(("clusterQueues",))):
        yield ("clusterQueues", key), queue.get("name") or key, queue


def _entries(section: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of a section; an empty one is an empty mapping."""
    for key, entry in cast("dict[str, dict[str, Any] | None]", section or {}).items():
        yield key, entry or {}
