"""DaemonSets that prepare GPU nodes, as plain dicts.

Paths and environment as the images expect them, from GoogleCloudPlatform/container-engine-accelerators at 992db81
(`nvidia-driver-installer/cos`, `gpudirect-tcpx`, `gpudirect-tcpxo`, `gpudirect-rdma`, `nri_device_injector`). They
change the node, so they are privileged, in `kube-system`, and tolerate every taint. An installer runs in an init
container, once per boot; the main container only keeps the pod running.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from berth.manifests.releases import STAYS
from berth.names import berth_labels
from berth.plan.installers import (
    DRIVER_IMAGE,
    DeviceInjectorPlan,
    DraDriverPlan,
    DriverInstallerPlan,
    InstallersPlan,
    NcclInstallerPlan,
)

Manifest = dict[str, object]

NAMESPACE: Final = "kube-system"
ACCELERATOR_LABEL: Final = "cloud.google.com/gke-accelerator"
DRIVER_LABEL: Final = "cloud.google.com/gke-gpu-driver-version"

_BIN: Final = "/home/kubernetes/bin"
"""Directory of Container-Optimized OS for executables and libraries of pods."""
_INSTALLER_NAMES: Final = {
    "TCPX": "nccl-tcpx-installer",
    "TCPXO": "nccl-tcpxo-installer",
    "RDMA": "nccl-rdma-installer",
}


def installers(plan: InstallersPlan) -> Iterator[Manifest]:
    """Yield every installer of a cluster, that of the driver first."""
    if plan.driver is not None:
        yield driver_installer(plan.driver)
    yield from map(nccl_installer, plan.nccl)
    if plan.injector is not None:
        yield device_injector(plan.injector)


# --- drivers ----------------------------------------------------------------------------------------------------------


def driver_installer(plan: DriverInstallerPlan) -> Manifest:
    """Return the installer of NVIDIA's driver for nodes without GKE's, and of MIG partitions, which need the driver."""
    mounts = {
        "nvidia": (f"{_BIN}/nvidia", "/usr/local/nvidia"),
        "vulkan": (f"{_BIN}/nvidia/vulkan/icd.d", "/etc/vulkan/icd.d"),
        "dev": ("/dev", "/dev"),
        "root": ("/", "/root"),
        "cos-tools": ("/var/lib/cos-tools", "/build/cos-tools"),
        "nvidia-config": ("/etc/nvidia", "/etc/nvidia"),
    }
    install = _privileged("nvidia-driver-installer", plan.image, mounts, without=("nvidia-config",))
    install["imagePullPolicy"] = "Never" if plan.image == DRIVER_IMAGE else "IfNotPresent"
    install["command"] = ["bash", "-c", _install_driver(plan.version)]
    install["env"] = [{"name": name, "value": value} for name, value in _DRIVER_ENVIRONMENT.items()]
    partition = _privileged("partition-gpus", plan.partition_image, mounts, without=("vulkan", "root", "cos-tools"))
    partition["env"] = [{"name": "LD_LIBRARY_PATH", "value": "/usr/local/nvidia/lib64"}]
    return _daemon_set(
        "nvidia-driver-installer", _DRIVERLESS_NODES, _host_volumes(mounts), [install, partition], plan.pause_image
    )


_DRIVER_ENVIRONMENT: Final = {
    "NVIDIA_INSTALL_DIR_HOST": f"{_BIN}/nvidia",
    "NVIDIA_INSTALL_DIR_CONTAINER": "/usr/local/nvidia",
    "VULKAN_ICD_DIR_HOST": f"{_BIN}/nvidia/vulkan/icd.d",
    "VULKAN_ICD_DIR_CONTAINER": "/etc/vulkan/icd.d",
    "ROOT_MOUNT_DIR": "/root",
    "COS_TOOLS_DIR_HOST": "/var/lib/cos-tools",
    "COS_TOOLS_DIR_CONTAINER": "/build/cos-tools",
}

_PLAIN_GPU: Final = (
    {"key": ACCELERATOR_LABEL, "operator": "Exists"},
    {"key": "cloud.google.com/gke-confidential-nodes-instance-type", "operator": "DoesNotExist"},
)
_DRIVERLESS_NODES: Final = (
    (*_PLAIN_GPU, {"key": DRIVER_LABEL, "operator": "DoesNotExist"}),
    (*_PLAIN_GPU, {"key": DRIVER_LABEL, "operator": "In", "values": ["autoinstall-disabled"]}),
)
"""Nodes with or without the label: Google's DaemonSet selects a missing label, GKE's autoscaler has a value for it."""


def _install_driver(version: str) -> str:
    """Return the command; it keeps an existing driver, because replacing it would take GPUs from running jobs."""
    version_flag = "" if version == "default" else f" --version={version}"
    return (
        "if lsmod | grep -q '^nvidia'; then echo 'a driver is already loaded; keeping it'; exit 0; fi\n"
        f"/cos-gpu-installer install{version_flag} && chmod 755 /root{_BIN}/nvidia\n"
    )


# --- NCCL -------------------------------------------------------------------------------------------------------------


def nccl_installer(plan: NcclInstallerPlan) -> Manifest:
    """Return the installer of a GPUDirect mode's NCCL plugin, which copies it to the libraries of GPU pods."""
    name = _INSTALLER_NAMES[plan.mode] if plan.arch == "amd64" else f"{_INSTALLER_NAMES[plan.mode]}-{plan.arch}"
    mounts = _RDMA_MOUNTS if plan.mode == "RDMA" else _TCP_MOUNTS
    install = _privileged(name, plan.image, mounts)
    install["command"] = ["/bin/sh", "-c", _INSTALL_RDMA if plan.mode == "RDMA" else _install_tcp(plan.mode.lower())]
    init_containers: list[Manifest] = []
    if (
        plan.mode == "TCPXO"
    ):  # pods read the memory of network cards, whose device files only the host can make available
        command = ["nsenter", "-at", "1", "--", "sh", "-c", _OPEN_APERTURES]
        host, privileged = {"name": "pre-installation", "image": plan.host_image}, {"privileged": True}
        init_containers.append({**host, "command": command, "securityContext": privileged})
    return _daemon_set(
        name,
        [_any_accelerator(plan.accelerators)],
        _host_volumes(mounts),
        [*init_containers, install],
        plan.pause_image,
    )


