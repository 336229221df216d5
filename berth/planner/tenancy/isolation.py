"""How far a team's pods are shut in: Pod Security, network, and the accelerators that they may ask for at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from ipaddress import IPv4Network

from berth import catalog
from berth.diagnostics import Path
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import EgressPlan, IsolationPlan
from berth.planner.context import Draft
from berth.planner.queueing.flavors import Flavor
from berth.spec.tenancy import NetworkPolicySpec

_LEVELS = ("privileged", "baseline", "restricted")
"""Pod Security Standards, the strictest last."""
_PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
"""Addresses that no public service has (RFC 1918, 3927, 6598)."""
_PRIVATE_GOOGLE = "199.36.153.4/30", "199.36.153.8/30"
"""restricted.googleapis.com and private.googleapis.com (VPC docs: private Google access)."""
_HTTPS = (443,)


def isolation(
    draft: Draft, team: str, queues: Iterable[ClusterQueuePlan], ceiling: Mapping[str, int], kinds: Mapping[str, Flavor]
) -> IsolationPlan:
    """What shuts in the pods of a team with these queues; `ceiling` is in accelerators by flavor."""
    spec = draft.spec.teams[team]
    level = _pod_security(draft, team, {entry.flavor for queue in queues for entry in queue.flavors}, kinds)
    return IsolationPlan(
        pod_security=level,
        pod_security_warning=_LEVELS[min(_LEVELS.index(level) + 1, len(_LEVELS) - 1)],
        egress=_egress(draft, team, spec.network_policy),
        service_range=_ranges(draft)[0],
        accelerators=_most(ceiling, kinds),
        requests_cpu=spec.default_requests.cpu,
        requests_memory=spec.default_requests.memory,
    )


def _most(ceiling: Mapping[str, int], kinds: Mapping[str, Flavor]) -> dict[str, int]:
    """Every resource name that machines have to the most that the team's queues can hand out: no job that Kueue admits
    is ever refused by it, and none that passes Kueue by can take more."""
    found = dict.fromkeys(_resources(), 0)
    for flavor, most in ceiling.items():
        found[kinds[flavor].resource] += most
    return found


@cache
def _resources() -> tuple[str, ...]:
    """Every resource name that machines have."""
    return tuple(sorted({machine.resource for machine in catalog.machines().values()}))


def _pod_security(draft: Draft, team: str, flavors: Iterable[str], kinds: Mapping[str, Flavor]) -> str:
    """The level that is asked for; else the strictest under which the training that its machines are for can run.

    Multislice jobs take the host's network, and jobs on networks of accelerators mount libraries from the host, which
    only `privileged` lets them (GKE docs: TPU multislice, GPU networking); images of training frameworks run as root,
    which `restricted` refuses. Autopilot has its own rules on top.
    """
    written = draft.spec.teams[team].pod_security
    needed = [f for f in sorted(flavors) if _on_the_host(kinds[f])] if draft.spec.cluster.mode == "standard" else []
    if written is None:
        return "privileged" if needed else "baseline"
    if written != "privileged" and needed:
        path: Path = ("teams", team, "podSecurity")
        message = (
            f"'{written}' refuses pods the host's network and files, which jobs across nodes of {needed[0]} ask for; "
            "write privileged, or leave it out"
        )
        draft.problems.warning("pod-security", path, message)
    return written


def _on_the_host(flavor: Flavor) -> bool:
    shapes = (pool.hardware.shape for pool in flavor.pools)
    return (
        any(shape is not None and shape.multi_host for shape in shapes) or flavor.pools[0].spec.networking is not None
    )


# --- network ----------------------------------------------------------------------------------------------------------


def _egress(draft: Draft, team: str, spec: NetworkPolicySpec) -> tuple[EgressPlan, ...] | None:
    path: Path = ("teams", team, "networkPolicy")
    if not spec.enabled:
        said = spec.model_fields_set - {"enabled"}
        if said:
            message = "the policy is off, so nothing else of it holds; leave the rest out, or enabled"
            draft.problems.fault("contradiction", (*path, "enabled"), message)
        return None
    own = tuple(EgressPlan(cidr=each.cidr_block, ports=tuple(sorted(set(each.ports)))) for each in spec.egress)
    return (*_https(draft, spec), *own)


def _https(draft: Draft, spec: NetworkPolicySpec) -> tuple[EgressPlan, ...]:
    """Google's APIs with everything else that is public, or by their private addresses alone."""
    if not spec.internet:
        return tuple(EgressPlan(cidr=each, ports=_HTTPS) for each in _PRIVATE_GOOGLE)
    own = frozenset(_ranges(draft))
    return (EgressPlan(cidr="0.0.0.0/0", ports=_HTTPS, besides=(*_PRIVATE, *_public(own))),)


@cache
def _public(ranges: frozenset[str]) -> tuple[str, ...]:
    """Those ranges that are not private ones anyway; every team asks for those of the one cluster."""
    private = [IPv4Network(each) for each in _PRIVATE]
    return tuple(sorted(r for r in ranges if not any(IPv4Network(r).subnet_of(each) for each in private)))


def _ranges(draft: Draft) -> tuple[str, ...]:
    """The cluster's ranges as far as they are known, that of its services first."""
    network, existing = draft.spec.cluster.network, draft.spec.cluster.existing
    if existing is not None:
        return (existing.service_cidr_block,)
    return network.service_cidr_block, network.node_cidr_block, network.pod_cidr_block
