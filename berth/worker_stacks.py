"""Clusters of workers that another stack of the repository creates: what that stack leaves of its machines.

A manager describes the machines of such a worker. The description is proved here: at most what the other stack has,
less what that one guarantees its own queues, and less what other managers describe.
"""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from berth.diagnostics import FieldPath, Problem, Severity, format_value, join_words
from berth.loader import read_stack
from berth.loader.document import parse
from berth.loader.locate import locate
from berth.loader.text_file import read_text
from berth.plan.existing import cluster_identifier
from berth.plan.fleet import FleetPlan, PoolPlan, WorkerPlan
from berth.planner import plan_fleet
from berth.spec.parse import parse_fleet

if TYPE_CHECKING:
    from berth.diff.changes import ReferrerChange

_Machines = tuple[str, str | None, str]
"""Machine type, topology and capacity: machines that one description can mean. Kueue's flavor on the worker selects and
tolerates by these, so a job for others never runs there."""


class _Room(Struct, frozen=True):
    """What a stack leaves of its machines of one kind, in accelerators: `has` less `promised`, and `used` by others."""

    has: int
    promised: int
    used: dict[str, int]

    @property
    def left(self) -> int:
        return max(0, self.has - self.promised - sum(self.used.values()))

    def describe(self, stack: str) -> str:
        """Return `stack 'far' has 32, guarantees 8 of them itself, and manager 'eu' describes 16`."""
        parts = [f"stack '{stack}' has {self.has}"]
        parts += [f"guarantees {self.promised} of them itself"] if self.promised else []
        parts += [f"manager '{name}' describes {count}" for name, count in sorted(self.used.items())]
        return join_words(parts)


def worker_stack_problems(plan: FleetPlan, root: pathlib.Path) -> Iterator[Problem]:
    """Yield what of the described workers contradicts their stacks, and a note for each that no stack proves."""
    first_worker: dict[str, WorkerPlan] = {}
    for worker in plan.workers:
        if worker.made_here:
            continue
        path = ("workers", worker.name)
        name = stack_here(worker.stack, root)
        if name is None:
            where = (
                f"stack '{worker.stack}' is not in this repository" if worker.stack else "only its kubeconfig is known"
            )
            message = f"its machines are as described, not proved: {where}"
            yield Problem(Severity.NOTE, "not-proved", path, message)
            continue
        other = None if name == plan.stack else read_fleet_plan(name, root)
        if other is None:
            why = "is this stack itself" if name == plan.stack else "has faults, or is no fleet on Google Cloud"
            remedy = "write the stack of another cluster" if name == plan.stack else f"run berth check {name}"
            message = f"'{worker.stack}' {why}; {remedy}"
            yield Problem(Severity.FAULT, "worker-stack", (*path, "stack"), message)
            continue
        if (first := first_worker.setdefault(name, worker)) is not worker:
            if first.stack != worker.stack:  # else the planner says so
                message = (
                    f"'{worker.stack}' is the stack of worker '{first.name}' too; merge their pools into one worker"
                )
                yield Problem(Severity.FAULT, "worker-stack", (*path, "stack"), message)
            continue
        yield from _contradictions(worker, name, other)
        yield from _too_many(plan.stack, worker, name, other, root)


def _contradictions(worker: WorkerPlan, name: str, other: FleetPlan) -> Iterator[Problem]:
    for key in ("project", "region"):
        described, actual = getattr(worker.plan, key), getattr(other, key)
        if described is not None and actual is not None and described != actual:
            message = f"{format_value(described)} contradicts stack '{name}', which has {actual}; write {key}: {actual}"
            yield Problem(Severity.FAULT, "worker-stack", ("workers", worker.name, key), message)


def _too_many(manager: str, worker: WorkerPlan, name: str, other: FleetPlan, root: pathlib.Path) -> Iterator[Problem]:
    managers = dict(_managers_of(name, {manager, name}, root))
    for machines, count in _machines(worker.plan).items():
        room = _room(other, machines, _used_by_managers(managers, name, machines, root))
        if count <= room.left:
            continue
        pool = next(each for each in worker.plan.pools if _kind(each) == machines)
        path = ("workers", worker.name, "pools", pool.name)
        kinds = [_kind(each) for each in other.own_pools if each.accelerator == pool.accelerator]
        if kinds and machines not in kinds:
            yield from _other_machines(path, machines, kinds, name)
            continue
        noun = _noun(worker.plan, pool)
        noun += f" ({', '.join(filter(None, machines))})" if len(set(kinds)) > 1 else ""
        remedy = f"describe at most {room.left}" if room.left else "remove the pool"
        message = f"describes {count} {noun}, but {room.describe(name)}; {remedy}, or guarantee less in stack '{name}'"
        yield Problem(Severity.FAULT, "worker-stack", path, message)