_RDMA_MOUNTS: Final = {
    "libraries": (f"{_BIN}/nvidia/lib64", "/usr/local/home/kubernetes/bin/nvidia/lib64"),
    "gib": (f"{_BIN}/gib", "/usr/local/home/kubernetes/bin/gib"),
}
_TCP_MOUNTS: Final = {"var-lib": ("/var/lib", "/var/lib"), "bin": (_BIN, "/usr/local")}

_INSTALL_RDMA: Final = (
    "set -ex\n"
    "/scripts/container_entry.sh install\n"
    "cp -r /var/lib/gib/lib64/. /usr/local/home/kubernetes/bin/nvidia/lib64\n"
    "cp -r /var/lib/gib/. /usr/local/home/kubernetes/bin/gib\n"
)


def _install_tcp(mode: str) -> str:
    return (
        "set -ex\n"
        "chmod 755 /scripts/container_entry.sh\n"
        "/scripts/container_entry.sh install --install-nccl\n"
        "mkdir -p /usr/local/nvidia/lib64\n"
        f"cp -r /var/lib/{mode}/lib64/. /usr/local/nvidia/lib64\n"
    )


_OPEN_APERTURES: Final = (
    "/sbin/iptables -I INPUT -p tcp -m tcp -j ACCEPT\n"
    "modprobe import-helper\n"
    "for device in $(lspci -nn -D | grep '1ae0:0084' | cut -d' ' -f1); do\n"
    "  aperture=/dev/aperture_devices/$device\n"
    "  mkdir -p $aperture\n"
    "  umount -R $aperture 2>/dev/null\n"
    "  mount --bind $(readlink -f /sys/bus/pci/devices/$device) $aperture\n"
    "done\n"
    "if [ -d /dev/aperture_devices ]; then\n"
    "  chmod -R a+r /dev/aperture_devices\n"
    "  chmod a+rw /dev/aperture_devices/*/resource*\n"
    "fi\n"
)


