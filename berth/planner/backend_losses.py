"""Report settings that a backend cannot express: as faults, or as warnings if `acceptLoss` lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from berth.diagnostics import FieldPath
from berth.planner.context import PlanningContext
from berth.rules.backends import Backend, concepts_by_loss
from berth.spec.ack import AckFleetSpec
from berth.spec.fleet import FleetSpec
from berth.spec.teams import PreemptionSpec, QueueSpec, TeamSpec


class UnsupportedSetting(Struct, frozen=True):
    """A setting that the backend cannot express: its loss (value of acceptLoss), path and written value.

    `remedy` is what to do; without one, the key is removed.
    """

    loss: str
    path: FieldPath
    written: str
    remedy: str = ""


def report_losses(
    context: PlanningContext, backend: Backend, unsupported: Iterable[UnsupportedSetting], accepted: tuple[str, ...]
) -> None:
    """Report every loss, as a fault unless it is accepted, and warn of entries of acceptLoss without a loss."""
    seen: set[str] = set()
    for setting in unsupported:
        seen.add(setting.loss)
        because = concepts_by_loss()[setting.loss].because
        if setting.loss in accepted:
            message = f"'{setting.written}' has no effect, because {because}; accepted by acceptLoss"
            context.problems.warning("loss", setting.path, message)
        else:
            remedy = setting.remedy or f"remove {setting.path[-1]}"
            message = (
                f"'{setting.written}' is not supported, because {because}; {remedy}, or add {setting.loss} to the "
                "top-level list acceptLoss"
            )
            context.problems.fault("not-expressible", setting.path, message)
    for index, loss in enumerate(accepted):
        if loss not in seen and not context.set_aside:
            where = "ACK" if concepts_by_loss()[loss].lost_on == "ack" else "Kueue"
            is_other_backend = concepts_by_loss()[loss].lost_on != backend
            reason = f"only {where} does not support it" if is_other_backend else "no setting needs it"
            context.problems.warning(
                "needless-loss", ("acceptLoss", index), f"'{loss}' is not needed: {reason}; remove it from acceptLoss"
            )


def kueue_losses(spec: FleetSpec) -> Iterator[UnsupportedSetting]:
    """Yield settings of queues that Kueue cannot express."""
    for path, queue in _all_queues(spec):
        if queue.max_jobs is not None:
            yield UnsupportedSetting("max-jobs", (*path, "maxJobs"), str(queue.max_jobs))


def ack_losses(spec: AckFleetSpec) -> Iterator[UnsupportedSetting]:
    """Yield settings of priorities, cohorts, teams and queues that ACK cannot express."""
    if spec.ack.fleet.quota_tree:
        yield from _quota_losses(spec)
    for name, team in sorted(spec.teams.items()):
        yield from _team_losses(("teams", name), team)


def _quota_losses(spec: AckFleetSpec) -> Iterator[UnsupportedSetting]:
    for path, queue in _all_queues(spec):
        yield from _queue_losses(path, queue)
    yield from _mixed_flavor_losses(spec)
    for name, cohort in sorted(spec.cohorts.items()):
        if cohort.fair_share_weight is not None:
            yield UnsupportedSetting(
                "fair-sharing", ("cohorts", name, "fairShareWeight"), f"{cohort.fair_share_weight:g}"
            )


def _all_queues(spec: FleetSpec | AckFleetSpec) -> Iterator[tuple[FieldPath, QueueSpec]]:
    for name, team in sorted(spec.teams.items()):
        for queue, queue_spec in sorted(team.queues.items()):
            yield ("teams", name, "queues", queue), queue_spec
    for name, queue in sorted(spec.cluster_queues.items()):
        yield ("clusterQueues", name), queue


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
    if spec.within_cluster_queue != "LowerPriority":
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
