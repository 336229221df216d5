"""Settings of the cluster and of its nodes: from the stack file to what the program registers, in both passes."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from berth.engine import run_program
from berth.plan.gke import NO_SETTINGS, MaintenanceExclusion
from berth.plan.node_settings import SURGE_ONE
from berth.spec.machines.node_system import NodeSystemSpec, SurgeSpec
from berth.validation.capacity import pod_block_size
from tests import small_fleets as small
from tests.berth.planner.cluster.test_controllers import ALL as KUEUE
from tests.stack_files import ROOT

CLUSTER: dict[str, Any] = {
    "dnsEndpoint": True,
    "fleetProject": "acme-fleet",
    "storageDrivers": ["lustre", "gcs-fuse"],
    "maintenance": {
        "dailyStart": "03:00",
        "exclusions": [{"name": "freeze", "start": "2026-12-01T00:00:00Z", "end": "end-of-support"}],
    },
    "controlPlane": {"publicEndpoint": False},
}
POOL: dict[str, Any] = {
    "machineType": "g2-standard-24",
    "nodes": 4,
    "zone": small.ZONE,
    "surge": {"maxSurge": 2, "maxUnavailable": 1},
    "maxPodsPerNode": 32,
    "secureBoot": False,
    "nodeSystemConfig": {
        "kubelet": {
            "cpuManagerPolicy": "static",
            "memoryManagerPolicy": "Static",
            "topologyManagerPolicy": "single-numa-node",
            "topologyManagerScope": "pod",
            "cpuCfsQuota": False,
            "cpuCfsQuotaPeriod": "10ms",
            "podPidsLimit": 4096,
            "maxParallelImagePulls": 5,
            "containerLogMaxSize": "50Mi",
            "containerLogMaxFiles": 3,
            "imageGcHighThresholdPercent": 80,
            "imageGcLowThresholdPercent": 60,
            "imageMinimumGcAge": "2m",
            "imageMaximumGcAge": "24h",
            "allowedUnsafeSysctls": ["net.core.*"],
            "singleProcessOomKill": True,
            "insecureKubeletReadonlyPortEnabled": False,
            "shutdownGracePeriodSeconds": 60,
            "shutdownGracePeriodCriticalPodsSeconds": 20,
        },
        "sysctls": {"net.core.somaxconn": "2048", "net.ipv4.tcp_rmem": "4096 87380 6291456"},
        "cgroupMode": "v2",
        "hugepages": {"size2m": 1024, "size1g": 2},
        "transparentHugepages": "madvise",
        "transparentHugepageDefrag": "defer-with-madvise",
    },
}
FLEET = small.fleet_with({"cluster": CLUSTER, "pools.l4": POOL, "kueue": KUEUE})


@cache
def registered(preview: bool) -> dict[str, Any]:
    """Name of a resource → its inputs."""
    config: dict[str, object] = {"pulumi:disable-default-providers": ["*"]}
    made = run_program(ROOT, "rich", json.loads(json.dumps(FLEET)), config, preview=preview)
    return {resource.name: resource.inputs for resource in made.resources}


# --- the plan ---------------------------------------------------------------------------------------------------------


def test_every_cluster_key_is_planned() -> None:
    plan = small.plan(FLEET)
    cluster = small.own_cluster(plan)
    assert cluster.control_plane.dns_endpoint is True
    assert cluster.settings.fleet_project == "acme-fleet"
    assert cluster.storage_drivers == ("gcs-fuse", "lustre")
    assert {"gkehub.googleapis.com", "lustre.googleapis.com"} <= {*plan.services}
    maintenance = cluster.maintenance
    assert maintenance is not None
    assert (maintenance.daily_start, maintenance.start) == ("03:00", None)
    assert maintenance.exclusions == (
        MaintenanceExclusion(name="freeze", start="2026-12-01T00:00:00Z", end=None, scope="NO_MINOR_OR_NODE_UPGRADES"),
    )


def test_every_node_key_is_planned() -> None:
    (pool,) = small.pool(small.plan(FLEET), "l4").node_pools
    assert pool.settings.surge == SurgeSpec.model_construct(max_surge=2, max_unavailable=1)
    assert (pool.settings.max_pods_per_node, pool.settings.secure_boot) == (32, False)
    assert pool.settings.node_system_config == NodeSystemSpec.model_validate(POOL["nodeSystemConfig"])


def test_node_settings_are_absent_by_default() -> None:
    """GKE's own defaults go on to change with its versions."""
    (pool,) = small.pool(small.plan(small.fleet_with()), "l4").node_pools
    expected = {"surge": SURGE_ONE, "secure_boot": True, "disk_type": "pd-balanced"}
    assert pool.settings == NO_SETTINGS.model_copy(expected)


