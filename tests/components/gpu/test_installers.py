"""DaemonSets that make GPU nodes ready: on which nodes they run, with what image, and what they wait for."""

from __future__ import annotations

from typing import Any, cast

import pulumi_kubernetes as kubernetes
import pytest

from berth.manifests import gpu
from berth.plan.installers import (
    DRIVER_IMAGE,
    RDMA_IMAGE,
    TCPX_IMAGE,
    TCPXO_IMAGE,
    DeviceInjectorPlan,
    DriverInstallerPlan,
    InstallersPlan,
    NcclInstallerPlan,
)
from components.gpu.installers import Installers
from tests.engine import Run, both_modes, broken_rules, run, using

TCPX = NcclInstallerPlan(mode="TCPX", accelerators=("nvidia-h100-80gb",), image=TCPX_IMAGE)
TCPXO = NcclInstallerPlan(mode="TCPXO", accelerators=("nvidia-h100-mega-80gb",), image=TCPXO_IMAGE)
RDMA = NcclInstallerPlan(mode="RDMA", accelerators=("nvidia-h200-141gb", "nvidia-b200"), image=RDMA_IMAGE)
INJECTOR = DeviceInjectorPlan(accelerators=("nvidia-h100-80gb", "nvidia-h100-mega-80gb"))
ALL = InstallersPlan(driver=DriverInstallerPlan(), nccl=(TCPX, TCPXO, RDMA), injector=INJECTOR)
EVERY = list(gpu.installers(ALL))

daemon_sets = pytest.mark.parametrize("manifest", EVERY, ids=lambda one: one["metadata"]["name"])


def pod(manifest: gpu.Manifest) -> dict[str, Any]:
    return cast(Any, manifest["spec"])["template"]["spec"]


def first(manifest: gpu.Manifest) -> list[dict[str, Any]]:
    return pod(manifest)["initContainers"]


def nodes(manifest: gpu.Manifest) -> list[list[dict[str, Any]]]:
    affinity = pod(manifest)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return [term["matchExpressions"] for term in affinity["nodeSelectorTerms"]]


def made(plan: InstallersPlan, preview: bool = False) -> Run:
    def build() -> None:
        Installers("installers", plan, opts=using(kubernetes.Provider("kubernetes", kubeconfig="{}")))

    return run(build, preview)


@both_modes
def test_installers_keep_the_rules_of_every_component(preview: bool) -> None:
    done = made(ALL, preview)
    assert broken_rules(done) == []
    assert len(done.resources_of("apps/v1:DaemonSet")) == len(EVERY) == 5


def test_nothing_is_installed_by_default() -> None:
    assert made(InstallersPlan()).resources_of("apps/v1:DaemonSet") == []


@both_modes
def test_no_update_waits_for_a_node_that_waits_for_its_driver(preview: bool) -> None:
    """Nodes come with jobs; the wait would be for the first of them."""
    for one in made(ALL, preview).resources_of("apps/v1:DaemonSet"):
        assert cast(Any, one.inputs["metadata"])["annotations"] == {"pulumi.com/skipAwait": "true"}


@daemon_sets
def test_an_installer_tolerates_every_taint(manifest: gpu.Manifest) -> None:
    """Accelerator nodes are all tainted, queued ones twice; without a driver no job would ever run there."""
    assert pod(manifest)["tolerations"] == [{"operator": "Exists"}]
    assert pod(manifest)["priorityClassName"] == "system-node-critical"


@daemon_sets
def test_an_installer_finds_its_own_pods(manifest: gpu.Manifest) -> None:
    spec = cast(Any, manifest["spec"])
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert cast(Any, manifest["metadata"])["namespace"] == "kube-system"


@daemon_sets
def test_every_mount_has_its_volume(manifest: gpu.Manifest) -> None:
    volumes = {each["name"] for each in pod(manifest)["volumes"]}
    containers = [*pod(manifest).get("initContainers", []), *pod(manifest)["containers"]]
    assert {mount["name"] for one in containers for mount in one.get("volumeMounts", [])} == volumes


@daemon_sets
def test_names_of_containers_differ(manifest: gpu.Manifest) -> None:
    names = [one["name"] for one in [*pod(manifest).get("initContainers", []), *pod(manifest)["containers"]]]
    assert len(set(names)) == len(names)


