"""Compare the service accounts of node pools that exist with what a stack file writes of adopted pools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.names import node_account_email
from berth.plan.existing import ExistingGkeClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import NodePoolPlan
from berth.text import NODES_WITHOUT_ACCOUNT


def account_contradictions(plan: FleetPlan, node_accounts: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each adopted node pool whose account is another than the stack file's, or would be deleted.

    `node_accounts` maps the node pools that exist to their accounts, in the existing GKE cluster of `plan`.
    """
    for pool in plan.own_pools:
        for node_pool in pool.node_pools:
            actual = node_accounts.get(node_pool.name)
            if node_pool.adopted and actual:
                yield from _contradiction(plan, pool.name, node_pool, actual)


def _contradiction(plan: FleetPlan, pool: str, node_pool: NodePoolPlan, actual: str) -> Iterator[str]:
    written = node_pool.settings.service_account
    if written not in (None, actual):
        yield (
            f"pools.{pool}.serviceAccount: '{written}', but node pool {node_pool.name} runs as "
            f"{actual}; write serviceAccount: {actual}"
        )
    elif written is None and _is_no_longer_made(plan, actual):
        yield (
            f"pools.{pool}: node pool {node_pool.name} runs as {actual}, which this update would delete, because no "
            f"pool of the stack file needs it: {NODES_WITHOUT_ACCOUNT}; write serviceAccount: {actual} in pools.{pool}"
        )


def _is_no_longer_made(plan: FleetPlan, account: str) -> bool:
    """Return whether Berth made an account for the nodes of this stack, and the plan no longer has it."""
    cluster = plan.cluster
    if not isinstance(cluster, ExistingGkeClusterPlan) or cluster.node_service_account is not None:
        return False
    return account == node_account_email(plan.stack, cluster.project)
