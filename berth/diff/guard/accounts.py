"""Service accounts that a change would delete or replace while nodes run as them, in a diff and in a preview.

A preview does not list every resource that stays as it is. Of a node pool that is not in it, the stack file says which
account its nodes run as. Where neither says it, an adopted pool counts as one that may run as the account of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from berth.diff.guard.allowances import PROTECTED_ON_GKE, GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import plan_of_worker
from berth.diff.guard.preview_steps import REPLACING_OPS, PreviewStep
from berth.diff.kinds import ChangeKind, ResourceChange
from berth.plan.fleet import ExistingClusterPlan, FleetPlan, PoolPlan
from berth.plan.gke import NodePoolPlan
from berth.resource import IN_WORKER, ResourceKind

_COMPONENT_OF_NODES: Final = "berth:gke:NodeServiceAccount$"
"""Stands before the type of the nodes' account in its URN; the accounts of teams have another component."""
_NODE_POOL: Final = PROTECTED_ON_GKE[ResourceKind.NODE_POOL]


def lost_node_accounts(old: FleetPlan, new: FleetPlan, changed: Iterable[ResourceChange]) -> Iterator[GuardedChange]:
    """Yield the deleted accounts as which nodes of the new plan's pools run, or may run.

    Berth deletes the account of nodes when no pool of the plan needs it, and an adopted pool needs none: its nodes keep
    the account of their creation. Nothing allows such a deletion; `serviceAccount` of the pools tells Berth the truth.
    """
    changes = {(change.kind, change.key): change.what for change in changed}
    if changes.get((ResourceKind.NODE_IDENTITY, "nodes")) == ChangeKind.DELETED:
        email = _made_node_account(old)
        if email and (pools := [pool.name for pool in new.own_pools if _may_run_as(email, pool, old)]):
            yield _lost_account(ResourceKind.NODE_IDENTITY, email, pools)
    kept = _team_accounts(new)
    for email in sorted(_team_accounts(old) - kept):
        if pools := [pool.name for pool in new.own_pools if _written_account(pool) == email]:
            yield _lost_account(ResourceKind.TEAM_IDENTITY, email, pools)


def _lost_account(
    kind: ResourceKind,
    email: str,
    pools: list[str],
    action: GuardedAction = GuardedAction.DELETE,
    worker: str | None = None,
) -> GuardedChange:
    """Return the guarded change of an account as which nodes of these pools run."""
    key = f"pools.{pools[0]}.serviceAccount"
    return GuardedChange(kind, email, key, action, parts=tuple(pools), first=True, worker=worker)


def _made_node_account(plan: FleetPlan) -> str | None:
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


# --- in a preview -----------------------------------------------------------------------------------------------------


class _LostAccount(Struct, frozen=True):
    """An account that a step deletes or replaces. `of_nodes` is whether Berth makes it for nodes, not for a team."""

    email: str
    action: GuardedAction
    of_nodes: bool

    def is_needed_by(self, node_pool: NodePoolPlan, step: PreviewStep | None, plan: FleetPlan) -> bool:
        """Return whether nodes that remain run as the account, or may; `step` is that of their node pool, if any."""
        written = node_pool.settings.service_account
        if step is not None and (step.op == "create" or step.op in REPLACING_OPS):
            return self.action == GuardedAction.DELETE and written == self.email
        config: Mapping[str, Any] = _old_values(step).get("nodeConfig") or {} if step is not None else {}
        if actual := config.get("serviceAccount"):
            return str(actual) == self.email
        if written is None and node_pool.adopted:
            return self.of_nodes
        return self.email == (written or _made_node_account(plan))


def accounts_lost_in_preview(steps: Sequence[PreviewStep], plan: FleetPlan) -> Iterator[GuardedChange]:
    """Yield each account that a preview deletes or replaces although nodes of the plan's pools run as it, or may."""
    of_node_pools = {step.name: step for step in steps if step.type == _NODE_POOL.type_token}
    for step in steps:
        action = step.action
        if step.type != "gcp:serviceaccount/account:Account" or action is None:
            continue
        worker, slash, _ = step.name.rpartition(IN_WORKER)
        own_plan = plan_of_worker(plan, worker) if slash else plan
        account = _LostAccount(_email(step), action, _COMPONENT_OF_NODES in step.urn)
        prefix = worker + slash
        pools = [
            pool.name
            for pool in own_plan.own_pools
            if any(
                account.is_needed_by(each, of_node_pools.get(f"{prefix}{each.key}{_NODE_POOL.name_suffix}"), own_plan)
                for each in pool.node_pools
            )
        ]
        if pools:
            kind = ResourceKind.NODE_IDENTITY if account.of_nodes else ResourceKind.TEAM_IDENTITY
            yield _lost_account(kind, account.email, pools, action, worker or None)


def _old_values(step: PreviewStep) -> Mapping[str, Any]:
    """Return the outputs of a resource before the preview; where the engine does not print them, its inputs."""
    return {**step.inputs[0], **((step.old or {}).get("outputs") or {})}


def _email(step: PreviewStep) -> str:
    """Return the address of an account; its name in the program if the preview has no state of it."""
    values = _old_values(step)
    if values.get("email"):
        return str(values["email"])
    if values.get("accountId") and values.get("project"):
        return f"{values['accountId']}@{values['project']}.iam.gserviceaccount.com"
    return step.name
