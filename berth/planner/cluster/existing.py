"""A cluster that somebody else made: it is only reached, and what would be made in Google Cloud for it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Path, shown
from berth.plan.existing import ExistingClusterPlan
from berth.planner.cluster.gke import cluster_name
from berth.planner.context import Draft
from berth.planner.tenancy.identities import GRANTS
from berth.spec.base import written
from berth.spec.cluster import ClusterSpec
from berth.spec.fleet import FleetSpec

_OF_CLUSTER = frozenset({"existing", "name"})
"""Fields of the cluster that an existing one has."""
_OF_FLEET = frozenset({"project_number", "labels", "reservations", "compute_classes"})
"""Fields of the fleet that are Google Cloud's alone."""
_OF_POOL = frozenset(
    {"auto_provisioned", "driver_version", "networking", "compact_placement", "local_ssd", "disk_size_gb", "surge"}
    | {"compute_class", "max_pods_per_node", "secure_boot", "confidential_nodes", "node_system_config"}
)
"""Fields of a pool that say how its nodes are made."""
_CAPACITY = ("on-demand", "spot", "queued")
"""Kinds of capacity that are nothing but labels of nodes, or that Kueue asks for; others are asked of Google."""


def cluster_plan(draft: Draft) -> ExistingClusterPlan | None:
    """The cluster, where it is there; None where Berth makes it."""
    if not draft.existing:
        if not draft.elsewhere:
            _of_existing_alone(draft)
        return None
    spec = draft.spec.cluster.existing
    if spec is None:  # faulty: how it is reached is not known
        return ExistingClusterPlan(name=cluster_name(draft), context=None)
    _refuse(draft)
    return ExistingClusterPlan(
        name=cluster_name(draft), context=spec.context, kubeconfig=spec.kubeconfig, secret=spec.secret
    )


def _of_existing_alone(draft: Draft) -> None:
    for name, spec in sorted(draft.spec.pools.items()):
        if spec.node_labels:
            message = "GKE labels the nodes that are made here; write labels, or cluster.existing if they are there"
            draft.problems.fault("existing-cluster", ("pools", name, "nodeLabels"), message)


def _refuse(draft: Draft) -> None:
    """Every key that only says something of what Berth makes."""
    for path, what, remedy in (
        *_frame(draft.spec),
        *_pools(draft.spec),
        *_people(draft.spec),
        *_allowances(draft.spec),
    ):
        message = f"{what}, and cluster.existing says that somebody else made the cluster; {remedy}"
        draft.problems.fault("existing-cluster", path, message)


_Found = Iterator[tuple[Path, str, str]]
"""Where something stands, what it is, and what to do instead."""
_OUT = "leave it out"


def _frame(fleet: FleetSpec) -> _Found:
    for key in written(fleet.cluster, set(ClusterSpec.model_fields) - _OF_CLUSTER):
        yield ("cluster", key), f"'{key}' is said of a cluster to be made", _OUT
    for key in written(fleet, _OF_FLEET):
        yield (key,), f"'{key}' is said of what is made in Google Cloud", _OUT
    if fleet.workers:
        yield ("workers",), "a manager of workers is a cluster to be made", _OUT
    if fleet.monitoring.backend == "managed" and "backend" in fleet.monitoring.model_fields_set:
        yield ("monitoring", "backend"), "'managed' is Google's Cloud Monitoring", "write in-cluster or none"


def _pools(fleet: FleetSpec) -> _Found:
    for name, spec in sorted(fleet.pools.items()):
        for key in written(spec, _OF_POOL):
            yield ("pools", name, key), f"'{key}' says how nodes are made", _OUT
        if spec.capacity.kind not in _CAPACITY:
            what = f"'{spec.capacity.kind}' capacity is asked of Google"
            yield ("pools", name, "capacity"), what, "write spot or queued, or leave it out"


def _people(fleet: FleetSpec) -> _Found:
    for name, team in sorted(fleet.teams.items()):
        for key in written(team.identity, (*GRANTS, "impersonate")) if team.identity else ():
            yield ("teams", name, "identity", key), f"'{key}' is said of rights in Google Cloud", _OUT
    if fleet.platform.domain is not None:
        yield ("platform", "domain"), f"'{fleet.platform.domain}' is where GKE looks for groups", _OUT


def _allowances(fleet: FleetSpec) -> _Found:
    for key, names in (("allowReplacement", fleet.allow_replacement), ("allowDeletion", fleet.allow_deletion)):
        for name in sorted(names):
            if not name.startswith("clusterQueues."):
                yield (key, name), f"'{shown(name)}' is not made here, so nothing could replace or delete it", _OUT
