"""Networks of accelerators: which VPCs pools talk over, the ranges of their subnets, and what is read of them in pods.

A set of networks is of one kind of GPUDirect, and of one zone where its VPC is (RDMA). Its ranges follow from its key
alone, so that a set that comes or goes renumbers no other: a subnet with another range is another subnet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from itertools import islice

from berth.diagnostics import Path, dotted
from berth.plan.accelerator_networks import AcceleratorNetworksPlan, AcceleratorSubnetPlan, AcceleratorVpcPlan
from berth.plan.node_settings import NodeInterfacePlan, NodeNetworkPlan
from berth.planner.cluster.gke import cluster_name
from berth.planner.cluster.vpc import cluster_ranges
from berth.planner.context import Draft
from berth.planner.machines.node_settings import own_network
from berth.planner.machines.pools import Pool
from berth.rules.gke.networks import NetworkNeeds, network_needs

BASE: Path = ("cluster", "network", "acceleratorCidrBlock")

_SETS, _SUBNETS = 6, 4
"""Bits that the range is divided by: 64 sets of at most 16 subnets, which leaves a /11 subnets of 2044 nodes each."""
_SMALLEST = 29
"""Google Cloud takes no smaller subnet."""
_TCP_SETS = ("tcpx", "tcpxo")


def set_key(pool: Pool) -> str | None:
    """The set of networks that a pool's nodes have interfaces in; None where there is none, or GKE makes it."""
    needs = network_needs(pool.asked)
    if not needs.additional_networks or pool.made_by_gke:
        return None
    return f"{needs.mode}-{_letter(pool)}" if needs.rdma_subnetworks else needs.mode


def _letter(pool: Pool) -> str:
    """What tells a zone from the others of its region."""
    return pool.zones[0].rpartition("-")[2]


def accelerator_networks(draft: Draft, known: Mapping[str, Pool]) -> tuple[AcceleratorNetworksPlan, ...]:
    """Every set of networks that a pool asks for, by key."""
    users = {key: pool for pool in known.values() if (key := set_key(pool))}
    if not users or draft.lost("cluster", "network"):
        return ()
    base = IPv4Network(draft.spec.cluster.network.accelerator_cidr_block)
    if not _has_room(draft, base):
        return ()
    return tuple(_set(draft, key, users[key], base) for key in sorted(users))


def _has_room(draft: Draft, base: IPv4Network) -> bool:
    """The range can be divided, and shares no address with those of the cluster."""
    if base.prefixlen + _SETS + _SUBNETS > _SMALLEST:
        message = f"'{base}' is too small to be divided among networks of accelerators; write a /19 or larger, best /11"
        draft.problems.fault("bad-range", BASE, message)
        return False
    for path, written in cluster_ranges(draft).items():
        if IPv4Network(written).overlaps(base):
            message = f"'{base}' overlaps {written} of {dotted(path)}; write ranges that share no address"
            draft.problems.fault("overlapping-ranges", BASE, message)
    return True


def _set(draft: Draft, key: str, pool: Pool, base: IPv4Network) -> AcceleratorNetworksPlan:
    needs = network_needs(pool.asked)
    ranges = _ranges(base, key)
    vpcs = _rdma(draft, pool, needs, ranges) if needs.rdma_subnetworks else _tcp(draft, needs, ranges)
    return AcceleratorNetworksPlan(key=key, region=draft.region, vpcs=tuple(vpcs))


def _ranges(base: IPv4Network, key: str) -> Iterator[str]:
    """The ranges of a set's subnets, in order."""
    block = next(islice(base.subnets(prefixlen_diff=_SETS), _place(key), None))
    return map(str, block.subnets(prefixlen_diff=_SUBNETS))


def _place(key: str) -> int:
    """Where a set lies in the range: TCP's first, then those of zones a to z, then those of AI zones, by letter."""
    if key in _TCP_SETS:
        return _TCP_SETS.index(key)
    zone = key.rpartition("-")[2]
    return len(_TCP_SETS) + ord(zone[-1]) - ord("a") + (26 if len(zone) > 1 else 0)


def _tcp(draft: Draft, needs: NetworkNeeds, ranges: Iterator[str]) -> Iterator[AcceleratorVpcPlan]:
    """A VPC for each interface."""
    for number, ip_range in zip(range(1, needs.own_vpcs + 1), ranges, strict=False):
        name = f"{cluster_name(draft)}-{needs.mode}-{number}"
        subnet = AcceleratorSubnetPlan(name=name, ip_range=ip_range, device=f"{needs.mode}-{number}")
        yield AcceleratorVpcPlan(
            key=str(number), name=name, mtu=needs.mtu, allowed_ranges=(ip_range,), subnets=(subnet,)
        )


def _rdma(draft: Draft, pool: Pool, needs: NetworkNeeds, ranges: Iterator[str]) -> Iterator[AcceleratorVpcPlan]:
    """A VPC for the further gVNIC, and one with the zone's profile that has a subnet for each RDMA card."""
    letter, zone = _letter(pool), pool.zones[0]
    gvnic, rdma, first = f"gvnic-{letter}", f"{needs.mode}-{letter}", next(ranges)
    name = f"{cluster_name(draft)}-{gvnic}"
    yield AcceleratorVpcPlan(
        key="gvnic",
        name=name,
        mtu=needs.mtu,
        allowed_ranges=(first,),
        subnets=(AcceleratorSubnetPlan(name=name, ip_range=first, device=gvnic),),
    )
    name = f"{cluster_name(draft)}-{rdma}"
    yield AcceleratorVpcPlan(
        key="rdma",
        name=name,
        mtu=needs.mtu,
        profile=f"projects/{draft.project}/global/networkProfiles/{zone}-vpc-roce",
        subnets=tuple(
            AcceleratorSubnetPlan(
                name=f"{name}-{number}", ip_range=ip_range, device=f"{rdma}-{number}", device_mode="RDMA"
            )
            for number, ip_range in zip(range(needs.rdma_subnetworks), ranges, strict=False)
        ),
    )


def node_network(draft: Draft, pool: Pool, sets: Iterable[AcceleratorNetworksPlan]) -> NodeNetworkPlan:
    """The network settings of a pool's nodes, with their further interfaces."""
    private = draft.spec.cluster.private_nodes
    if profile := network_needs(pool.asked).profile:
        return NodeNetworkPlan(private_nodes=private, accelerator_profile=profile)
    key = set_key(pool)
    interfaces = tuple(
        NodeInterfacePlan(network=vpc.name, subnetwork=subnet.name)
        for each in sets
        if each.key == key
        for vpc in each.vpcs
        for subnet in vpc.subnets
    )
    return (
        NodeNetworkPlan(private_nodes=private, interfaces=interfaces, accelerator_networks=key)
        if key
        else own_network(draft.spec.cluster)
    )
