"""Plans of every way to get accelerators, for the tests of GKE's components: node pools by key, and what they need."""

from __future__ import annotations

from msgspec.structs import replace

from berth.plan.capacity import (
    AggregatePlan,
    FutureReservationPlan,
    WorkloadPolicyPlan,
    reservation_path,
)
from berth.plan.gke import NO_SETTINGS, GpuPlan, NodePoolPlan
from berth.plan.node_settings import (
    AcceleratorNetworksPlan,
    AcceleratorSubnetPlan,
    AcceleratorVpcPlan,
    Bounds,
    NodeInterfacePlan,
    NodeNetworkPlan,
    PlacementPlan,
)
from berth.spec.machines.node_system import HugepagesSpec, KubeletSpec, NodeSystemSpec, SurgeSpec
from berth.spec.machines.pools import GpuSharingSpec, LocalSsdSpec, NodeSettings
from tests.components.gke.plans import L4, SLICE
from tests.engine import PROJECT

ZONE = "us-central1-a"
written, shared, surge = NodeSettings.model_construct, GpuSharingSpec.model_construct, SurgeSpec.model_construct
"""Keys of a pool, spelt as fields."""
GPUS = replace(L4, zones=(ZONE,), total_nodes=Bounds(min=0, max=4))
H200 = replace(
    GPUS,
    machine_type="a3-ultragpu-8g",
    gpu=GpuPlan(type="nvidia-h200-141gb", count=8),
    settings=GPUS.settings.model_copy({"disk_type": "hyperdisk-balanced"}),
    attached_ssds=True,
)
A100 = replace(GPUS, machine_type="a2-highgpu-1g", gpu=GpuPlan(type="nvidia-tesla-a100", count=1))
TRILLIUM = replace(
    SLICE,
    machine_type="ct6e-standard-4t",
    slice_topology="4x4",
    nodes_per_zone=4,
    settings=SLICE.settings.model_copy({"disk_type": "hyperdisk-balanced"}),
)
RESTING = replace(TRILLIUM, nodes_per_zone=None, location_policy="ANY")
PRIVATE = NodeNetworkPlan(private_nodes=True)
FLEX_GPUS = replace(GPUS, flex_start=True, auto_repair=False, settings=NO_SETTINGS)
FLEX_SLICE = replace(RESTING, flex_start=True, auto_repair=False, settings=NO_SETTINGS)
DRANET = {"cloud.google.com/gke-networking-dra-driver": "true"}
QUEUED = {"cloud.google.com/gke-queued": "true"}


def _policy(topology: str) -> PlacementPlan:
    return PlacementPlan(type="COMPACT", policy=f"dev-tpu7x-{topology}", tpu_topology=topology)


_POOLS: dict[str, NodePoolPlan] = {
    # ways to get machines
    "queued": replace(FLEX_GPUS, queued=True, labels=QUEUED),
    "queued-slice": replace(FLEX_SLICE, queued=True, labels=QUEUED, zone_nodes=Bounds(min=0, max=4)),
    "flex": replace(FLEX_GPUS, max_run_seconds=86400),
    "flex-slice": replace(FLEX_SLICE, max_run_seconds=604800, total_nodes=Bounds(min=0, max=4)),
    "flex-hosts": replace(FLEX_SLICE, slice_topology=None, zone_nodes=Bounds(min=0, max=3)),
    "any": replace(GPUS, affinity="ANY_RESERVATION"),
    "any-or-fail": replace(GPUS, affinity="ANY_RESERVATION_THEN_FAIL"),
    "shared": replace(GPUS, reservation=reservation_path("l4", project="other")),
    "block": replace(H200, reservation=reservation_path("a4", block="b1")),
    "sub-block": replace(H200, reservation=reservation_path("a4", project="other", block="b1", sub_block="s3")),
    # how they stand to each other
    "compact": replace(GPUS, placement=PlacementPlan(type="COMPACT")),
    "tpu7x": replace(TRILLIUM, machine_type="tpu7x-standard-4t", slice_topology="2x2x2", placement=_policy("2x2x2")),
    "domain": replace(
        H200,
        placement=PlacementPlan(type="COMPACT", policy="d"),
        settings=written(surge=surge(max_unavailable=18)),
    ),
    # what their GPUs are
    "time-sharing": replace(
        A100,
        settings=written(gpu_partition="1g.5gb", gpu_sharing=shared(max_shared_clients=2)),
    ),
    "mps": replace(
        A100,
        settings=written(gpu_partition="1g.5gb", gpu_sharing=shared(strategy="mps", max_shared_clients=4)),
    ),
    "mig": replace(A100, settings=written(gpu_partition="2g.10gb", driver_version="disabled")),
    # what their nodes are
    "ssd": replace(GPUS, settings=written(local_ssd=LocalSsdSpec.model_construct(ephemeral=2))),
    "ssd-block": replace(GPUS, settings=written(local_ssd=LocalSsdSpec.model_construct(block=2))),
    "attached": H200,
    "confidential": replace(
        GPUS,
        machine_type="a3-highgpu-1g",
        settings=written(confidential_nodes="TDX", secure_boot=False),
    ),
    "tuned": replace(
        GPUS,
        settings=written(
            max_pods_per_node=32,
            node_system_config=NodeSystemSpec.model_construct(
                kubelet=KubeletSpec.model_construct(
                    cpu_manager_policy="static", topology_manager_policy="restricted", pod_pids_limit=4096
                ),
                sysctls={"net.core.somaxconn": "2048", "kernel.shmmax": "1"},
                hugepages=HugepagesSpec.model_construct(size_2m=1024),
            ),
        ),
    ),
    "no-repair": replace(GPUS, auto_repair=False),
    # how they are kept
    "surge": replace(GPUS, settings=written(surge=surge(max_surge=2, max_unavailable=1))),
    # their networks
    "rdma": replace(H200, network=replace(PRIVATE, accelerator_networks="rdma")),
    "dranet": replace(
        H200,
        labels=DRANET,
        network=replace(PRIVATE, accelerator_profile="auto"),
    ),
    "foreign": replace(
        H200, network=replace(PRIVATE, interfaces=(NodeInterfacePlan(network="theirs", subnetwork="theirs-a"),))
    ),
    "public": replace(GPUS, network=NodeNetworkPlan(private_nodes=False)),
}
POOLS = {key: replace(plan, key=key, name=key) for key, plan in _POOLS.items()}
"""One pool of each kind, as it would stand in a Standard cluster."""

