"""Further networks as pods of a cluster know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from berth.manifests.gke import network, network_parameters
from berth.plan.accelerator_networks import AcceleratorNetworksPlan
from components.kubernetes import KubernetesObject, cluster_options


class ClusterNetworks(pulumi.ComponentResource):
    """A Network and its GKENetworkParamSet for every interface of a set of accelerator networks.

    Owns these objects; does not own the VPCs behind them. `devices` are the live names of network and subnet by the
    name of the object, so that the objects are made after the VPCs and go before them. GKE serves both kinds where
    multi-networking is on, so they wait for the cluster and for nothing in it.
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
                # GKE keeps the parameters for as long as a network names them, so the network has to go first.
                options = cluster_options(self, cluster=cluster, served_by=[*served_by, parameters])
                KubernetesObject(f"{name}-{subnet.device}-network", network(subnet), opts=options)
        self.register_outputs({"networks": [subnet.device for vpc in plan.vpcs for subnet in vpc.subnets]})
