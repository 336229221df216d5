"""Plan the members of an ACK One fleet and their node pools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from itertools import combinations

from msgspec import Struct, field

from berth.catalog.alibaba import ecs_machines
from berth.diagnostics import FieldPath, did_you_mean
from berth.plan.ack import AckNodePoolPlan, MemberPlan
from berth.plan.node_settings import Bounds, Taint
from berth.planner.ack.machines import check_instance_types, check_region, check_version, instance_type
from berth.planner.allowances import is_protected
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import check_key_is_free
from berth.spec.ack import AckFleetSpec, AckNodePoolSpec, InstanceTypeSpec, MemberSpec

_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io", "alibabacloud.com", "aliyun.com", "aliyun.accelerator", "berth.dev")
"""Domains whose labels and taints are set by Kubernetes or ACK."""

_CREATED_MEMBER_FIELDS = (
    "cluster_spec",
    "version",
    "enable_reservation",
    "vswitches",
    "pod_vswitches",
    "pod_cidr_block",
    "service_cidr_block",
)
"""Keys that only a member created by Berth can have."""

_MAX_VSWITCHES = 5
"""Maximum vSwitches of a control plane (schema of `alicloud_cs_managed_kubernetes`)."""
_MAX_AUTOSCALING = Bounds(min=1000, max=2000)
"""Maximum of min and max of a pool that scales (`scaling_config` of `alicloud_cs_kubernetes_node_pool`)."""


RESERVATION_VERSION = (1, 28)
"""Kubernetes from which Kube Scheduler (6.8.0) has the parameter enableReservation, by which the fleet reserves nodes
for a job before it sends it there (ACK One guide on PyTorchJobs with gang scheduling, page of 2026-03-26; no
second source lists the parameter)."""


class PlannedMembers(Struct):
    """Members and, by the name of a node pool, the path of its first occurrence."""

    plans: list[MemberPlan] = field(default_factory=list[MemberPlan])
    node_pool_paths: dict[str, FieldPath] = field(default_factory=dict[str, FieldPath])


def plan_members(context: PlanningContext, spec: AckFleetSpec) -> PlannedMembers:
    """Plan every member of the fleet, in order of names, with its node pools without faults."""
    planned_members = PlannedMembers()
    check_region(context, spec.ack.region)
    check_instance_types(context, spec)
    for name, member in sorted(spec.ack.clusters.items()):
        path: FieldPath = ("ack", "clusters", name)
        _check_member_keys(context, path, member)
        check_version(context, (*path, "version"), member.version)
        if member.existing is None:
            _check_vswitch_count(context, spec, path, member)
        pools = tuple(_node_pool_plans(context, spec, planned_members, name))
        planned_members.plans.append(
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
                reservation=_reserves(context, spec, path, member),
                node_pools=pools,
                protect=is_protected(context, f"clusters.{name}"),
            )
        )
    _check_pod_ranges(context, planned_members)
    return planned_members


def _reserves(context: PlanningContext, spec: AckFleetSpec, path: FieldPath, member: MemberSpec) -> bool:
    """Return whether Berth switches resource reservation on; report where a gang goes without it."""
    if member.existing is not None:
        message = (
            "Berth does not configure this cluster: the fleet may send it a gang that its free nodes cannot hold, "
            "unless its Kube Scheduler (6.8.0, Kubernetes 1.28) has enableReservation, set under Add-ons of the cluster"
        )
        _note_no_reservation(context, spec, (*path, "existing"), message)
        return False
    version = member.version
    is_supported = version is None or tuple(map(int, version.split(".")[:2])) >= RESERVATION_VERSION
    if member.enable_reservation is False or is_supported:
        return member.enable_reservation is not False
    minimum = ".".join(map(str, RESERVATION_VERSION))
    if member.enable_reservation:
        context.problems.fault(
            "version-too-old",
            (*path, "enableReservation"),
            f"'true' needs Kubernetes {minimum} or later, but version is '{member.version}'; write a later version, or "
            "remove enableReservation",
        )
    else:
        message = (
            f"'{member.version}' is older than {minimum}, so Kube Scheduler reserves nothing for the fleet, which may "
            "send the member a gang that its free nodes cannot hold; write a later version"
        )
        _note_no_reservation(context, spec, (*path, "version"), message)
    return False


def _note_no_reservation(context: PlanningContext, spec: AckFleetSpec, path: FieldPath, message: str) -> None:
    if spec.ack.fleet.propagation.gang:
        context.problems.note("no-reservation", path, message)


def _check_pod_ranges(context: PlanningContext, planned_members: PlannedMembers) -> None:
    """Report members of one VPC with overlapping pod ranges.

    Flannel uses routes of the VPC, and the cloud controller manager deletes conflicting ones (ACK docs: Flannel).
    """
    ranges = [(m.name, IPv4Network(m.pod_range)) for m in planned_members.plans if m.existing is None and m.pod_range]
    for (first_member, first_range), (second_member, second_range) in combinations(ranges, 2):
        if first_range.overlaps(second_range):
            context.problems.fault(
                "overlapping-ranges",
                ("ack", "clusters", second_member, "podCidrBlock"),
                f"'{second_range}' overlaps {first_range} of member '{first_member}' "
                "in the same VPC; write ranges that share no address",
            )


def _check_member_keys(context: PlanningContext, path: FieldPath, member: MemberSpec) -> None:
    created_only = [key for key in _CREATED_MEMBER_FIELDS if key in member.model_fields_set]
    yaml_keys = {name: info.alias or name for name, info in MemberSpec.model_fields.items()}
    if member.existing is not None:
        for key in created_only:
            name = yaml_keys[key]
            message = f"cluster '{member.existing}' already exists, so Berth cannot set {name}; remove {name}"
            context.problems.fault("contradiction", (*path, name), message)
        return
    if member.pod_vswitches and member.pod_cidr_block:
        message = (
            "pods get addresses from podVswitches (Terway) or from podCidrBlock (Flannel), not both; remove one of them"
        )
        context.problems.fault("contradiction", (*path, "podCidrBlock"), message)
    elif not member.pod_vswitches and not member.pod_cidr_block:
        context.problems.fault(
            "missing-key",
            (*path, "podCidrBlock"),
            "is missing: pods need addresses; write podCidrBlock: 10.64.0.0/16 (Flannel), or podVswitches (Terway)",
        )
    elif member.pod_cidr_block and IPv4Network(member.pod_cidr_block).overlaps(IPv4Network(member.service_cidr_block)):
        context.problems.fault(
            "bad-range",
            (*path, "podCidrBlock"),
            f"'{member.pod_cidr_block}' overlaps serviceCidrBlock, {member.service_cidr_block}; write another range",
        )


def _check_vswitch_count(context: PlanningContext, spec: AckFleetSpec, path: FieldPath, member: MemberSpec) -> None:
    """Report too many vSwitches of a cluster, or of the network that it uses; node pools have no such limit."""
    vswitches = member.vswitches or spec.ack.network.vswitches
    if len(vswitches) > _MAX_VSWITCHES:
        vswitches_path: FieldPath = (*path, "vswitches") if member.vswitches else path
        context.problems.fault(
            "bad-size",
            vswitches_path,
            f"a cluster has at most {_MAX_VSWITCHES} vSwitches, but this one has {len(vswitches)}; "
            "write fewer vswitches for the member",
        )


def _node_pool_plans(
    context: PlanningContext, spec: AckFleetSpec, planned_members: PlannedMembers, member: str
) -> Iterator[AckNodePoolPlan]:
    for name, pool in sorted(spec.ack.clusters[member].node_pools.items()):
        path: FieldPath = ("ack", "clusters", member, "nodePools", name)
        machine = _instance_type(context, spec.ack.instance_types, pool, path)
        _check_labels_and_taints(context, path, pool)
        first_path = planned_members.node_pool_paths.setdefault(name, path)
        if (
            machine is None
            or not _can_scale(context, path, pool)
            or not _matches_first_pool(context, spec, name, pool, first_path, path)
        ):
            context.set_aside |= {("pools", name), ("flavors", pool.flavor or name)}
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
            protect=is_protected(context, f"{member}/{name}"),
        )


def _can_scale(context: PlanningContext, path: FieldPath, pool: AckNodePoolSpec) -> bool:
    """Return whether the size of a node pool is possible; report it if not."""
    min_nodes, max_nodes = pool.nodes.min, pool.nodes.max
    if min_nodes == max_nodes or (min_nodes <= _MAX_AUTOSCALING.min and max_nodes <= _MAX_AUTOSCALING.max):
        return True
    context.problems.fault(
        "bad-size",
        (*path, "nodes"),
        f"min {min_nodes} or max {max_nodes} is too large: an autoscaled node pool of ACK has a min of at most "
        f"{_MAX_AUTOSCALING.min} and a max of at most {_MAX_AUTOSCALING.max}; write less",
    )
    return False


def _instance_type(
    context: PlanningContext, types: Mapping[str, InstanceTypeSpec], pool: AckNodePoolSpec, path: FieldPath
) -> InstanceTypeSpec | None:
    if (known := instance_type(types, pool.instance_type)) is not None:
        return known
    whole = [name for name, machine in ecs_machines().items() if machine.gpu is not None]
    hint = None if pool.instance_type in ecs_machines() else did_you_mean(pool.instance_type, [*whole, *types])
    remedy = hint or "; describe it under ack.instanceTypes, such as {gpu: A100, gpus: 8, cpu: 128, memory: 1024Gi}"
    context.problems.fault(
        "unknown-machine", (*path, "instanceType"), f"unknown instance type '{pool.instance_type}'{remedy}"
    )
    return None


def _matches_first_pool(
    context: PlanningContext,
    spec: AckFleetSpec,
    name: str,
    pool: AckNodePoolSpec,
    first_path: FieldPath,
    path: FieldPath,
) -> bool:
    """Return whether a node pool equals the first of its name: queues see the two as one pool."""
    other = spec.ack.clusters[str(first_path[2])].node_pools[name]
    for key, value, other_value in (
        ("instanceType", pool.instance_type, other.instance_type),
        ("capacity", pool.capacity, other.capacity),
        ("flavor", pool.flavor, other.flavor),
    ):
        if value != other_value:
            context.problems.fault(
                "mixed-pool",
                (*path, key),
                f"'{value}' differs from '{other_value}' in {first_path[2]}, but node pools of one name are one pool; "
                "write the same value, or another name",
            )
            return False
    return True


def _check_labels_and_taints(context: PlanningContext, path: FieldPath, pool: AckNodePoolSpec) -> None:
    keys = [((*path, "labels", key), key) for key in sorted(pool.labels)]
    keys += [((*path, "taints", index), taint.key) for index, taint in enumerate(pool.taints)]
    for key_path, key in keys:
        check_key_is_free(context, key_path, key, _RESERVED_DOMAINS, "ACK")
