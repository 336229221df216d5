"""The VPC that the cluster stands in: the fleet's own, or one that somebody else made."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

from berth.diagnostics import Path, dotted
from berth.plan.gke import ExistingNetworkPlan, NetworkPlan
from berth.planner.context import Draft

NETWORK: Path = ("cluster", "network")

_OWN = {
    "node_cidr_block": "nodeCidrBlock",
    "pod_cidr_block": "podCidrBlock",
    "service_cidr_block": "serviceCidrBlock",
    "mtu": "mtu",
    "nat": "nat",
}
"""What may be said of a VPC of the fleet's own alone."""
_IN_EXISTING = {"subnetwork": "subnetwork", "pod_range_name": "podRangeName", "service_range_name": "serviceRangeName"}
"""What must be said of an existing one, and of no other."""


def vpc(draft: Draft, name: str) -> NetworkPlan | ExistingNetworkPlan:
    """The network of a cluster of that name."""
    spec = draft.spec.cluster.network
    _forms(draft)
    if not draft.lost("cluster", "network") and not draft.lost("cluster", "controlPlane"):
        _disjoint(draft)
    if spec.existing is not None:
        project = f"projects/{spec.project or draft.project}"
        return ExistingNetworkPlan(
            network=f"{project}/global/networks/{spec.existing}",
            subnetwork=f"{project}/regions/{draft.region}/subnetworks/{spec.subnetwork}",
            pod_range_name=spec.pod_range_name or "",
            service_range_name=spec.service_range_name or "",
        )
    return NetworkPlan(
        name=name,
        region=draft.region,
        node_range=spec.node_cidr_block,
        pod_range=spec.pod_cidr_block,
        service_range=spec.service_cidr_block,
        pod_range_name="pods",
        service_range_name="services",
        nat=spec.nat,
        mtu=spec.mtu,
    )


def _forms(draft: Draft) -> None:
    """Nothing of an existing VPC is made, and in a VPC that is made there is nothing to be found."""
    spec = draft.spec.cluster.network
    if spec.existing is None:
        for field, key in {**_IN_EXISTING, "project": "project"}.items():
            if field in spec.model_fields_set:
                message = f"'{getattr(spec, field)}' lies in a VPC that exists; write its name under existing"
                draft.problems.fault("existing-network", (*NETWORK, key), message)
        return
    for field, key in _OWN.items():
        if field in spec.model_fields_set:
            message = f"'{spec.existing}' is somebody else's VPC, and only taken as it is; leave {key} out"
            draft.problems.fault("existing-network", (*NETWORK, key), message)
    for field, key in _IN_EXISTING.items():
        if getattr(spec, field) is None:
            message = f"is missing; write which one of the VPC '{spec.existing}' the cluster takes"
            draft.problems.fault("missing-key", (*NETWORK, key), message)


def cluster_ranges(draft: Draft) -> dict[Path, str]:
    """The ranges of nodes, pods, services and the control plane, by where they are written.

    Those of an existing VPC stand nowhere in the stack file.
    """
    spec = draft.spec.cluster
    ranges: dict[Path, str] = {}
    if spec.network.existing is None:
        ranges = {
            (*NETWORK, "nodeCidrBlock"): spec.network.node_cidr_block,
            (*NETWORK, "podCidrBlock"): spec.network.pod_cidr_block,
            (*NETWORK, "serviceCidrBlock"): spec.network.service_cidr_block,
        }
    if spec.private_nodes:
        ranges["cluster", "controlPlane", "cidrBlock"] = spec.control_plane.cidr_block
    return ranges


def _disjoint(draft: Draft) -> None:
    for (first, a), (second, b) in combinations(cluster_ranges(draft).items(), 2):
        if IPv4Network(a).overlaps(IPv4Network(b)):
            message = f"'{b}' overlaps {a} of {dotted(first)}; write ranges that share no address"
            draft.problems.fault("overlapping-ranges", second, message)
