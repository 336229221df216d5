"""The cluster: network, control plane, identity of its nodes, its system pool, and the APIs it needs."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

from components.names import CLUSTER, SERVICE_ACCOUNT, shorten
from components.plan.gke import (
    AuthorizedNetwork,
    AutoProvisioningPlan,
    ClusterPlan,
    ControlPlanePlan,
    MaintenanceExclusion,
    MaintenancePlan,
    NetworkPlan,
    NodePoolPlan,
    ResourceLimit,
    ServiceAccountPlan,
)
from components.plan.nodes import Bounds
from stacks.planner.draft import Draft
from stacks.planner.pools import protected
from stacks.problems import Path, dotted
from stacks.spec.cluster import AutoProvisioningSpec

NODE_ROLES = (
    "roles/artifactregistry.reader",
    "roles/autoscaling.metricsWriter",
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/monitoring.viewer",
    "roles/stackdriver.resourceMetadata.writer",
)
"""What nodes need to pull images, log and report; nothing else (facts 5.3, systems E.2)."""

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
_SERVICE_OF_DRIVER = {"filestore": "file.googleapis.com", "parallelstore": "parallelstore.googleapis.com"}


def services(draft: Draft) -> tuple[str, ...]:
    """The APIs that have to be switched on."""
    drivers = draft.spec.cluster.storage_drivers
    return tuple(sorted({*SERVICES, *(_SERVICE_OF_DRIVER[d] for d in drivers if d in _SERVICE_OF_DRIVER)}))


def cluster_plan(draft: Draft) -> ClusterPlan:
    """The cluster of the fleet."""
    fleet, spec = draft.spec, draft.spec.cluster
    name = spec.name or shorten(draft.stack, CLUSTER)
    _modes(draft)
    _zones(draft, ("cluster", "zones"), spec.zones)
    return ClusterPlan(
        name=name,
        mode=spec.mode,
        project=fleet.project,
        location=fleet.region,
        zones=tuple(sorted(spec.zones)),
        release_channel=spec.release_channel.upper(),
        version=spec.version,
        workload_pool=f"{fleet.project}.svc.id.goog",
        network=_network(draft, name),
        control_plane=_control_plane(draft),
        node_service_account=_node_account(draft, name),
        auto_provisioning=_auto_provisioning(draft, spec.node_auto_provisioning),
        maintenance=_maintenance(draft),
        storage_drivers=tuple(sorted(set(spec.storage_drivers))),
        image_streaming=spec.image_streaming,
        gateway_api=spec.gateway_api,
        monitoring_components=MONITORING,
        logging_components=LOGGING,
        deletion_protection=spec.deletion_protection,
        protect=protected(draft, "cluster"),
        labels=labels(draft),
    )


def labels(draft: Draft) -> dict[str, str]:
    """Google Cloud labels of everything the fleet owns."""
    return dict(sorted({**draft.spec.labels, "managed-by": "berth", "fleet": draft.stack.lower()}.items()))


def system_pool(draft: Draft) -> NodePoolPlan | None:
    """The ordinary pool that controllers run on; Autopilot has none."""
    if draft.spec.cluster.mode == "autopilot":
        return None
    spec = draft.spec.cluster.system_pool
    path: Path = ("cluster", "systemPool")
    _zones(draft, (*path, "zones"), spec.zones)
    zones = tuple(sorted(spec.zones or draft.spec.cluster.zones))
    fixed = spec.nodes.min == spec.nodes.max
    if fixed and (not zones or spec.nodes.max % len(zones)):
        message = (
            f"'{spec.nodes.max}' fixed nodes need zones that divide them, and these are "
            f"{', '.join(zones) or 'not named'}; write zones, or nodes: {{min: …, max: …}}"
        )
        draft.problems.fault("bad-size", (*path, "nodes"), message)
        zones = zones or (draft.spec.region,)
    if spec.nodes.max == 0 or spec.nodes.min > spec.nodes.max:
        message = f"{spec.nodes.min} to {spec.nodes.max} nodes leave the controllers no place; write at least 1"
        draft.problems.fault("bad-size", (*path, "nodes"), message)
    return NodePoolPlan(
        key="system",
        name="system",
        machine_type=spec.machine_type,
        zones=zones,
        nodes_per_zone=spec.nodes.max // len(zones) if fixed else None,
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
        protect=False,
    )


def _modes(draft: Draft) -> None:
    spec = draft.spec.cluster
    if spec.mode != "autopilot":
        return
    for field, key in (("system_pool", "systemPool"), ("node_auto_provisioning", "nodeAutoProvisioning")):
        if field in spec.model_fields_set:
            message = f"an Autopilot cluster makes its nodes itself; leave {key} out, or write mode: standard"
            draft.problems.fault("autopilot", ("cluster", key), message)


def _zones(draft: Draft, path: Path, zones: tuple[str, ...]) -> None:
    for index, zone in enumerate(zones):
        if not zone.startswith(draft.spec.region + "-"):
            message = f"'{zone}' is outside the region {draft.spec.region}; write one of its zones"
            draft.problems.fault("bad-zone", (*path, index), message)


# --- network ----------------------------------------------------------------------------------------------------------


def _network(draft: Draft, name: str) -> NetworkPlan:
    spec = draft.spec.cluster.network
    _disjoint(draft)
    return NetworkPlan(
        name=name,
        region=draft.spec.region,
        node_range=spec.node_cidr_block,
        pod_range=spec.pod_cidr_block,
        service_range=spec.service_cidr_block,
        pod_range_name="pods",
        service_range_name="services",
        nat=spec.nat,
    )


def _disjoint(draft: Draft) -> None:
    spec = draft.spec.cluster
    network: Path = ("cluster", "network")
    ranges: dict[Path, str] = {
        (*network, "nodeCidrBlock"): spec.network.node_cidr_block,
        (*network, "podCidrBlock"): spec.network.pod_cidr_block,
        (*network, "serviceCidrBlock"): spec.network.service_cidr_block,
    }
    if spec.private_nodes:
        ranges["cluster", "controlPlane", "cidrBlock"] = spec.control_plane.cidr_block
    for (first, a), (second, b) in combinations(ranges.items(), 2):
        if IPv4Network(a).overlaps(IPv4Network(b)):
            message = f"'{b}' overlaps {a} of {dotted(first)}; write ranges that share no address"
            draft.problems.fault("overlapping-ranges", second, message)


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
    )


def _node_account(draft: Draft, name: str) -> ServiceAccountPlan:
    account = shorten(f"{name}-nodes", SERVICE_ACCOUNT)
    return ServiceAccountPlan(
        account_id=account,
        display_name=f"Nodes of cluster {name}",
        email=f"{account}@{draft.spec.project}.iam.gserviceaccount.com",
        roles=NODE_ROLES,
    )


# --- what GKE does by itself ------------------------------------------------------------------------------------------


def _auto_provisioning(draft: Draft, spec: AutoProvisioningSpec | None) -> AutoProvisioningPlan | None:
    if spec is None:
        return None
    path: Path = ("cluster", "nodeAutoProvisioning")
    _zones(draft, (*path, "zones"), spec.zones)
    written = {"cpu": spec.cpu, "memory": spec.memory, **dict(sorted(spec.accelerators.items()))}
    for key, limit in written.items():
        if limit.min > limit.max or limit.max == 0:
            where = (*path, key) if key in ("cpu", "memory") else (*path, "accelerators", key)
            draft.problems.fault("bad-size", where, f"{limit.min} to {limit.max} is no range; write min below max")
    return AutoProvisioningPlan(
        profile=spec.profile,
        limits=tuple(_limit(k, limit.min, limit.max, k in spec.accelerators) for k, limit in written.items()),
        zones=tuple(sorted(spec.zones or draft.spec.cluster.zones)),
        disk_type=spec.disk_type,
    )


def _limit(resource: str, minimum: int, maximum: int, accelerator: bool) -> ResourceLimit:
    """A plain number for an accelerator is its limit, and no floor."""
    return ResourceLimit(
        resource=resource, minimum=0 if accelerator and minimum == maximum else minimum, maximum=maximum
    )


def _maintenance(draft: Draft) -> MaintenancePlan | None:
    spec = draft.spec.cluster.maintenance
    if spec is None:
        return None
    for index, exclusion in enumerate(spec.exclusions):
        if exclusion.start >= exclusion.end:
            message = f"'{exclusion.end}' is not after the start {exclusion.start}"
            draft.problems.fault("bad-value", ("cluster", "maintenance", "exclusions", index, "end"), message)
    window = spec.window
    return MaintenancePlan(
        start=window.start if window else None,
        end=window.end if window else None,
        recurrence=window.recurrence if window else None,
        exclusions=tuple(
            MaintenanceExclusion(name=e.name, start=e.start, end=e.end, scope=e.scope) for e in spec.exclusions
        ),
    )
