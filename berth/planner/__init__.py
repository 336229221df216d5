"""Plan a fleet: turn the parsed stack file (spec) into a plan of every resource. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.diagnostics import FieldPath, Problem
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.planner import backend_losses
from berth.planner.allowances import allowances
from berth.planner.cluster_fleet import plan_cluster_fleet, plan_machines
from berth.planner.context import PlanningContext
from berth.planner.queueing import admission_checks, cohorts, queues
from berth.planner.written_references import check_written_references
from berth.spec.fleet import FleetSpec
from berth.spec.parse import Parsed


class PlanningResult(Struct, frozen=True):
    """A plan of everything without faults, the problems, and where in the stack file each object comes from.

    `complete` is False if faulty entries were omitted, so that a check cannot conclude from what is missing;
    `machines_complete` is the same for machines and the cluster only. `workers` maps each worker to its own
    PlanningResult, with paths of the whole stack file. `made_here` is False for a worker whose cluster exists.
    """

    plan: FleetPlan
    problems: tuple[Problem, ...]
    origins: Mapping[tuple[str, str], FieldPath]
    complete: bool
    machines_complete: bool
    workers: Mapping[str, PlanningResult] = field(default_factory=dict[str, "PlanningResult"])
    made_here: bool = True


_MACHINE_SECTIONS = {"pools", "reservations", "computeClasses", "flavors"}
_MACHINE_CLUSTER_KEYS = {
    "",
    "mode",
    "zones",
    "privateNodes",
    "controlPlane",
    "network",
    "systemPool",
    "nodeAutoProvisioning",
}
"""Sections of the stack file, and keys of the cluster, that determine machines and their addresses."""
_QUEUE_SECTIONS = {"cluster", "cohorts", "teams", "clusterQueues"}
"""The other sections that checks depend on."""


def plan_fleet(stack: str, parsed: Parsed[FleetSpec]) -> PlanningResult | None:
    """Plan the fleet of one stack; None if the file is too faulty to plan anything."""
    if parsed.spec is None:
        return None
    context = _planning_context(stack, parsed.spec, set(parsed.set_aside))
    plan, worker_plans = _plan(context)
    if parsed.set_aside:
        # Defaults stand for what could not be read: what is wrong with them is no second fault.
        context.problems.entries[:] = [each for each in context.problems.entries if not _is_of(parsed, each.path)]
        check_written_references(context, parsed.written)
    faulty_sections = {section for section, _ in context.set_aside}
    machines_complete = _MACHINE_SECTIONS.isdisjoint(faulty_sections) and _MACHINE_CLUSTER_KEYS.isdisjoint(
        n for s, n in context.set_aside if s == "cluster"
    )
    complete = machines_complete and _QUEUE_SECTIONS.isdisjoint(faulty_sections) and not context.incomplete
    workers = {
        w.name: PlanningResult(w.plan, (), origins, complete, machines_complete, made_here=w.made_here)
        for w, origins in worker_plans
    }
    return PlanningResult(plan, tuple(context.problems.entries), context.origins, complete, machines_complete, workers)


def _is_of(parsed: Parsed[FleetSpec], path: FieldPath) -> bool:
    """Return whether a path is in a part of the file that was set aside."""
    section, name = (*map(str, path[:2]), "", "")[:2]
    return (section, "") in parsed.set_aside or (section, name) in parsed.set_aside


def _planning_context(stack: str, spec: FleetSpec, set_aside: set[tuple[str, str]]) -> PlanningContext:
    """Return the context of a fleet; project and region of one in an existing GKE cluster are those of the cluster."""
    existing = spec.cluster.existing
    if existing is None or not existing.is_gke:
        return PlanningContext(stack, spec, set_aside)
    in_cluster = spec.model_copy(update={"project": existing.project, "region": existing.region})
    return PlanningContext(stack, in_cluster, set_aside, written_project=spec.project, written_region=spec.region)


def _plan(context: PlanningContext) -> tuple[FleetPlan, list[tuple[WorkerPlan, Mapping[tuple[str, str], FieldPath]]]]:
    """Return the plan of the fleet, and the plan and origins of each worker."""
    allowances_plan = allowances(context, queues.queue_names(context))
    backend_losses.report_losses(context, "kueue", backend_losses.kueue_losses(context.spec), context.spec.accept_loss)
    cluster_machines = plan_machines(context)
    if context.spec.workers:
        from berth.planner.multikueue import manager_cluster  # only a manager has any

        return manager_cluster.plan_manager(context, cluster_machines, allowances_plan)
    queue_plans = queues.plan_cluster_queues(context, cluster_machines.pools, cluster_machines.flavors)
    cohort_plans = cohorts.plan_cohorts(context, queue_plans, cluster_machines.pools, cluster_machines.flavors)
    plan = plan_cluster_fleet(
        context,
        cluster_machines,
        cluster_machines.flavors,
        queue_plans,
        cohort_plans,
        admission_checks.plan_checks(context, cluster_machines.flavors),
        allowances_plan,
    )
    return plan, []
