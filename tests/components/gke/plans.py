"""Plans for the tests of GKE's components: one true plan of each kind, to be varied with `replace`."""

from __future__ import annotations

import pulumi_gcp as gcp

from berth.plan.gke import (
    AuthorizedNetwork,
    AutoProvisioningPlan,
    ClusterPlan,
    ControlPlanePlan,
    GpuPlan,
    MaintenanceExclusion,
    MaintenancePlan,
    NetworkPlan,
    NodePoolPlan,
    ReservationPlan,
    ResourceLimit,
    ServiceAccountPlan,
)
from berth.plan.node_settings import DRAIN_FIRST, SURGE_ONE, Bounds, Taint
from berth.spec.cluster import ClusterSettings
from berth.spec.machines.pools import NodeSettings
from tests.engine import PROJECT

NODES = ServiceAccountPlan(
    account_id="dev-nodes",
    display_name="Nodes of dev",
    email=f"dev-nodes@{PROJECT}.iam.gserviceaccount.com",
    roles=("roles/monitoring.metricWriter", "roles/logging.logWriter"),
)

NETWORK = NetworkPlan(
    name="dev",
    region="us-central1",
    node_range="10.40.0.0/22",
    pod_range="10.64.0.0/13",
    service_range="10.44.0.0/20",
    nat=True,
)

CONTROL_PLANE = ControlPlanePlan(
    private_nodes=True,
    public_endpoint=True,
    ip_range="172.16.0.32/28",
    authorized_networks=(AuthorizedNetwork(name="office", cidr="192.0.2.0/24"),),
    google_ranges=True,
)

AUTO_PROVISIONING = AutoProvisioningPlan(
    profile="OPTIMIZE_UTILIZATION",
    limits=(
        ResourceLimit(resource="cpu", minimum=4, maximum=1024),
        ResourceLimit(resource="memory", minimum=16, maximum=4096),
        ResourceLimit(resource="nvidia-l4", minimum=0, maximum=72),
    ),
    zones=("us-central1-b", "us-central1-a"),
    disk_type="pd-balanced",
)

MAINTENANCE = MaintenancePlan(
    start="2026-01-03T02:00:00Z",
    end="2026-01-03T10:00:00Z",
    recurrence="FREQ=WEEKLY;BYDAY=SA",
    exclusions=(
        MaintenanceExclusion(
            name="long-run", start="2026-02-01T00:00:00Z", end="2026-03-01T00:00:00Z", scope="NO_MINOR_OR_NODE_UPGRADES"
        ),
    ),
)

STANDARD = ClusterPlan(
    name="dev",
    mode="standard",
    project=PROJECT,
    location="us-central1",
    zones=("us-central1-c", "us-central1-a"),
    release_channel="RAPID",
    version="1.36",
    workload_pool=f"{PROJECT}.svc.id.goog",
    network=NETWORK,
    control_plane=CONTROL_PLANE,
    node_service_account=NODES,
    auto_provisioning=AUTO_PROVISIONING,
    maintenance=MAINTENANCE,
    storage_drivers=("gcs-fuse",),
    image_streaming=True,
    settings=ClusterSettings.model_construct(gateway_api=True),
    monitoring_components=("SYSTEM_COMPONENTS", "JOBSET", "DCGM", "POD", "STORAGE"),
    protect=True,
    labels={"team": "platform", "fleet": "dev"},
)

RESERVATION = ReservationPlan(
    key="l4",
    name="l4",
    zone="us-central1-a",
    machine_type="g2-standard-24",
    count=4,
    gpu_type="nvidia-l4",
    gpu_count=2,
    protect=True,
)

L4 = NodePoolPlan(
    key="l4",
    name="l4",
    machine_type="g2-standard-24",
    zones=("us-central1-c", "us-central1-a", "us-central1-b"),
    nodes_per_zone=None,
    total_nodes=Bounds(min=0, max=24),
    location_policy="ANY",
    slice_topology=None,
    gpu=GpuPlan(type="nvidia-l4", count=2),
    settings=NodeSettings.model_construct(driver_version="latest", surge=SURGE_ONE, disk_type="pd-balanced"),
    spot=False,
    reservation=None,
    labels={"berth/flavor": "l4", "a": "1"},
    taints=(Taint(key="reserved", value="true", effect="NoSchedule"), Taint(key="a", value="b", effect="NoExecute")),
    image_streaming=True,
    protect=True,
)

SLICE = NodePoolPlan(
    key="v5e-0",
    name="v5e-2x4-0",
    machine_type="ct5lp-hightpu-4t",
    zones=("us-central1-a",),
    nodes_per_zone=2,
    total_nodes=None,
    location_policy=None,
    slice_topology="2x4",
    gpu=None,
    spot=False,
    reservation=None,
    labels={},
    taints=(),
    image_streaming=False,
    protect=True,
    settings=NodeSettings.model_construct(surge=DRAIN_FIRST),
)


def google() -> gcp.Provider:
    """The explicit provider that every Google resource must use."""
    return gcp.Provider("google", project=PROJECT)
