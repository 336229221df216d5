"""Plan an existing cluster, of a kubeconfig or of GKE. Settings that it cannot have are rejected.

Berth only connects to a cluster of a kubeconfig; in a GKE cluster named by its location it makes machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.diagnostics import FieldPath, format_value, join_words
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan
from berth.plan.gke import CheckpointingPlan
from berth.planner.allowances import OBJECT_PREFIXES
from berth.planner.cluster.gke import (
    check_autopilot_keys,
    check_keys_of_kms,
    cluster_name,
    node_account_plan,
    planned_node_account,
)
from berth.planner.cluster.maintenance import auto_provisioning_plan
from berth.planner.cluster.webhooks import report_called_ports
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import BERTH, PlannedPool
from berth.planner.tenancy.access import security_group
from berth.planner.tenancy.identities import GRANTS
from berth.spec.base import written_keys
from berth.spec.cluster import ClusterSpec, ExistingClusterSpec, NetworkSpec
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
                context.problems.fault(
                    "existing-cluster",
                    ("pools", name, "nodeLabels"),
                    "nodeLabels applies only to nodes that Berth does not create; write labels instead of nodeLabels",
                )
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
        context.problems.fault(
            "existing-cluster", path, f"{problem}, because it only connects to cluster.existing; {remedy}"
        )


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


_STATED = frozenset(
    {"existing", "mode", "datapath_provider", "release_channel", "version", "zones", "private_nodes", "network"}
    | {"node_auto_provisioning", "image_streaming", "multi_networking", "gpu_installers", "confidential_nodes"}
    | {"dns_endpoint", "boot_disk_kms_key", "storage_drivers", "checkpointing"}
)
"""Fields of the cluster that state what an existing GKE cluster is, or that concern the nodes of Berth's pools."""
_STATED_NETWORK = frozenset({"pod_range_name", "service_range_name", "accelerator_cidr_block"})
"""Fields of its network: names of its ranges, and the range of networks that Berth adds."""


def existing_gke_cluster_plan(
    context: PlanningContext,
    existing: ExistingClusterSpec,
    pools: Mapping[str, PlannedPool],
    checkpointing: CheckpointingPlan | None,
) -> ExistingGkeClusterPlan:
    """Return the plan of the cluster for these pools; report keys that would change it."""
    spec = context.spec.cluster
    _check_keys(context)
    check_autopilot_keys(context)
    check_keys_of_kms(context)
    _check_places(context, existing)
    _check_multi_networking(context, pools)
    _check_datapath(context)
    report_called_ports(context)
    stated = spec.model_fields_set
    requests = {name: pool.request for name, pool in pools.items()}
    return ExistingGkeClusterPlan(
        name=existing.name or "",
        project=context.project,
        location=existing.location or "",
        workload_pool=f"{context.project}.svc.id.goog",
        mode=spec.mode,
        datapath=spec.datapath_provider if spec.mode == "standard" else None,
        zones=tuple(sorted(spec.zones)),
        release_channel=spec.release_channel.upper() if "release_channel" in stated else None,
        version=spec.version,
        auto_provisioning=auto_provisioning_plan(context, spec.node_auto_provisioning, requests),
        pod_range_name=spec.network.pod_range_name,
        service_range_name=spec.network.service_range_name,
        service_range=existing.service_cidr_block if "service_cidr_block" in existing.model_fields_set else None,
        confidential_nodes=spec.confidential_nodes,
        dns_endpoint=spec.dns_endpoint,
        storage_drivers=tuple(sorted(set(spec.storage_drivers))),
        security_group=security_group(context),
        checkpointing=checkpointing,
        needs=_needs(context, pools),
        node_service_account=node_account_plan(context) if _uses_node_account(context, pools) else None,
    )


def _needs(context: PlanningContext, pools: Mapping[str, PlannedPool]) -> dict[str, str]:
    """Return what the fleet needs of the cluster besides what is stated, with the reason."""
    created = [name for name, pool in pools.items() if pool.made_by == BERTH and not pool.spec.adopted]
    granted = [
        name
        for name, team in context.spec.teams.items()
        if any(getattr(team.identity, key, None) for key in (*GRANTS, "impersonate"))
    ]
    managed_backend = "managed" in context.monitoring_backends and context.spec.cluster.mode == "standard"
    mounted = [name for name, team in context.spec.teams.items() if team.identity and team.identity.secrets]
    networked = [name for name, pool in pools.items() if pool.spec.networking is not None]
    reasons = {
        "workload_pool": _reason("new nodes of pools", created) or _reason("identities of teams", granted),
        "multi_networking": _reason("networking of pools", networked),
        "secret_manager": _reason("secrets of teams", mounted),
        "managed_prometheus": "metrics of the managed backend of monitoring" if managed_backend else "",
    }
    return {key: reason for key, reason in reasons.items() if reason}


