"""Everything that the program registers on Alibaba Cloud for a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from berth.alibaba.fleet_instance import fleet_instance, membership
from berth.alibaba.member import member_cluster, member_node_pool
from berth.plan.ack import AckFleetPlan, MemberPlan
from berth.registration import Reference
from berth.resource import FleetResource, ResourceKind


def alibaba_resources(plan: AckFleetPlan) -> Iterator[FleetResource]:
    """Yield every resource of a fleet that is not a Kubernetes object, the fleet first.

    Every resource is in the region of the provider, and a cluster in the VPC of its vSwitches. The kubeconfig is that
    of the provider of the fleet's objects.
    """
    region: dict[str, object] = {"region": plan.region}
    fleet, kind = plan.fleet, ResourceKind.FLEET
    if fleet.existing is None:
        added = {**region, "kubeconfig": fleet.kubeconfig}
        yield FleetResource(kind, kind, "fleet", partial(fleet_instance, fleet), "instance", added=added)
    for member in plan.members:
        if member.existing is None:
            yield from _member(plan, member, region)
        make = partial(
            membership,
            fleet.existing or Reference(kind, kind, "instance.id"),
            member.existing or Reference(ResourceKind.CLUSTER, member.name, "cluster.id"),
        )
        yield FleetResource(ResourceKind.MEMBERSHIP, member.name, "fleet", make, member.name, added=region)


def _member(plan: AckFleetPlan, member: MemberPlan, region: dict[str, object]) -> Iterator[FleetResource]:
    added = {**region, "vpc": plan.fleet.vpc}
    make = partial(member_cluster, member, plan.tags)
    yield FleetResource(ResourceKind.CLUSTER, member.name, member.key, make, "cluster", added=added)
    for pool in member.node_pools:
        key = f"{member.name}/{pool.name}"
        make = partial(member_node_pool, pool, Reference(ResourceKind.CLUSTER, member.name, "cluster.id"), plan.tags)
        name = f"pool-{member.name}"
        yield FleetResource(ResourceKind.NODE_POOL, key, name, make, pool.name, pool=key, added=region)
