"""Rules on features of a pool's nodes beside its capacity: keys of Cloud KMS, further disks, GKE Sandbox, threads.

Sources: GKE docs on secondary boot disks and on GKE Sandbox; gVisor's page on TPUs (slices of one host only;
google/gvisor#12180); Compute Engine docs on threads per core; GKE docs on encrypting Secrets. Read 2026-11-28.
"""

from __future__ import annotations

from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Severity
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, Violations, gke_fault, gke_warning

_SANDBOXED_TPUS = ("v4", "v5e", "v5p", "v6e")
"""Generations that gVisor's page on TPUs names."""


def key_location_violation(key: str | None, region: str, field: str) -> GkeViolation | None:
    """Return a warning for a key of Cloud KMS in another region than the resources that it encrypts.

    Keys in `global` and in multi-regions (europe), whose names have no hyphen, are not compared.
    """
    if key is None or not region:
        return None
    location = key.split("/")[3]
    if location == region or "-" not in location:
        return None
    message = f"the key is in '{location}', and encrypts what is in {region}, which then depends on both regions"
    return gke_warning("key-location", field, f"{message}; write a key in {region}")


def node_feature_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the features of a pool's nodes."""
    if violation := key_location_violation(request.settings.boot_disk_kms_key, request.region, "bootDiskKmsKey"):
        yield violation
    if request.machine.only_cos and request.settings.image_type == "UBUNTU_CONTAINERD":
        message = f"'UBUNTU_CONTAINERD' is no image of {request.machine.name}, whose nodes have Container-Optimized OS"
        yield gke_fault("image-type", "imageType", f"{message}; remove imageType")
    yield from _check_secondary_disks(request)
    if request.settings.sandbox is not None:
        yield from _check_sandbox(request)
    if request.settings.threads_per_core is not None:
        yield from _check_threads(request)


def _check_secondary_disks(request: PoolRequest) -> Violations:
    disks = request.settings.secondary_boot_disks
    if any(each.mode is not None for each in disks) and not request.cluster.image_streaming:
        message = "container images of a secondary boot disk need image streaming, which the cluster switches off"
        remedy = "write cluster.imageStreaming: true, or remove mode for a disk of data"
        yield gke_fault("secondary-disk", "secondaryBootDisks", f"{message}; {remedy}")
    images = [each.disk_image for each in disks]
    if twice := next((each for each in images if images.count(each) > 1), None):
        yield gke_fault("secondary-disk", "secondaryBootDisks", f"'{twice}' is listed twice; remove one of them")


def _check_sandbox(request: PoolRequest) -> Violations:
    machine, image = request.machine, request.settings.image_type
    if image == "UBUNTU_CONTAINERD":
        message = f"GKE Sandbox needs Container-Optimized OS, and the nodes have '{image}'"
        yield gke_fault("sandbox", "sandbox", f"{message}; remove imageType, or remove sandbox")
    if request.settings.topology_aware:
        message = "with topologyAware, Kueue gives nodes only to jobs that tolerate their taints, and the runtime class"
        yield gke_fault("sandbox", "sandbox", f"{message} adds its toleration to pods later; remove topologyAware")
    if request.multi_host:
        message = f"'gvisor' supports TPU slices of one host, and a slice of {request.shape and request.shape.topology}"
        yield gke_fault("sandbox", "sandbox", f"{message} has {request.shape and request.shape.hosts}; remove sandbox")
    elif machine.kind == "tpu" and machine.generation not in _SANDBOXED_TPUS:
        dated = catalog.fact_tables()["accelerators"].dated_name
        message = f"'gvisor' on {machine.name} is unknown: no source of {dated} says that GKE Sandbox supports it"
        yield gke_warning("sandbox-unknown", "sandbox", f"{message}, so that is not checked")


def _check_threads(request: PoolRequest) -> Violations:
    machine, threads = request.machine, request.settings.threads_per_core
    if not machine.has_threads:
        message = f"'{threads}' has no effect: each vCPU of {machine.name} is a core, or a part of one"
        found = gke_fault("threads-per-core", "threadsPerCore", f"{message}; remove threadsPerCore")
        yield found if threads == 2 else replace(found, severity=Severity.WARNING)
    elif machine.kind == "tpu" or machine.known == "nothing":
        table = catalog.fact_tables()["accelerators" if machine.kind == "tpu" else "cpu-machines"]
        message = f"whether {machine.name} takes '{threads}' is unknown: no source of {table.dated_name} says it"
        yield gke_warning("threads-unknown", "threadsPerCore", f"{message}, so that is not checked")
