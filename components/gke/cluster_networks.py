"""Network objects of additional networks, which pods refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from berth.manifests.gke import network_parameters, pod_network
from berth.plan.node_settings import AcceleratorNetworksPlan

from ..kubernetes import KubernetesObject, cluster_options


class ClusterNetworks(pulumi.ComponentResource):
    """A Network and its GKENetworkParamSet for every interface of a set of accelerator networks.

    Owns these objects; does not own the VPCs. `devices` maps the name of an object to live names of network and subnet,
    so that the objects are created after the VPCs and deleted before them. GKE serves both kinds if multi-networking is
    on, so they depend only on the cluster.
    """

    def __init__(
        self,
        name: str,
        plan: AcceleratorNetworksPlan,
        *,
        devices: Mapping[str, tuple[pulumi.Input[str], pulumi.Input[str]]] | None = None,
        cluster: pulumi.Resource | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:ClusterNetworks", name, None, opts)
        devices = devices or {}
        for vpc in plan.vpcs:
            for subnet in vpc.subnets:
                live = devices.get(subnet.device, (vpc.name, subnet.name))
                options = cluster_options(self, cluster=cluster, served_by=served_by)
                parameters = KubernetesObject(
                    f"{name}-{subnet.device}-parameters",
                    network_parameters(subnet, vpc.name),
                    live={"spec": {"vpc": live[0], "vpcSubnet": live[1]}},
                    opts=options,
                )
                # GKE keeps the parameters while a network refers to them, so the network must be deleted first.
                options = cluster_options(self, cluster=cluster, served_by=[*served_by, parameters])
                KubernetesObject(f"{name}-{subnet.device}-network", pod_network(subnet), opts=options)
        self.register_outputs({"networks": [subnet.device for vpc in plan.vpcs for subnet in vpc.subnets]})
