"""Plan an existing GKE cluster: what the stack file states of it, and what the fleet needs of it."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import FieldPath, join_words
from berth.plan.fleet import ExistingGkeClusterPlan
from berth.plan.gke import CheckpointingPlan
from berth.planner.cluster.gke import check_autopilot_keys, check_keys_of_kms, node_account_plan, planned_node_account
from berth.planner.cluster.maintenance import auto_provisioning_plan
from berth.planner.cluster.webhooks import report_called_ports
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import BERTH, PlannedPool
from berth.planner.tenancy.access import security_group
from berth.planner.tenancy.identities import GRANTS
from berth.spec.base import written_keys
from berth.spec.cluster import ClusterSpec, ExistingClusterSpec, NetworkSpec

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
            message = f"'{value}' differs from {actual} of cluster.existing; remove {key}"
            context.problems.fault("contradiction", (key,), message)


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
        message = (
            f"'{pool.spec.networking}' needs a cluster with multi-networking, which GKE enables only at creation; "
            "write cluster.multiNetworking: true if the cluster has it, or remove networking"
        )
        context.problems.fault("multi-networking", path, message)
    if spec.multi_networking and spec.datapath_provider == "legacy":
        message = "multi-networking needs Dataplane V2; write datapathProvider: advanced, or remove multiNetworking"
        context.problems.fault("contradiction", ("cluster", "multiNetworking"), message)


def _check_datapath(context: PlanningContext) -> None:
    spec = context.spec.cluster
    if spec.mode == "autopilot" and "datapath_provider" in spec.model_fields_set:
        return  # reported with the other keys of Standard clusters
    if spec.datapath_provider == "legacy" and context.spec.teams:
        message = (
            "'legacy' enforces network policies of teams only if the cluster has network policy enforcement (Calico); "
            "check addonsConfig.networkPolicyConfig of the cluster"
        )
        context.problems.warning("legacy-datapath", ("cluster", "datapathProvider"), message)
