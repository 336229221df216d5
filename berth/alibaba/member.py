"""Member clusters of an ACK One fleet, and their node pools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from berth.plan.ack import AckNodePoolPlan, MemberPlan
from berth.registration import Registration, without_none

_FLANNEL: Final = "flannel"
_TERWAY: Final = "terway-eniip"
_STORAGE: Final = ("csi-plugin", "csi-provisioner")
"""Addons that a new cluster needs: one for the pod network, which is immutable, and volumes
(`alicloud_cs_managed_kubernetes`, "addons")."""
_SCHEDULER: Final = "kube-scheduler"
_RESERVATION: Final = json.dumps({"enableReservation": True})
"""Addon and parameter by which the fleet reserves nodes for a job in a member's scheduler (ACK One guide on PyTorchJobs
with gang scheduling). The provider sends addons only when it creates a cluster."""
_IMAGE: Final = "AliyunLinux3"
_DISK: Final = "cloud_essd"
_SPOT: Final = "SpotAsPriceGo"
"""Spot strategy: the current market price, without a limit."""


def member_cluster(plan: MemberPlan, tags: Mapping[str, str]) -> Registration:
    """Return a new ACK Pro cluster, for a plan without `existing`."""
    addons: list[dict[str, str]] = [{"name": each} for each in (_TERWAY if plan.pod_vswitches else _FLANNEL, *_STORAGE)]
    if plan.reservation:
        addons.append({"name": _SCHEDULER, "config": _RESERVATION})
    arguments = {
        "name": plan.name,
        "cluster_spec": plan.cluster_spec,
        "version": plan.version,
        "vswitch_ids": [*plan.vswitches],
        "pod_vswitch_ids": [*plan.pod_vswitches] or None,
        "pod_cidr": plan.pod_range,
        "service_cidr": plan.service_range,
        "addons": addons,
        "deletion_protection": plan.protect,
        # Only the fleet uses the API server's address, from inside the VPC.
        "slb_internet_enabled": False,
        "tags": tags,
    }
    return Registration(
        type="alicloud:cs/managedKubernetes:ManagedKubernetes",
        arguments=without_none(arguments),
        protect=plan.protect,
        delete_before_replace=True,  # the name is fixed
        create_timeout="60m",
    )


def member_node_pool(plan: AckNodePoolPlan, cluster: object, tags: Mapping[str, str]) -> Registration:
    """Return a node pool of a new member; `cluster` is the ID of the cluster."""
    fixed = plan.nodes.min == plan.nodes.max
    scaling = {
        "enable": True,
        "min_size": plan.nodes.min,
        "max_size": plan.nodes.max,
        "type": "spot" if plan.spot else "gpu",
    }
    arguments = {
        "node_pool_name": plan.name,
        "cluster_id": cluster,
        "vswitch_ids": [*plan.vswitches],
        "instance_types": [plan.instance_type],
        "desired_size": str(plan.nodes.max) if fixed else None,
        "scaling_config": None if fixed else scaling,
        "spot_strategy": _SPOT if plan.spot else None,
        "labels": [{"key": key, "value": value} for key, value in plan.labels.items()] or None,
        "taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in plan.taints] or None,
        "image_type": _IMAGE,
        "system_disk_category": _DISK,
        "system_disk_size": plan.disk_size_gb,
        "tags": tags,
    }
    return Registration(
        type="alicloud:cs/nodePool:NodePool",
        arguments=without_none(arguments),
        protect=plan.protect,
        delete_before_replace=True,
    )
