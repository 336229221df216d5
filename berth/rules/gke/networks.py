"""Accelerator networks: what GPUDirect and the accelerator network profile (DRANET) require (GKE docs)."""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.rules.gke.pool_request import PoolRequest, Violations, gke_fault, gke_warning

ZONE_LABEL = "topology.kubernetes.io/zone"


class NetworkNeeds(Struct, frozen=True, kw_only=True):
    """What a pool's network mode requires. `mode` is none, tcpx, tcpxo, rdma or dranet.

    Of the pool: `own_vpcs` additional networks, each in its own VPC,
    `rdma_subnetworks` of one VPC with the zonal RDMA profile, all with this `mtu` (bytes); or the `profile` instead of
    all these. In the cluster: a Network and a GKENetworkParamSet for each, and NCCL's plugin of the kind `nccl`.
    """

    mode: str = "none"
    own_vpcs: int = 0
    rdma_subnetworks: int = 0
    mtu: int | None = None
    profile: str | None = None
    nccl: str | None = None

    @property
    def additional_networks(self) -> int:
        """Number of networks besides the cluster's, each an `additional_node_network_configs` entry."""
        return self.own_vpcs + self.rdma_subnetworks


def network_needs(request: PoolRequest) -> NetworkNeeds:
    """Return what the pool's network mode requires; nothing if the machine lacks it."""
    machine = request.machine
    if request.settings.networking == "dranet" and machine.accelerator_network_profile:
        nccl = machine.gpudirect if machine.dranet and machine.gpudirect != "none" else None
        return NetworkNeeds(mode="dranet", profile=machine.accelerator_network_profile, nccl=nccl)
    kind = catalog.gpudirect().get(machine.gpudirect)
    if request.settings.networking != "gpudirect" or kind is None or not machine.additional_networks:
        return NetworkNeeds()
    return NetworkNeeds(
        mode=machine.gpudirect,
        own_vpcs=1 if kind.rdma else machine.additional_networks,
        rdma_subnetworks=machine.additional_networks - 1 if kind.rdma else 0,
        mtu=kind.mtu,
        nccl=machine.gpudirect,
    )


def network_labels(request: PoolRequest) -> dict[str, str]:
    """Return the node labels by which a flavor selects a network: DRANET's label, or the zone of an RDMA network."""
    needs = network_needs(request)
    if needs.mode == "dranet":
        return {catalog.labels().dra_driver: "true"}
    return {ZONE_LABEL: request.zones[0]} if needs.rdma_subnetworks and request.zones else {}


# --- rules ------------------------------------------------------------------------------------------------------------


def network_violations(request: PoolRequest) -> Violations:
    """What is wrong between a pool's network mode and its machine."""
    if request.settings.networking == "dranet":
        yield from _check_dranet(request)
    elif request.settings.networking == "gpudirect":
        yield from _check_gpudirect(request)


def _check_dranet(request: PoolRequest) -> Violations:
    machine = request.machine
    if machine.accelerator_network_profile is None:
        yield gke_fault(
            "dranet-not-offered",
            "networking",
            f"'dranet' is not available for {machine.name}; {_network_remedy(request)}",
        )
    elif not machine.dranet:
        yield gke_warning(
            "dranet-doubtful",
            "networking",
            f"'dranet' is documented only for machines newer than {machine.name}; {_network_remedy(request)}",
        )


def _check_gpudirect(request: PoolRequest) -> Violations:
    machine = request.machine
    if not machine.additional_networks:
        remedy = "write dranet" if machine.dranet else "remove networking"
        yield gke_fault(
            "gpudirect-not-offered",
            "networking",
            f"'gpudirect' (additional networks) is not available for {machine.name}; {remedy}",
        )
        return
    zones = request.zones
    if network_needs(request).rdma_subnetworks and not request.made_by_gke and len(zones) != 1:
        zones_text = f"the pool names {len(zones)} ({', '.join(zones)})" if zones else "the pool names none"
        yield gke_fault(
            "network-zone",
            "zones",
            f"'gpudirect' of {machine.name} needs one zone, but {zones_text}; write a pool for each zone",
        )


def _network_remedy(request: PoolRequest) -> str:
    return "write gpudirect" if request.machine.additional_networks else "remove networking"
