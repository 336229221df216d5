"""VPCs for GPUDirect, in addition to the cluster's VPC."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.names import MAX_COMPUTE_NAME, shorten
from berth.plan.accelerator_networks import AcceleratorNetworksPlan, AcceleratorSubnetPlan, AcceleratorVpcPlan


class AcceleratorNetworks(pulumi.ComponentResource):
    """The VPCs and subnets for additional interfaces of the nodes of one kind of pool.

    Owns VPCs, subnets and the firewall rules for traffic between nodes. Does not own the Network objects in the
    cluster, with which pods request an interface. `interfaces` are names of network and subnet, in the plan's order;
    `devices` maps the name of the Network object to them. They are outputs: a pool that uses them is created after the
    subnets and deleted before them.
    """

    def __init__(
        self,
        name: str,
        plan: AcceleratorNetworksPlan,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:AcceleratorNetworks", name, None, opts)
        self.devices: dict[str, tuple[pulumi.Output[str], pulumi.Output[str]]] = {}
        for vpc in plan.vpcs:
            network = self._vpc(f"{name}-{vpc.key}", vpc, depends_on)
            for subnet in vpc.subnets:
                suffix = subnet.device.removeprefix(f"{name}-")  # devices are mostly named after their set
                node_subnet = self._subnet(f"{name}-{suffix}", subnet, plan.region, network)
                self.devices[subnet.device] = (network.name, node_subnet.name)
        self.interfaces = list(self.devices.values())
        self.register_outputs({"subnetworks": [subnetwork for _, subnetwork in self.interfaces]})

    def _vpc(self, name: str, plan: AcceleratorVpcPlan, depends_on: Sequence[pulumi.Resource]) -> gcp.compute.Network:
        vpc = gcp.compute.Network(
            f"{name}-vpc",
            name=plan.name,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=plan.mtu,
            network_profile=plan.profile,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*depends_on]),
        )
        if plan.allowed_ranges:
            self._allow_internal(name, plan, vpc)
        return vpc

    def _allow_internal(self, name: str, plan: AcceleratorVpcPlan, vpc: gcp.compute.Network) -> None:
        gcp.compute.Firewall(
            f"{name}-internal",
            name=shorten(f"{plan.name}-internal", MAX_COMPUTE_NAME),
            network=vpc.id,
            direction="INGRESS",
            source_ranges=sorted(plan.allowed_ranges),
            allows=[gcp.compute.FirewallAllowArgs(protocol=protocol) for protocol in ("icmp", "tcp", "udp")],
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _subnet(
        self,
        name: str,
        plan: AcceleratorSubnetPlan,
        region: str,
        vpc: gcp.compute.Network,
    ) -> gcp.compute.Subnetwork:
        return gcp.compute.Subnetwork(
            f"{name}-subnet",
            name=plan.name,
            region=region,
            network=vpc.id,
            ip_cidr_range=plan.ip_range,
            opts=pulumi.ResourceOptions(parent=self),
        )
