"""What to worry about although it is sound: capacity nobody can use, guarantees that come late, open doors."""

from __future__ import annotations

from collections import Counter

from berth.diagnostics import Problems, join_words
from berth.plan.existing import ExistingClusterPlan
from berth.plan.kueue import FlavorPlan
from berth.planner.queueing.quota_tree import lendable
from berth.text import format_range
from berth.validation.quota_claims import FleetQuotaClaims, FleetQuotas, QuotaClaim, QuotaClaims


def warn_idle_capacity(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Accelerators that are paid for or allowed, and that no queue can reach."""
    plan = claims.plan
    ceilings = claims.tree.ceilings(plan.cluster_queues)
    for flavor in plan.flavors:
        usable = ceilings.get(flavor.name, 0)
        idle = flavor.capacity.max - usable
        if flavor.promised == 0 and flavor.capacity.max:
            capacity = f"{format_range(flavor.capacity)} {flavor.noun}"
            message = f"no queue is guaranteed any of the {capacity} of '{flavor.name}': no job can use them"
            problems.warning("unpromised", ("pools", flavor.pools[0]), message)
        elif idle > 0:
            message = (
                f"{flavor.promised} of {flavor.capacity.max} {flavor.noun} of '{flavor.name}' promised; "
                f"{idle} that no queue can reach{_limits_explanation(claims, flavor, usable)}"
            )
            problems.warning("unpromised", ("pools", flavor.pools[0]), message)


def _limits_explanation(claims: QuotaClaims[FleetQuotas], flavor: FlavorPlan, usable: int) -> str:
    """Why less is `usable` than is promised: limits keep queues from what cohorts have beyond their queues."""
    if usable == flavor.promised:
        return ""
    cohort_amounts = join_words([f"{amount} of cohort '{name}'" for name, amount in claims.cohort_quotas(flavor.name)])
    return f", for limits keep queues from all or some of the {cohort_amounts} itself; raise borrow, or guarantee less"


def warn_sharing(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Cohorts with nobody to share with, and guarantees that are lent and never taken back."""
    plan = claims.plan
    queue_counts = Counter(q.cohort for q in plan.cluster_queues)
    cohort_counts = Counter(c.parent for c in plan.cohorts)
    for cohort in plan.cohorts:
        members = queue_counts[cohort.name] + cohort_counts[cohort.name]
        if members < (2 if cohort.parent is None else 1):
            content = "no queue" if not members else "one queue" if queue_counts[cohort.name] else "one cohort"
            problems.warning(
                "lonely-cohort", ("cohorts", cohort.name), f"{content} in it: there is nobody to share with"
            )
    for queue_claims in claims.by_queue.values():
        _warn_no_reclaim(claims, queue_claims, problems)


def warn_teams_without_queues(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Teams that can submit nothing."""
    for team in claims.plan.teams:
        if not team.local_queues:
            message = "has no queue, so none of its jobs is ever admitted; write queues, or name it in clusterQueues"
            problems.warning("team-without-queue", ("teams", team.name), message)


def _warn_no_reclaim(claims: QuotaClaims[FleetQuotas], queue_claims: list[QuotaClaim], problems: Problems) -> None:
    """A guarantee that is lent and never taken back waits for the borrower to finish."""
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
            f"lends {join_words(lent_flavors)} and never reclaims: its guarantee waits until borrowers finish; "
            "write reclaimWithinCohort: Any, or lend: 0"
        )
        problems.warning("guarantee-not-reclaimed", (*queue_claims[0].path, "preemption"), message)


def warn_exposure(claims: FleetQuotaClaims, problems: Problems) -> None:
    """A control plane open to everybody; slices that an upgrade may interrupt."""
    cluster = claims.plan.cluster
    if isinstance(cluster, ExistingClusterPlan):
        return
    control = cluster.control_plane
    if control.ip_endpoint and control.public_endpoint and control.authorized_networks is None:
        message = "the control plane answers every address; list authorizedNetworks, or write publicEndpoint: false"
        problems.warning("open-control-plane", ("cluster", "controlPlane"), message)
    long_jobs = [p.name for p in claims.plan.pools if p.hosts_per_slice and p.hosts_per_slice > 1]
    if long_jobs and not (cluster.maintenance and cluster.maintenance.exclusions):
        message = (
            f"no maintenance exclusion: an upgrade interrupts jobs on the slices of {join_words(long_jobs)}; "
            "write maintenance.exclusions"
        )
        problems.warning("no-maintenance-exclusion", ("cluster", "maintenance"), message)
