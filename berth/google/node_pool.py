"""A node pool of a Standard cluster, and the policies that say how accelerators of several nodes are wired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from berth.google.node_config import node_config
from berth.plan.capacity import WorkloadPolicyPlan
from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import NodeNetworkPlan, PlacementPlan
from berth.registration import Registration, without_none
from berth.spec.machines.pools import NodeSettings

_TIMEOUT: Final = "2h"
"""Timeouts of the provider; GKE continues after them. Large slices and drained nodes take an hour."""
_DEFAULT_ZONES: Final = 3
"""Number of zones that GKE chooses for a regional cluster without zones."""

_SLICE_FIELDS: Final = ("placementPolicy", "nodeConfig.machineType", "nodeLocations")
"""Fields of a slice that are immutable. The provider has no update of a topology: it would show the change forever and
try to resize the slice, which GKE refuses. The first is one of every pool with a placement."""

CREATION_FIELDS: Final = (
    *("nodeConfig.serviceAccount", "nodeConfig.oauthScopes", "nodeConfig.diskType", "nodeConfig.gvnic"),
    *("nodeConfig.gcfsConfig", "nodeConfig.workloadMetadataConfig", "nodeConfig.shieldedInstanceConfig"),
    *("nodeConfig.confidentialNodes", "nodeConfig.labels", "nodeConfig.taints", "nodeConfig.kubeletConfig"),
    *("nodeConfig.linuxNodeConfig", "networkConfig", "maxPodsPerNode", "management", "upgradeSettings"),
    *("nodeConfig.flexStart", "nodeConfig.maxRunDuration", "nodeConfig.preemptible", "nodeConfig.nodeGroup"),
    *("nodeConfig.soleTenantConfig", "nodeConfig.localSsdEncryptionMode", "nodeConfig.enableConfidentialStorage"),
    "nodeConfig.fastSocket",
)
"""Settings that an adopted pool keeps, because a change would replace it or recreate its nodes, or because the provider
does not read them."""

_POLICY_TYPE: Final = "placementPolicy.type"
"""GKE stores no type beside the policy of a TPU7x slice (vllm-project/ci-infra#547, 2026-09-11). The provider has no
update of it, so the type that the program sends would replace the pool at every update."""

_POLICY_TOPOLOGY: Final = "placementPolicy.tpuTopology"
"""A slice of another tool may have its topology in its policy alone; sending it too would replace the pool."""

_SSD_FIELDS: Final = ("nodeConfig.ephemeralStorageLocalSsdConfig", "nodeConfig.localNvmeSsdBlockConfig")
"""SSDs that machine types include. GKE reports them, and the provider would replace the pool to remove them."""


def node_pool(
    plan: NodePoolPlan,
    *,
    cluster: object,
    location: object,
    service_account: object,
    reservation: object = None,
    placement_policy: object = None,
    interfaces: Sequence[tuple[object, object]] = (),
    boot_disk_key: object = None,
) -> Registration:
    """Return what a node pool is registered with.

    The keyword arguments are names, or references to resources of the same program: its cluster, the account of nodes
    without one of their own, and the reservation, policy and interfaces (network and subnetwork, in the plan's order)
    that the plan has by name. `boot_disk_key` is a key of Cloud KMS that the plan does not know.
    """
    settings = plan.settings
    immutable = _SLICE_FIELDS if plan.slice_topology is not None else _SLICE_FIELDS[:1] if plan.placement else ()
    return Registration(
        type="gcp:container/nodePool:NodePool",
        arguments=without_none(
            {
                "name": plan.name,
                "cluster": cluster,
                "location": location,
                "node_locations": sorted(plan.zones) or None,
                "node_count": plan.nodes_per_zone,
                "initial_node_count": _initial_node_count(plan),
                "autoscaling": _autoscaling(plan),
                "max_pods_per_node": settings.max_pods_per_node,
                "queued_provisioning": {"enabled": True} if plan.queued else None,
                "placement_policy": _placement_policy(plan, placement_policy),
                "management": {"auto_repair": plan.auto_repair, "auto_upgrade": True},
                "upgrade_settings": _upgrade_settings(settings),
                "version": settings.version,
                "maintenance_policies": [{"exclusion_until_end_of_supports": [{"enabled": True}]}]
                if settings.exclusion_until_end_of_support
                else None,
                "network_config": _network_config(plan, interfaces),
                "node_config": node_config(plan, service_account, reservation, boot_disk_key),
            }
        ),
        protect=plan.protect,
        # The name is fixed, and there are no accelerators for a second pool.
        delete_before_replace=True,
        replace_on_changes=immutable,
        ignore_changes=_ignore_changes(plan),
        timeout=_TIMEOUT,
    )


def _upgrade_settings(settings: NodeSettings) -> dict[str, Any] | None:
    surge, blue_green = settings.surge, settings.blue_green
    if blue_green is None:
        return surge and {
            "strategy": "SURGE",
            "max_surge": surge.max_surge,
            "max_unavailable": surge.max_unavailable,
        }
    batch_soak, pool_soak = (
        None if each is None else f"{each}s"
        for each in (blue_green.batch_soak_duration, blue_green.node_pool_soak_duration)
    )
    batches = {"batch_node_count": blue_green.batch_node_count, "batch_soak_duration": batch_soak}
    settings_of_it = {"standard_rollout_policy": batches, "node_pool_soak_duration": pool_soak}
    return {"strategy": "BLUE_GREEN", "blue_green_settings": settings_of_it}


def _ignore_changes(plan: NodePoolPlan) -> tuple[str, ...]:
    """Return fields that GKE changes, such as the initial count of a resized pool, which would replace it.

    An adopted pool also keeps its GPU driver, and its affinity unless it names a reservation.
    """
    autoscaled = plan.total_nodes is not None or plan.zone_nodes is not None
    ignored = ("initialNodeCount", "nodeCount") if autoscaled else ("initialNodeCount",)
    if plan.placement is not None and plan.placement.policy is not None:
        ignored += (_POLICY_TYPE,)
    if plan.attached_ssds and plan.settings.local_ssd is None:
        ignored += _SSD_FIELDS
    if plan.adopted:
        affinity = () if plan.reservation is not None else ("nodeConfig.reservationAffinity",)
        drivers = ("nodeConfig.guestAccelerators",) if plan.gpu is not None else ()
        # A pool of slices of one host may have a topology, which taking away would replace it.
        placement = ("placementPolicy",) if plan.placement is None and plan.slice_topology is None else ()
        if plan.placement is not None and plan.placement.policy is not None:
            placement = (_POLICY_TOPOLOGY,)
        ignored += (*CREATION_FIELDS, *affinity, *drivers, *placement)
    return ignored


def _initial_node_count(plan: NodePoolPlan) -> int | None:
    """Return the initial nodes per zone: enough for the minimum, unless that in every zone exceeds the maximum."""
    if plan.zone_nodes is not None:
        return plan.zone_nodes.min
    if plan.total_nodes is None:
        return None
    total, zones = plan.total_nodes, len(plan.zones) or _DEFAULT_ZONES
    per_zone = -(-total.min // zones)
    return per_zone if per_zone * zones <= total.max else total.max // zones


def _autoscaling(plan: NodePoolPlan) -> dict[str, Any] | None:
    """Return the limits of an autoscaled pool.

    A slice is atomic. It has one zone, so limits per zone equal total limits, which this provider does not support for
    every kind of TPU pool.
    """
    per_zone = plan.zone_nodes or (plan.total_nodes if plan.slice_topology is not None else None)
    if per_zone is not None:
        return {
            "min_node_count": per_zone.min,
            "max_node_count": per_zone.max,
            "location_policy": plan.location_policy,
        }
    total = plan.total_nodes
    return total and {
        "total_min_node_count": total.min,
        "total_max_node_count": total.max,
        "location_policy": plan.location_policy,
    }


def _placement_policy(plan: NodePoolPlan, policy: object) -> dict[str, Any] | None:
    placement = plan.placement
    if placement is None and plan.slice_topology is not None:
        placement = PlacementPlan(type="COMPACT", tpu_topology=plan.slice_topology)
    return placement and {
        "type": placement.type,
        "policy_name": placement.policy if policy is None else policy,
        "tpu_topology": placement.tpu_topology,
    }


def _network_config(plan: NodePoolPlan, created_interfaces: Sequence[tuple[object, object]]) -> dict[str, Any] | None:
    network, pod_range = plan.network, plan.settings.pod_range_name
    if network == NodeNetworkPlan() and pod_range is None:
        return None
    interfaces = created_interfaces or [(each.network, each.subnetwork) for each in network.interfaces]
    return {
        "enable_private_nodes": network.private_nodes,
        "pod_range": pod_range,
        "accelerator_network_profile": network.accelerator_profile,
        "additional_node_network_configs": [
            {"network": network_name, "subnetwork": subnetwork} for network_name, subnetwork in interfaces
        ]
        or None,
    }


def workload_policy(plan: WorkloadPolicyPlan) -> Registration:
    """Return a Compute Engine resource policy with a workload policy."""
    return Registration(
        type="gcp:compute/resourcePolicy:ResourcePolicy",
        arguments={
            "name": plan.name,
            "region": plan.region,
            "workload_policy": without_none(
                {
                    "type": "HIGH_THROUGHPUT",
                    "accelerator_topology": plan.accelerator_topology,
                    "accelerator_topology_mode": plan.topology_mode,
                }
            ),
        },
        delete_before_replace=True,  # the name is fixed
    )
