"""Node pools of a Standard cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi
import pulumi_gcp as gcp

from components.gke.auto_provisioning import SCOPE
from components.plan.gke import GpuPlan, NodePoolPlan
from components.plan.nodes import Bounds

_EFFECTS: Final = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
"""Taint effects: Kubernetes' spelling to the Google API's, which is the only one that the provider takes."""

_DEFAULT_ZONES: Final = 3
"""The zones that GKE picks for a regional cluster that names none."""

_ONE_PIECE: Final = ["placementPolicy", "nodeConfig.machineType", "nodeLocations"]
"""What a slice cannot change in place. The provider has no update for a topology: it would show the change for ever and
try to resize the slice, which GKE refuses."""


class NodePool(pulumi.ComponentResource):
    """A node pool that is exactly what its plan says.

    Owns the pool. Does not own its reservation, which outlives it, nor the number of its nodes once it is autoscaled.
    `reservation` is the live name of a reservation that this program makes too: the pool is then made after it and
    deleted before it.
    """

    def __init__(
        self,
        name: str,
        plan: NodePoolPlan,
        *,
        cluster: pulumi.Input[str],
        location: pulumi.Input[str],
        service_account: pulumi.Input[str],
        gcp_provider: gcp.Provider,
        reservation: pulumi.Input[str] | None = None,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:NodePool", name, None, opts)
        pool = gcp.container.NodePool(
            f"{name}-pool",
            name=plan.name,
            cluster=cluster,
            location=location,
            node_locations=sorted(plan.zones) or None,
            node_count=plan.nodes_per_zone,
            initial_node_count=None if plan.total_nodes is None else _at_first(plan.total_nodes, len(plan.zones)),
            autoscaling=None if plan.total_nodes is None else _autoscaling(plan, plan.total_nodes),
            placement_policy=_placement(plan),
            node_config=_node(plan, service_account, reservation),
            management=gcp.container.NodePoolManagementArgs(auto_repair=True, auto_upgrade=True),
            upgrade_settings=_upgrades(plan),
            opts=self._options(plan, gcp_provider, depends_on),
        )
        self.pool_name: pulumi.Output[str] = pool.name
        self.register_outputs({"poolName": self.pool_name})

    def _options(
        self, plan: NodePoolPlan, provider: gcp.Provider, depends_on: Sequence[pulumi.Resource]
    ) -> pulumi.ResourceOptions:
        # GKE rewrites the initial count when a pool is resized, and the provider would replace the pool to mend that.
        autoscaled = plan.total_nodes is not None
        return pulumi.ResourceOptions(
            parent=self,
            provider=provider,
            protect=plan.protect,
            # The name is fixed, and there is no second set of accelerators to build the new pool from.
            delete_before_replace=True,
            replace_on_changes=None if plan.slice_topology is None else [*_ONE_PIECE],
            ignore_changes=["initialNodeCount", "nodeCount"] if autoscaled else ["initialNodeCount"],
            custom_timeouts=pulumi.CustomTimeouts(create="30m", update="20m"),
            depends_on=[*depends_on],
        )


def _at_first(total: Bounds, zones: int) -> int:
    """Nodes for each zone at creation: enough for the minimum, unless as many in every zone would pass the maximum."""
    zones = zones or _DEFAULT_ZONES
    enough = -(-total.min // zones)
    return enough if enough * zones <= total.max else total.max // zones


def _autoscaling(plan: NodePoolPlan, total: Bounds) -> gcp.container.NodePoolAutoscalingArgs:
    if plan.slice_topology is not None:
        # All or nothing. A slice has one zone, so limits for each zone say the same; those for the whole pool do not
        # reach every kind of TPU pool through this provider.
        return gcp.container.NodePoolAutoscalingArgs(
            min_node_count=total.min, max_node_count=total.max, location_policy=plan.location_policy
        )
    return gcp.container.NodePoolAutoscalingArgs(
        total_min_node_count=total.min, total_max_node_count=total.max, location_policy=plan.location_policy
    )


def _placement(plan: NodePoolPlan) -> gcp.container.NodePoolPlacementPolicyArgs | None:
    if plan.slice_topology is None:
        return None
    return gcp.container.NodePoolPlacementPolicyArgs(type="COMPACT", tpu_topology=plan.slice_topology)


def _upgrades(plan: NodePoolPlan) -> gcp.container.NodePoolUpgradeSettingsArgs:
    """One node at a time. It is drained first where no machine can be had beside it, else replaced before it goes.

    No machine can be had beside a slice, whose hosts are wired together (GKE makes all of it anew whatever is said
    here), nor beside a pool that fills its reservation: a surge node would wait for one without end.
    """
    in_place = plan.slice_topology is not None or plan.reservation is not None
    return gcp.container.NodePoolUpgradeSettingsArgs(
        strategy="SURGE", max_surge=0 if in_place else 1, max_unavailable=1 if in_place else 0
    )


def _node(
    plan: NodePoolPlan, service_account: pulumi.Input[str], reservation: pulumi.Input[str] | None
) -> gcp.container.NodePoolNodeConfigArgs:
    return gcp.container.NodePoolNodeConfigArgs(
        machine_type=plan.machine_type,
        spot=plan.spot,
        reservation_affinity=_affinity(plan, reservation),
        guest_accelerators=None if plan.gpu is None else [_gpu(plan.gpu)],
        labels=dict(sorted(plan.labels.items())),
        taints=_taints(plan),
        disk_type=plan.disk_type,
        disk_size_gb=plan.disk_size_gb,
        service_account=service_account,
        oauth_scopes=[SCOPE],
        gvnic=gcp.container.NodePoolNodeConfigGvnicArgs(enabled=True),
        gcfs_config=gcp.container.NodePoolNodeConfigGcfsConfigArgs(enabled=plan.image_streaming),
        workload_metadata_config=gcp.container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
        shielded_instance_config=gcp.container.NodePoolNodeConfigShieldedInstanceConfigArgs(
            enable_secure_boot=plan.secure_boot, enable_integrity_monitoring=True
        ),
    )


def _affinity(
    plan: NodePoolPlan, reservation: pulumi.Input[str] | None
) -> gcp.container.NodePoolNodeConfigReservationAffinityArgs:
    """By name, or none at all: left out, Google would use up any open reservation that happens to match."""
    if plan.reservation is None:
        return gcp.container.NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")
    return gcp.container.NodePoolNodeConfigReservationAffinityArgs(
        consume_reservation_type="SPECIFIC_RESERVATION",
        key="compute.googleapis.com/reservation-name",
        values=[plan.reservation if reservation is None else reservation],
    )


def _gpu(plan: GpuPlan) -> gcp.container.NodePoolNodeConfigGuestAcceleratorArgs:
    driver = gcp.container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
        gpu_driver_version=plan.driver_version
    )
    return gcp.container.NodePoolNodeConfigGuestAcceleratorArgs(
        type=plan.type, count=plan.count, gpu_driver_installation_config=driver
    )


def _taints(plan: NodePoolPlan) -> list[gcp.container.NodePoolNodeConfigTaintArgs]:
    return [
        gcp.container.NodePoolNodeConfigTaintArgs(key=taint.key, value=taint.value, effect=_EFFECTS[taint.effect])
        for taint in sorted(plan.taints, key=lambda taint: (taint.key, taint.value, taint.effect))
    ]
