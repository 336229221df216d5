"""What a backend cannot express: a fault, or a printed loss where `acceptLoss` names it. Never silence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from berth.diagnostics import Path
from berth.planner.context import Draft
from berth.rules.backends import Backend, losses
from berth.spec.ack import AckFleetSpec
from berth.spec.fleet import FleetSpec
from berth.spec.teams import PreemptionSpec, QueueSpec, TeamSpec


class Lost(Struct, frozen=True):
    """Something that somebody wrote and that is lost: the word for it, where it stands, what it says."""

    loss: str
    path: Path
    said: str


def settle(draft: Draft, backend: Backend, found: Iterable[Lost], accepted: tuple[str, ...]) -> None:
    """Tell every loss, as a fault unless it is accepted; and what was accepted for nothing."""
    seen: set[str] = set()
    for each in found:
        seen.add(each.loss)
        because = losses()[each.loss].because
        if each.loss in accepted:
            draft.problems.warning("loss", each.path, f"'{each.said}' is lost, as accepted: {because}")
        else:
            message = f"'{each.said}' cannot be said: {because}; leave it out, or write acceptLoss: [{each.loss}]"
            draft.problems.fault("not-expressible", each.path, message)
    for index, word in enumerate(accepted):
        if word not in seen and not draft.set_aside:
            where = "on ACK" if losses()[word].lost_on == "ack" else "on Kueue"
            other = losses()[word].lost_on != backend
            why = f"it is lost {where} only" if other else "nothing of it is asked for"
            draft.problems.warning("needless-loss", ("acceptLoss", index), f"'{word}': {why}; leave it out")


def on_kueue(spec: FleetSpec) -> Iterator[Lost]:
    """What queues ask for that Kueue has not."""
    for path, queue in _queues(spec):
        if queue.max_jobs is not None:
            yield Lost("max-jobs", (*path, "maxJobs"), str(queue.max_jobs))


def on_ack(spec: AckFleetSpec) -> Iterator[Lost]:
    """What priorities, cohorts, teams and queues ask for that ACK has not."""
    for path, queue in _queues(spec):
        yield from _queue(path, queue)
    yield from _mixed(spec)
    for name, cohort in sorted(spec.cohorts.items()):
        if cohort.fair_share_weight is not None:
            yield Lost("fair-sharing", ("cohorts", name, "fairShareWeight"), f"{cohort.fair_share_weight:g}")
    for name, team in sorted(spec.teams.items()):
        yield from _team(("teams", name), team)


def _queues(spec: FleetSpec | AckFleetSpec) -> Iterator[tuple[Path, QueueSpec]]:
    for name, team in sorted(spec.teams.items()):
        for queue, wanted in sorted(team.queues.items()):
            yield ("teams", name, "queues", queue), wanted
    for name, queue in sorted(spec.cluster_queues.items()):
        yield ("clusterQueues", name), queue


def _queue(path: Path, spec: QueueSpec) -> Iterator[Lost]:
    if len(spec.flavors) > 1:
        names = ", ".join(each.flavor or each.pool or "?" for each in spec.flavors)
        yield Lost("flavor-order", (*path, "flavors"), names)
    if spec.flavor_fungibility is not None:
        yield Lost("flavor-order", (*path, "flavorFungibility"), "flavorFungibility")
    yield from _preemption((*path, "preemption"), spec.preemption)
    said: Mapping[str, tuple[str, object]] = {
        "queueingStrategy": ("queueing-strategy", spec.queueing_strategy if _strict(spec) else None),
        "fairShareWeight": ("fair-sharing", _number(spec.fair_share_weight)),
        "admissionScope": ("fair-sharing", spec.admission_scope and spec.admission_scope.admission_mode),
        "priority": ("workload-priority", spec.priority),
        "stopPolicy": ("state", None if spec.stop_policy == "None" else spec.stop_policy),
    }
    for key, (loss, value) in said.items():
        if value is not None:
            yield Lost(loss, (*path, key), str(value))


def _mixed(spec: AckFleetSpec) -> Iterator[Lost]:
    """Several flavors in one fleet: a quota of one is a quota of any."""
    first: dict[str, Path] = {}
    for member, cluster in sorted(spec.ack.clusters.items()):
        for name, pool in sorted(cluster.node_pools.items()):
            first.setdefault(pool.flavor or name, ("ack", "clusters", member, "nodePools", name))
    for flavor in list(first)[1:]:
        yield Lost("flavor-quotas", first[flavor], f"{flavor} beside {next(iter(first))}")


def _strict(spec: QueueSpec) -> bool:
    return spec.queueing_strategy == "StrictFIFO"


def _number(weight: float | None) -> str | None:
    return None if weight is None else f"{weight:g}"


def _preemption(path: Path, spec: PreemptionSpec) -> Iterator[Lost]:
    if spec.within_cluster_queue != "LowerPriority":
        yield Lost("preemption", (*path, "withinClusterQueue"), spec.within_cluster_queue)
    if spec.reclaim_within_cohort in ("Never", "LowerPriority"):
        yield Lost("reclaim", (*path, "reclaimWithinCohort"), spec.reclaim_within_cohort)
    borrow = spec.borrow_within_cohort
    if borrow is not None and borrow.policy != "Never":
        yield Lost("borrow-within-cohort", (*path, "borrowWithinCohort"), borrow.policy)


def _team(path: Path, spec: TeamSpec) -> Iterator[Lost]:
    written = spec.model_fields_set
    if spec.state != "active":
        yield Lost("state", (*path, "state"), spec.state)
    if spec.groups:
        yield Lost("groups", (*path, "groups"), ", ".join(spec.groups))
    for field, key, loss in (
        ("identity", "identity", "identity"),
        ("network_policy", "networkPolicy", "network-policy"),
        ("pod_security", "podSecurity", "pod-security"),
        ("default_requests", "defaultRequests", "default-requests"),
    ):
        if field in written:
            yield Lost(loss, (*path, key), key)
