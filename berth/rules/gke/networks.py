"""Additional networks: what GPUDirect, RDMA and the accelerator network profile (DRANET) require (GKE docs)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.rules.gke.pool_request import PoolRequest, Violations, gke_fault, gke_warning


class NetworkNeeds(Struct, frozen=True, kw_only=True):
    """What a pool's network mode requires. `mode` is none, tcpx, tcpxo, rdma, falcon or dranet.

    Of the pool: `own_vpcs` additional networks, each in its own VPC,
    `rdma_subnetworks` of one VPC with the `zone_profile`, all with this `mtu` (bytes); or the `profile` instead of
    all these. In the cluster: a Network and a GKENetworkParamSet for each, and NCCL's plugin of the kind `nccl`.
    """

    mode: str = "none"
    own_vpcs: int = 0
    rdma_subnetworks: int = 0
    zone_profile: str = ""
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
    if kind is None or not machine.additional_networks or request.settings.networking != kind.networking:
        return NetworkNeeds()
    own_vpcs = int(kind.gvnic) if kind.rdma else machine.additional_networks
    return NetworkNeeds(
        mode=machine.gpudirect,
        own_vpcs=own_vpcs,
        rdma_subnetworks=machine.additional_networks - own_vpcs,
        zone_profile=kind.profile,
        mtu=kind.mtu,
        nccl=machine.gpudirect if machine.kind == "gpu" else None,
    )


def network_labels(request: PoolRequest) -> dict[str, str]:
    """Return the node labels by which a flavor selects a network: DRANET's label, or the zone of an RDMA network."""
    needs = network_needs(request)
    if needs.mode == "dranet":
        return {catalog.labels().dra_driver: "true"}
    return {"topology.kubernetes.io/zone": request.zones[0]} if needs.rdma_subnetworks and request.zones else {}


# --- rules ------------------------------------------------------------------------------------------------------------


def network_violations(request: PoolRequest) -> Violations:
    """What is wrong between a pool's network mode and its machine."""
    if request.settings.networking == "dranet":
        yield from _check_dranet(request)
    elif request.settings.networking is not None:
        yield from _check_additional(request, request.settings.networking)


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


def _check_additional(request: PoolRequest, wanted: Literal["gpudirect", "rdma"]) -> Violations:
    """Report a machine without the additional networks of this value, and those of one zone in a pool of several."""
    machine = request.machine
    if _additional(machine) != wanted:
        yield gke_fault(
            "gpudirect-not-offered" if wanted == "gpudirect" else "rdma-not-offered",
            "networking",
            f"'{wanted}' ({_TITLES[wanted]}) is not available for {machine.name}; {_network_remedy(request)}",
        )
        return
    zones = request.zones
    if network_needs(request).rdma_subnetworks and not request.made_by_gke and len(zones) != 1:
        zones_text = f"the pool names {len(zones)} ({', '.join(zones)})" if zones else "the pool names none"
        yield gke_fault(
            "network-zone",
            "zones",
            f"'{wanted}' of {machine.name} needs one zone, but {zones_text}; write a pool for each zone",
        )


_TITLES = {"gpudirect": "additional networks", "rdma": "a network with RDMA for machines without GPUs"}


def _additional(machine: Machine) -> str | None:
    """Return the value of `networking` that gives a machine its additional networks; None if it has none."""
    kind = catalog.gpudirect().get(machine.gpudirect)
    return kind.networking if kind is not None and machine.additional_networks else None


def _network_remedy(request: PoolRequest) -> str:
    machine, refused = request.machine, request.settings.networking
    offered = _additional(machine) or ("dranet" if machine.dranet and refused != "dranet" else None)
    return f"write {offered}" if offered else "remove networking"
