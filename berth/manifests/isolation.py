"""Isolation of a team's pods as plain dicts: network policy, resource quota, default requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.quantities import count, cpu, memory
from berth.plan.teams import EgressPlan, IsolationPlan

Manifest = dict[str, object]

OBJECT_NAME: Final = "team"
"""Name of the NetworkPolicy, ResourceQuota and LimitRange in a namespace."""

_NAMESPACE: Final = "kubernetes.io/metadata.name"
_METADATA_SERVER: Final = "169.254.169.254/32"
_METADATA_PORTS: Final = (80, 8080)
"""Address of GKE's metadata server with Dataplane V2 (GKE docs: Workload Identity Federation, network policies)."""
_METADATA_WITHOUT_DATAPLANE_V2: Final = ("169.254.169.252/32", (987, 988))
"""Its address without Dataplane V2, for existing clusters (same page of GKE's docs)."""
_NODE_DNS: Final = "169.254.20.10/32"
"""Address of NodeLocal DNSCache; Cloud DNS answers at the metadata server's address."""
_COLLECTORS: Final = ("gke-gmp-system", "gmp-system")
"""Namespace of Managed Prometheus's collectors."""


def network_policy(
    plan: IsolationPlan, namespace: str, team_namespaces: Sequence[str], labels: Mapping[str, str]
) -> Manifest:
    """Return a policy that denies all traffic except what is listed, and all traffic between the team's namespaces.

    It selects every pod. It does not apply to pods on the host network.
    """
    peers = [_namespaces(["kube-system"]), *map(_ip_block, (_NODE_DNS, _METADATA_SERVER, plan.service_range))]
    spec: Manifest = {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [_team_peer(team_namespaces)]}, {"from": [_namespaces(_COLLECTORS)]}],
        "egress": [
            {"to": [_team_peer(team_namespaces)]},
            {"to": peers, "ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]},
            {"to": [_ip_block(_METADATA_SERVER)], "ports": _tcp(_METADATA_PORTS)},
            {"to": [_ip_block(_METADATA_WITHOUT_DATAPLANE_V2[0])], "ports": _tcp(_METADATA_WITHOUT_DATAPLANE_V2[1])},
            *map(_egress, plan.egress or ()),
        ],
    }
    return _object("networking.k8s.io/v1", "NetworkPolicy", namespace, labels) | {"spec": spec}


def resource_quota(plan: IsolationPlan, namespace: str, labels: Mapping[str, str]) -> Manifest:
    """Return limits for the total requests of all pods, however they are created, and for the number of objects.

    The limit is 0 for accelerators without a queue of the team, and for service types that it may not use.
    """
    hard = {f"requests.{name}": count(most) for name, most in sorted(plan.accelerators.items())}
    if (limits := plan.limits) is not None:
        hard |= {"requests.cpu": cpu(limits.cpu), "requests.memory": memory(limits.memory)}
        hard |= {name: count(most) for name, most in sorted(limits.objects.items())}
    return _object("v1", "ResourceQuota", namespace, labels) | {"spec": {"hard": hard}}


def limit_range(plan: IsolationPlan, namespace: str, labels: Mapping[str, str]) -> Manifest:
    """Return default requests of containers, so that they count in Kueue's quotas and on their node.

    It has no accelerators, because a maximum would become the default of every container without a request.
    """
    requests = {"cpu": cpu(plan.requests_cpu), "memory": memory(plan.requests_memory)}
    return _object("v1", "LimitRange", namespace, labels) | {
        "spec": {"limits": [{"type": "Container", "defaultRequest": requests}]}
    }


def _object(api_version: str, kind: str, namespace: str, labels: Mapping[str, str]) -> Manifest:
    metadata = {"name": OBJECT_NAME, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _team_peer(team_namespaces: Sequence[str]) -> Manifest:
    """Return a peer for the pods of the team's namespaces; only of the policy's namespace if there is no other."""
    return {"podSelector": {}} if len(team_namespaces) == 1 else _namespaces(team_namespaces)


def _namespaces(names: Sequence[str]) -> Manifest:
    expression = {"key": _NAMESPACE, "operator": "In", "values": sorted(names)}
    return {"namespaceSelector": {"matchExpressions": [expression]}}


def _egress(plan: EgressPlan) -> Manifest:
    return {"to": [_ip_block(plan.cidr, plan.besides)], "ports": _tcp(plan.ports)}


def _ip_block(cidr: str, excluded: Sequence[str] = ()) -> Manifest:
    return {"ipBlock": {"cidr": cidr, **({"except": list(excluded)} if excluded else {})}}


def _tcp(ports: Sequence[int]) -> list[Manifest]:
    return [{"protocol": "TCP", "port": port} for port in ports]
