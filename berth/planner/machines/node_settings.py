"""Network settings of nodes that follow from the cluster."""

from __future__ import annotations

from berth.plan.node_settings import NodeNetworkPlan
from berth.spec.cluster import ClusterSpec


def default_node_network(spec: ClusterSpec) -> NodeNetworkPlan:
    """Return the network settings of nodes in the cluster's network: whether they are private, if the cluster sets it.

    If it is not set, nodes of existing pools do not change with the cluster's default.
    """
    return NodeNetworkPlan(private_nodes=spec.private_nodes if "private_nodes" in spec.model_fields_set else None)
