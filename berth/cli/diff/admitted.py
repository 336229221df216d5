"""`berth diff --live FILE`: admitted jobs that a change of capacity affects (kubectl get workloads -A -o json)."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import typer
from msgspec import Struct

from berth.cli.arguments import EXIT_FAULTS, print_problems, project_root
from berth.diagnostics import Severity
from berth.diff.changes import Changes
from berth.diff.kinds import ChangeKind
from berth.document import Line, Lines
from berth.jobs.files import read_kubectl_json
from berth.loader.locate import display_path
from berth.plan.fleet import FleetPlan
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.live import RunningWorkload, read_cluster_state

_DELETES_NODES = (ChangeKind.DELETED, ChangeKind.REPLACED, ChangeKind.RECREATED)


class AdmittedJob(Struct, frozen=True):
    """A job that holds `amount` accelerators of a flavor now."""

    job: str
    queue: str
    amount: int


class AffectedFlavor(Struct, frozen=True):
    """A flavor whose admitted jobs lose nodes: `admitted` accelerators now, and `capacity` at most after the change.

    `pools` are those whose nodes are deleted or recreated. `jobs` are in the order in which Kueue preempts: the lowest
    priority first, and of equal ones the newest first.
    """

    flavor: str
    noun: str
    admitted: int
    capacity: int
    pools: tuple[str, ...]
    jobs: tuple[AdmittedJob, ...]


def read_workloads(file: pathlib.Path, plan: FleetPlan) -> tuple[RunningWorkload, ...]:
    """Return the workloads that hold quota in the queues of a plan; print what is wrong with the file, and exit 1."""
    documents, problems = read_kubectl_json(file, display_path(file, project_root()))
    state, state_problems = read_cluster_state(documents, build_simulated_fleet(plan))
    problems += state_problems
    print_problems(problems)
    if any(problem.severity == Severity.FAULT for problem in problems):
        raise typer.Exit(EXIT_FAULTS)
    return tuple(each for each in state.workloads if each.reserved_at is not None)


def admitted_amounts(workloads: Iterable[RunningWorkload], plan: FleetPlan) -> dict[str, int]:
    """Return the accelerators that admitted jobs hold, by flavor, also of flavors that the plan does not have."""
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    held: Counter[str] = Counter()
    for workload in workloads:
        for pod_set, flavors in zip(workload.job.pod_sets, workload.flavors, strict=True):
            for resource, flavor in flavors.items():
                if resource == resources.get(flavor, resource if "/" in resource else None):
                    held[flavor] += pod_set.count * pod_set.requests.get(resource, 0)
    return dict(held)


def affected_flavors(
    old: FleetPlan, new: FleetPlan, changes: Changes, workloads: Sequence[RunningWorkload]
) -> Iterator[AffectedFlavor]:
    """Yield the flavors that hold more than their new capacity, or whose pools lose nodes."""
    capacities = {flavor.name: flavor.capacity.max for flavor in new.flavors}
    affected_pools = {change.pool for change in changes.pools if change.what in _DELETES_NODES and change.hit_nodes}
    for flavor in old.flavors:
        jobs = tuple(_admitted_jobs(workloads, flavor.name, flavor.resource))
        admitted = sum(job.amount for job in jobs)
        pools = tuple(pool for pool in flavor.pools if pool in affected_pools)
        capacity = capacities.get(flavor.name, 0)
        if jobs and (pools or admitted > capacity):
            yield AffectedFlavor(flavor.name, flavor.noun, admitted, capacity, pools, jobs)


def _admitted_jobs(workloads: Sequence[RunningWorkload], flavor: str, resource: str) -> Iterator[AdmittedJob]:
    newest_first = sorted(workloads, key=lambda each: each.reserved_at or "", reverse=True)
    for workload in sorted(newest_first, key=lambda each: each.job.priority):
        pod_sets = zip(workload.job.pod_sets, workload.flavors, strict=True)
        amount = sum(
            pod_set.count * pod_set.requests.get(resource, 0)
            for pod_set, flavors in pod_sets
            if flavors.get(resource) == flavor
        )
        if amount:
            namespace = workload.job.name.partition("/")[0]
            yield AdmittedJob(f"{namespace}/{workload.display_name}", workload.job.queue, amount)


def admitted_block(affected: Sequence[AffectedFlavor]) -> Lines:
    """Return a line for each flavor, with its jobs below it."""
    lines: list[Line] = []
    for each in affected:
        reasons = [f"the nodes of pool {pool} are deleted or recreated" for pool in each.pools]
        if each.admitted > each.capacity:
            reasons.append(f"{each.capacity} remain")
        line = f"{each.flavor}: {each.admitted} {each.noun} are admitted, and {' and '.join(reasons)}"
        lines.append((line, *(f"{job.job}: {job.amount} (queue {job.queue})" for job in each.jobs)))
    return Lines("Admitted jobs affected", lines or ["none"], whole=True)