def device_injector(plan: DeviceInjectorPlan) -> Manifest:
    """Return the DaemonSet that gives containers the devices in their pod's annotations, through containerd's NRI."""
    mounts = {"dev": ("/dev", "/dev"), "nri": ("/var/run/nri", "/var/run/nri")}
    injector = _privileged("device-injector", plan.image, mounts)
    return _daemon_set("device-injector", [_any_accelerator(plan.accelerators)], _host_volumes(mounts), [], injector)


def driver_namespace(plan: DraDriverPlan) -> Iterator[tuple[str, Manifest]]:
    """Yield the namespace of NVIDIA's DRA driver, and the quota that lets GKE admit its system-critical pods there.

    Both stay with the release, which is never uninstalled.
    """
    name = plan.chart.namespace
    common = {"labels": berth_labels(), "annotations": {STAYS: "true"}}
    yield "namespace", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **common}}
    critical = ["system-node-critical", "system-cluster-critical"]
    scope = {"matchExpressions": [{"operator": "In", "scopeName": "PriorityClass", "values": critical}]}
    yield (
        "quota",
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": f"{name}-quota", "namespace": name, **common},
            "spec": {"hard": {"pods": str(plan.pods)}, "scopeSelector": scope},
        },
    )


# --- shared -----------------------------------------------------------------------------------------------------------

_Mounts = Mapping[str, tuple[str, str]]
"""Name of a volume → path on the node and in the container."""


def _privileged(name: str, image: str, mounts: _Mounts, without: Sequence[str] = ()) -> Manifest:
    return {
        "name": name,
        "image": image,
        "resources": {"requests": {"cpu": "150m"}},
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": key, "mountPath": path} for key, (_, path) in mounts.items() if key not in without],
    }


def _host_volumes(mounts: _Mounts) -> list[Manifest]:
    # A lib64 is created if it is missing, because GKE's driver installation may not have run yet.
    return [
        {
            "name": key,
            "hostPath": {"path": path, "type": "DirectoryOrCreate"} if path.endswith("lib64") else {"path": path},
        }
        for key, (path, _) in mounts.items()
    ]


def _any_accelerator(accelerators: Sequence[str]) -> tuple[Manifest, ...]:
    return ({"key": ACCELERATOR_LABEL, "operator": "In", "values": sorted(accelerators)},)


def _daemon_set(
    name: str,
    nodes: Sequence[Sequence[Mapping[str, object]]],
    volumes: list[Manifest],
    init_containers: list[Manifest],
    main_container: str | Manifest,
) -> Manifest:
    """Return a DaemonSet on nodes that match any of `nodes`: init containers in order, then the main container."""
    container: Manifest = (
        {"name": "pause", "image": main_container} if isinstance(main_container, str) else main_container
    )
    selector = {"k8s-app": name}
    terms = [{"matchExpressions": [dict(each) for each in term]} for term in nodes]
    pod: Manifest = {
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "hostPID": True,
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
        "volumes": volumes,
        **({"initContainers": init_containers} if init_containers else {}),
        "containers": [container],
    }
    template: Manifest = {"metadata": {"labels": {**selector, **berth_labels()}}, "spec": pod}
    spec = {"selector": {"matchLabels": selector}, "updateStrategy": {"type": "RollingUpdate"}, "template": template}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {**selector, **berth_labels()}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}
