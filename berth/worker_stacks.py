"""Clusters of workers that another stack of the repository creates: what that stack leaves of its machines.

A manager describes the machines of such a worker. The description is proved here: at most what the other stack has,
less what that one guarantees its own queues, and less what other managers describe.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from berth.described_pools import (
    DescribedPools,
    PoolDifference,
    PoolNames,
    description_differences,
    machines_of,
    unproved_labels,
    zone_difference,
)
from berth.diagnostics import FieldPath, Problem, Severity, format_value, join_words
from berth.loader import read_stack
from berth.loader.document import parse
from berth.loader.locate import locate, stack_names
from berth.loader.text_file import read_text
from berth.plan.fleet import FleetPlan, PoolPlan, WorkerPlan, cluster_identifier
from berth.planner import plan_fleet
from berth.shared_clusters import objects_made_twice
from berth.spec.parse import parse_fleet
from berth.spec.workers import WorkerSpec

if TYPE_CHECKING:
    from berth.diff.changes import ReferrerChange


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


def worker_stack_problems(plan: FleetPlan, written: Mapping[str, WorkerSpec], root: pathlib.Path) -> Iterator[Problem]:
    """Yield what of the described workers contradicts their stacks, and a note for each that no stack proves.

    `written` are the workers of the stack file. Zones that it does not write follow from the table of zones, so that
    other ones of the stack are a warning.
    """
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
        managers = _managers_of(name, {plan.stack, name}, root)
        machines = [
            *_contradictions(worker, name, other),
            *_too_many(worker, name, other, managers),
            *_other_zones(worker, written.get(worker.name), name, other),
            *_unproved(worker, name, other),
        ]
        yield from machines
        told = {each.path[:4] for each in machines}
        owners = [(f"stack '{name}'", other)]
        owners += [(f"manager '{manager}'", each.plan) for manager, workers in managers.items() for each in workers]
        for owner, owned in owners:  # a pool that is reported has its flavor reported with it
            yield from (each for each in objects_made_twice(worker, owned, owner) if each.path not in told)


def _contradictions(worker: WorkerPlan, name: str, other: FleetPlan) -> Iterator[Problem]:
    for key in ("project", "region"):
        described, actual = getattr(worker.plan, key), getattr(other, key)
        if described is not None and actual is not None and described != actual:
            message = f"{format_value(described)} contradicts stack '{name}', which has {actual}; write {key}: {actual}"
            yield Problem(Severity.FAULT, "worker-stack", ("workers", worker.name, key), message)


def _other_zones(worker: WorkerPlan, written: WorkerSpec | None, name: str, other: FleetPlan) -> Iterator[Problem]:
    """Yield each pool with a zone in which none of the pools that it can be has nodes."""
    meant = DescribedPools(worker, other).meant
    for pool in worker.plan.own_pools:
        actual = sorted({zone for each in other.own_pools if each.name in meant[pool.name] for zone in each.zones})
        in_region = worker.plan.region == other.region  # else the region is what contradicts
        if actual and in_region and not set(pool.zones) <= set(actual):
            spec = written.pools.get(pool.name) if written else None
            severity = Severity.FAULT if spec and (spec.zone or spec.zones) else Severity.WARNING
            path = ("workers", worker.name, "pools", pool.name)
            yield _contradiction(severity, path, name, zone_difference(pool, actual))


def _unproved(worker: WorkerPlan, name: str, other: FleetPlan) -> Iterator[Problem]:
    """Yield a note for each pool that is recognized by labels which no table gives the nodes of the stack."""
    meant = DescribedPools(worker, other).meant
    for pool in worker.plan.own_pools:
        if labels := unproved_labels(pool, (each for each in other.own_pools if each.name in meant[pool.name]), other):
            message = f"whether nodes of stack '{name}' have {labels} is not proved; its jobs run only on nodes that do"
            path = ("workers", worker.name, "pools", pool.name, "nodeLabels")
            yield Problem(Severity.NOTE, "not-proved", path, message)


def _too_many(
    worker: WorkerPlan, name: str, other: FleetPlan, managers: Mapping[str, Sequence[WorkerPlan]]
) -> Iterator[Problem]:
    """Yield each pool that the stack does not have, or has less of than described, here and by other `managers`."""
    machines = DescribedPools(worker, other)
    for pool in worker.plan.own_pools:
        if not machines.meant[pool.name]:
            path = ("workers", worker.name, "pools", pool.name)
            yield from _differences_from_stack(path, pool, _noun(worker.plan, pool), name, other)
    others = _described_by_managers(managers, other)
    for pools in machines.sets(names for parts in others.values() for part in parts for names in part.meant.values()):
        room = _room(other, pools, others)
        count = machines.accelerators(pools)
        if count <= room.left:
            continue
        pool = machines.within(pools)[0]
        noun = _noun(worker.plan, pool)
        kinds = {machines_of(each) for each in other.own_pools if each.accelerator == pool.accelerator}
        noun += f" ({', '.join(filter(None, machines_of(pool)))})" if len(kinds) > 1 else ""
        remedy = f"describe at most {room.left}" if room.left else "remove the pool"
        message = f"describes {count} {noun}, but {room.describe(name)}; {remedy}, or guarantee less in stack '{name}'"
        yield Problem(Severity.FAULT, "worker-stack", ("workers", worker.name, "pools", pool.name), message)
        return  # what is too much of these pools is too much of more pools too


def _differences_from_stack(
    path: FieldPath, pool: PoolPlan, noun: str, name: str, other: FleetPlan
) -> Iterator[Problem]:
    """Yield each key in which a described pool differs from the nearest one of the stack with its accelerator."""
    candidates = [each for each in other.own_pools if each.accelerator == pool.accelerator]
    if not candidates:
        described = f"describes {pool.accelerators.max} {noun}, but stack '{name}' has 0"
        message = f"{described}; remove the pool, or guarantee less in stack '{name}'"
        yield Problem(Severity.FAULT, "worker-stack", path, message)
        return
    differences = min((list(description_differences(pool, each, other)) for each in candidates), key=len)
    for each in differences:
        yield _contradiction(Severity.FAULT, path, name, each)


def _contradiction(severity: Severity, path: FieldPath, name: str, each: PoolDifference) -> Problem:
    message = f"{each.described or 'none'} contradicts stack '{name}', which has {each.actual or 'none'}; {each.remedy}"
    return Problem(severity, "worker-stack", (*path, each.key) if each.key else path, message)


def _room(plan: FleetPlan, pools: PoolNames, others: Mapping[str, Sequence[DescribedPools]]) -> _Room:
    """Return what these pools of a stack have, what its queues are guaranteed of them, and what managers describe."""
    own = [pool for pool in plan.own_pools if pool.name in pools]
    flavors = {pool.flavor for pool in own}
    promised = sum(flavor.promised for flavor in plan.flavors if flavor.name in flavors)
    used = {name: sum(part.accelerators(pools) for part in parts) for name, parts in others.items()}
    has = sum(pool.accelerators.max for pool in own)
    return _Room(has, promised, {name: count for name, count in used.items() if count})


def _described_by_managers(
    managers: Mapping[str, Sequence[WorkerPlan]], plan: FleetPlan
) -> dict[str, list[DescribedPools]]:
    """Return what each manager describes of a stack, whose plan is `plan`."""
    return {name: [DescribedPools(each, plan) for each in workers] for name, workers in managers.items()}


def _managers_of(stack: str, others: set[str], root: pathlib.Path) -> dict[str, list[WorkerPlan]]:
    """Return the managers of the repository except `others`, with their workers that are the cluster of a stack."""
    found: dict[str, list[WorkerPlan]] = {}
    for name in stack_names(root):
        file = locate(name, root).file
        text = "" if name in others else read_text(file, str(file), "")
        if isinstance(text, str) and f"/{stack}" in text and (plan := read_fleet_plan(name, root)) is not None:
            found[name] = [each for each in plan.workers if stack_here(each.stack, root) == stack]
    return found


def referrer_changes(old: FleetPlan, new: FleetPlan, root: pathlib.Path) -> Iterator[ReferrerChange]:
    """Yield what a change of a stack leaves managers of the repository whose workers are its cluster."""
    from berth.diff.changes import ReferrerChange
    from berth.diff.entitlements import CountChange

    is_other = cluster_identifier(old.cluster) != cluster_identifier(new.cluster)
    managers = _managers_of(new.stack, {new.stack}, root)
    for name, workers in managers.items():
        others = {other: theirs for other, theirs in managers.items() if other != name}
        used = [_described_by_managers(others, plan) for plan in (old, new)]
        for worker in workers:
            sides = [DescribedPools(worker, plan) for plan in (old, new)]
            kinds: dict[tuple[PoolNames, PoolNames], list[PoolPlan]] = {}
            for pool in worker.plan.own_pools:
                kinds.setdefault((sides[0].meant[pool.name], sides[1].meant[pool.name]), []).append(pool)
            for meant, pools in kinds.items():
                lefts = (_room(*each).left for each in zip((old, new), meant, used, strict=True))
                room, count = CountChange(*lefts), sum(pool.accelerators.max for pool in pools)
                if room.delta or is_other:
                    yield ReferrerChange(name, worker.name, _noun(worker.plan, pools[0]), room, count, is_other)


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


def _noun(plan: FleetPlan, pool: PoolPlan) -> str:
    return next((each.noun for each in plan.flavors if each.name == pool.flavor), pool.accelerator)
