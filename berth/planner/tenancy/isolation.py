"""Plan the isolation of a team's pods: Pod Security, network, and quotas of its namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from ipaddress import IPv4Network
from math import ceil

from berth import catalog
from berth.diagnostics import FieldPath, join_words
from berth.plan.configuration import JOB_FRAMEWORKS
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import EgressPlan, HostAccessPlan, IsolationPlan, ObjectLimitsPlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.tenancy.access import job_kinds
from berth.spec.base import written_keys
from berth.spec.tenancy import NetworkPolicySpec

_POD_SECURITY_LEVELS = ("privileged", "baseline", "restricted")
"""Pod Security Standards, strictest last."""
_PRIVATE_RANGES = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
"""Private address ranges (RFC 1918, 3927, 6598)."""
GOOGLE_API_RANGES = "199.36.153.4/30", "199.36.153.8/30"
"""restricted.googleapis.com and private.googleapis.com (VPC docs: private Google access)."""
_HTTPS = (443,)
_MAX_PODS_PER_NODE = 256
"""GKE's maximum of pods per node (GKE docs: "Configure maximum Pods per node")."""
_HELPER_CPU, _HELPER_MEMORY = 32_000, 128 * 2**30
"""Milli-CPU and bytes for pods that run outside flavors' machines: launchers, submitters of Ray jobs."""
_LARGE_OBJECTS = (
    "configmaps",
    "secrets",
    *(f"{kind}.{group}" for group, kinds in job_kinds(JOB_FRAMEWORKS).items() for kind in kinds),
    "deployments.apps",
    "horizontalpodautoscalers.autoscaling",
    "leaderworkersets.leaderworkerset.x-k8s.io",
    "poddisruptionbudgets.policy",
    "secretproviderclasses.secrets-store.csi.x-k8s.io",
)
"""What a team's people may create, whether the cluster has the kind or not."""
_MAX_OBJECTS = {
    **{f"count/{name}": 500 for name in _LARGE_OBJECTS},
    "count/jobs.batch": 10_000,
    "count/jobsets.jobset.x-k8s.io": 5_000,
    "count/services": 5_000,
    "count/statefulsets.apps": 5_000,
    "persistentvolumeclaims": 1_000,
}
"""Limit of objects that keeps one team's faulty script from filling the API server's storage.

Most can have 1 MiB each, and the storage of a cluster 6 GB (GKE docs: "Quotas and limits").
"""
_SHARE_OF_ADDRESSES = 4
"""A namespace has at most the services of this part of the cluster's addresses; each JobSet makes one, without."""
_SERVICE_LIMITS = {"LoadBalancer": "services.loadbalancers", "NodePort": "services.nodeports"}


def team_isolation(
    context: PlanningContext,
    team: str,
    queues: Iterable[ClusterQueuePlan],
    ceiling: Mapping[str, int],
    planned_flavors: Mapping[str, FlavorGroup],
) -> IsolationPlan:
    """Return the isolation of a team with these queues; `ceiling` is flavor → accelerators."""
    spec = context.spec.teams[team]
    queues = list(queues)
    flavors = sorted({entry.flavor for queue in queues for entry in queue.flavors})
    level, host_access = pod_security(context, team, flavors, planned_flavors)
    return IsolationPlan(
        pod_security=level,
        pod_security_warning=_POD_SECURITY_LEVELS[
            min(_POD_SECURITY_LEVELS.index(level) + 1, len(_POD_SECURITY_LEVELS) - 1)
        ],
        host_access=host_access,
        priorities=_pod_priorities(context, team, queues),
        service_types=tuple(sorted(spec.service_types)),
        limits=_limits(
            spec.service_types,
            [planned_flavors[name] for name in flavors],
            IPv4Network(_cluster_ranges(context)[0]).num_addresses // _SHARE_OF_ADDRESSES,
        ),
        egress=_egress(context, team, spec.network_policy),
        service_range=_cluster_ranges(context)[0],
        accelerators=_max_accelerators(ceiling, planned_flavors),
        requests_cpu=spec.default_requests.cpu,
        requests_memory=spec.default_requests.memory,
    )


