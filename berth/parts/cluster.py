"""Plan a GKE cluster without its network and machines, a network alone, or both with the pool of controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, format_value
from berth.names import is_compute_name
from berth.parts.context import finds_every_fault, parsed_part, part_context, part_problems
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan
from berth.planner import plan_fleet
from berth.planner.cluster.gke import cluster_plan
from berth.planner.cluster.vpc import network_plan
from berth.validation import validate
from berth.validation.advice import warn_open_control_plane

_VPC_NAME: Final = "lower-case letters, digits and '-', starting with a letter, at most 63 characters"
OF_FLEETS: Final = ("project", "projectNumber", "region", "acceptRegion", "labels", "protect")
"""Arguments that are keys of a fleet beside its cluster."""


class ClusterPart(Struct, frozen=True):
    """A cluster in a network that exists; incomplete with a fault in `problems`."""

    plan: ClusterPlan
    problems: tuple[Problem, ...]


class NetworkPart(Struct, frozen=True):
    """A network that a program creates; none with a fault in `problems`."""

    plan: NetworkPlan | None
    problems: tuple[Problem, ...]


class WholeClusterPart(Struct, frozen=True):
    """A fleet of nothing but a cluster, its network, its node account and the node pool of its controllers."""

    plan: FleetPlan
    problems: tuple[Problem, ...]


@finds_every_fault
def plan_cluster(name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()) -> ClusterPart:
    """Plan a cluster called `name`, or as its argument says, in a network of which nothing is known.

    The control plane has a range of its own only if one is written: with a range, GKE lets it reach webhooks on the
    nodes only by a firewall rule, and whether the program may make one in that network is unknown.
    """
    sections, settings = _divided(name, arguments)
    path: FieldPath = ("cluster",)
    context = part_context(name, {**sections, "cluster": settings}, path, known_problems)
    context.check_region()
    plan = cluster_plan(context, {}, multi_networking=False)
    if "cidr_block" not in context.spec.cluster.control_plane.model_fields_set:
        plan = replace(plan, control_plane=replace(plan.control_plane, ip_range=None))
    warn_open_control_plane(plan, context.problems)
    return ClusterPart(plan, part_problems(context.problems.entries, path))


@finds_every_fault
def plan_network(name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()) -> NetworkPart:
    """Plan a network called `name`, or as its argument says."""
    sections, settings = _divided(name, arguments)
    path: FieldPath = ("cluster", "network")
    name = settings.pop("name")
    context = part_context(name, {**sections, "cluster": {"network": settings}}, path, known_problems)
    context.check_region()
    if not is_compute_name(name):
        message = f"'{format_value(name)}' is not a name of a VPC: {_VPC_NAME}"
        context.problems.fault("bad-value", (*path, "name"), message)
    plan = network_plan(context, name)
    return NetworkPart(plan if isinstance(plan, NetworkPlan) else None, part_problems(context.problems.entries, path))


@finds_every_fault
def plan_cluster_with_machines(
    name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()
) -> WholeClusterPart:
    """Plan a cluster with its network, its node account and the node pool of its controllers."""
    sections, settings = _divided(name, arguments)
    path: FieldPath = ("cluster",)
    parsed = parsed_part({**sections, "cluster": settings}, path, known_problems)
    planned = plan_fleet(name, parsed)
    assert planned is not None
    problems = (*parsed.problems, *planned.problems, *validate(planned))
    return WholeClusterPart(planned.plan, part_problems(problems, path))


def _divided(name: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments that are keys of a fleet, and those of its cluster with a name."""
    sections = {key: value for key, value in arguments.items() if key in OF_FLEETS}
    settings = {key: value for key, value in arguments.items() if key not in OF_FLEETS}
    return sections, {"name": name, **settings}