def test_confidential_clusters_start_on_a_machine_that_supports_it() -> None:
    """GKE makes a first pool, which is removed at once: it too must be able to start."""
    fleet = small.fleet_with(
        {
            "cluster.confidentialNodes": "TDX",
            "cluster.systemPool": {"machineType": "c3-standard-4"},
            "pools": {"h100": {"machineType": "a3-highgpu-1g", "nodes": {"max": 2}, "capacity": "spot"}},
            "teams": {"vision": {"queues": {"train": {"flavors": [{"pool": "h100", "guaranteed": "all"}]}}}},
            "cohorts": small.REMOVED,
        }
    )
    cluster = small.own_cluster(small.plan(fleet))
    assert (cluster.confidential_nodes, cluster.first_machine_type) == ("TDX", "c3-standard-4")


@pytest.mark.parametrize(("pods", "addresses"), [(8, 16), (9, 32), (32, 64), (64, 128), (65, 256), (256, 512)])
def test_a_node_takes_addresses_for_twice_as_many_pods(pods: int, addresses: int) -> None:
    """As in the table of GKE's page on flexible Pod CIDR, row by row; its default of 110 takes 256."""
    assert pod_block_size(pods) == addresses
    assert pod_block_size(None) == pod_block_size(110) == 256


def test_fewer_pods_per_node_allow_more_nodes() -> None:
    """3 × 2 hosts of v5e and 6 system nodes with 256 addresses each, and 4 nodes with 256 or 64."""
    tight = {"cluster.network": {"podCidrBlock": "10.64.0.0/20"}}
    assert (12 + 4) * 256 == 4096 == 2 ** (32 - 20)
    assert small.faults(small.fleet_with(tight)) == []
    more = {**tight, "pools.l4.nodes": 8}
    assert small.faults(small.fleet_with(more)) == ["range-too-small cluster.network.podCidrBlock"]
    assert small.faults(small.fleet_with({**more, "pools.l4.maxPodsPerNode": 32})) == []


# --- what the program registers ---------------------------------------------------------------------------------------

BOTH_PASSES = pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])


@BOTH_PASSES
def test_the_cluster_is_registered_as_planned(preview: bool) -> None:
    inputs = registered(preview)["cluster-cluster"]
    assert inputs["controlPlaneEndpointsConfig"] == {
        "dnsEndpointConfig": {"allowExternalTraffic": True},
        "ipEndpointsConfig": {"enabled": True},
    }
    assert inputs["fleet"] == {"project": "acme-fleet"}
    assert inputs["addonsConfig"]["lustreCsiDriverConfig"] == {"enabled": True}
    policy = inputs["maintenancePolicy"]
    assert policy["dailyMaintenanceWindow"] == {"startTime": "03:00"}
    (exclusion,) = policy["maintenanceExclusions"]
    assert exclusion["exclusionOptions"]["endTimeBehavior"] == "UNTIL_END_OF_SUPPORT"
    assert "endTime" not in exclusion


@BOTH_PASSES
def test_the_nodes_are_registered_as_they_are_planned(preview: bool) -> None:
    inputs = registered(preview)["l4-pool"]
    assert inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 1}
    assert inputs["maxPodsPerNode"] == 32
    node = inputs["nodeConfig"]
    assert node["shieldedInstanceConfig"]["enableSecureBoot"] is False
    assert node["kubeletConfig"]["podPidsLimit"] == 4096
    assert node["linuxNodeConfig"]["sysctls"]["net.core.somaxconn"] == "2048"


@BOTH_PASSES
def test_kueue_is_registered_with_its_configuration(preview: bool) -> None:
    values = registered(preview)["controllers-kueue"]["values"]
    written = json.loads(values["managerConfig"]["controllerManagerConfigYaml"])
    assert written["waitForPodsReady"]["timeout"] == "2700s"
    assert written["fairSharing"] == {"preemptionStrategies": ["LessThanInitialShare"]}
