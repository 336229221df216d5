"""Warnings on valid plans: unusable capacity, guarantees that others take or keep, an open control plane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from berth.diagnostics import Problems, join_words
from berth.plan.capacity import kept_accelerators
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.kueue import FlavorPlan
from berth.plan.teams import TeamPlan
from berth.planner.queueing.quota_tree import lendable
from berth.planner.tenancy.shared_machines import teams_by_flavor
from berth.text import format_range
from berth.upgrade.holes import describe_open_holes
from berth.validation.quota_claims import FleetQuotaClaims, FleetQuotas, QuotaClaim, QuotaClaims
from berth.validation.reachability import cohort_quota


def warn_idle_capacity(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Warn of accelerators that no queue can use, although they are paid for or may be created."""
    plan = claims.plan
    ceilings = claims.tree.ceilings(plan.cluster_queues)
    for flavor in plan.flavors:
        usable = ceilings.get(flavor.name, 0)
        kept = kept_accelerators((each for team in plan.teams for each in team.buffers), flavor.name)
        idle = flavor.shared - kept - usable
        if flavor.capacity.max and not flavor.shared:
            message = f"all {flavor.capacity.max} {flavor.noun} of flavor '{flavor.name}' are spare, so no job can use "
            message += "them; write fewer spares"
            problems.warning("unpromised", ("pools", flavor.pools[0], "spares"), message)
        elif flavor.promised == 0 and flavor.capacity.max:
            capacity = f"{format_range(flavor.capacity)} {flavor.noun}"
            borrowers = [c.queue.cohort for queue in claims.by_queue.values() for c in queue if c.flavor == flavor.name]
            remedy = "write guaranteed in a queue, or remove the pool"
            if cohort := next(filter(None, borrowers), None):
                remedy = cohort_quota(cohort, flavor.name)
            message = f"no queue is guaranteed any of the {capacity} of flavor '{flavor.name}', so no job can use them"
            message += f"; {remedy}"
            problems.warning("unpromised", ("pools", flavor.pools[0]), message)
        elif idle > 0:
            message = (
                f"no queue can use {idle} of the {flavor.capacity.max} {flavor.noun} of flavor '{flavor.name}': "
                f"{flavor.promised} are guaranteed"
            )
            if usable == flavor.promised:
                message += f"; guarantee more, {_kept_spare(plan, flavor, idle)}or remove nodes"
            else:  # limits exclude a cohort's own quota
                own = join_words([f"{amount} of cohort '{name}'" for name, amount in claims.cohort_quotas(flavor.name)])
                message += f", but limits keep queues from some or all of the {own} itself; raise borrow, or "
                message += "guarantee less"
            problems.warning("unpromised", ("pools", flavor.pools[0]), message)


def _kept_spare(plan: FleetQuotas, flavor: FlavorPlan, idle: int) -> str:
    """Return how to keep idle machines spare, where one pool has a fixed number of them and whole ones are idle."""
    pools = plan.pools if isinstance(plan, FleetPlan) else ()
    pool = next((pool for pool in pools if pool.name == flavor.pools[0]), None)
    if pool is None:
        return ""
    count = pool.slices or pool.nodes
    spares = Fraction((flavor.spare + idle) * count.max, pool.accelerators.max)
    if len(flavor.pools) > 1 or count.min != count.max or spares.denominator > 1:
        return ""
    return f"write pools.{pool.name}.spares: {spares} if they shall replace failed ones, "


