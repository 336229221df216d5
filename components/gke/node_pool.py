"""Node pools of a Standard cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import NodeNetworkPlan, PlacementPlan
from berth.plan.nodes import Bounds
from components.gke.node_config import node_config

_TIMEOUT: Final = "2h"
"""Timeouts of the provider; GKE continues after them. Large slices and drained nodes take an hour."""
_DEFAULT_ZONES: Final = 3
"""Number of zones that GKE chooses for a regional cluster without zones."""

_SLICE_FIELDS: Final = ("placementPolicy", "nodeConfig.machineType", "nodeLocations")
"""Fields of a slice that are immutable. The provider has no update of a topology: it would show the change forever and
try to resize the slice, which GKE refuses."""

_CREATION_FIELDS: Final = (
    *("nodeConfig.serviceAccount", "nodeConfig.oauthScopes", "nodeConfig.diskType", "nodeConfig.gvnic"),
    *("nodeConfig.gcfsConfig", "nodeConfig.workloadMetadataConfig", "nodeConfig.shieldedInstanceConfig"),
    *("nodeConfig.confidentialNodes", "nodeConfig.labels", "nodeConfig.taints", "nodeConfig.kubeletConfig"),
    *("nodeConfig.linuxNodeConfig", "networkConfig", "maxPodsPerNode", "management", "upgradeSettings"),
    *("nodeConfig.flexStart", "nodeConfig.maxRunDuration"),
)
"""Settings that an adopted pool keeps, because a change would replace it or recreate its nodes, or because the provider
does not read them."""

_SSD_FIELDS: Final = ("nodeConfig.ephemeralStorageLocalSsdConfig", "nodeConfig.localNvmeSsdBlockConfig")
"""SSDs that machine types include. GKE reports them, and the provider would replace the pool to remove them."""


class NodePool(pulumi.ComponentResource):
    """A node pool as in its plan.

    Owns the pool. Does not own its reservation, placement policy or networks, which are deleted after it, or the number
    of nodes if it is autoscaled. `reservation`, `placement_policy` and `interfaces` (network and subnetwork, in the
    plan's order) are live names of resources of the same program, so that the pool is created after them.
    """

    def __init__(
        self,
        name: str,
        plan: NodePoolPlan,
        *,
        cluster: pulumi.Input[str],
        location: pulumi.Input[str],
        service_account: pulumi.Input[str] | None,
        reservation: pulumi.Input[str] | None = None,
        placement_policy: pulumi.Input[str] | None = None,
        interfaces: Sequence[tuple[pulumi.Input[str], pulumi.Input[str]]] = (),
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:NodePool", name, None, opts)
        arguments = _arguments(plan, cluster)
        arguments.location = location
        arguments.placement_policy = _placement(plan, placement_policy)
        arguments.node_config = node_config(plan, service_account, reservation)
        arguments.network_config = _network(plan, interfaces)
        pool = gcp.container.NodePool(f"{name}-pool", arguments, opts=self._options(plan, depends_on))
        self.pool_name: pulumi.Output[str] = pool.name
        self.register_outputs({"poolName": self.pool_name})

    def _options(self, plan: NodePoolPlan, depends_on: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=self,
            protect=plan.protect,
            # The name is fixed, and there are no accelerators for a second pool.
            delete_before_replace=True,
            replace_on_changes=_replace_on_changes(plan) or None,
            ignore_changes=_ignore_changes(plan),
            custom_timeouts=pulumi.CustomTimeouts(create=_TIMEOUT, update=_TIMEOUT, delete=_TIMEOUT),
            depends_on=[*depends_on],
        )


def _arguments(plan: NodePoolPlan, cluster: pulumi.Input[str]) -> gcp.container.NodePoolArgs:
    """Return the arguments that depend only on the plan."""
    return gcp.container.NodePoolArgs(
        name=plan.name,
        cluster=cluster,
        node_locations=sorted(plan.zones) or None,
        node_count=plan.nodes_per_zone,
        initial_node_count=_initial_node_count(plan),
        autoscaling=_autoscaling(plan),
        max_pods_per_node=plan.max_pods_per_node,
        queued_provisioning=_queued(plan),
        management=_management(plan),
        upgrade_settings=_upgrades(plan),
    )


# --- options ----------------------------------------------------------------------------------------------------------


def _replace_on_changes(plan: NodePoolPlan) -> list[str]:
    """Return fields that the provider shows as an update but does not update, so that it would show them forever."""
    if plan.slice_topology is not None:
        return [*_SLICE_FIELDS]
    return [*_SLICE_FIELDS[:1]] if plan.placement is not None else []


def _ignore_changes(plan: NodePoolPlan) -> list[str]:
    """Return fields that GKE changes, such as the initial count of a resized pool, which would replace it."""
    autoscaled = plan.total_nodes is not None or plan.zone_nodes is not None
    counts = ["initialNodeCount", "nodeCount"] if autoscaled else ["initialNodeCount"]
    ssds = _SSD_FIELDS if plan.attached_ssds and plan.local_ssd is None else ()
    return [*counts, *ssds, *(_creation_fields(plan) if plan.adopted else ())]


def _creation_fields(plan: NodePoolPlan) -> Sequence[str]:
    """Return what an adopted pool keeps: also its GPU driver, and its affinity unless it names a reservation."""
    affinity = () if plan.reservation is not None else ("nodeConfig.reservationAffinity",)
    drivers = ("nodeConfig.guestAccelerators",) if plan.gpu is not None else ()
    return (*_CREATION_FIELDS, *affinity, *drivers)


# --- size -------------------------------------------------------------------------------------------------------------


def _initial_node_count(plan: NodePoolPlan) -> int | None:
    """Return the initial nodes per zone: enough for the minimum, unless that in every zone exceeds the maximum."""
    if plan.zone_nodes is not None:
        return plan.zone_nodes.min
    if plan.total_nodes is None:
        return None
    total, zones = plan.total_nodes, len(plan.zones) or _DEFAULT_ZONES
    per_zone = -(-total.min // zones)
    return per_zone if per_zone * zones <= total.max else total.max // zones


def _autoscaling(plan: NodePoolPlan) -> gcp.container.NodePoolAutoscalingArgs | None:
    # A slice is atomic. It has one zone, so limits per zone equal total limits, which this provider does not
    # support for every kind of TPU pool.
    per_zone = plan.zone_nodes or (plan.total_nodes if plan.slice_topology is not None else None)
    if per_zone is not None:
        return gcp.container.NodePoolAutoscalingArgs(
            min_node_count=per_zone.min, max_node_count=per_zone.max, location_policy=plan.location_policy
        )
    return None if plan.total_nodes is None else _total_autoscaling(plan.total_nodes, plan.location_policy)


def _total_autoscaling(total: Bounds, location_policy: str | None) -> gcp.container.NodePoolAutoscalingArgs:
    return gcp.container.NodePoolAutoscalingArgs(
        total_min_node_count=total.min, total_max_node_count=total.max, location_policy=location_policy
    )


# --- provisioning, placement and upgrades -----------------------------------------------------------------------------


def _queued(plan: NodePoolPlan) -> gcp.container.NodePoolQueuedProvisioningArgs | None:
    return gcp.container.NodePoolQueuedProvisioningArgs(enabled=True) if plan.queued else None


def _placement(
    plan: NodePoolPlan, policy: pulumi.Input[str] | None
) -> gcp.container.NodePoolPlacementPolicyArgs | None:
    placement = plan.placement
    if placement is None and plan.slice_topology is not None:
        placement = PlacementPlan(type="COMPACT", tpu_topology=plan.slice_topology)
    if placement is None:
        return None
    return gcp.container.NodePoolPlacementPolicyArgs(
        type=placement.type,
        policy_name=placement.policy if policy is None else policy,
        tpu_topology=placement.tpu_topology,
    )


def _management(plan: NodePoolPlan) -> gcp.container.NodePoolManagementArgs:
    return gcp.container.NodePoolManagementArgs(auto_repair=plan.auto_repair, auto_upgrade=True)


def _upgrades(plan: NodePoolPlan) -> gcp.container.NodePoolUpgradeSettingsArgs | None:
    if plan.upgrade is None:
        return None
    return gcp.container.NodePoolUpgradeSettingsArgs(
        strategy="SURGE", max_surge=plan.upgrade.max_surge, max_unavailable=plan.upgrade.max_unavailable
    )


# --- network ----------------------------------------------------------------------------------------------------------


def _network(
    plan: NodePoolPlan, live_interfaces: Sequence[tuple[pulumi.Input[str], pulumi.Input[str]]]
) -> gcp.container.NodePoolNetworkConfigArgs | None:
    network = plan.network
    if network == NodeNetworkPlan():
        return None
    interfaces = live_interfaces or [(each.network, each.subnetwork) for each in network.interfaces]
    return gcp.container.NodePoolNetworkConfigArgs(
        enable_private_nodes=network.private_nodes,
        pod_range=network.pod_range,
        accelerator_network_profile=network.accelerator_profile,
        additional_node_network_configs=_interfaces(interfaces) or None,
    )


def _interfaces(
    interfaces: Sequence[tuple[pulumi.Input[str], pulumi.Input[str]]],
) -> list[gcp.container.NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs]:
    return [
        gcp.container.NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs(network=network, subnetwork=subnetwork)
        for network, subnetwork in interfaces
    ]
