"""Networks of accelerators: what GPUDirect and the accelerator network profile (DRANET) want (GKE docs)."""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.rules.gke.pool_request import Asked, Found, Violation

ZONE = "topology.kubernetes.io/zone"


class NetworkNeeds(Struct, frozen=True, kw_only=True):
    """What a pool's network mode wants. `mode` is none, tcpx, tcpxo, rdma or dranet.

    Of the cluster: multi-networking, Dataplane V2. Of the pool: `own_vpcs` additional networks that lie in a VPC each,
    `rdma_subnetworks` of one VPC with the zonal RDMA profile, all with this `mtu` (bytes); or the `profile` instead of
    all these. In the cluster: a Network and a GKENetworkParamSet for each, and NCCL's plugin of the kind `nccl`.
    """

    mode: str = "none"
    own_vpcs: int = 0
    rdma_subnetworks: int = 0
    mtu: int | None = None
    multi_networking: bool = False
    dataplane_v2: bool = False
    profile: str | None = None
    nccl: str | None = None

    @property
    def additional_networks(self) -> int:
        """Networks beside the cluster's, each an `additional_node_network_configs` entry."""
        return self.own_vpcs + self.rdma_subnetworks


def network_needs(asked: Asked) -> NetworkNeeds:
    """What the pool's network mode wants; nothing where the machine does not have it (`networks` reports that)."""
    machine = asked.machine
    if asked.network == "dranet" and machine.accelerator_network_profile:
        nccl = machine.gpudirect if machine.dranet and machine.gpudirect != "none" else None
        return NetworkNeeds(mode="dranet", dataplane_v2=True, profile=machine.accelerator_network_profile, nccl=nccl)
    kind = catalog.gpudirect().get(machine.gpudirect)
    if asked.network != "gpudirect" or kind is None or not machine.additional_networks:
        return NetworkNeeds()
    return NetworkNeeds(
        mode=machine.gpudirect,
        own_vpcs=1 if kind.rdma else machine.additional_networks,
        rdma_subnetworks=machine.additional_networks - 1 if kind.rdma else 0,
        mtu=kind.mtu,
        multi_networking=True,
        dataplane_v2=True,
        nccl=machine.gpudirect,
    )


def network_labels(asked: Asked) -> dict[str, str]:
    """The labels of nodes by which a flavor tells their networks: of DRANET its own, of RDMA the zone of its VPC."""
    needs = network_needs(asked)
    if needs.mode == "dranet":
        return {catalog.labels().dra_driver: "true"}
    return {ZONE: asked.zones[0]} if needs.rdma_subnetworks and asked.zones else {}


# --- rules ------------------------------------------------------------------------------------------------------------


def networks(asked: Asked) -> Found:
    """What is wrong between a pool's network mode, its machine and its cluster."""
    if asked.network == "dranet":
        yield from _dranet(asked)
    elif asked.network == "gpudirect":
        yield from _gpudirect(asked)
    needs, cluster = network_needs(asked), asked.cluster
    for has, needed, what in (
        (cluster.dataplane_v2, needs.dataplane_v2, "Dataplane V2"),
        (cluster.multi_networking, needs.multi_networking, "multi-networking"),
    ):
        if needed and not has and not cluster.autopilot:
            message = f"'{asked.network}' needs {what}, and the cluster has none; switch it on, or leave networking out"
            yield Violation(code="cluster-network", key="networking", message=message)


def _dranet(asked: Asked) -> Found:
    machine = asked.machine
    if machine.accelerator_network_profile is None:
        message = f"'dranet' does not exist for {machine.name}; {_otherwise(asked)}"
        yield Violation(code="dranet-not-offered", key="networking", message=message)
    elif not machine.dranet:
        message = f"'dranet' is accepted for {machine.name} but documented only for newer machines; {_otherwise(asked)}"
        yield Violation(code="dranet-doubtful", key="networking", message=message, severity="warning")


def _gpudirect(asked: Asked) -> Found:
    machine = asked.machine
    if not machine.additional_networks:
        remedy = "write dranet" if machine.dranet else "leave networking out"
        message = f"'gpudirect' with additional networks does not exist for {machine.name}; {remedy}"
        yield Violation(code="gpudirect-not-offered", key="networking", message=message)
        return
    zones = asked.zones
    if network_needs(asked).rdma_subnetworks and not asked.made_by_gke and len(zones) != 1:
        named = f"{len(zones)} are named ({', '.join(zones)})" if zones else "none is named"
        message = f"'gpudirect' of {machine.name} has a network of one zone, and {named}; write a pool for each zone"
        yield Violation(code="network-zone", key="zones", message=message)


def _otherwise(asked: Asked) -> str:
    return "write gpudirect" if asked.machine.additional_networks else "leave networking out"