def warn_sharing(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Warn of cohorts with fewer than two members, and of guarantees that are lent but never reclaimed."""
    plan = claims.plan
    queue_counts = Counter(q.cohort for q in plan.cluster_queues)
    cohort_counts = Counter(c.parent for c in plan.cohorts)
    for cohort in plan.cohorts:
        members = queue_counts[cohort.name] + cohort_counts[cohort.name]
        if members < (2 if cohort.parent is None else 1):
            content = "no queue" if not members else "one queue" if queue_counts[cohort.name] else "one cohort"
            message = f"has {content}, so nothing is shared; add a queue to it, or remove the cohort"
            problems.warning("lonely-cohort", ("cohorts", cohort.name), message)
    for queue_claims in claims.by_queue.values():
        _warn_no_reclaim(claims, queue_claims, problems)


def warn_teams_without_queues(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Warn of teams that have no queue for their jobs."""
    for team in claims.plan.teams:
        if not team.local_queues:
            message = (
                "has no queue, so none of its jobs is ever admitted; write queues, or add the team to a queue of "
                "clusterQueues"
            )
            problems.warning("team-without-queue", ("teams", team.name), message)


def _warn_no_reclaim(claims: QuotaClaims[FleetQuotas], queue_claims: list[QuotaClaim], problems: Problems) -> None:
    """Warn of a queue that lends and never reclaims: its guarantee has to wait until the borrower finishes."""
    queue = queue_claims[0].queue
    if queue.cohort is None or queue.preemption.reclaim_within_cohort != "Never":
        return
    lent_flavors = [
        c.flavor
        for c in queue_claims
        if lendable(c.quota) and any(o.quota.borrowing_limit != 0 for o in claims.competing_claims(c))
    ]
    if lent_flavors:
        message = (
            f"lends {join_words(lent_flavors)} but never reclaims it: its own jobs wait until borrowers finish; "
            "write reclaimWithinCohort: Any, or lend: 0"
        )
        problems.warning("guarantee-not-reclaimed", (*queue_claims[0].path, "preemption"), message)


def warn_pod_preemption(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Warn of priorities whose pods kube-scheduler lets preempt pods of other teams, which Kueue has admitted.

    Pods that end still hold nodes that Kueue counts as free: until they are gone, the pods of a job within its quota
    preempt any pod of lower priority, also of another team's guaranteed job.
    """
    plan = claims.plan
    values = {each.name: each.value for each in plan.priorities}
    unnamed = next((each.value for each in plan.priorities if each.default), 0)
    allowed = {team.name: _pod_priorities(team, values) for team in plan.teams}
    lowest = {team: min((unnamed, *(values[name] for name in names))) for team, names in allowed.items()}
    shared = {flavor: teams for flavor, teams in teams_by_flavor(plan.cluster_queues).items() if len(teams) > 1}
    for priority in plan.priorities:
        if not priority.preempts:
            continue
        lost: dict[str, set[str]] = {}
        for flavor, teams in shared.items():
            own = [team for team in teams if priority.name in allowed[team]]
            lower = {team for team in teams if lowest[team] < priority.value}
            if own and (losers := lower if len(own) > 1 else lower - {*own}):
                lost[flavor] = losers
        if lost:
            losers = join_words(sorted(set[str]().union(*lost.values())))
            message = (
                f"its pods preempt pods of {losers} on {join_words(sorted(lost))} whenever nodes are full, even of "
                "jobs within a guarantee; write preempts: false, and only Kueue preempts for it"
            )
            problems.warning("preempts-other-teams", ("priorities", priority.name), message)


def _pod_priorities(team: TeamPlan, known: Iterable[str]) -> set[str]:
    """Return the priorities that the pods of a team may have in any of its namespaces."""
    allowed = [team.pod_priorities(each.name) for each in team.namespaces]
    return set(known) if None in allowed else {name for names in allowed for name in names or ()}


def warn_known_holes(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report known holes of the stack's Kueue that its teams can use, in one warning."""
    plan = claims.plan
    version = plan.kueue_release
    if version is not None and plan.teams and (message := describe_open_holes(version, plan)):
        problems.warning("known-hole", ("kueue", "version"), message)


def warn_exposure(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Warn of a control plane open to every address, and of slices that an upgrade may interrupt."""
    cluster = claims.plan.cluster
    if not isinstance(cluster, ClusterPlan):
        return
    warn_open_control_plane(cluster, problems)
    pools = claims.plan.pools
    slices = [p.name for p in pools if p.hosts_per_slice and p.hosts_per_slice > 1]
    # GKE leaves running flex-start nodes alone, and no source says so of other queued nodes.
    others = [p for p in pools if p.capacity == "queued" and p.name not in slices]
    queued = [p.name for p in others if not any(each.flex_start for each in p.node_pools)]
    named = {"slices": slices, "queued nodes": queued}
    long_jobs = [f"jobs on {what} of {join_words(names)}" for what, names in named.items() if names]
    if long_jobs and not (cluster.maintenance and cluster.maintenance.exclusions):
        message = f"has no exclusion: an upgrade interrupts {join_words(long_jobs)}; write maintenance.exclusions"
        problems.warning("no-maintenance-exclusion", ("cluster", "maintenance"), message)


def warn_open_control_plane(cluster: ClusterPlan, problems: Problems) -> None:
    """Warn of a control plane that answers every address."""
    control = cluster.control_plane
    if control.ip_endpoint and control.public_endpoint and control.authorized_networks is None:
        message = "the control plane is open to every address; write authorizedNetworks, or publicEndpoint: false"
        problems.warning("open-control-plane", ("cluster", "controlPlane"), message)


def warn_emptied_buffers(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Warn of buffers on machines that queues of other teams can use up: pods that start there use the buffer's room.

    Queues of a flavor together never use more than its guarantees, so a buffer beside them stays.
    """
    plan = claims.plan
    sharing = teams_by_flavor(plan.cluster_queues)
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    buffers = [(team, each) for team in plan.teams for each in team.buffers if each.flavor is not None]
    kept = {name: kept_accelerators((each for _, each in buffers), name) for name in flavors}
    for team, buffer in buffers:
        flavor = flavors[buffer.flavor or ""]
        room = flavor.shared - kept[flavor.name]
        others = sharing.get(flavor.name, set()) - {team.name}
        if not others or not kept[flavor.name] or flavor.promised <= room:
            continue
        message = (
            f"jobs and services of {join_words(sorted(others))} start on these nodes too, and queues are guaranteed "
            f"{flavor.promised} of the {flavor.shared} {flavor.noun} of flavor '{flavor.name}': when all are used, the "
            f"buffer is empty; guarantee at most {room}"
        )
        problems.warning("capacity-buffer-shared", ("teams", team.name, "capacityBuffers", buffer.name), message)
