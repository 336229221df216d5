"""Plan accelerator networks: the VPCs of pools, and the ranges of their subnets.

A set of networks has one type of GPUDirect and, if its VPC is zonal (RDMA), one zone. Its ranges depend only on its
key, so that adding or removing a set does not change the subnets of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from itertools import islice

from msgspec.structs import replace

from berth.diagnostics import FieldPath
from berth.plan.node_settings import (
    AcceleratorNetworksPlan,
    AcceleratorSubnetPlan,
    AcceleratorVpcPlan,
    NodeInterfacePlan,
    NodeNetworkPlan,
)
from berth.planner.cluster.gke import cluster_name
from berth.planner.cluster.vpc import cluster_ranges, report_overlap
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool
from berth.rules.gke.networks import NetworkNeeds, network_needs
from berth.spec.cluster import ClusterSpec

RANGE_PATH: FieldPath = ("cluster", "network", "acceleratorCidrBlock")

_SET_BITS, _SUBNET_BITS = 6, 4
"""Bits by which the range is divided: 64 sets of at most 16 subnets; a /11 then has subnets of 2044 nodes each."""
_MAX_PREFIX = 29
"""Longest prefix of a subnet in Google Cloud."""
_TCP_SETS = ("tcpx", "tcpxo")
_FIRST_SUBNETS = {"falcon": 12}
"""First subnet of a set that shares the range of its zone with another set, which has 9 from the start."""


def network_set_key(pool: PlannedPool) -> str | None:
    """Return the set of networks of a pool's nodes; None if there is none, GKE creates it, or its zone has a fault."""
    needs = network_needs(pool.request)
    if not needs.additional_networks or pool.made_by_gke or (needs.rdma_subnetworks and not pool.zones):
        return None
    return f"{needs.mode}-{_zone_letter(pool)}" if needs.rdma_subnetworks else needs.mode


def _zone_letter(pool: PlannedPool) -> str:
    """Return the suffix that distinguishes a zone within its region."""
    return pool.zones[0].rpartition("-")[2]


def plan_networks(
    context: PlanningContext, planned_pools: Mapping[str, PlannedPool]
) -> tuple[AcceleratorNetworksPlan, ...]:
    """Return every set of networks that a pool needs, in order of keys."""
    users = {key: pool for pool in planned_pools.values() if (key := network_set_key(pool))}
    if not users or context.is_set_aside("cluster", "network"):
        return ()
    base = IPv4Network(context.spec.cluster.network.accelerator_cidr_block)
    if not _has_room(context, base):
        return ()
    return tuple(_network_set(context, key, users[key], base) for key in sorted(users))


def _has_room(context: PlanningContext, base: IPv4Network) -> bool:
    """Return whether the range can be divided and does not overlap ranges of the cluster; report it if not."""
    if base.prefixlen + _SET_BITS + _SUBNET_BITS > _MAX_PREFIX:
        message = f"'{base}' is too small for accelerator networks; write a /19 or larger, preferably a /11"
        context.problems.fault("bad-range", RANGE_PATH, message)
        return False
    for path, cluster_range in cluster_ranges(context).items():
        if IPv4Network(cluster_range).overlaps(base):
            report_overlap(context, RANGE_PATH, base, path, cluster_range)
    return True


def _network_set(context: PlanningContext, key: str, pool: PlannedPool, base: IPv4Network) -> AcceleratorNetworksPlan:
    needs, zone = network_needs(pool.request), key.rpartition("-")[2]
    # Sets of TCP come first in the range, then zones a to z, then AI zones by letter.
    in_zone = len(_TCP_SETS) + ord(zone[-1]) - ord("a") + (26 if len(zone) > 1 else 0)
    index = _TCP_SETS.index(key) if key in _TCP_SETS else in_zone
    block = next(islice(base.subnets(prefixlen_diff=_SET_BITS), index, None))
    ranges = map(str, islice(block.subnets(prefixlen_diff=_SUBNET_BITS), _FIRST_SUBNETS.get(needs.mode, 0), None))
    vpcs = _rdma_vpcs(context, pool, needs, ranges) if needs.rdma_subnetworks else _tcp_vpcs(context, needs, ranges)
    return AcceleratorNetworksPlan(key=key, region=context.region, vpcs=tuple(vpcs))


