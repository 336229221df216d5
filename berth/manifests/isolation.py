"""How far a team's pods are shut in: network, and what they may ask for. Plain dicts; nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.quantities import count, cpu, memory
from berth.plan.teams import EgressPlan, IsolationPlan

Manifest = dict[str, object]

OBJECT_NAME: Final = "team"
"""Of the one NetworkPolicy, ResourceQuota and LimitRange in a namespace."""

_NAMESPACE: Final = "kubernetes.io/metadata.name"
_METADATA_SERVER: Final = "169.254.169.254/32"
_METADATA_PORTS: Final = (80, 8080)
"""Where GKE's metadata server is seen under Dataplane V2 (GKE docs: Workload Identity Federation, network policies)."""
_METADATA_WITHOUT_DATAPLANE_V2: Final = ("169.254.169.252/32", (987, 988))
"""Where it is seen without Dataplane V2; an existing cluster may have none (the same page of GKE's docs)."""
_NODE_DNS: Final = "169.254.20.10/32"
"""NodeLocal DNSCache; Cloud DNS answers at the metadata server's address."""
_COLLECTORS: Final = ("gke-gmp-system", "gmp-system")
"""Where Managed Prometheus scrapes from."""


def network_policy(
    plan: IsolationPlan, namespace: str, team_namespaces: Sequence[str], labels: Mapping[str, str]
) -> Manifest:
    """Nothing in and nothing out but what is listed; between the team's own namespaces, which `team` names, everything.

    One policy says all: every pod it selects is shut in by being selected. Pods on the host's network are beyond it.
    """
    spec: Manifest = {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [_team_peer(team_namespaces)]}, {"from": [_namespaces(_COLLECTORS)]}],
        "egress": [
            {"to": [_team_peer(team_namespaces)]},
            _dns(plan.service_range),
            {"to": [_ip_block(_METADATA_SERVER)], "ports": _tcp(_METADATA_PORTS)},
            {"to": [_ip_block(_METADATA_WITHOUT_DATAPLANE_V2[0])], "ports": _tcp(_METADATA_WITHOUT_DATAPLANE_V2[1])},
            *map(_egress, plan.egress or ()),
        ],
    }
    return _object("networking.k8s.io/v1", "NetworkPolicy", namespace, labels) | {"spec": spec}


def resource_quota(plan: IsolationPlan, namespace: str, labels: Mapping[str, str]) -> Manifest:
    """The most that all pods together may request, however they are created, and the most objects of each kind.

    0 of accelerators for which the team has no queue, and of services that it is not allowed.
    """
    hard = {f"requests.{name}": count(most) for name, most in sorted(plan.accelerators.items())}
    if (limits := plan.limits) is not None:
        hard |= {"requests.cpu": cpu(limits.cpu), "requests.memory": memory(limits.memory)}
        hard |= {name: count(most) for name, most in sorted(limits.objects.items())}
    return _object("v1", "ResourceQuota", namespace, labels) | {"spec": {"hard": hard}}


def limit_range(plan: IsolationPlan, namespace: str, labels: Mapping[str, str]) -> Manifest:
    """What a container asks for that says nothing, so that it counts in Kueue's quotas and on its node.

    Accelerators stay out of it: a maximum becomes the default of every container that names none.
    """
    requests = {"cpu": cpu(plan.requests_cpu), "memory": memory(plan.requests_memory)}
    return _object("v1", "LimitRange", namespace, labels) | {
        "spec": {"limits": [{"type": "Container", "defaultRequest": requests}]}
    }


def _object(api_version: str, kind: str, namespace: str, labels: Mapping[str, str]) -> Manifest:
    metadata = {"name": OBJECT_NAME, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _team_peer(team_namespaces: Sequence[str]) -> Manifest:
    """The pods of the team's namespaces; of the policy's own alone where there is no other."""
    return {"podSelector": {}} if len(team_namespaces) == 1 else _namespaces(team_namespaces)


def _namespaces(names: Sequence[str]) -> Manifest:
    expression = {"key": _NAMESPACE, "operator": "In", "values": sorted(names)}
    return {"namespaceSelector": {"matchExpressions": [expression]}}


def _dns(service_range: str) -> Manifest:
    peers = [_namespaces(["kube-system"]), *map(_ip_block, (_NODE_DNS, _METADATA_SERVER, service_range))]
    return {"to": peers, "ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}


def _egress(plan: EgressPlan) -> Manifest:
    return {"to": [_ip_block(plan.cidr, plan.besides)], "ports": _tcp(plan.ports)}


def _ip_block(cidr: str, excluded: Sequence[str] = ()) -> Manifest:
    return {"ipBlock": {"cidr": cidr, **({"except": list(excluded)} if excluded else {})}}


def _tcp(ports: Sequence[int]) -> list[Manifest]:
    return [{"protocol": "TCP", "port": port} for port in ports]
