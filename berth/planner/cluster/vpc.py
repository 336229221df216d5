"""Plan the VPC of the cluster: one that Berth creates, or an existing one."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations
from typing import cast

from berth.diagnostics import FieldPath, format_path
from berth.plan.gke import ExistingNetworkPlan, NetworkPlan
from berth.planner.context import PlanningContext

NETWORK_PATH: FieldPath = ("cluster", "network")

_CREATED_VPC_FIELDS = {
    "node_cidr_block": "nodeCidrBlock",
    "pod_cidr_block": "podCidrBlock",
    "service_cidr_block": "serviceCidrBlock",
    "mtu": "mtu",
    "nat": "nat",
}
"""Keys that only a VPC created by Berth can have."""
_EXISTING_VPC_FIELDS = {
    "subnetwork": "subnetwork",
    "pod_range_name": "podRangeName",
    "service_range_name": "serviceRangeName",
}
"""Keys that an existing VPC must have, and no other can have."""

_NOUNS = {
    "subnetwork": "the subnetwork",
    "podRangeName": "the secondary range for pods",
    "serviceRangeName": "the secondary range for services",
}
"""Keys of an existing VPC → what they name."""


def network_plan(context: PlanningContext, name: str) -> NetworkPlan | ExistingNetworkPlan:
    """Return the network of the cluster `name`."""
    spec = context.spec.cluster.network
    _check_keys(context)
    if not context.is_set_aside("cluster", "network") and not context.is_set_aside("cluster", "controlPlane"):
        for (first_path, first), (second_path, second) in combinations(cluster_ranges(context).items(), 2):
            if IPv4Network(first).overlaps(IPv4Network(second)):
                report_overlap(context, second_path, second, first_path, first)
    if spec.existing is not None:
        project = f"projects/{spec.project or context.project}"
        return ExistingNetworkPlan(
            network=f"{project}/global/networks/{spec.existing}",
            subnetwork=f"{project}/regions/{context.region}/subnetworks/{spec.subnetwork}",
            pod_range_name=spec.pod_range_name or "",
            service_range_name=spec.service_range_name or "",
            additional_pod_range_names=tuple(sorted(spec.additional_pod_range_names)),
        )
    return NetworkPlan(
        name=name,
        region=context.region,
        node_range=spec.node_cidr_block,
        pod_range=spec.pod_cidr_block,
        service_range=spec.service_cidr_block,
        nat=spec.nat,
        mtu=spec.mtu,
    )


def _check_keys(context: PlanningContext) -> None:
    """Report keys of a new VPC on an existing one, and missing or misplaced names of existing subnets and ranges."""
    spec = context.spec.cluster.network
    if spec.existing is None:
        named = {"project": "project", "additional_pod_range_names": "additionalPodRangeNames"}
        for field, key in {**_EXISTING_VPC_FIELDS, **named}.items():
            if field in spec.model_fields_set:
                value = getattr(spec, field)
                shown = ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
                context.problems.fault(
                    "existing-network",
                    (*NETWORK_PATH, key),
                    f"'{shown}' applies only to an existing VPC; write existing: <name of that VPC>, or remove {key}",
                )
        return
    for field, key in _CREATED_VPC_FIELDS.items():
        if field in spec.model_fields_set:
            message = f"'{spec.existing}' is an existing VPC, which Berth does not change; remove {key}"
            context.problems.fault("existing-network", (*NETWORK_PATH, key), message)
    if spec.pod_range_name in spec.additional_pod_range_names:
        message = f"'{spec.pod_range_name}' is podRangeName already; remove it from additionalPodRangeNames"
        context.problems.fault("duplicate-name", (*NETWORK_PATH, "additionalPodRangeNames"), message)
    for field, key in _EXISTING_VPC_FIELDS.items():
        if getattr(spec, field) is None:
            message = f"is missing; write the name of {_NOUNS[key]} in the existing VPC '{spec.existing}'"
            context.problems.fault("missing-key", (*NETWORK_PATH, key), message)


def cluster_ranges(context: PlanningContext) -> dict[FieldPath, str]:
    """Return path → range of nodes, pods, services and the control plane.

    The ranges of an existing VPC are unknown.
    """
    spec = context.spec.cluster
    ranges: dict[FieldPath, str] = {}
    if spec.network.existing is None:
        ranges = {
            (*NETWORK_PATH, "nodeCidrBlock"): spec.network.node_cidr_block,
            (*NETWORK_PATH, "podCidrBlock"): spec.network.pod_cidr_block,
            (*NETWORK_PATH, "serviceCidrBlock"): spec.network.service_cidr_block,
        }
    if spec.private_nodes:
        ranges["cluster", "controlPlane", "cidrBlock"] = spec.control_plane.cidr_block
    return ranges


def report_overlap(
    context: PlanningContext, path: FieldPath, ip_range: object, other_path: FieldPath, other_range: str
) -> None:
    """Report a range at `path` that shares addresses with the range at `other_path`."""
    message = f"'{ip_range}' overlaps {other_range} of {format_path(other_path)}; write ranges that share no address"
    context.problems.fault("overlapping-ranges", path, message)
