"""Networks of accelerators: what GPUDirect and the accelerator network profile (DRANET) want (facts 1.5 and 2.4)."""

from __future__ import annotations

from dataclasses import dataclass

from stacks import accelerators
from stacks.rules.asked import Asked, Found, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNeeds:
    """What a pool's network mode wants. `mode` is none, tcpx, tcpxo, rdma or dranet.

    Of the cluster: multi-networking, Dataplane V2. Of the pool: `own_vpcs` additional networks that lie in a VPC each,
    `rdma_subnetworks` of one VPC with the zonal RDMA profile; gVNIC; or the `profile` instead of all these. In the
    cluster: Network and GKENetworkParamSet objects, the `installer` as DaemonSet, or ResourceClaimTemplates.
    """

    mode: str = "none"
    own_vpcs: int = 0
    rdma_subnetworks: int = 0
    mtu: int | None = None
    multi_networking: bool = False
    dataplane_v2: bool = False
    gvnic: bool = False
    profile: str | None = None
    strategy: str | None = None
    installer: str | None = None
    network_objects: bool = False
    claim_templates: bool = False

    @property
    def additional_networks(self) -> int:
        """Networks beside the cluster's, each an `additional_node_network_configs` entry."""
        return self.own_vpcs + self.rdma_subnetworks


def network_needs(asked: Asked) -> NetworkNeeds:
    """What the pool's network mode wants; nothing where the machine does not have it (`networks` reports that)."""
    machine = asked.machine
    if asked.network == "dranet" and machine.accelerator_network_profile:
        return NetworkNeeds(
            mode="dranet", dataplane_v2=True, profile=machine.accelerator_network_profile, claim_templates=True
        )
    kind = accelerators.gpudirect().get(machine.gpudirect)
    if asked.network != "gpudirect" or kind is None or not machine.additional_networks:
        return NetworkNeeds()
    return NetworkNeeds(
        mode=machine.gpudirect,
        own_vpcs=1 if kind.rdma else machine.additional_networks,
        rdma_subnetworks=machine.additional_networks - 1 if kind.rdma else 0,
        mtu=kind.mtu,
        multi_networking=True,
        dataplane_v2=True,
        gvnic=True,
        strategy=kind.strategy,
        installer=kind.installer,
        network_objects=True,
    )


def network_labels(asked: Asked) -> dict[str, str]:
    """The labels that GKE puts on nodes for the mode. (That of GPUDirect has no value a source shows.)"""
    needs = network_needs(asked)
    return {accelerators.labels().dra_driver: "true"} if needs.mode == "dranet" else {}


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
            message = f"'{asked.network}' needs {what}, and the cluster has none; switch it on, or leave network out"
            yield Violation(code="cluster-network", key="network", message=message)


def _dranet(asked: Asked) -> Found:
    machine = asked.machine
    if machine.accelerator_network_profile is None:
        message = f"'dranet' does not exist for {machine.name}; {_otherwise(asked)}"
        yield Violation(code="dranet-not-offered", key="network", message=message)
    elif not machine.dranet:
        message = f"'dranet' is accepted for {machine.name} but documented only for newer machines; {_otherwise(asked)}"
        yield Violation(code="dranet-doubtful", key="network", message=message, severity="warning")
    if asked.additional_networks:
        message = f"'dranet' makes its networks itself, and {asked.additional_networks} additional ones are named"
        yield Violation(code="dranet-networks", key="network", message=f"{message}; leave them out, or write gpudirect")


def _gpudirect(asked: Asked) -> Found:
    machine = asked.machine
    if not machine.additional_networks:
        remedy = "write dranet" if machine.dranet else "leave network out"
        message = f"'gpudirect' with additional networks does not exist for {machine.name}; {remedy}"
        yield Violation(code="gpudirect-not-offered", key="network", message=message)
    elif asked.additional_networks not in (None, machine.additional_networks):
        message = (
            f"'{asked.additional_networks}' additional networks are not the {machine.additional_networks} that "
            f"{machine.gpudirect.upper()} of {machine.name} wants; write {_wanted(asked)}"
        )
        yield Violation(code="network-count", key="network", message=message)


def _otherwise(asked: Asked) -> str:
    return "write gpudirect" if asked.machine.additional_networks else "leave network out"


def _wanted(asked: Asked) -> str:
    needs = network_needs(asked)
    if not needs.rdma_subnetworks:
        return f"{needs.own_vpcs} networks, each in a VPC of its own"
    return f"{needs.own_vpcs} gVNIC network and {needs.rdma_subnetworks} subnetworks of one RDMA VPC"