POLICY = WorkloadPolicyPlan(
    key="tpu7x-2x2x2", name="dev-tpu7x-2x2x2", region="us-central1", accelerator_topology="2x2x2"
)


def tcp_networks(key: str, count: int) -> AcceleratorNetworksPlan:
    """VPCs of their own, as TCPX (four) and TCPXO (eight) want them."""
    vpcs = tuple(
        AcceleratorVpcPlan(
            key=f"net-{number}",
            name=f"dev-{key}-{number}",
            mtu=8244,
            allowed_ranges=("192.168.0.0/16",),
            subnets=(
                AcceleratorSubnetPlan(
                    name=f"dev-{key}-{number}-a", ip_range=f"192.168.{16 * number}.0/20", device=f"vpc{number + 1}"
                ),
            ),
        )
        for number in range(count)
    )
    return AcceleratorNetworksPlan(key=key, region="us-central1", vpcs=vpcs)


RDMA = AcceleratorNetworksPlan(
    key="rdma",
    region="us-central1",
    vpcs=(
        AcceleratorVpcPlan(
            key="gvnic",
            name="dev-gvnic",
            allowed_ranges=("10.100.0.0/20",),
            subnets=(AcceleratorSubnetPlan(name="dev-gvnic-a", ip_range="10.100.0.0/20", device="gvnic-1"),),
        ),
        AcceleratorVpcPlan(
            key="rdma",
            name="dev-rdma",
            mtu=8896,
            profile=f"projects/{PROJECT}/global/networkProfiles/{ZONE}-vpc-roce",
            subnets=tuple(
                AcceleratorSubnetPlan(
                    name=f"dev-rdma-{number}",
                    ip_range=f"10.101.{16 * number}.0/20",
                    device=f"rdma-{number}",
                    device_mode="RDMA",
                )
                for number in range(8)
            ),
        ),
    ),
)

CALENDAR = FutureReservationPlan(
    key="december",
    name="december",
    zone=ZONE,
    start="2026-12-01T00:00:00Z",
    end="2026-12-15T00:00:00Z",
    reservation_name="december-h200",
    mode="CALENDAR",
    machine_type="a3-ultragpu-8g",
    count=4,
    gpu_type="nvidia-h200-141gb",
    gpu_count=8,
    deployment_type="DENSE",
)

CHIPS = replace(
    CALENDAR,
    key="chips",
    name="chips",
    reservation_name="chips",
    machine_type=None,
    count=0,
    gpu_type=None,
    gpu_count=0,
    deployment_type=None,
    aggregate=AggregatePlan(
        accelerator_type=f"projects/{PROJECT}/zones/{ZONE}/acceleratorTypes/ct5lp",
        accelerator_count=16,
        vm_family="VM_FAMILY_CLOUD_TPU_LITE_POD_SLICE_CT5LP",
        workload_type="BATCH",
    ),
)

LONG = replace(
    CALENDAR,
    key="long",
    name="long",
    mode="DEFAULT",
    end="2027-06-01T00:00:00Z",
    local_ssds=2,
    share_with=("b", "a"),
)
