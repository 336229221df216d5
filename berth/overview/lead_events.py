"""What happens to a team's running jobs when machines go: by loss, failure, upgrade, hold, or a neighbour's return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from berth.diagnostics import join_words
from berth.plan.admission_checks import MAX_RUN_SECONDS
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan, FleetPlan
from berth.plan.gke import MaintenancePlan
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import TeamPlan
from berth.text import abbreviate_names, format_duration

_DAY = len("2026-12-01")
_TIME = slice(len("2026-12-01T"), len("2026-12-01T03:00"))
_WEEKDAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_BOUNDED = ("queued", "flex-start")
"""Capacity whose machines end after a time, whatever runs on them."""


def lead_events(
    plan: FleetPlan, team: TeamPlan, queues: Iterable[ClusterQueuePlan], *, borrows: bool
) -> Iterator[tuple[str, str]]:
    """Yield each event with what it does to a running job of the team; `borrows` says whether a queue may borrow."""
    flavors = {entry.flavor for queue in queues for entry in queue.flavors}
    spot = sorted({pool.name for pool in plan.pools if pool.flavor in flavors and pool.capacity == "spot"})
    yield "spot loss", f"on {abbreviate_names(spot)}: as node failure" if spot else "none of your machines is spot"
    spare = [f"{each.spare} {each.noun} of {each.name}" for each in plan.flavors if each.spare and each.name in flavors]
    where = f"on spare machines ({join_words(spare)}) while some are free" if spare else "on other machines"
    waits = _by_cluster(plan, _recovery)
    yield "node failure", f"its pods there end and start again {where}; {waits}; without restarts left it fails"
    yield (
        "upgrade of nodes",
        f"as node failure, after the pods' grace period; GKE upgrades {_by_cluster(plan, _upgrades)}",
    )
    yield "hold of a queue", "it runs on, and no further job starts; with state drained it is evicted and queued again"
    grace = team.isolation.max_grace
    limit = "its grace period" if grace is None else f"its grace period, at most {grace} s,"
    yield (
        "a neighbour's return",
        f"a job that borrows gets {limit} then waits in the queue and starts again from its checkpoint"
        if borrows
        else "nothing: no queue of yours borrows",
    )


def stays_of_machines(plan: FleetPlan, team: TeamPlan, queue: ClusterQueuePlan) -> Iterator[tuple[str, list[str]]]:
    """Yield the longest time that machines of some flavors of a queue stay, with these flavors."""
    queued = [
        seconds
        for namespace in team.namespaces
        for name, seconds in namespace.run_limits.items()
        if any((door.name, door.namespace) == (name, namespace.name) for door in queue.local_queues)
    ]
    flavors: dict[str, list[str]] = {}
    for flavor in dict.fromkeys(entry.flavor for entry in queue.flavors):
        pools = [pool for pool in plan.pools if pool.flavor == flavor and pool.capacity in _BOUNDED]
        limits = queued if any(pool.capacity == "queued" for pool in pools) else []
        limits = limits or [each.max_run_seconds or MAX_RUN_SECONDS for pool in pools for each in pool.node_pools]
        if pools:
            flavors.setdefault(format_duration(max(limits, default=MAX_RUN_SECONDS)), []).append(flavor)
    yield from flavors.items()


def _by_cluster(plan: FleetPlan, sentence: Callable[[FleetPlan], str]) -> str:
    """Return a sentence about the cluster that runs the jobs; of several clusters, by cluster where they differ."""
    workers = {worker.name: sentence(worker.plan) for worker in plan.workers}
    texts = dict.fromkeys(workers.values() if workers else [sentence(plan)])
    if len(texts) == 1:
        return next(iter(texts))
    return ", and ".join(f"{text} in {join_words([n for n, own in workers.items() if own == text])}" for text in texts)


def _recovery(plan: FleetPlan) -> str:
    """Return how long Kueue keeps the quota of a job that lost pods."""
    if plan.kueue is None:
        return "how long it keeps its quota is a setting of the existing Kueue"
    settings = plan.kueue.pods_ready
    seconds = settings.timeout_seconds if settings.recovery_seconds is None else settings.recovery_seconds
    if not seconds:
        return "it keeps its quota meanwhile"
    return f"unless all are ready again within {format_duration(seconds)}, it is queued again"


def _upgrades(plan: FleetPlan) -> str:
    """Return when GKE upgrades nodes."""
    cluster = plan.cluster
    if isinstance(cluster, ExistingClusterPlan | ExistingGkeClusterPlan):
        return "as the existing cluster is set"
    maintenance = cluster.maintenance
    if maintenance is None:
        return "at any time"
    exclusions = [
        f"from {each.start[:_DAY]} until {each.end[:_DAY] if each.end else 'the end of support'}"
        for each in maintenance.exclusions
        if each.scope != "NO_MINOR_UPGRADES"  # nodes get patches then
    ]
    return _window(maintenance) + (f", but not {join_words(exclusions)}" if exclusions else "")


def _window(maintenance: MaintenancePlan) -> str:
    """Return the window as people say it; a recurrence with other parts than days of the week as it is written."""
    if maintenance.daily_start:
        return f"daily from {maintenance.daily_start} UTC, for 4h"
    if not maintenance.recurrence or not maintenance.start or not maintenance.end:
        return "at any time"
    hours = f"from {maintenance.start[_TIME]} to {maintenance.end[_TIME]} UTC"
    parts = dict(part.split("=", 1) for part in maintenance.recurrence.split(";") if "=" in part)
    days = parts.get("BYDAY", "").split(",")
    if parts == {"FREQ": "DAILY"}:
        return f"daily {hours}"
    if parts.keys() == {"FREQ", "BYDAY"} and parts["FREQ"] == "WEEKLY" and all(day in _WEEKDAYS for day in days):
        return f"every {join_words([_WEEKDAYS[day] for day in days])} {hours}"
    return f"by {maintenance.recurrence} {hours}"
