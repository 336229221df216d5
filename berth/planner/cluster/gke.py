"""The cluster: network, control plane, identity of its nodes, its system pool, and the APIs it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from berth import catalog
from berth.diagnostics import Path, shown
from berth.names import CLUSTER, COMPUTE, SERVICE_ACCOUNT, is_gke_name, shorten
from berth.plan.gke import AuthorizedNetwork, ClusterPlan, ControlPlanePlan, NodePoolPlan, ServiceAccountPlan
from berth.plan.nodes import Bounds
from berth.planner.allowances import protected
from berth.planner.cluster.maintenance import auto_provisioning, maintenance
from berth.planner.cluster.vpc import vpc
from berth.planner.context import Draft
from berth.planner.machines.node_settings import own_network
from berth.planner.machines.pools import SYSTEM
from berth.planner.tenancy.access import security_group
from berth.rules.gke.pool_request import Asked

NODE_ROLES = (
    "roles/artifactregistry.reader",
    "roles/autoscaling.metricsWriter",
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/monitoring.viewer",
    "roles/stackdriver.resourceMetadata.writer",
)
"""What nodes need to pull images, log and report; nothing else (GKE docs: cluster hardening)."""

MONITORING = ("SYSTEM_COMPONENTS", "DCGM", "JOBSET", "CADVISOR", "KUBELET", "POD", "STORAGE")
LOGGING = ("SYSTEM_COMPONENTS", "WORKLOADS")

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
_MOST_LABELS = 64 - 2
"""A Google Cloud resource takes 64 labels, and Berth adds two."""
_SERVICE_OF_DRIVER = {
    "filestore": "file.googleapis.com",
    "lustre": "lustre.googleapis.com",
    "parallelstore": "parallelstore.googleapis.com",
}
_CONFIDENTIAL = {"SEV": ("n2d", "c2d", "c3d"), "SEV_SNP": ("n2d",), "TDX": ("c3",)}
"""Kind of confidential VM → the families of machines without accelerators that can be one (Confidential VM docs)."""


def services(draft: Draft) -> tuple[str, ...]:
    """The APIs that have to be switched on."""
    cluster = draft.spec.cluster
    wanted = {_SERVICE_OF_DRIVER[d] for d in cluster.storage_drivers if d in _SERVICE_OF_DRIVER}
    if cluster.fleet_project is not None:
        wanted.add("gkehub.googleapis.com")
    if _secrets(draft):
        wanted.add("secretmanager.googleapis.com")
    return tuple(sorted({*SERVICES, *wanted}))


def cluster_plan(draft: Draft, pools: Mapping[str, Asked], *, multi_networking: bool) -> ClusterPlan:
    """The cluster of the fleet, and of these pools; `multi_networking` is whether one of them wants it."""
    spec = draft.spec.cluster
    name = cluster_name(draft)
    _named(draft, name)
    _modes(draft)
    _zones(draft, ("cluster", "zones"), spec.zones)
    return ClusterPlan(
        name=name,
        mode=spec.mode,
        project=draft.project,
        location=draft.region,
        zones=tuple(sorted(spec.zones)),
        release_channel=spec.release_channel.upper(),
        version=spec.version,
        workload_pool=f"{draft.project}.svc.id.goog",
        network=vpc(draft, name),
        control_plane=_control_plane(draft),
        node_service_account=_node_account(draft),
        auto_provisioning=auto_provisioning(draft, spec.node_auto_provisioning, pools),
        maintenance=maintenance(draft),
        storage_drivers=tuple(sorted(set(spec.storage_drivers))),
        image_streaming=spec.image_streaming,
        gateway_api=spec.gateway_api,
        multi_networking=spec.multi_networking or multi_networking,
        monitoring_components=MONITORING,
        logging_components=LOGGING,
        deletion_protection=spec.deletion_protection,
        protect=protected(draft, "cluster"),
        labels=labels(draft),
        fleet_project=spec.fleet_project,
        confidential_nodes=spec.confidential_nodes,
        first_machine_type=spec.system_pool.machine_type if spec.confidential_nodes else None,
        shielded_nodes=spec.shielded_nodes,
        cost_management=True,
        security_group=security_group(draft),
        secret_manager=_secrets(draft),
    )


def _secrets(draft: Draft) -> bool:
    """Whether pods of any team are to mount secrets."""
    return any(team.identity is not None and team.identity.secrets for team in draft.spec.teams.values())


def labels(draft: Draft) -> dict[str, str]:
    """Google Cloud labels of everything the fleet owns."""
    fleet = shorten(re.sub("[^a-z0-9_-]", "-", draft.stack.lower()), COMPUTE)
    return dict(sorted({**draft.spec.labels, "managed-by": "berth", "fleet": fleet}.items()))


def _named(draft: Draft, name: str) -> None:
    """The cluster can have its name, and the fleet its labels."""
    if not is_gke_name(name) and not draft.lost("cluster", "name"):
        message = f"the stack's name, '{shown(name)}', is no name for a cluster; write cluster.name"
        draft.problems.fault("bad-stack-name", ("cluster", "name"), message)
    for key in sorted(draft.spec.labels):
        if key in ("managed-by", "fleet") or key.startswith("goog-"):
            message = f"'{key}' is set by {'Google' if key.startswith('goog-') else 'Berth'}; write another key"
            draft.problems.fault("reserved-label", ("labels", key), message)
    if len(draft.spec.labels) > _MOST_LABELS:
        message = f"{len(draft.spec.labels)} labels, and Google Cloud takes {_MOST_LABELS} beside Berth's own"
        draft.problems.fault("too-many-labels", ("labels",), message)


def system_pool(draft: Draft) -> NodePoolPlan | None:
    """The ordinary pool that controllers run on; Autopilot has none."""
    if draft.spec.cluster.mode == "autopilot":
        return None
    spec = draft.spec.cluster.system_pool
    path: Path = ("cluster", "systemPool")
    _zones(draft, (*path, "zones"), spec.zones)
    zones = tuple(sorted(spec.zones or draft.spec.cluster.zones))
    fixed = spec.nodes.min == spec.nodes.max
    if spec.nodes.max == 0:
        draft.problems.fault("bad-size", (*path, "nodes"), "'0' leaves the controllers no place; write at least 1")
    elif fixed and (not zones or spec.nodes.max % len(zones)) and not draft.lost("cluster", "zones"):
        message = (
            f"'{spec.nodes.max}' fixed nodes need zones that divide them, and these are "
            f"{', '.join(zones) or 'not named'}; write zones, or nodes: {{min: 1, max: {spec.nodes.max}}}"
        )
        draft.problems.fault("bad-size", (*path, "nodes"), message)
    _confidential_system_pool(draft)
    if spec.machine_type in catalog.machines():
        message = f"'{spec.machine_type}' has accelerators, and controllers need none; write one such as e2-standard-4"
        draft.problems.fault("bad-value", (*path, "machineType"), message)
    return NodePoolPlan(
        key=SYSTEM,
        name=SYSTEM,
        machine_type=spec.machine_type,
        zones=zones,
        nodes_per_zone=spec.nodes.max // max(1, len(zones)) if fixed else None,
        total_nodes=None if fixed else Bounds(min=spec.nodes.min, max=spec.nodes.max),
        location_policy=None if fixed else "BALANCED",
        slice_topology=None,
        gpu=None,
        spot=False,
        reservation=None,
        labels={},
        taints=(),
        disk_type="pd-balanced",
        disk_size_gb=spec.disk_size_gb,
        secure_boot=True,
        image_streaming=draft.spec.cluster.image_streaming,
        network=own_network(draft.spec.cluster),
        protect=False,
    )


def _confidential_system_pool(draft: Draft) -> None:
    kind, machine = draft.spec.cluster.confidential_nodes, draft.spec.cluster.system_pool.machine_type
    if kind is not None and machine.partition("-")[0] not in (able := _CONFIDENTIAL[kind]):
        message = f"'{machine}' is no machine for {kind} confidential nodes; write one such as {able[0]}-standard-4"
        draft.problems.fault("confidential", ("cluster", "systemPool", "machineType"), message)


_NOT_ON_AUTOPILOT = {
    "systemPool": ("system_pool", "makes its nodes itself"),
    "multiNetworking": ("multi_networking", "makes its nodes itself"),
    "gpuInstallers": ("gpu_installers", "brings drivers itself"),
    "nodeAutoProvisioning": ("node_auto_provisioning", "makes its nodes itself"),
    "imageStreaming": ("image_streaming", "always streams images"),
    "shieldedNodes": ("shielded_nodes", "always has shielded nodes"),
    "confidentialNodes": ("confidential_nodes", "makes nodes confidential by a ComputeClass"),
}
"""Keys of the cluster that may not be said of an Autopilot cluster, and what it does instead."""


def _modes(draft: Draft) -> None:
    spec = draft.spec.cluster
    if spec.mode != "autopilot":
        return
    for key, (field, instead) in _NOT_ON_AUTOPILOT.items():
        if field in spec.model_fields_set:
            message = f"an Autopilot cluster {instead}; leave {key} out, or write mode: standard"
            draft.problems.fault("autopilot", ("cluster", key), message)


def _zones(draft: Draft, path: Path, zones: tuple[str, ...]) -> None:
    for index, zone in enumerate(zones):
        draft.check_zone((*path, index), zone)


# --- control plane and nodes ----------------------------------------------------------------------------------------


def _control_plane(draft: Draft) -> ControlPlanePlan:
    spec = draft.spec.cluster
    control = spec.control_plane
    path: Path = ("cluster", "controlPlane")
    if spec.private_nodes and not control.cidr_block.endswith("/28"):
        message = f"'{control.cidr_block}' is not a /28; GKE takes no other size for the control plane"
        draft.problems.fault("bad-range", (*path, "cidrBlock"), message)
    if not control.public_endpoint and not spec.private_nodes:
        message = "a private endpoint needs private nodes; write privateNodes: true"
        draft.problems.fault("bad-value", (*path, "publicEndpoint"), message)
    networks = control.authorized_networks
    return ControlPlanePlan(
        private_nodes=spec.private_nodes,
        public_endpoint=control.public_endpoint,
        ip_range=control.cidr_block if spec.private_nodes else None,
        authorized_networks=None
        if networks is None
        else tuple(AuthorizedNetwork(name=n.name, cidr=n.cidr_block) for n in networks),
        google_ranges=control.gcp_public_cidrs_access,
        dns_endpoint=spec.dns_endpoint,
    )


def cluster_name(draft: Draft) -> str:
    """The cluster's name: the one that is written, or the stack's."""
    return draft.spec.cluster.name or shorten(draft.stack, CLUSTER)


def node_account(draft: Draft) -> str:
    """The id of the nodes' service account."""
    return shorten(f"{cluster_name(draft)}-nodes", SERVICE_ACCOUNT)


def node_email(draft: Draft) -> str:
    """The address of the nodes' service account."""
    return f"{node_account(draft)}@{draft.project}.iam.gserviceaccount.com"


def _node_account(draft: Draft) -> ServiceAccountPlan:
    account = node_account(draft)
    return ServiceAccountPlan(
        account_id=account,
        display_name=f"Nodes of cluster {cluster_name(draft)}",
        email=node_email(draft),
        roles=NODE_ROLES,
    )
