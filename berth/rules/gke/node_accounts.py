"""Compare the service accounts of node pools that exist with what a stack file writes of adopted pools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.names import node_account_email
from berth.plan.fleet import ExistingGkeClusterPlan, FleetPlan
from berth.text import NODES_WITHOUT_ACCOUNT


def account_contradictions(plan: FleetPlan, node_accounts: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each adopted node pool whose account is another than the stack file's, or would be deleted.

    `node_accounts` maps the node pools that exist to their accounts, in the existing GKE cluster of `plan`.
    """
    made: str | None = None  # the account that Berth made for nodes of this stack, and the plan no longer has
    cluster = plan.cluster
    if isinstance(cluster, ExistingGkeClusterPlan) and cluster.node_service_account is None:
        made = node_account_email(plan.stack, cluster.project)
    adopted = ((pool.name, each) for pool in plan.own_pools for each in pool.node_pools if each.adopted)
    for pool, node_pool in adopted:
        actual, written = node_accounts.get(node_pool.name), node_pool.settings.service_account
        if actual and written not in (None, actual):
            yield (
                f"pools.{pool}.serviceAccount: '{written}', but node pool {node_pool.name} runs as "
                f"{actual}; write serviceAccount: {actual}"
            )
        elif actual and written is None and actual == made:
            yield (
                f"pools.{pool}: node pool {node_pool.name} runs as {actual}, which this update would delete, because "
                f"no pool of the stack file needs it: {NODES_WITHOUT_ACCOUNT}; write serviceAccount: {actual} in "
                f"pools.{pool}"
            )
