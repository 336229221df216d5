"""Convert node pools of an ACK One fleet into the pools and flavors that queues refer to."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from berth.catalog import Machine
from berth.diagnostics import join_quoted
from berth.plan.ack import AckNodePoolPlan, MemberPlan
from berth.plan.grouping import grouped
from berth.plan.node_settings import Bounds
from berth.planner.ack.machines import instance_type
from berth.planner.context import PlanningContext
from berth.planner.machines.hardware import Hardware
from berth.planner.machines.pools import BERTH, PlannedPool
from berth.planner.queueing.flavors import FlavorGroup
from berth.rules.gke.pool_request import PoolRequest
from berth.spec.ack import AckFleetSpec
from berth.spec.machines.capacity import Capacity
from berth.spec.machines.pools import PoolSpec

GPU = "nvidia.com/gpu"
"""Resource name of ACK's device plugin for all GPU types."""


def plan_ack_pools(spec: AckFleetSpec, plans: list[MemberPlan]) -> dict[str, PlannedPool]:
    """Return pools by name; node pools with the same name in several members are one pool."""
    groups = grouped((pool.name, pool) for member in plans for pool in member.node_pools)
    return {name: _pool(spec, name, group) for name, group in sorted(groups.items())}


def _pool(spec: AckFleetSpec, name: str, group: list[AckNodePoolPlan]) -> PlannedPool:
    first = group[0]
    contents = instance_type(spec.ack.instance_types, first.instance_type)
    assert contents is not None
    machine = Machine(
        name=first.instance_type,
        kind="gpu",
        accelerator=contents.gpu,
        resource=GPU,
        noun=contents.gpu,
        accelerators=contents.gpus,
        vcpu=contents.cpu,
        memory_gb=contents.memory / 2**30,
    )
    nodes = Bounds(min=sum(p.nodes.min for p in group), max=sum(p.nodes.max for p in group))
    kind = "spot" if first.spot else "on-demand"
    pool_spec = PoolSpec.model_construct(
        machine_type=first.instance_type, capacity=Capacity(kind=kind), flavor=first.flavor
    )
    hardware = Hardware(machine, None, None, nodes, contents.gpus)
    return PlannedPool(
        name=name,
        spec=pool_spec,
        hardware=hardware,
        zones=(),
        made_by=BERTH,
        reservation=None,
        request=PoolRequest(machine=machine, nodes=nodes),
        compute_class=None,
    )


def plan_ack_flavors(context: PlanningContext, planned_pools: Mapping[str, PlannedPool]) -> dict[str, FlavorGroup]:
    """Return flavors by name, each a group of pools with one GPU type and one capacity."""
    groups = grouped((pool.spec.flavor or pool.name, pool) for pool in planned_pools.values())
    by_name = {
        name: _flavor(name, group) for name, group in sorted(groups.items()) if _can_form_flavor(context, name, group)
    }
    for name in sorted(context.spec.flavors):
        context.resolve("flavors", name, by_name, ("flavors", name))
    return by_name


def _can_form_flavor(context: PlanningContext, name: str, group: list[PlannedPool]) -> bool:
    first = group[0]
    for pool in group[1:]:
        if (pool.hardware.machine.noun, pool.spec.capacity) != (first.hardware.machine.noun, first.spec.capacity):
            problem = f"pools {join_quoted([first.name, pool.name])} cannot form one flavor '{name}'"
            message = f"{problem}: a flavor has one GPU type and one capacity; write different flavors"
            context.problems.fault("mixed-flavor", ("pools", pool.name, "flavor"), message)
            context.set_aside.add(("flavors", name))
            return False
    return True


def _flavor(name: str, group: list[PlannedPool]) -> FlavorGroup:
    machines = [(p.hardware.machine, p.hardware.per_node) for p in group]
    counts = [p.hardware.accelerators for p in group]
    return FlavorGroup(
        name=name,
        pools=tuple(group),
        node_labels={},
        tolerations=(),
        capacity=Bounds(min=sum(c.min for c in counts), max=sum(c.max for c in counts)),
        unit=1,
        cpu_per_accelerator=max(Fraction(m.vcpu * 1000, per_node) for m, per_node in machines),
        memory_per_accelerator=max(Fraction(m.memory_gb) * 2**30 / each for m, each in machines),
    )
