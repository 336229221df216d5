"""A cluster that somebody else made: it is only reached, and what would be made in Google Cloud for it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import FieldPath, format_value
from berth.plan.existing import ExistingClusterPlan
from berth.planner.cluster.gke import cluster_name
from berth.planner.context import PlanningContext
from berth.planner.tenancy.identities import GRANTS
from berth.spec.base import written_keys
from berth.spec.cluster import ClusterSpec
from berth.spec.fleet import FleetSpec

_EXISTING_CLUSTER_FIELDS = frozenset({"existing", "name"})
"""Fields of the cluster that an existing one has."""
_GOOGLE_FLEET_FIELDS = frozenset({"project_number", "labels", "reservations", "compute_classes"})
"""Fields of the fleet that are Google Cloud's alone."""
_CREATED_POOL_FIELDS = frozenset(
    {"auto_provisioned", "driver_version", "networking", "compact_placement", "local_ssd", "disk_size_gb", "surge"}
    | {"compute_class", "max_pods_per_node", "secure_boot", "confidential_nodes", "service_account"}
    | {"node_system_config"}
)
"""Fields of a pool that say how its nodes are made."""
_ALLOWED_CAPACITIES = ("on-demand", "spot", "queued")
"""Kinds of capacity that are nothing but labels of nodes, or that Kueue asks for; others are asked of Google."""


def existing_cluster_plan(context: PlanningContext) -> ExistingClusterPlan | None:
    """The cluster, where it is there; None where Berth makes it."""
    if not context.cluster_exists:
        if not context.machines_exist:
            _check_node_labels(context)
        return None
    spec = context.spec.cluster.existing
    if spec is None:  # faulty: how it is reached is not known
        return ExistingClusterPlan(name=cluster_name(context), context=None)
    _report_unsupported(context)
    return ExistingClusterPlan(
        name=cluster_name(context), context=spec.context, kubeconfig=spec.kubeconfig, secret=spec.secret
    )


def _check_node_labels(context: PlanningContext) -> None:
    for name, spec in sorted(context.spec.pools.items()):
        if spec.node_labels:
            message = "GKE labels the nodes that are made here; write labels, or cluster.existing if they are there"
            context.problems.fault("existing-cluster", ("pools", name, "nodeLabels"), message)


def _report_unsupported(context: PlanningContext) -> None:
    """Every key that only says something of what Berth makes."""
    for path, problem, remedy in (
        *_unsupported_sections(context.spec),
        *_unsupported_pool_keys(context.spec),
        *_unsupported_identity(context.spec),
        *_unsupported_allowances(context.spec),
    ):
        message = f"{problem}, and cluster.existing says that somebody else made the cluster; {remedy}"
        context.problems.fault("existing-cluster", path, message)


_UnsupportedKeys = Iterator[tuple[FieldPath, str, str]]
"""Where something stands, what it is, and what to do instead."""
_LEAVE_OUT = "leave it out"


def _unsupported_sections(fleet: FleetSpec) -> _UnsupportedKeys:
    for key in written_keys(fleet.cluster, set(ClusterSpec.model_fields) - _EXISTING_CLUSTER_FIELDS):
        yield ("cluster", key), f"'{key}' is said of a cluster to be made", _LEAVE_OUT
    for key in written_keys(fleet, _GOOGLE_FLEET_FIELDS):
        yield (key,), f"'{key}' is said of what is made in Google Cloud", _LEAVE_OUT
    if fleet.workers:
        yield ("workers",), "a manager of workers is a cluster to be made", _LEAVE_OUT
    if fleet.monitoring.backend == "managed" and "backend" in fleet.monitoring.model_fields_set:
        yield ("monitoring", "backend"), "'managed' is Google's Cloud Monitoring", "write in-cluster or none"


def _unsupported_pool_keys(fleet: FleetSpec) -> _UnsupportedKeys:
    for name, spec in sorted(fleet.pools.items()):
        for key in written_keys(spec, _CREATED_POOL_FIELDS):
            yield ("pools", name, key), f"'{key}' says how nodes are made", _LEAVE_OUT
        if spec.capacity.kind not in _ALLOWED_CAPACITIES:
            problem = f"'{spec.capacity.kind}' capacity is asked of Google"
            yield ("pools", name, "capacity"), problem, "write spot or queued, or leave it out"


def _unsupported_identity(fleet: FleetSpec) -> _UnsupportedKeys:
    for name, team in sorted(fleet.teams.items()):
        for key in written_keys(team.identity, (*GRANTS, "impersonate")) if team.identity else ():
            yield ("teams", name, "identity", key), f"'{key}' is said of rights in Google Cloud", _LEAVE_OUT
    if fleet.platform.domain is not None:
        yield ("platform", "domain"), f"'{fleet.platform.domain}' is where GKE looks for groups", _LEAVE_OUT


def _unsupported_allowances(fleet: FleetSpec) -> _UnsupportedKeys:
    sections = {
        "allowReplacement": fleet.allow_replacement,
        "allowDeletion": fleet.allow_deletion,
        "allowChange": fleet.allow_change,
    }
    for key, names in sections.items():
        for name in sorted(names):
            if not name.startswith("clusterQueues.") and (key, name) != ("allowChange", "protect"):
                yield (
                    (key, name),
                    f"'{format_value(name)}' is not made here, so nothing could replace or delete it",
                    _LEAVE_OUT,
                )