def _reason(subject: str, names: list[str]) -> str:
    """Return `pools a and b`, or "" without names."""
    return f"{subject} {join_words(sorted(names))}" if names else ""


def _uses_node_account(context: PlanningContext, pools: Mapping[str, PlannedPool]) -> bool:
    """Return whether some nodes run as the service account that Berth creates for them.

    The nodes of an adopted pool do if the stack file writes the account's address.
    """
    email = planned_node_account(context)
    created = (pool.spec for pool in pools.values() if pool.made_by == BERTH)
    return bool(context.spec.compute_classes) or any(
        each.service_account == email or (each.service_account is None and not each.adopted) for each in created
    )


# --- checks -----------------------------------------------------------------------------------------------------------


def _check_keys(context: PlanningContext) -> None:
    """Report keys that only a cluster of Berth's own can have."""
    spec, path = context.spec.cluster, ("cluster",)
    owner = f"'{context.spec.cluster.existing.name}'" if context.spec.cluster.existing else "the cluster"
    keys = {(*path, key) for key in written_keys(spec, set(ClusterSpec.model_fields) - _STATED)}
    network = written_keys(spec.network, set(NetworkSpec.model_fields) - _STATED_NETWORK)
    keys |= {(*path, "network", key) for key in network}
    for key_path in sorted(keys):
        key = ".".join(key_path)
        message = f"'{key_path[-1]}' would change {owner}, an existing cluster, which Berth never changes; remove {key}"
        context.problems.fault("existing-cluster", key_path, message)
    if context.spec.workers:
        message = "workers need a manager cluster that Berth creates, but cluster.existing is set; remove workers"
        context.problems.fault("existing-cluster", ("workers",), message)
    written = {"project": context.written_project, "region": context.written_region}
    for key, (value, actual) in {
        "project": (written["project"], context.project),
        "region": (written["region"], context.region),
    }.items():
        if value is not None and value != actual:
            context.problems.fault(
                "contradiction", (key,), f"'{value}' differs from {actual} of cluster.existing; remove {key}"
            )


def _check_places(context: PlanningContext, existing: ExistingClusterSpec) -> None:
    """Report a zone outside the region, and an unknown one."""
    location = existing.location or ""
    if location != existing.region:
        context.check_zone(("cluster", "existing", "location"), location)
    for index, zone in enumerate(context.spec.cluster.zones):
        context.check_zone(("cluster", "zones", index), zone)


def _check_multi_networking(context: PlanningContext, pools: Mapping[str, PlannedPool]) -> None:
    spec = context.spec.cluster
    for name, pool in sorted(pools.items()):
        if pool.spec.networking not in ("gpudirect", "rdma") or spec.multi_networking or pool.made_by != BERTH:
            continue
        path: FieldPath = ("pools", name, "networking")
        context.problems.fault(
            "multi-networking",
            path,
            f"'{pool.spec.networking}' needs a cluster with multi-networking, which GKE enables only at creation; "
            "write cluster.multiNetworking: true if the cluster has it, or remove networking",
        )
    if spec.multi_networking and spec.datapath_provider == "legacy":
        message = "multi-networking needs Dataplane V2; write datapathProvider: advanced, or remove multiNetworking"
        context.problems.fault("contradiction", ("cluster", "multiNetworking"), message)


def _check_datapath(context: PlanningContext) -> None:
    spec = context.spec.cluster
    if spec.mode == "autopilot" and "datapath_provider" in spec.model_fields_set:
        return  # reported with the other keys of Standard clusters
    if spec.datapath_provider == "legacy" and context.spec.teams:
        context.problems.warning(
            "legacy-datapath",
            ("cluster", "datapathProvider"),
            "'legacy' enforces network policies of teams only if the cluster has network policy enforcement (Calico); "
            "check addonsConfig.networkPolicyConfig of the cluster",
        )
