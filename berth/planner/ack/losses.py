"""What a fleet on ACK cannot have: settings that ACK cannot express, and quotas without a quota tree.

A fleet without a quota tree is the second variant of the ACK One guide on PyTorchJobs with gang scheduling (page of
2026-06-24): a PropagationPolicy with the custom scheduling type Gang and without `suspension`. No quota limits its
teams, and kube-queue holds none of their jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from berth.diagnostics import FieldPath
from berth.plan.teams import TeamPlan
from berth.planner.backend_losses import UnsupportedSetting, all_queues
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup
from berth.spec.ack import AckFleetSpec
from berth.spec.teams import PreemptionSpec, QueueSpec, TeamSpec


def ack_losses(spec: AckFleetSpec) -> Iterator[UnsupportedSetting]:
    """Yield settings of priorities, cohorts, teams and queues that ACK cannot express."""
    if spec.ack.fleet.quota_tree:
        yield from _quota_losses(spec)
    for name, team in sorted(spec.teams.items()):
        yield from _team_losses(("teams", name), team)


def _quota_losses(spec: AckFleetSpec) -> Iterator[UnsupportedSetting]:
    for path, queue in all_queues(spec):
        yield from _queue_losses(path, queue)
    yield from _mixed_flavor_losses(spec)
    for name, cohort in sorted(spec.cohorts.items()):
        if cohort.fair_share_weight is not None:
            yield UnsupportedSetting(
                "fair-sharing", ("cohorts", name, "fairShareWeight"), f"{cohort.fair_share_weight:g}"
            )


def _queue_losses(path: FieldPath, spec: QueueSpec) -> Iterator[UnsupportedSetting]:
    if len(spec.flavors) > 1:
        names = ", ".join(each.flavor or each.pool or "?" for each in spec.flavors)
        yield UnsupportedSetting("flavor-order", (*path, "flavors"), names, "write one flavor")
    if spec.flavor_fungibility is not None:
        yield UnsupportedSetting("flavor-order", (*path, "flavorFungibility"), "flavorFungibility")
    yield from _preemption_losses((*path, "preemption"), spec.preemption)
    weight = spec.fair_share_weight
    settings: Mapping[str, tuple[str, object]] = {
        "queueingStrategy": ("queueing-strategy", "StrictFIFO" if spec.queueing_strategy == "StrictFIFO" else None),
        "fairShareWeight": ("fair-sharing", None if weight is None else f"{weight:g}"),
        "localQueueWeights": ("fair-sharing", "localQueueWeights" if spec.local_queue_weights else None),
        "admissionScope": ("fair-sharing", spec.admission_scope and spec.admission_scope.admission_mode),
        "priority": ("workload-priority", spec.priority),
        "stopPolicy": ("state", None if spec.stop_policy == "None" else spec.stop_policy),
    }
    for key, (loss, value) in settings.items():
        if value is not None:
            yield UnsupportedSetting(loss, (*path, key), str(value))


def _mixed_flavor_losses(spec: AckFleetSpec) -> Iterator[UnsupportedSetting]:
    """Yield each further flavor of the fleet: ACK's quota does not distinguish flavors."""
    first: dict[str, FieldPath] = {}
    for member, cluster in sorted(spec.ack.clusters.items()):
        for name, pool in sorted(cluster.node_pools.items()):
            first.setdefault(pool.flavor or name, ("ack", "clusters", member, "nodePools", name))
    for flavor in list(first)[1:]:
        written, path = f"{next(iter(first))} and {flavor} as two flavors", first[flavor]
        yield UnsupportedSetting("flavor-quotas", path, written, f"remove the node pool {path[-1]}")


def _preemption_losses(path: FieldPath, spec: PreemptionSpec) -> Iterator[UnsupportedSetting]:
    if spec.within_cluster_queue in ("Never", "LowerOrNewerEqualPriority"):
        yield UnsupportedSetting("preemption", (*path, "withinClusterQueue"), spec.within_cluster_queue)
    if spec.reclaim_within_cohort in ("Never", "LowerPriority"):
        yield UnsupportedSetting("reclaim", (*path, "reclaimWithinCohort"), spec.reclaim_within_cohort)
    borrow = spec.borrow_within_cohort
    if borrow is not None and borrow.policy != "Never":
        yield UnsupportedSetting("borrow-within-cohort", (*path, "borrowWithinCohort"), borrow.policy)


def _team_losses(path: FieldPath, spec: TeamSpec) -> Iterator[UnsupportedSetting]:
    written = spec.model_fields_set
    if spec.state != "active":
        yield UnsupportedSetting("state", (*path, "state"), spec.state)
    if spec.groups:
        yield UnsupportedSetting("groups", (*path, "groups"), ", ".join(spec.groups))
    for field, key, loss in (
        ("identity", "identity", "identity"),
        ("network_policy", "networkPolicy", "network-policy"),
        ("pod_security", "podSecurity", "pod-security"),
        ("default_requests", "defaultRequests", "default-requests"),
    ):
        if field in written:
            yield UnsupportedSetting(loss, (*path, key), key)


def without_quotas(teams: Mapping[str, TeamSpec]) -> dict[str, TeamSpec]:
    """Return the teams without their part of the quota tree, which `report_quotas` reports."""
    return {name: team.model_copy(update={"queues": {}, "cohort": None}) for name, team in teams.items()}


def without_limits(teams: tuple[TeamPlan, ...], planned_flavors: Mapping[str, FlavorGroup]) -> tuple[TeamPlan, ...]:
    """Return the teams with the whole capacity as their ceiling."""
    ceiling = {name: flavor.capacity.max for name, flavor in planned_flavors.items()}
    return tuple(replace(team, ceiling=ceiling) for team in teams)


def report_quotas(context: PlanningContext, spec: AckFleetSpec) -> None:
    """Report cohorts and queues, and jobs that would wait for a quota that does not exist."""
    sections = {"cohorts": spec.cohorts, "clusterQueues": spec.cluster_queues}
    teams = sorted(spec.teams.items())
    for path in [
        *((section,) for section, entries in sections.items() if entries),
        *(("teams", name, "cohort") for name, team in teams if team.cohort is not None),
        *(("teams", name, "queues") for name, team in teams if team.queues),
    ]:
        key = path[-1]
        message = f"'{key}' needs a quota tree, but quotaTree is false in ack.fleet; remove {key}, or quotaTree"
        context.problems.fault("contradiction", path, message)
    if spec.ack.fleet.propagation.suspension:
        context.problems.fault(
            "contradiction",
            ("ack", "fleet", "propagation", "suspension"),
            "'true' holds each job until kube-queue has quota for it, but quotaTree is false in ack.fleet; remove "
            "suspension, or quotaTree",
        )