def _max_accelerators(ceiling: Mapping[str, int], planned_flavors: Mapping[str, FlavorGroup]) -> dict[str, int]:
    """Return resource name → the most that the team's queues can admit.

    The limit never rejects a job that Kueue admits, and jobs that bypass Kueue cannot use more.
    """
    max_by_resource = dict.fromkeys(_accelerator_resources(), 0)
    for flavor, maximum in ceiling.items():
        if planned_flavors[flavor].resource in max_by_resource:  # cores are limited with all other cpu
            max_by_resource[planned_flavors[flavor].resource] += maximum
    return max_by_resource


@cache
def _accelerator_resources() -> tuple[str, ...]:
    """Return the resource names of all accelerators."""
    return tuple(sorted({machine.resource for machine in catalog.machines().values()}))


def _limits(service_types: Iterable[str], flavors: Iterable[FlavorGroup], services: int) -> ObjectLimitsPlan:
    """Return limits for all machines of the team's flavors plus helper pods: they never reject an admitted job.

    `services` is the most that the cluster's addresses allow.
    """
    reachable = list(flavors)
    cpu = sum(_rounded_up(flavor.capacity.max, flavor.cpu_per_accelerator) for flavor in reachable)
    memory = sum(_rounded_up(flavor.capacity.max, flavor.memory_per_accelerator) for flavor in reachable)
    nodes = sum(ceil(each.capacity.max / min(pool.hardware.per_node for pool in each.pools)) for each in reachable)
    refused = {key: 0 for name, key in _SERVICE_LIMITS.items() if name not in service_types}
    return ObjectLimitsPlan(
        cpu=cpu + _HELPER_CPU,
        memory=memory + _HELPER_MEMORY,
        objects={
            **_MAX_OBJECTS,
            **{key: min(_MAX_OBJECTS[key], services) for key in ("count/jobsets.jobset.x-k8s.io", "count/services")},
            **refused,
            "pods": (nodes + 1) * _MAX_PODS_PER_NODE,
        },
    )


