"""Members of an ACK One fleet and their node pools; and what these are to queues: pools and flavors like any others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from ipaddress import IPv4Network
from itertools import combinations

from msgspec import Struct, field

from berth.catalog import Machine
from berth.diagnostics import Path, near_miss, quoted, shown
from berth.plan.ack import AckNodePoolPlan, MemberPlan
from berth.plan.nodes import Bounds, Taint
from berth.planner.allowances import protected
from berth.planner.context import Draft
from berth.planner.machines.hardware import Hardware
from berth.planner.machines.pools import BERTH, Pool
from berth.planner.queueing.flavors import Flavor
from berth.rules.gke.pool_request import Asked
from berth.spec.ack import AckFleetSpec, AckNodePoolSpec, InstanceTypeSpec, MemberSpec
from berth.spec.machines.capacity import Capacity
from berth.spec.machines.pools import PoolSpec

GPU = "nvidia.com/gpu"
"""The resource that ACK's device plugin offers, whatever the GPU."""

_TAKEN = ("kubernetes.io", "k8s.io", "alibabacloud.com", "aliyun.com", "aliyun.accelerator", "berth.dev")
"""Domains whose labels and taints are set by others."""

_OF_MADE_ONES = ("cluster_spec", "version", "vswitches", "pod_vswitches", "pod_cidr_block", "service_cidr_block")
"""What can be said of a member that Berth makes, and of no other."""

_VSWITCHES = 5
"""The most vSwitches of a cluster's control plane (provider's schema of `alicloud_cs_managed_kubernetes`)."""
_SCALES = Bounds(min=1000, max=2000)
"""The most of either bound of a pool that scales (`scaling_config` of `alicloud_cs_kubernetes_node_pool`)."""


class Members(Struct):
    """Members and, by the name of a node pool, the first place where it was written."""

    plans: list[MemberPlan] = field(default_factory=list[MemberPlan])
    places: dict[str, Path] = field(default_factory=dict[str, Path])


def members(draft: Draft, spec: AckFleetSpec) -> Members:
    """Every member of the fleet, by name, with the node pools that can exist."""
    found = Members()
    for name, member in sorted(spec.ack.clusters.items()):
        path: Path = ("ack", "clusters", name)
        _fits(draft, path, member)
        if member.existing is None:
            _few_vswitches(draft, spec, path, member)
        pools = tuple(_node_pools(draft, spec, found, name))
        found.plans.append(
            MemberPlan(
                key=f"member-{name}",
                name=name,
                existing=member.existing,
                cluster_spec=member.cluster_spec,
                version=member.version,
                vswitches=member.vswitches or spec.ack.network.vswitches,
                pod_vswitches=member.pod_vswitches,
                pod_range=member.pod_cidr_block,
                service_range=member.service_cidr_block,
                node_pools=pools,
                protect=protected(draft, f"clusters.{name}"),
            )
        )
    _pods_apart(draft, found)
    return found


def _pods_apart(draft: Draft, found: Members) -> None:
    """Flannel's pods are reached by routes of the VPC, and the cloud controller manager deletes those in conflict
    (ACK docs: Use the Flannel network plugin)."""
    ranges = [(m.name, IPv4Network(m.pod_range)) for m in found.plans if m.existing is None and m.pod_range]
    for (first, a), (second, b) in combinations(ranges, 2):
        if a.overlaps(b):
            message = f"'{b}' overlaps {a} of member '{first}' in the same VPC; write ranges that share no address"
            draft.problems.fault("overlapping-ranges", ("ack", "clusters", second, "podCidrBlock"), message)


