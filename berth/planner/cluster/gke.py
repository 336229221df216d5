"""Plan a GKE cluster: control plane, service account of its nodes, and required APIs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from berth import names
from berth.diagnostics import FieldPath, format_value
from berth.names import MAX_CLUSTER_NAME, MAX_COMPUTE_NAME, is_gke_name, shorten
from berth.plan.gke import AuthorizedNetwork, CheckpointingPlan, ClusterPlan, ControlPlanePlan, ServiceAccountPlan
from berth.planner.allowances import is_protected
from berth.planner.cluster.maintenance import auto_provisioning_plan, maintenance_plan
from berth.planner.cluster.vpc import network_plan
from berth.planner.cluster.webhooks import webhook_firewall_plan
from berth.planner.context import PlanningContext
from berth.planner.tenancy.access import security_group
from berth.rules.gke.dynamic_slicing import connects_slices
from berth.rules.gke.node_features import key_location_violation
from berth.rules.gke.pool_request import PoolRequest
from berth.spec.cluster import ClusterSettings

NODE_ROLES = (
    "roles/artifactregistry.reader",
    "roles/autoscaling.metricsWriter",
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/monitoring.viewer",
    "roles/stackdriver.resourceMetadata.writer",
)
"""Roles that nodes need to pull images, write logs and report metrics (GKE docs: cluster hardening)."""

MONITORING = ("SYSTEM_COMPONENTS", "DCGM", "JOBSET", "CADVISOR", "KUBELET", "POD", "STORAGE")

SERVICES = (
    "artifactregistry.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "container.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "serviceusage.googleapis.com",
)
_MAX_LABELS = 64 - 2
"""Maximum labels in the stack file: Google Cloud allows 64 per resource, and Berth adds two."""
_SERVICE_OF_DRIVER = {
    "filestore": "file.googleapis.com",
    "lustre": "lustre.googleapis.com",
    "parallelstore": "parallelstore.googleapis.com",
}


def required_services(context: PlanningContext) -> tuple[str, ...]:
    """Return the Google Cloud APIs that the fleet needs."""
    cluster = context.spec.cluster
    required = {_SERVICE_OF_DRIVER[driver] for driver in cluster.storage_drivers if driver in _SERVICE_OF_DRIVER}
    if cluster.fleet_project is not None:
        required.add("gkehub.googleapis.com")
    if _mounts_secrets(context):
        required.add("secretmanager.googleapis.com")
    return tuple(sorted({*SERVICES, *required}))


def cluster_plan(
    context: PlanningContext,
    pools: Mapping[str, PoolRequest],
    *,
    multi_networking: bool,
    checkpointing: CheckpointingPlan | None = None,
) -> ClusterPlan:
    """Return the cluster for these pools; `multi_networking` is whether one of them needs it."""
    spec = context.spec.cluster
    name = cluster_name(context)
    _check_name_and_labels(context, name)
    check_autopilot_keys(context)
    check_keys_of_kms(context)
    context.check_zones(("cluster", "zones"), spec.zones)
    return ClusterPlan(
        name=name,
        settings=spec.model_part(ClusterSettings),
        mode=spec.mode,
        datapath=spec.datapath_provider,
        project=context.project,
        location=context.region,
        zones=tuple(sorted(spec.zones)),
        release_channel=spec.release_channel.upper(),
        version=spec.version,
        workload_pool=f"{context.project}.svc.id.goog",
        network=network_plan(context, name),
        control_plane=_control_plane_plan(context),
        node_service_account=node_account_plan(context),
        auto_provisioning=auto_provisioning_plan(context, spec.node_auto_provisioning, pools),
        maintenance=maintenance_plan(context),
        storage_drivers=tuple(sorted(set(spec.storage_drivers))),
        image_streaming=spec.image_streaming,
        multi_networking=spec.multi_networking or multi_networking,
        monitoring_components=MONITORING,
        protect=is_protected(context, "cluster"),
        labels=resource_labels(context),
        confidential_nodes=spec.confidential_nodes,
        first_machine_type=spec.system_pool.machine_type if spec.confidential_nodes else None,
        cost_management=True,
        security_group=security_group(context),
        secret_manager=_mounts_secrets(context),
        slice_controller=any(connects_slices(request) for request in pools.values()),
        checkpointing=checkpointing,
        webhook_firewall=webhook_firewall_plan(context, name),
    )


def _mounts_secrets(context: PlanningContext) -> bool:
    """Return whether pods of any team mount secrets of Secret Manager."""
    return any(team.identity is not None and team.identity.secrets for team in context.spec.teams.values())


def resource_labels(context: PlanningContext) -> dict[str, str]:
    """Return the Google Cloud labels of all resources of the fleet."""
    fleet_label = shorten(re.sub("[^a-z0-9_-]", "-", context.stack.lower()), MAX_COMPUTE_NAME)
    return dict(sorted({**context.spec.labels, "managed-by": "berth", "fleet": fleet_label}.items()))


def _check_name_and_labels(context: PlanningContext, name: str) -> None:
    """Report an invalid cluster name and invalid labels of the fleet."""
    if not is_gke_name(name) and not context.is_set_aside("cluster", "name"):
        message = f"the stack's name '{format_value(name)}' is not a valid cluster name; write cluster.name"
        context.problems.fault("bad-stack-name", ("cluster", "name"), message)
    for key in sorted(context.spec.labels):
        if key in ("managed-by", "fleet") or key.startswith("goog-"):
            message = f"'{key}' is set by {'Google' if key.startswith('goog-') else 'Berth'}; write another key"
            context.problems.fault("reserved-label", ("labels", key), message)
    if len(context.spec.labels) > _MAX_LABELS:
        context.problems.fault(
            "too-many-labels",
            ("labels",),
            f"{len(context.spec.labels)} labels are more than the maximum of {_MAX_LABELS} besides Berth's own; write "
            "fewer",
        )


def check_keys_of_kms(context: PlanningContext) -> None:
    """Report keys of Cloud KMS in another region than the cluster."""
    spec, region = context.spec.cluster, "" if context.is_set_aside("region", "") else context.region
    encryption = spec.database_encryption
    keys = (("bootDiskKmsKey", spec.boot_disk_kms_key), ("databaseEncryption", encryption and encryption.key_name))
    for name, key in keys:
        if violation := key_location_violation(key, region, name):
            context.problems.warning(violation.code, ("cluster", name), violation.message)


_STANDARD_ONLY_KEYS = {
    "systemPool": ("system_pool", "creates its nodes itself"),
    "multiNetworking": ("multi_networking", "creates its nodes itself"),
    "gpuInstallers": ("gpu_installers", "installs drivers itself"),
    "nodeAutoProvisioning": ("node_auto_provisioning", "creates its nodes itself"),
    "imageStreaming": ("image_streaming", "always streams images"),
    "shieldedNodes": ("shielded_nodes", "always has shielded nodes"),
    "datapathProvider": ("datapath_provider", "always has Dataplane V2"),
    "confidentialNodes": ("confidential_nodes", "gets confidential nodes from a ComputeClass"),
    "checkpointing": ("checkpointing", "has no multi-tier checkpointing"),
}
"""Keys that an Autopilot cluster cannot have, and what Autopilot does instead."""


def check_autopilot_keys(context: PlanningContext) -> None:
    """Report keys that an Autopilot cluster cannot have."""
    spec = context.spec.cluster
    if spec.mode != "autopilot":
        return
    for key, (field, alternative) in _STANDARD_ONLY_KEYS.items():
        if field in spec.model_fields_set:
            message = f"an Autopilot cluster {alternative}; remove {key}, or write mode: standard"
            context.problems.fault("autopilot", ("cluster", key), message)


# --- control plane and nodes ----------------------------------------------------------------------------------------


def _control_plane_plan(context: PlanningContext) -> ControlPlanePlan:
    spec = context.spec.cluster
    control_spec = spec.control_plane
    path: FieldPath = ("cluster", "controlPlane")
    if spec.private_nodes and not control_spec.cidr_block.endswith("/28"):
        context.problems.fault(
            "bad-range",
            (*path, "cidrBlock"),
            f"'{control_spec.cidr_block}' is not a /28 range, which the control plane needs; write one such as "
            "172.16.0.0/28",
        )
    if not control_spec.public_endpoint and not spec.private_nodes:
        context.problems.fault(
            "bad-value",
            (*path, "publicEndpoint"),
            "'false' needs private nodes, which are off; write cluster.privateNodes: true, or remove publicEndpoint",
        )
    if control_spec.global_access and not spec.private_nodes:
        message = "'true' is for the private endpoint, which a cluster with public nodes does not need"
        context.problems.fault("bad-value", (*path, "globalAccess"), f"{message}; remove globalAccess")
    is_dns_unknown = context.is_set_aside("cluster", "dnsEndpoint")
    if not (control_spec.ip_endpoint or spec.dns_endpoint or is_dns_unknown):
        message = "'false' leaves no endpoint to reach the control plane; write cluster.dnsEndpoint: true"
        context.problems.fault("bad-value", (*path, "ipEndpoint"), message)
    networks = control_spec.authorized_networks
    return ControlPlanePlan(
        private_nodes=spec.private_nodes,
        public_endpoint=control_spec.public_endpoint,
        ip_range=control_spec.cidr_block if spec.private_nodes else None,
        authorized_networks=None
        if networks is None
        else tuple(AuthorizedNetwork(name=n.name, cidr=n.cidr_block) for n in networks),
        google_ranges=control_spec.gcp_public_cidrs_access,
        global_access=control_spec.global_access,
        dns_endpoint=spec.dns_endpoint,
        ip_endpoint=control_spec.ip_endpoint,
    )


def cluster_name(context: PlanningContext) -> str:
    """Return the cluster's name: cluster.name or that of an existing GKE cluster, else the stack's name."""
    existing = context.spec.cluster.existing
    if existing is not None and existing.name is not None:
        return existing.name
    return context.spec.cluster.name or shorten(context.stack, MAX_CLUSTER_NAME)


def node_account_id(context: PlanningContext) -> str:
    """Return the ID of the nodes' service account. In an existing cluster it has the stack's name, for its owner may
    have one with the cluster's."""
    return planned_node_account(context).partition("@")[0]


def planned_node_account(context: PlanningContext) -> str:
    """Return the email address of the nodes' service account."""
    owner = context.stack if context.cluster_exists else cluster_name(context)
    return names.node_account_email(owner, context.project)


def node_account_plan(context: PlanningContext) -> ServiceAccountPlan:
    """Return the service account of the nodes that Berth makes."""
    account = node_account_id(context)
    return ServiceAccountPlan(
        account_id=account,
        display_name=f"Nodes of cluster {cluster_name(context)}",
        email=planned_node_account(context),
        roles=NODE_ROLES,
    )
