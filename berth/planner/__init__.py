"""What does it exactly mean? A spec becomes a plan: pure, total, and in one direction."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.diagnostics import Path, Problem
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.planner import backend_losses
from berth.planner.allowances import allowances
from berth.planner.cluster_fleet import cluster_fleet, machines
from berth.planner.context import Draft
from berth.planner.queueing import admission_checks, cohorts, queues
from berth.spec.parse import Parsed


class Planned(Struct, frozen=True):
    """A plan of everything that could be planned, what was found on the way, and where each queue came from.

    `complete` is False where entries had to be left out: what a proof then finds missing may only be set aside. So is
    `machines_complete`, for what concerns machines and the cluster alone. `workers` are the same of each worker, by
    name; their paths are the fleet's. `made_here` is False of a worker whose machines somebody else made.
    """

    plan: FleetPlan
    problems: tuple[Problem, ...]
    origins: Mapping[tuple[str, str], Path]
    complete: bool
    machines_complete: bool
    workers: Mapping[str, Planned] = field(default_factory=dict[str, "Planned"])
    made_here: bool = True


_MACHINES = {"pools", "reservations", "computeClasses", "flavors"}
_OF_MACHINES = {"", "mode", "zones", "privateNodes", "controlPlane", "network", "systemPool", "nodeAutoProvisioning"}
"""Sections, and keys of the cluster, that say what machines there are and what room for them."""
_QUEUES = {"cluster", "cohorts", "teams", "clusterQueues"}
"""The other sections that proofs argue from."""


def plan_fleet(stack: str, parsed: Parsed) -> Planned | None:
    """Plan the fleet of one stack; None where not even its frame could be understood."""
    if parsed.spec is None:
        return None
    draft = Draft(stack, parsed.spec, set(parsed.set_aside))
    plan, there = _plan(draft)
    lost = {section for section, _ in draft.set_aside}
    machines = _MACHINES.isdisjoint(lost) and _OF_MACHINES.isdisjoint(n for s, n in draft.set_aside if s == "cluster")
    complete = machines and _QUEUES.isdisjoint(lost) and not draft.incomplete
    inside = {w.name: Planned(w.plan, (), origins, complete, machines, made_here=w.made_here) for w, origins in there}
    return Planned(plan, tuple(draft.problems.found), draft.origins, complete, machines, inside)


def _plan(draft: Draft) -> tuple[FleetPlan, list[tuple[WorkerPlan, Mapping[tuple[str, str], Path]]]]:
    """The fleet, and each worker with where its things come from."""
    allowed = allowances(draft, queues.names(draft))
    backend_losses.settle(draft, "kueue", backend_losses.on_kueue(draft.spec), draft.spec.accept_loss)
    here = machines(draft)
    if draft.spec.workers:
        from berth.planner.multikueue import manager_cluster  # only a manager has any

        return manager_cluster.managed(draft, here, allowed)
    asked = queues.cluster_queues(draft, here.pools, here.flavors)
    shared = cohorts.cohorts(draft, asked, here.pools, here.flavors)
    plan = cluster_fleet(
        draft, here, here.flavors, asked, shared, admission_checks.checks(draft, here.flavors), allowed
    )
    return plan, []