def _fits(draft: Draft, path: Path, member: MemberSpec) -> None:
    written = [key for key in _OF_MADE_ONES if key in member.model_fields_set]
    keys = {name: info.alias or name for name, info in MemberSpec.model_fields.items()}
    if member.existing is not None:
        for key in written:
            message = f"cluster '{member.existing}' exists, and Berth makes nothing of it; leave {keys[key]} out"
            draft.problems.fault("contradiction", (*path, keys[key]), message)
        return
    if member.pod_vswitches and member.pod_cidr_block:
        message = "pods take addresses of podVswitches (Terway) or of podCidrBlock (Flannel); write one of them"
        draft.problems.fault("contradiction", (*path, "podCidrBlock"), message)
    elif not member.pod_vswitches and not member.pod_cidr_block:
        message = (
            "is missing: pods need addresses; write podCidrBlock: 10.64.0.0/16 (Flannel), or podVswitches (Terway)"
        )
        draft.problems.fault("missing-key", (*path, "podCidrBlock"), message)
    elif member.pod_cidr_block and IPv4Network(member.pod_cidr_block).overlaps(IPv4Network(member.service_cidr_block)):
        message = (
            f"'{member.pod_cidr_block}' overlaps serviceCidrBlock, {member.service_cidr_block}; write another range"
        )
        draft.problems.fault("bad-range", (*path, "podCidrBlock"), message)


def _few_vswitches(draft: Draft, spec: AckFleetSpec, path: Path, member: MemberSpec) -> None:
    """Node pools may have more: only a cluster's own are bounded, or those of the network in their place."""
    vswitches = member.vswitches or spec.ack.network.vswitches
    if len(vswitches) > _VSWITCHES:
        place: Path = (*path, "vswitches") if member.vswitches else path
        message = (
            f"a cluster takes {_VSWITCHES} vSwitches at most, and this has {len(vswitches)}; write its own vswitches"
        )
        draft.problems.fault("bad-size", place, message)


def _node_pools(draft: Draft, spec: AckFleetSpec, found: Members, member: str) -> Iterator[AckNodePoolPlan]:
    for name, pool in sorted(spec.ack.clusters[member].node_pools.items()):
        path: Path = ("ack", "clusters", member, "nodePools", name)
        machine = _machine(draft, spec.ack.instance_types, pool, path)
        _marks_are_free(draft, path, pool)
        first = found.places.setdefault(name, path)
        if machine is None or not _scales(draft, path, pool) or not _alike(draft, spec, name, pool, first, path):
            draft.set_aside |= {("pools", name), ("flavors", pool.flavor or name)}
            continue
        yield AckNodePoolPlan(
            key=f"pool-{member}-{name}",
            name=name,
            instance_type=pool.instance_type,
            gpu=machine.gpu,
            gpus=machine.gpus,
            nodes=Bounds(min=pool.nodes.min, max=pool.nodes.max),
            spot=pool.capacity == "spot",
            flavor=pool.flavor or name,
            vswitches=pool.vswitches or spec.ack.clusters[member].vswitches or spec.ack.network.vswitches,
            labels=dict(sorted(pool.labels.items())),
            taints=tuple(Taint(key=t.key, value=t.value, effect=t.effect) for t in pool.taints),
            disk_size_gb=pool.disk_size_gb,
            protect=protected(draft, f"{member}/{name}"),
        )


def _scales(draft: Draft, path: Path, pool: AckNodePoolSpec) -> bool:
    """Whether a node pool has one size, or scales as far as one can."""
    least, most = pool.nodes.min, pool.nodes.max
    if least == most or (least <= _SCALES.min and most <= _SCALES.max):
        return True
    message = f"a pool that scales has a min of at most {_SCALES.min} and a max of at most {_SCALES.max}"
    draft.problems.fault("bad-size", (*path, "nodes"), message)
    return False


def _machine(
    draft: Draft, types: Mapping[str, InstanceTypeSpec], pool: AckNodePoolSpec, path: Path
) -> InstanceTypeSpec | None:
    if pool.instance_type in types:
        return types[pool.instance_type]
    hint = near_miss(pool.instance_type, types)
    remedy = hint or "; write what it holds under ack.instanceTypes: {gpu: A100, gpus: 8, cpu: 128, memory: 1024Gi}"
    message = f"nothing says what '{pool.instance_type}' holds{remedy}"
    draft.problems.fault("unknown-machine", (*path, "instanceType"), message)
    return None


def _alike(draft: Draft, spec: AckFleetSpec, name: str, pool: AckNodePoolSpec, first: Path, path: Path) -> bool:
    """Whether a node pool is like the first of its name: the two are one pool to whoever has a share of it."""
    other = spec.ack.clusters[str(first[2])].node_pools[name]
    for key, mine, theirs in (
        ("instanceType", pool.instance_type, other.instance_type),
        ("capacity", pool.capacity, other.capacity),
        ("flavor", pool.flavor, other.flavor),
    ):
        if mine != theirs:
            message = (
                f"'{mine}' here and '{theirs}' in {first[2]}: node pools of one name are one pool; "
                "write the same, or another name"
            )
            draft.problems.fault("mixed-pool", (*path, key), message)
            return False
    return True


