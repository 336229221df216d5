"""What to worry about although it is sound: capacity nobody can use, guarantees that come late, open doors."""

from __future__ import annotations

from collections import Counter

from berth.diagnostics import Problems, in_words
from berth.plan.existing import ExistingClusterPlan
from berth.plan.kueue import FlavorPlan
from berth.planner.queueing.quota_tree import lendable
from berth.text import span
from berth.validation.quota_claims import Accounts, Claim, Ledger, Promises


def idle_capacity(ledger: Accounts[Promises], found: Problems) -> None:
    """Accelerators that are paid for or allowed, and that no queue can reach."""
    plan = ledger.plan
    used = ledger.tree.ceilings(plan.cluster_queues)
    for flavor in plan.flavors:
        usable = used.get(flavor.name, 0)
        idle = flavor.capacity.max - usable
        if flavor.promised == 0 and flavor.capacity.max:
            whole = f"{span(flavor.capacity)} {flavor.noun}"
            message = f"no queue is guaranteed any of the {whole} of '{flavor.name}': no job can use them"
            found.warning("unpromised", ("pools", flavor.pools[0]), message)
        elif idle > 0:
            message = (
                f"{flavor.promised} of {flavor.capacity.max} {flavor.noun} of '{flavor.name}' promised; "
                f"{idle} that no queue can reach{_kept(ledger, flavor, usable)}"
            )
            found.warning("unpromised", ("pools", flavor.pools[0]), message)


def _kept(ledger: Accounts[Promises], flavor: FlavorPlan, usable: int) -> str:
    """Why less is `usable` than is promised: limits keep queues from what cohorts have beyond their queues."""
    if usable == flavor.promised:
        return ""
    own = in_words([f"{amount} of cohort '{name}'" for name, amount in ledger.own_of_cohorts(flavor.name)])
    return f", for limits keep queues from all or some of the {own} itself; raise borrow, or guarantee less"


def sharing(ledger: Accounts[Promises], found: Problems) -> None:
    """Cohorts with nobody to share with, and guarantees that are lent and never taken back."""
    plan = ledger.plan
    queues = Counter(q.cohort for q in plan.cluster_queues)
    cohorts = Counter(c.parent for c in plan.cohorts)
    for cohort in plan.cohorts:
        members = queues[cohort.name] + cohorts[cohort.name]
        if members < (2 if cohort.parent is None else 1):
            inside = "no queue" if not members else "one queue" if queues[cohort.name] else "one cohort"
            found.warning("lonely-cohort", ("cohorts", cohort.name), f"{inside} in it: there is nobody to share with")
    for claims in ledger.of_queue.values():
        _reclaims(ledger, claims, found)


def teams_without_queues(ledger: Accounts[Promises], found: Problems) -> None:
    """Teams that can submit nothing."""
    for team in ledger.plan.teams:
        if not team.local_queues:
            message = "has no queue, so none of its jobs is ever admitted; write queues, or name it in clusterQueues"
            found.warning("team-without-queue", ("teams", team.name), message)


def _reclaims(ledger: Accounts[Promises], claims: list[Claim], found: Problems) -> None:
    """A guarantee that is lent and never taken back waits for the borrower to finish."""
    queue = claims[0].queue
    if queue.cohort is None or queue.preemption.reclaim_within_cohort != "Never":
        return
    lent = [
        c.flavor for c in claims if lendable(c.quota) and any(o.quota.borrowing_limit != 0 for o in ledger.others(c))
    ]
    if lent:
        message = (
            f"lends {in_words(lent)} and never reclaims: its guarantee waits until borrowers finish; "
            "write reclaimWithinCohort: Any, or lend: 0"
        )
        found.warning("guarantee-not-reclaimed", (*claims[0].path, "preemption"), message)


def exposure(ledger: Ledger, found: Problems) -> None:
    """A control plane open to everybody; slices that an upgrade may interrupt."""
    cluster = ledger.plan.cluster
    if isinstance(cluster, ExistingClusterPlan):
        return
    control = cluster.control_plane
    if control.public_endpoint and control.authorized_networks is None:
        message = "the control plane answers every address; list authorizedNetworks, or write publicEndpoint: false"
        found.warning("open-control-plane", ("cluster", "controlPlane"), message)
    long_jobs = [p.name for p in ledger.plan.pools if p.hosts_per_slice and p.hosts_per_slice > 1]
    if long_jobs and not (cluster.maintenance and cluster.maintenance.exclusions):
        message = (
            f"no maintenance exclusion: an upgrade interrupts jobs on the slices of {in_words(long_jobs)}; "
            "write maintenance.exclusions"
        )
        found.warning("no-maintenance-exclusion", ("cluster", "maintenance"), message)