def _tcp_vpcs(context: PlanningContext, needs: NetworkNeeds, ranges: Iterator[str]) -> Iterator[AcceleratorVpcPlan]:
    """Yield a VPC for each interface."""
    for number, ip_range in zip(range(1, needs.own_vpcs + 1), ranges, strict=False):
        name = f"{cluster_name(context)}-{needs.mode}-{number}"
        subnet = AcceleratorSubnetPlan(name=name, ip_range=ip_range, device=f"{needs.mode}-{number}")
        yield AcceleratorVpcPlan(
            key=str(number), name=name, mtu=needs.mtu, allowed_ranges=(ip_range,), subnets=(subnet,)
        )


def _rdma_vpcs(
    context: PlanningContext, pool: PlannedPool, needs: NetworkNeeds, ranges: Iterator[str]
) -> Iterator[AcceleratorVpcPlan]:
    """Yield a VPC for an additional gVNIC, if any, and one with the zone's profile and a subnet for each RDMA NIC."""
    letter, zone = _zone_letter(pool), pool.zones[0]
    rdma_device = f"{needs.mode}-{letter}"
    if needs.own_vpcs:
        gvnic_device, gvnic_range = f"gvnic-{letter}", next(ranges)
        name = f"{cluster_name(context)}-{gvnic_device}"
        yield AcceleratorVpcPlan(
            key="gvnic",
            name=name,
            mtu=needs.mtu,
            allowed_ranges=(gvnic_range,),
            subnets=(AcceleratorSubnetPlan(name=name, ip_range=gvnic_range, device=gvnic_device),),
        )
    name = f"{cluster_name(context)}-{rdma_device}"
    yield AcceleratorVpcPlan(
        key="rdma",
        name=name,
        mtu=needs.mtu,
        profile=f"projects/{context.project}/global/networkProfiles/{zone}-{needs.zone_profile}",
        subnets=tuple(
            AcceleratorSubnetPlan(
                name=f"{name}-{number}", ip_range=ip_range, device=f"{rdma_device}-{number}", device_mode="RDMA"
            )
            for number, ip_range in zip(range(needs.rdma_subnetworks), ranges, strict=False)
        ),
    )


def node_network(
    context: PlanningContext, pool: PlannedPool, sets: Iterable[AcceleratorNetworksPlan]
) -> NodeNetworkPlan:
    """Return the network settings of a pool's nodes: additional interfaces, and whether the nodes are private."""
    network = _accelerator_network(context, pool, sets)
    if pool.spec.pod_range_name is None:
        return network
    return replace(network, private_nodes=context.spec.cluster.private_nodes)


def _accelerator_network(
    context: PlanningContext, pool: PlannedPool, sets: Iterable[AcceleratorNetworksPlan]
) -> NodeNetworkPlan:
    private = context.spec.cluster.private_nodes
    if profile := network_needs(pool.request).profile:
        return NodeNetworkPlan(private_nodes=private, accelerator_profile=profile)
    key = network_set_key(pool)
    interfaces = tuple(
        NodeInterfacePlan(network=vpc.name, subnetwork=subnet.name)
        for network_set in sets
        if network_set.key == key
        for vpc in network_set.vpcs
        for subnet in vpc.subnets
    )
    return (
        NodeNetworkPlan(private_nodes=private, interfaces=interfaces, accelerator_networks=key)
        if key
        else default_node_network(context.spec.cluster)
    )


def default_node_network(spec: ClusterSpec) -> NodeNetworkPlan:
    """Return the network settings of nodes in the cluster's network: whether they are private, if the cluster sets it.

    If it is not set, nodes of existing pools do not change with the cluster's default.
    """
    return NodeNetworkPlan(private_nodes=spec.private_nodes if "private_nodes" in spec.model_fields_set else None)
