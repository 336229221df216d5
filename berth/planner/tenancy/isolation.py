"""How far a team's pods are shut in: Pod Security, network, and the accelerators that they may ask for at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from ipaddress import IPv4Network

from berth import catalog
from berth.diagnostics import FieldPath
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import EgressPlan, IsolationPlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import PlannedFlavor
from berth.spec.tenancy import NetworkPolicySpec

_POD_SECURITY_LEVELS = ("privileged", "baseline", "restricted")
"""Pod Security Standards, the strictest last."""
_PRIVATE_RANGES = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
"""Addresses that no public service has (RFC 1918, 3927, 6598)."""
_GOOGLE_API_RANGES = "199.36.153.4/30", "199.36.153.8/30"
"""restricted.googleapis.com and private.googleapis.com (VPC docs: private Google access)."""
_HTTPS = (443,)


def team_isolation(
    context: PlanningContext,
    team: str,
    queues: Iterable[ClusterQueuePlan],
    ceiling: Mapping[str, int],
    planned_flavors: Mapping[str, PlannedFlavor],
) -> IsolationPlan:
    """What shuts in the pods of a team with these queues; `ceiling` is in accelerators by flavor."""
    spec = context.spec.teams[team]
    level = _pod_security(context, team, {entry.flavor for queue in queues for entry in queue.flavors}, planned_flavors)
    return IsolationPlan(
        pod_security=level,
        pod_security_warning=_POD_SECURITY_LEVELS[
            min(_POD_SECURITY_LEVELS.index(level) + 1, len(_POD_SECURITY_LEVELS) - 1)
        ],
        egress=_egress(context, team, spec.network_policy),
        service_range=_cluster_ranges(context)[0],
        accelerators=_max_accelerators(ceiling, planned_flavors),
        requests_cpu=spec.default_requests.cpu,
        requests_memory=spec.default_requests.memory,
    )


def _max_accelerators(ceiling: Mapping[str, int], planned_flavors: Mapping[str, PlannedFlavor]) -> dict[str, int]:
    """Every resource name that machines have to the most that the team's queues can hand out: no job that Kueue admits
    is ever refused by it, and none that passes Kueue by can take more."""
    max_by_resource = dict.fromkeys(_accelerator_resources(), 0)
    for flavor, maximum in ceiling.items():
        max_by_resource[planned_flavors[flavor].resource] += maximum
    return max_by_resource


@cache
def _accelerator_resources() -> tuple[str, ...]:
    """Every resource name that machines have."""
    return tuple(sorted({machine.resource for machine in catalog.machines().values()}))


def _pod_security(
    context: PlanningContext, team: str, flavors: Iterable[str], planned_flavors: Mapping[str, PlannedFlavor]
) -> str:
    """The level that is asked for; else the strictest under which the training that its machines are for can run.

    Multislice jobs take the host's network, and jobs on networks of accelerators mount libraries from the host, which
    only `privileged` lets them (GKE docs: TPU multislice, GPU networking); images of training frameworks run as root,
    which `restricted` refuses. Autopilot has its own rules on top.
    """
    written = context.spec.teams[team].pod_security
    privileged_flavors = (
        [f for f in sorted(flavors) if _needs_host_network(planned_flavors[f])]
        if context.spec.cluster.mode == "standard"
        else []
    )
    if written is None:
        return "privileged" if privileged_flavors else "baseline"
    if written != "privileged" and privileged_flavors:
        path: FieldPath = ("teams", team, "podSecurity")
        message = (
            f"'{written}' refuses pods the host's network and files, which "
            f"jobs across nodes of {privileged_flavors[0]} ask for; "
            "write privileged, or leave it out"
        )
        context.problems.warning("pod-security", path, message)
    return written


def _needs_host_network(flavor: PlannedFlavor) -> bool:
    shapes = (pool.hardware.shape for pool in flavor.pools)
    return (
        any(shape is not None and shape.multi_host for shape in shapes) or flavor.pools[0].spec.networking is not None
    )


# --- network ----------------------------------------------------------------------------------------------------------


def _egress(context: PlanningContext, team: str, spec: NetworkPolicySpec) -> tuple[EgressPlan, ...] | None:
    path: FieldPath = ("teams", team, "networkPolicy")
    if not spec.enabled:
        ignored_keys = spec.model_fields_set - {"enabled"}
        if ignored_keys:
            message = "the policy is off, so nothing else of it holds; leave the rest out, or enabled"
            context.problems.fault("contradiction", (*path, "enabled"), message)
        return None
    written_egress = tuple(
        EgressPlan(cidr=each.cidr_block, ports=tuple(sorted(set(each.ports)))) for each in spec.egress
    )
    return (*_https_egress(context, spec), *written_egress)


def _https_egress(context: PlanningContext, spec: NetworkPolicySpec) -> tuple[EgressPlan, ...]:
    """Google's APIs with everything else that is public, or by their private addresses alone."""
    if not spec.internet:
        return tuple(EgressPlan(cidr=each, ports=_HTTPS) for each in _GOOGLE_API_RANGES)
    cluster_ranges = frozenset(_cluster_ranges(context))
    return (EgressPlan(cidr="0.0.0.0/0", ports=_HTTPS, besides=(*_PRIVATE_RANGES, *_public_ranges(cluster_ranges))),)


@cache
def _public_ranges(ranges: frozenset[str]) -> tuple[str, ...]:
    """Those ranges that are not private ones anyway; every team asks for those of the one cluster."""
    private = [IPv4Network(each) for each in _PRIVATE_RANGES]
    return tuple(sorted(r for r in ranges if not any(IPv4Network(r).subnet_of(each) for each in private)))


def _cluster_ranges(context: PlanningContext) -> tuple[str, ...]:
    """The cluster's ranges as far as they are known, that of its services first."""
    network, existing = context.spec.cluster.network, context.spec.cluster.existing
    if existing is not None:
        return (existing.service_cidr_block,)
    return network.service_cidr_block, network.node_cidr_block, network.pod_cidr_block