def _rounded_up(count: int, rate: Fraction) -> int:
    return -(-count * rate.numerator // rate.denominator)


def _pod_priorities(context: PlanningContext, team: str, queues: Iterable[ClusterQueuePlan]) -> tuple[str, ...]:
    """Return the classes of the team's queues, those granted to it, and the default class of pods without one.

    The only team of a fleet may use every class, because it can preempt only its own pods.
    """
    known, spec = context.spec.priorities, context.spec.teams[team]
    for index, name in enumerate(spec.pod_priorities):
        context.resolve("priorities", name, known, ("teams", team, "podPriorities", index))
    if len(context.spec.teams) == 1:
        return tuple(sorted(known))
    of_queues = {queue.priority for queue in queues if queue.priority is not None}
    default = {name for name, priority in known.items() if priority.default}
    return tuple(sorted((of_queues | default | set(spec.pod_priorities)) & set(known)))


# --- network ----------------------------------------------------------------------------------------------------------


def _egress(context: PlanningContext, team: str, spec: NetworkPolicySpec) -> tuple[EgressPlan, ...] | None:
    path: FieldPath = ("teams", team, "networkPolicy")
    if not spec.enabled:
        if others := join_words(list(written_keys(spec, spec.model_fields_set - {"enabled"}))):
            message = f"'false' turns the policy off, so {others} has no effect; remove enabled, or remove {others}"
            context.problems.fault("contradiction", (*path, "enabled"), message)
        return None
    written_egress = tuple(
        EgressPlan(cidr=each.cidr_block, ports=tuple(sorted(set(each.ports)))) for each in spec.egress
    )
    # Egress to the whole public internet, or only to the private addresses of Google's APIs.
    https = tuple(EgressPlan(cidr=each, ports=_HTTPS) for each in GOOGLE_API_RANGES)
    if spec.internet:
        besides = (*_PRIVATE_RANGES, *_public_ranges(frozenset(_cluster_ranges(context))))
        https = (EgressPlan(cidr="0.0.0.0/0", ports=_HTTPS, besides=besides),)
    return (*https, *written_egress)


@cache
def _public_ranges(ranges: frozenset[str]) -> tuple[str, ...]:
    """Return the ranges that are not private; cached, because all teams use those of the same cluster."""
    private = [IPv4Network(each) for each in _PRIVATE_RANGES]
    return tuple(sorted(r for r in ranges if not any(IPv4Network(r).subnet_of(each) for each in private)))


def _cluster_ranges(context: PlanningContext) -> tuple[str, ...]:
    """Return the cluster's known ranges, that of services first."""
    network, existing = context.spec.cluster.network, context.spec.cluster.existing
    if existing is not None:
        return (existing.service_cidr_block,)
    return network.service_cidr_block, network.node_cidr_block, network.pod_cidr_block


DEFAULT_LEVEL = "baseline"


def pod_security(
    context: PlanningContext, team: str, flavors: Iterable[str], planned_flavors: Mapping[str, FlavorGroup]
) -> tuple[str, HostAccessPlan | None]:
    """Return the level as written, else `baseline` with an exemption for what training on its machines needs.

    Multislice jobs use the host network, jobs with GPUDirect mount libraries of the host, and jobs with RDMA lock
    memory (GKE docs: TPU multislice, GPU networking). `baseline` rejects all three. `restricted` also rejects
    images that run as root, as many images for training do. Autopilot adds its own rules.
    """
    written = context.spec.teams[team].pod_security
    path: FieldPath = ("teams", team, "podSecurity")
    access = _host_access([planned_flavors[name] for name in sorted(flavors)])
    if context.spec.cluster.mode != "standard":
        access = None
    if written == "privileged":
        context.problems.warning(
            "privileged-pods",
            path,
            "'privileged' gives every job root on every node of the cluster, including system nodes and nodes of other "
            "teams; remove podSecurity, because multi-host jobs and GPUDirect work without it",
        )
    if written is not None and written != "privileged" and access is not None:
        capabilities = [f"the capability {name}" for name in access.capabilities]
        network = ["the host network"] if access.network_for else []
        needed = [*network, *access.paths, *access.read_only_paths] or capabilities
        context.problems.warning(
            "pod-security",
            path,
            f"'{written}' rejects {join_words(needed)}, which jobs on the team's machines need; remove podSecurity",
        )
    return written or DEFAULT_LEVEL, access if written is None else None


def _host_access(flavors: Iterable[FlavorGroup]) -> HostAccessPlan | None:
    """Return the host access that jobs on these flavors need beyond `baseline`; None if they need none."""
    network, paths, read_only, capabilities = set[str](), set[str](), set[str](), set[str]()
    for flavor in flavors:
        shapes = (pool.hardware.shape for pool in flavor.pools)
        if any(shape is not None and shape.multi_host for shape in shapes):
            network.add(flavor.resource)
        mode = flavor.pools[0].hardware.machine.gpudirect
        if flavor.pools[0].spec.networking is not None and mode in catalog.gpudirect():
            needs = catalog.gpudirect()[mode]
            paths |= set(needs.host_paths)
            read_only |= set(needs.read_only_host_paths)
            capabilities |= set(needs.capabilities)
    if not network and not paths and not read_only and not capabilities:
        return None
    return HostAccessPlan(
        network_for=tuple(sorted(network)),
        paths=tuple(sorted(paths)),
        read_only_paths=tuple(sorted(read_only - paths)),
        capabilities=tuple(sorted(capabilities)),
    )
