"""Service accounts that a change would delete while nodes run as them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.kinds import ChangeKind
from berth.diff.resources import ResourceChange
from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.resource import ResourceKind

NODES = "nodes"
"""The key of the account that Berth makes for nodes."""


def lost_node_accounts(old: FleetPlan, new: FleetPlan, changed: Iterable[ResourceChange]) -> Iterator[GuardedChange]:
    """Yield the deleted accounts as which nodes of the new plan's pools run, or may run.

    Berth deletes the account of nodes when no pool of the plan needs it, and an adopted pool needs none: its nodes keep
    the account of their creation. Nothing allows such a deletion; `serviceAccount` of the pools tells Berth the truth.
    """
    changes = {(change.kind, change.key): change.what for change in changed}
    if changes.get((ResourceKind.NODE_IDENTITY, NODES)) == ChangeKind.DELETED:
        email = made_node_account(old)
        if email and (pools := [pool.name for pool in new.own_pools if _may_run_as(email, pool, old)]):
            yield lost_account(ResourceKind.NODE_IDENTITY, email, pools)
    kept = _team_accounts(new)
    for email in sorted(_team_accounts(old) - kept):
        if pools := [pool.name for pool in new.own_pools if _written_account(pool) == email]:
            yield lost_account(ResourceKind.TEAM_IDENTITY, email, pools)


def lost_account(
    kind: ResourceKind,
    email: str,
    pools: list[str],
    action: GuardedAction = GuardedAction.DELETE,
    worker: str | None = None,
) -> GuardedChange:
    """Return the guarded change of an account as which nodes of these pools run."""
    key = f"pools.{pools[0]}.serviceAccount"
    return GuardedChange(kind, email, key, action, parts=tuple(pools), first=True, worker=worker)


def made_node_account(plan: FleetPlan) -> str | None:
    """Return the address of the account that Berth makes for the nodes of a fleet."""
    account = None if isinstance(plan.cluster, ExistingClusterPlan) else plan.cluster.node_service_account
    return account.email if account is not None else None


def _team_accounts(plan: FleetPlan) -> set[str]:
    """Return the addresses of the accounts that Berth makes for teams."""
    identities = (team.identity for team in plan.teams)
    return {each.impersonates.email for each in identities if each is not None and each.impersonates is not None}


def _written_account(pool: PoolPlan) -> str | None:
    return next((each.settings.service_account for each in pool.node_pools), None)


def _may_run_as(email: str, pool: PoolPlan, old: FleetPlan) -> bool:
    """Return whether the nodes of an adopted pool ran as the account, or the stack file does not write theirs."""
    if not any(each.adopted for each in pool.node_pools):
        return False
    before = {each.key: each for old_pool in old.own_pools for each in old_pool.node_pools}
    ran_as_it = any(
        (was := before.get(each.key)) is not None and not was.adopted and was.settings.service_account in (None, email)
        for each in pool.node_pools
    )
    return ran_as_it or _written_account(pool) in (None, email)
