"""What the nodes of a pool are: GPUs, disks, networks, kubelet, security."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pytest

from components.gke.node_pool import NodePool
from tests.components.gke.capacity_plans import POOLS
from tests.components.gke.plans import google
from tests.engine import RecordedResource, Run, run, using

SSDS = ("nodeConfig.ephemeralStorageLocalSsdConfig", "nodeConfig.localNvmeSsdBlockConfig")
UNSAID = [
    *("confidentialNodes", "ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig", "fastSocket", "flexStart"),
    *("gpudirectStrategy", "hostMaintenancePolicy", "imageType", "kubeletConfig", "linuxNodeConfig", "taintConfig"),
]


@cache
def built() -> Run:
    """A program with every pool of the plans."""

    def build() -> None:
        provider = google()
        for key, plan in POOLS.items():
            NodePool(key, plan, cluster="dev", location="us-central1", service_account="n", opts=using(provider))

    return run(build)


def pool(key: str) -> RecordedResource:
    return built().only_resource("container/nodePool:NodePool", f"{key}-pool")


def node(key: str) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], pool(key).inputs["nodeConfig"])


def gpus(key: str) -> Mapping[str, Any]:
    (one,) = node(key)["guestAccelerators"]
    return one


@pytest.mark.parametrize("field", UNSAID)
def test_no_argument_is_outside_the_plan(field: str) -> None:
    """Every sent value can be rejected by Google, or replaces the pool when it changes later."""
    assert field not in node("compact")


@pytest.mark.parametrize("field", ["networkConfig", "maxPodsPerNode", "queuedProvisioning"])
def test_a_pool_has_only_arguments_of_its_plan(field: str) -> None:
    assert field not in pool("compact").inputs


# --- GPUs -------------------------------------------------------------------------------------------------------------


def test_a_gpu_is_shared_by_time_or_by_mps() -> None:
    assert gpus("time-sharing")["gpuSharingConfig"] == {
        "gpuSharingStrategy": "TIME_SHARING",
        "maxSharedClientsPerGpu": 2,
    }
    assert gpus("mps")["gpuSharingConfig"] == {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 4}


def test_a_partition_of_a_gpu_may_be_shared_too() -> None:
    assert gpus("time-sharing")["gpuPartitionSize"] == "1g.5gb"
    assert "gpuSharingConfig" not in gpus("mig")


def test_a_driver_can_be_installed_by_others() -> None:
    assert gpus("mig")["gpuDriverInstallationConfig"] == {"gpuDriverVersion": "INSTALLATION_DISABLED"}


# --- local SSDs -------------------------------------------------------------------------------------------------------


def test_local_ssds_back_ephemeral_storage_or_are_raw_blocks() -> None:
    assert node("ssd")["ephemeralStorageLocalSsdConfig"] == {"localSsdCount": 2}
    assert "localNvmeSsdBlockConfig" not in node("ssd")
    assert node("ssd-block")["localNvmeSsdBlockConfig"] == {"localSsdCount": 2}
    assert "ephemeralStorageLocalSsdConfig" not in node("ssd-block")


def test_bundled_ssds_never_replace_a_pool() -> None:
    """GKE reports them, and to the provider what we did not say is to be removed, pool and all (seen: `+-`)."""
    assert pool("attached").ignore_changes[-2:] == SSDS
    assert not set(SSDS) & set(pool("ssd").ignore_changes), "a change of what was said must reach the pool"


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "private"), [("dranet", True), ("foreign", True), ("public", False)])
def test_a_network_configuration_always_sets_private_nodes(key: str, private: bool) -> None:
    """The provider sends `false` as soon as the block is there, and a private cluster's nodes would get addresses."""
    assert cast(Any, pool(key).inputs["networkConfig"])["enablePrivateNodes"] is private


def test_with_dranet_google_creates_the_networks_and_nodes_have_the_drivers_label() -> None:
    assert pool("dranet").inputs["networkConfig"] == {"acceleratorNetworkProfile": "auto", "enablePrivateNodes": True}
    assert node("dranet")["labels"]["cloud.google.com/gke-networking-dra-driver"] == "true"
    assert "cloud.google.com/gke-networking-dra-driver" not in node("foreign")["labels"]


def test_interfaces_may_use_existing_networks() -> None:
    network = cast(Any, pool("foreign").inputs["networkConfig"])
    assert network["additionalNodeNetworkConfigs"] == [{"network": "theirs", "subnetwork": "theirs-a"}]


def test_gvnic_is_on() -> None:
    assert node("compact")["gvnic"] == {"enabled": True}


# --- security and tuning ----------------------------------------------------------------------------------------------


def test_confidential_nodes_have_their_technology_and_boot_settings() -> None:
    assert node("confidential")["confidentialNodes"] == {"enabled": True, "confidentialInstanceType": "TDX"}
    assert node("confidential")["shieldedInstanceConfig"]["enableSecureBoot"] is False


def test_kubelet_and_kernel_settings_match_the_plan() -> None:
    assert node("tuned")["kubeletConfig"] == {
        "cpuManagerPolicy": "static",
        "podPidsLimit": 4096,
        "topologyManager": {"policy": "restricted"},
    }
    assert node("tuned")["linuxNodeConfig"] == {
        "hugepagesConfig": {"hugepageSize2m": 1024},
        "sysctls": {"kernel.shmmax": "1", "net.core.somaxconn": "2048"},
    }


def test_the_other_node_settings_match_the_plan() -> None:
    assert pool("tuned").inputs["maxPodsPerNode"] == 32
