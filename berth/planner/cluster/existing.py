"""Plan an existing cluster. Settings that it cannot have are rejected.

Berth only connects to a cluster of a kubeconfig; in a GKE cluster named by its location it makes machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.diagnostics import FieldPath, format_value
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan
from berth.plan.gke import CheckpointingPlan
from berth.planner.allowances import OBJECT_PREFIXES
from berth.planner.cluster.existing_gke import existing_gke_cluster_plan
from berth.planner.cluster.gke import cluster_name
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool
from berth.planner.tenancy.identities import GRANTS
from berth.spec.base import written_keys
from berth.spec.cluster import ClusterSpec
from berth.spec.fleet import FleetSpec
from berth.spec.machines.pools import PoolSpec

_EXISTING_CLUSTER_FIELDS = frozenset({"existing", "name"})
"""Fields of the cluster that an existing cluster can have."""
_GOOGLE_FLEET_FIELDS = frozenset({"project_number", "labels", "reservations", "compute_classes"})
"""Fields of the fleet that apply only to Google Cloud."""
_DESCRIBING_POOL_FIELDS = frozenset(
    {"machine_type", "formerly", "cpu", "memory", "topology", "accept_topology", "accelerator", "slices", "nodes"}
    | {"zone", "zones", "accept_zone", "capacity", "flavor", "labels", "node_labels", "taints", "topology_aware"}
    | {"dynamic_slicing", "gpu_sharing", "gpu_partition"}
)
"""Fields of a pool that describe existing nodes; all others determine how its nodes are created."""
_ALLOWED_CAPACITIES = ("on-demand", "spot", "queued")
"""Capacities that only select node labels or that Kueue requests; all others are requested from Google."""


def existing_cluster_plan(
    context: PlanningContext, pools: Mapping[str, PlannedPool], checkpointing: CheckpointingPlan | None
) -> ExistingClusterPlan | ExistingGkeClusterPlan | None:
    """Return the existing cluster for these pools; None if Berth creates the cluster."""
    if not context.only_connects and not context.machines_exist:
        for name, pool in sorted(context.spec.pools.items()):
            if pool.node_labels:
                message = (
                    "nodeLabels applies only to nodes that Berth does not create; write labels instead of nodeLabels"
                )
                context.problems.fault("existing-cluster", ("pools", name, "nodeLabels"), message)
    if not context.cluster_exists:
        return None
    spec = context.spec.cluster.existing
    if spec is None:  # faulty, so the connection is unknown
        return ExistingClusterPlan(name=cluster_name(context), context=None)
    if spec.is_gke:
        return existing_gke_cluster_plan(context, spec, pools, checkpointing)
    _report_unsupported(context)
    return ExistingClusterPlan(
        name=cluster_name(context), context=spec.context, kubeconfig=spec.kubeconfig, secret=spec.secret
    )


def _report_unsupported(context: PlanningContext) -> None:
    """Report every key that only applies to resources created by Berth."""
    for path, problem, remedy in (
        *_unsupported_sections(context.spec),
        *_unsupported_pool_keys(context.spec),
        *_unsupported_identity(context.spec),
        *_unsupported_allowances(context.spec),
    ):
        message = f"{problem}, because it only connects to cluster.existing; {remedy}"
        context.problems.fault("existing-cluster", path, message)


_UnsupportedKeys = Iterator[tuple[FieldPath, str, str]]
"""Path, problem and remedy of each unsupported key."""


def _unsupported_sections(fleet: FleetSpec) -> _UnsupportedKeys:
    for key in written_keys(fleet.cluster, set(ClusterSpec.model_fields) - _EXISTING_CLUSTER_FIELDS):
        yield ("cluster", key), "Berth does not create the cluster", f"remove cluster.{key}"
    for key in written_keys(fleet, _GOOGLE_FLEET_FIELDS):
        yield (key,), "Berth does not create resources in Google Cloud", f"remove {key}"
    if fleet.workers:
        yield ("workers",), "Berth does not create the manager cluster, which workers need", "remove workers"
    written = fleet.monitoring.model_fields_set
    for key, value in (("backend", fleet.monitoring.backend), ("backends", fleet.monitoring.backends)):
        if key in written and value is not None and "managed" in (value, *value):
            remedy = "write in-cluster or none" if key == "backend" else "write [in-cluster] or []"
            yield ("monitoring", key), "Berth does not use 'managed' (Google's Cloud Monitoring)", remedy


def _unsupported_pool_keys(fleet: FleetSpec) -> _UnsupportedKeys:
    for name, spec in sorted(fleet.pools.items()):
        for key in written_keys(spec, set(PoolSpec.model_fields) - _DESCRIBING_POOL_FIELDS):
            yield ("pools", name, key), "Berth does not create these nodes", f"remove {key}"
        if spec.capacity.kind not in _ALLOWED_CAPACITIES:
            problem = f"Berth does not create nodes with '{spec.capacity.kind}' capacity"
            yield ("pools", name, "capacity"), problem, "write spot or queued, or remove capacity"


def _unsupported_identity(fleet: FleetSpec) -> _UnsupportedKeys:
    for name, team in sorted(fleet.teams.items()):
        for key in written_keys(team.identity, (*GRANTS, "impersonate")) if team.identity else ():
            problem = "Berth does not grant permissions in Google Cloud"
            yield ("teams", name, "identity", key), problem, f"remove identity.{key}"
    if fleet.platform.domain is not None:
        yield ("platform", "domain"), "Berth does not configure Google Groups for GKE", "remove platform.domain"


def _unsupported_allowances(fleet: FleetSpec) -> _UnsupportedKeys:
    sections = {
        "allowReplacement": fleet.allow_replacement,
        "allowDeletion": fleet.allow_deletion,
        "allowChange": fleet.allow_change,
    }
    for key, names in sections.items():
        for name in sorted(names):
            in_cluster = ("clusterQueues.", *(OBJECT_PREFIXES if key == "allowDeletion" else ("policies.",)))
            if not name.startswith(in_cluster) and (key, name) not in (
                ("allowChange", "protect"),
                ("allowChange", "cluster"),
            ):
                shown = format_value(name)
                yield (key, name), f"Berth does not create '{shown}'", f"remove {key}.{shown}"
