"""VPCs for GPUDirect, in addition to the cluster's VPC."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.network import accelerator_firewall, accelerator_subnetwork, accelerator_vpc
from berth.plan.node_settings import AcceleratorNetworksPlan

from ..options import resource_options


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
            made = accelerator_vpc(vpc)
            network = gcp.compute.Network(
                f"{name}-{vpc.key}-vpc", **made.arguments, opts=resource_options(made, self, depends_on)
            )
            if (rule := accelerator_firewall(vpc, network.id)) is not None:
                gcp.compute.Firewall(f"{name}-{vpc.key}-internal", **rule.arguments, opts=resource_options(rule, self))
            for subnet in vpc.subnets:
                suffix = subnet.device.removeprefix(f"{name}-")  # devices are mostly named after their set
                made = accelerator_subnetwork(subnet, plan.region, network.id)
                node_subnet = gcp.compute.Subnetwork(
                    f"{name}-{suffix}-subnet", **made.arguments, opts=resource_options(made, self)
                )
                self.devices[subnet.device] = (network.name, node_subnet.name)
        self.interfaces = list(self.devices.values())
        self.register_outputs({"subnetworks": [subnetwork for _, subnetwork in self.interfaces]})