def test_every_script_is_given_to_a_shell() -> None:
    """What enters the host's namespaces first ends its own options with `--`."""
    commands = [one["command"] for each in EVERY for one in pod(each).get("initContainers", []) if "command" in one]
    assert len(commands) == 5
    for *before, shell, flag, script in commands:
        assert (shell.rpartition("/")[2], flag) in [("sh", "-c"), ("bash", "-c")]
        assert script.endswith("\n")
        assert before[-1:] in ([], ["--"])


# --- drivers ----------------------------------------------------------------------------------------------------------


def test_a_driver_is_installed_only_where_google_installs_none() -> None:
    """Whether GKE leaves the label out or says that it is switched off; never where the GPU is confidential."""
    driver = [
        next(each for each in term if each["key"] == "cloud.google.com/gke-gpu-driver-version")
        for term in nodes(EVERY[0])
    ]
    assert [(each["operator"], each.get("values")) for each in driver] == [
        ("DoesNotExist", None),
        ("In", ["autoinstall-disabled"]),
    ]
    confidential = {"key": "cloud.google.com/gke-confidential-nodes-instance-type", "operator": "DoesNotExist"}
    assert all(confidential in term for term in nodes(EVERY[0]))


@pytest.mark.parametrize(("version", "output"), [("default", "install &&"), ("latest", "install --version=latest &&")])
def test_the_driver_is_of_the_plans_version(version: str, output: str) -> None:
    install, _ = first(gpu.driver_installer(DriverInstallerPlan(version=version)))
    assert output in install["command"][-1]


def test_a_loaded_driver_is_not_installed_again() -> None:
    install, _ = first(EVERY[0])
    assert install["command"][-1].startswith("if lsmod | grep -q '^nvidia'; then")


def test_the_preloaded_installer_image_is_never_pulled() -> None:
    preloaded, _ = first(EVERY[0])
    mirrored, _ = first(gpu.driver_installer(DriverInstallerPlan(image="mirror.example/installer@sha256:1")))
    assert (preloaded["image"], preloaded["imagePullPolicy"]) == (DRIVER_IMAGE, "Never")
    assert mirrored["imagePullPolicy"] == "IfNotPresent"


def test_the_installer_knows_each_folder_by_its_path_on_the_node_and_in_the_container() -> None:
    install, _ = first(EVERY[0])
    folders = {each["name"]: each["hostPath"]["path"] for each in pod(EVERY[0])["volumes"]}
    paths = {folders[mount["name"]]: mount["mountPath"] for mount in install["volumeMounts"]}
    known = {each["name"]: each["value"] for each in install["env"]}
    for folder in ("NVIDIA_INSTALL_DIR", "VULKAN_ICD_DIR", "COS_TOOLS_DIR"):
        assert paths[known[f"{folder}_HOST"]] == known[f"{folder}_CONTAINER"]
    assert paths["/"] == known["ROOT_MOUNT_DIR"]


def test_partitions_are_made_after_the_driver() -> None:
    assert [one["name"] for one in first(EVERY[0])] == ["nvidia-driver-installer", "partition-gpus"]


# --- NCCL -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [TCPX, TCPXO, RDMA], ids=lambda plan: plan.mode)
def test_a_plugin_is_installed_on_the_accelerators_of_its_plan(plan: NcclInstallerPlan) -> None:
    manifest = gpu.nccl_installer(plan)
    assert nodes(manifest) == [
        [{"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": sorted(plan.accelerators)}]
    ]
    assert first(manifest)[-1]["image"] == plan.image


def test_tcpxo_opens_the_cards_before_its_plugin_is_installed() -> None:
    before, install = first(gpu.nccl_installer(TCPXO))
    assert (before["image"], before["command"][0]) == (TCPXO.host_image, "nsenter")
    assert install["name"] == "nccl-tcpxo-installer"
    assert "/var/lib/tcpxo/lib64" in install["command"][-1]
    assert len(first(gpu.nccl_installer(TCPX))) == 1


def test_images_are_those_of_the_plan() -> None:
    plan = NcclInstallerPlan(mode="RDMA", accelerators=("nvidia-b200",), image="a@sha256:1", pause_image="b@sha256:2")
    manifest = gpu.nccl_installer(plan)
    assert (first(manifest)[0]["image"], pod(manifest)["containers"][0]["image"]) == ("a@sha256:1", "b@sha256:2")


def test_the_device_injector_has_no_init_containers() -> None:
    assert "initContainers" not in pod(EVERY[-1])
    assert [one["name"] for one in pod(EVERY[-1])["containers"]] == ["device-injector"]
