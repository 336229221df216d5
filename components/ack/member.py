"""Member clusters of an ACK One fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from berth.plan.ack import AckNodePoolPlan, MemberPlan

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


class Member(pulumi.ComponentResource):
    """A new ACK Pro cluster with its GPU node pools, or the ID of an existing one.

    Owns the cluster and its node pools; owns nothing of an existing cluster. Does not own the VPC, the vSwitches, or
    the number of nodes of a pool that scales. Names of node pools start with `pool_prefix`, by default the component's
    name and a dash.
    """

    def __init__(
        self,
        name: str,
        plan: MemberPlan,
        *,
        tags: Mapping[str, str],
        pool_prefix: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:ack:Member", name, None, opts)
        self.cluster_id: pulumi.Output[str] = pulumi.Output.from_input(plan.existing or "")
        if plan.existing is None:
            cluster = self._cluster(name, plan, tags)
            self.cluster_id = cluster.id
            names = f"{name}-" if pool_prefix is None else pool_prefix
            for pool in plan.node_pools:
                _node_pool(self, f"{names}{pool.name}", pool, cluster, tags)
        self.register_outputs({"clusterId": self.cluster_id})

    def _cluster(self, name: str, plan: MemberPlan, tags: Mapping[str, str]) -> alicloud.cs.ManagedKubernetes:
        return alicloud.cs.ManagedKubernetes(
            f"{name}-cluster",
            name=plan.name,
            cluster_spec=plan.cluster_spec,
            version=plan.version,
            vswitch_ids=[*plan.vswitches],
            pod_vswitch_ids=[*plan.pod_vswitches] or None,
            pod_cidr=plan.pod_range,
            service_cidr=plan.service_range,
            addons=list(_addons(plan)),
            deletion_protection=plan.protect,
            # Only the fleet uses the API server's address, from inside the VPC.
            slb_internet_enabled=False,
            tags=tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=plan.protect,
                delete_before_replace=True,  # the name is fixed
                custom_timeouts=pulumi.CustomTimeouts(create="60m"),
            ),
        )


def _addons(plan: MemberPlan) -> Iterator[alicloud.cs.ManagedKubernetesAddonArgs]:
    for name in (_TERWAY if plan.pod_vswitches else _FLANNEL, *_STORAGE):
        yield alicloud.cs.ManagedKubernetesAddonArgs(name=name)
    if plan.reservation:
        yield alicloud.cs.ManagedKubernetesAddonArgs(name=_SCHEDULER, config=_RESERVATION)


def _node_pool(
    parent: Member,
    name: str,
    plan: AckNodePoolPlan,
    cluster: alicloud.cs.ManagedKubernetes,
    tags: Mapping[str, str],
) -> None:
    fixed = plan.nodes.min == plan.nodes.max
    scaling = alicloud.cs.NodePoolScalingConfigArgs(
        enable=True, min_size=plan.nodes.min, max_size=plan.nodes.max, type="spot" if plan.spot else "gpu"
    )
    alicloud.cs.NodePool(
        name,
        node_pool_name=plan.name,
        cluster_id=cluster.id,
        vswitch_ids=[*plan.vswitches],
        instance_types=[plan.instance_type],
        desired_size=str(plan.nodes.max) if fixed else None,
        scaling_config=None if fixed else scaling,
        spot_strategy=_SPOT if plan.spot else None,
        labels=[alicloud.cs.NodePoolLabelArgs(key=k, value=v) for k, v in plan.labels.items()] or None,
        taints=[alicloud.cs.NodePoolTaintArgs(key=t.key, value=t.value, effect=t.effect) for t in plan.taints] or None,
        image_type=_IMAGE,
        system_disk_category=_DISK,
        system_disk_size=plan.disk_size_gb,
        tags=tags,
        opts=pulumi.ResourceOptions(parent=parent, protect=plan.protect, delete_before_replace=True),
    )