def _other_machines(path: FieldPath, machines: _Machines, kinds: list[_Machines], name: str) -> Iterator[Problem]:
    """Yield each key in which machines differ from the nearest `kinds` of the same accelerator that the stack has."""
    nearest = min(kinds, key=lambda kind: sum(ours != theirs for ours, theirs in zip(machines, kind, strict=True)))
    for key, described, actual in zip(("machineType", "topology", "capacity"), machines, nearest, strict=True):
        if described != actual:
            is_value = actual is not None and actual not in ("reservation", "compute-class")
            remedy = f"write {key}: {actual}" if is_value else "write the keys of that stack's pool"
            message = f"{described or 'none'} contradicts stack '{name}', which has {actual or 'none'}; {remedy}"
            yield Problem(Severity.FAULT, "worker-stack", (*path, key), message)


def _room(plan: FleetPlan, machines: _Machines, used: dict[str, int]) -> _Room:
    flavors = {pool.flavor for pool in plan.own_pools if _kind(pool) == machines}
    promised = sum(flavor.promised for flavor in plan.flavors if flavor.name in flavors)
    return _Room(_machines(plan)[machines], promised, used)


def _used_by_managers(
    managers: Mapping[str, FleetPlan], stack: str, machines: _Machines, root: pathlib.Path
) -> dict[str, int]:
    """Return what each manager describes of a stack's machines."""
    used = {
        name: sum(
            _machines(worker.plan)[machines] for worker in plan.workers if stack_here(worker.stack, root) == stack
        )
        for name, plan in managers.items()
    }
    return {name: count for name, count in used.items() if count}


def _managers_of(stack: str, others: set[str], root: pathlib.Path) -> Iterator[tuple[str, FleetPlan]]:
    for file in sorted(root.glob("Pulumi.*.yaml")):
        name = locate(str(file), root).stack
        text = "" if name in others else read_text(file, str(file), "")
        if isinstance(text, str) and f"/{stack}" in text and (plan := read_fleet_plan(name, root)) is not None:
            yield name, plan


def referrer_changes(old: FleetPlan, new: FleetPlan, root: pathlib.Path) -> Iterator[ReferrerChange]:
    """Yield what a change of a stack leaves managers of the repository whose workers are its cluster."""
    from berth.diff.changes import ReferrerChange
    from berth.diff.entitlements import CountChange

    is_other = cluster_identifier(old.cluster) != cluster_identifier(new.cluster)
    managers = dict(_managers_of(new.stack, {new.stack}, root))
    for name, manager in managers.items():
        others = {other: plan for other, plan in managers.items() if other != name}
        for worker in manager.workers:
            if stack_here(worker.stack, root) != new.stack:
                continue
            for machines, count in _machines(worker.plan).items():
                used = _used_by_managers(others, new.stack, machines, root)
                room = CountChange(*(_room(plan, machines, used).left for plan in (old, new)))
                pool = next(each for each in worker.plan.pools if _kind(each) == machines)
                if room.delta or is_other:
                    yield ReferrerChange(name, worker.name, _noun(worker.plan, pool), room, count, is_other)


def stack_here(reference: str | None, root: pathlib.Path) -> str | None:
    """Return the name of a stack `organization/project/stack` if its file is in this project, else None."""
    project_text = read_text(root / "Pulumi.yaml", "Pulumi.yaml", "")
    if reference is None or isinstance(project_text, Problem):
        return None
    _, project, name = reference.split("/")
    document, _ = parse(project_text, "Pulumi.yaml")
    values: object = document and document.value
    is_here = isinstance(values, dict) and cast("dict[str, object]", values).get("name") == project
    return name if is_here and locate(name, root).file.is_file() else None


def read_fleet_plan(name: str, root: pathlib.Path) -> FleetPlan | None:
    """Return the plan of a fleet on Google Cloud without what it refers to itself; None if it has faults."""
    file, problems = read_stack(name, root)
    if file is None or file.config_key != "berth:fleet" or any(each.severity == Severity.FAULT for each in problems):
        return None
    planned = plan_fleet(file.stack, parsed := parse_fleet(file.fleet, problems))
    is_sound = planned and not any(each.severity == Severity.FAULT for each in (*parsed.problems, *planned.problems))
    return planned.plan if planned and is_sound else None


def _kind(pool: PoolPlan) -> _Machines:
    return pool.machine_type, pool.topology, pool.capacity


def _machines(plan: FleetPlan) -> Counter[_Machines]:
    """Return the largest number of accelerators by kind of machines."""
    counts = Counter[_Machines]()
    for pool in plan.own_pools:
        counts[_kind(pool)] += pool.accelerators.max
    return counts


def _noun(plan: FleetPlan, pool: PoolPlan) -> str:
    return next((each.noun for each in plan.flavors if each.name == pool.flavor), pool.accelerator)