def _marks_are_free(draft: Draft, path: Path, pool: AckNodePoolSpec) -> None:
    keys = [((*path, "labels", key), key) for key in sorted(pool.labels)]
    keys += [((*path, "taints", index), taint.key) for index, taint in enumerate(pool.taints)]
    for where, key in keys:
        domain = key.rpartition("/")[0]
        if any(domain == taken or domain.endswith(f".{taken}") for taken in _TAKEN):
            message = f"'{shown(key)}' is for Kubernetes, ACK or Berth to set; write a key of your own"
            draft.problems.fault("reserved-label", where, message)


# --- what queues see --------------------------------------------------------------------------------------------------


def pools(spec: AckFleetSpec, plans: list[MemberPlan]) -> dict[str, Pool]:
    """Node pools by name, those of one name in several members as one."""
    found: dict[str, list[AckNodePoolPlan]] = {}
    for member in plans:
        for pool in member.node_pools:
            found.setdefault(pool.name, []).append(pool)
    return {name: _pool(spec, name, group) for name, group in sorted(found.items())}


def _pool(spec: AckFleetSpec, name: str, group: list[AckNodePoolPlan]) -> Pool:
    first = group[0]
    holds = spec.ack.instance_types[first.instance_type]
    machine = Machine(
        name=first.instance_type,
        kind="gpu",
        accelerator=holds.gpu,
        resource=GPU,
        noun=holds.gpu,
        accelerators=holds.gpus,
        vcpu=holds.cpu,
        memory_gb=holds.memory / 2**30,
    )
    nodes = Bounds(min=sum(p.nodes.min for p in group), max=sum(p.nodes.max for p in group))
    kind = "spot" if first.spot else "on-demand"
    written = PoolSpec.model_construct(
        machine_type=first.instance_type, capacity=Capacity(kind=kind), flavor=first.flavor
    )
    hardware = Hardware(machine, None, None, nodes, holds.gpus)
    return Pool(
        name=name,
        spec=written,
        hardware=hardware,
        zones=(),
        made_by=BERTH,
        reservation=None,
        asked=Asked(machine=machine, nodes=nodes),
        ladder=None,
    )


def flavors(draft: Draft, known: Mapping[str, Pool]) -> dict[str, Flavor]:
    """Flavors by name: pools of one GPU and one capacity."""
    groups: dict[str, list[Pool]] = {}
    for pool in known.values():
        groups.setdefault(pool.spec.flavor or pool.name, []).append(pool)
    found = {name: _flavor(name, group) for name, group in sorted(groups.items()) if _agree(draft, name, group)}
    for name in sorted(draft.spec.flavors):
        draft.find("flavors", name, found, ("flavors", name))
    return found


def _agree(draft: Draft, name: str, group: list[Pool]) -> bool:
    first = group[0]
    for pool in group[1:]:
        if (pool.hardware.machine.noun, pool.spec.capacity) != (first.hardware.machine.noun, first.spec.capacity):
            what = f"pools {quoted([first.name, pool.name])} cannot form one flavor '{name}'"
            message = f"{what}: a flavor has one GPU and one capacity; name another flavor"
            draft.problems.fault("mixed-flavor", ("pools", pool.name, "flavor"), message)
            draft.set_aside.add(("flavors", name))
            return False
    return True


def _flavor(name: str, group: list[Pool]) -> Flavor:
    machines = [(p.hardware.machine, p.hardware.per_node) for p in group]
    counts = [p.hardware.accelerators for p in group]
    return Flavor(
        name=name,
        pools=tuple(group),
        node_labels={},
        tolerations=(),
        capacity=Bounds(min=sum(c.min for c in counts), max=sum(c.max for c in counts)),
        unit=1,
        cpu_each=max(Fraction(m.vcpu * 1000, each) for m, each in machines),
        memory_each=max(Fraction(m.memory_gb) * 2**30 / each for m, each in machines),
    )
