"""Service accounts that a preview deletes or replaces while nodes run as them.

A preview does not list every resource that stays as it is. Of a node pool that is not in it, the stack file says which
account its nodes run as. Where neither says it, an adopted pool counts as one that may run as the account of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import plan_of_worker
from berth.diff.guard.node_accounts import lost_account, made_node_account
from berth.diff.guard.preview_file import REPLACING_OPS
from berth.diff.guard.protected import PROTECTED_ON_GKE
from berth.plan.fleet import FleetPlan
from berth.plan.gke import NodePoolPlan
from berth.resource import IN_WORKER, ResourceKind

_ACCOUNT: Final = "gcp:serviceaccount/account:Account"
_COMPONENT_OF_NODES: Final = "berth:gke:NodeServiceAccount$"
"""Stands before the type of the nodes' account in its URN; the accounts of teams have another component."""
_NODE_POOL: Final = PROTECTED_ON_GKE[ResourceKind.NODE_POOL]
_ACTIONS: Final = {**dict.fromkeys(REPLACING_OPS, GuardedAction.REPLACE), "delete": GuardedAction.DELETE}

Step = Mapping[str, Any]


class _LostAccount(Struct, frozen=True):
    """An account that a step deletes or replaces. `of_nodes` is whether Berth makes it for nodes, not for a team."""

    email: str
    action: GuardedAction
    of_nodes: bool

    def is_needed_by(self, node_pool: NodePoolPlan, step: Step | None, plan: FleetPlan) -> bool:
        """Return whether nodes that remain run as the account, or may; `step` is that of their node pool, if any."""
        written = node_pool.settings.service_account
        if step is not None and (step["op"] == "create" or step["op"] in REPLACING_OPS):
            return self.action == GuardedAction.DELETE and written == self.email
        if step is not None and (actual := _account_of_nodes(step)) is not None:
            return actual == self.email
        if written is None and node_pool.adopted:
            return self.of_nodes
        return self.email == (written or made_node_account(plan))


def lost_accounts(steps: Sequence[Step], plan: FleetPlan) -> Iterator[GuardedChange]:
    """Yield each account that a preview deletes or replaces although nodes of the plan's pools run as it, or may."""
    of_node_pools = {_name(step): step for step in steps if _type(step) == _NODE_POOL.type_token}
    for step in steps:
        action = _ACTIONS.get(str(step["op"]))
        if _type(step) != _ACCOUNT or action is None:
            continue
        worker, slash, _ = _name(step).rpartition(IN_WORKER)
        own_plan = plan_of_worker(plan, worker) if slash else plan
        account = _LostAccount(_email(step), action, _COMPONENT_OF_NODES in step["urn"])
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
            yield lost_account(kind, account.email, pools, action, worker or None)


def _type(step: Step) -> str:
    return str(step["urn"]).rpartition("::")[0].rpartition("::")[2].rpartition("$")[2]


def _name(step: Step) -> str:
    return str(step["urn"]).rpartition("::")[2]


def _old_values(step: Step) -> Mapping[str, Any]:
    """Return the outputs of a resource before the preview; where the engine does not print them, its inputs."""
    old: Mapping[str, Any] = step.get("oldState") or {}
    return {**(old.get("inputs") or {}), **(old.get("outputs") or {})}


def _email(step: Step) -> str:
    """Return the address of an account; its name in the program if the preview has no state of it."""
    values = _old_values(step)
    if values.get("email"):
        return str(values["email"])
    if values.get("accountId") and values.get("project"):
        return f"{values['accountId']}@{values['project']}.iam.gserviceaccount.com"
    return _name(step)


def _account_of_nodes(step: Step) -> str | None:
    config: Mapping[str, Any] = _old_values(step).get("nodeConfig") or {}
    account = config.get("serviceAccount")
    return str(account) if account else None
