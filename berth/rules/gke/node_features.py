"""Rules on features of a pool's nodes beside its capacity, and on their upgrades.

Features are keys of Cloud KMS, further disks, GKE Sandbox and threads. Sources: GKE docs on secondary boot disks and on
GKE Sandbox; gVisor's page on TPUs (slices of one host only; google/gvisor#12180); Compute Engine docs on threads per
core; GKE docs on encrypting Secrets, on node upgrade strategies and on version skew (nodes at most two minors older);
cluster-toolkit (1047080, 2026-06-25), gke-node-pool: no blue-green upgrades with compact placement. Read 2026-11-28.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from berth import catalog
from berth.catalog import gke_minor, parse_version
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


_MAX_MINORS: Final = 2
"""Minors by which nodes may be older than the control plane."""


def node_upgrade_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the version of a pool's nodes and with how they are upgraded."""
    if request.made_by_gke:
        return
    if request.settings.version is not None:
        yield from _check_version(request, request.settings.version)
    if request.settings.blue_green is not None:
        yield from _check_blue_green(request)


def _check_version(request: PoolRequest, version: str) -> Violations:
    control_plane = request.cluster.version
    if control_plane is not None and _is_newer(version, control_plane):
        message = f"nodes of '{version}' are newer than the control plane, {control_plane}"
        yield gke_fault("node-version", "version", f"{message}; write {control_plane}, or upgrade the cluster first")
    elif control_plane is not None and _minor(control_plane) - _minor(version) > _MAX_MINORS:
        message = f"nodes of '{version}' are more than two minors older than the control plane, {control_plane}"
        yield gke_fault("node-version", "version", f"{message}; write {control_plane}")
    elif not (request.cluster.keeps_nodes or request.settings.exclusion_until_end_of_support):
        message = f"GKE upgrades nodes of '{version}' with the control plane, and the next update takes them back"
        remedy = "write exclusionUntilEndOfSupport: true, or remove version"
        yield gke_warning("node-version-upgraded", "version", f"{message}; {remedy}")


def _is_newer(version: str, other: str) -> bool:
    """Return whether a version is newer than another in the parts that both name."""
    first, second = parse_version(version), parse_version(other)
    length = min(len(first), len(second))
    return first[:length] > second[:length]


def _minor(version: str) -> int:
    return int(gke_minor(version).rpartition(".")[2])


def _check_blue_green(request: PoolRequest) -> Violations:
    if request.settings.surge is not None:
        yield gke_fault("blue-green", "blueGreen", "cannot be combined with surge; remove one of the two")
    elif request.uses_dws:
        message = f"blue-green upgrades have no effect with '{request.capacity}' capacity, whose nodes expire"
        yield gke_warning("dws-upgrade", "blueGreen", f"{message}; remove blueGreen")
    elif request.multi_host or request.machine.domain_topology or request.settings.compact_placement:
        message = "compact placement, which these nodes have, excludes blue-green upgrades"
        yield gke_fault("blue-green", "blueGreen", f"{message}; remove blueGreen")
    elif request.provisioning_model == "reservation-specific":
        message = f"blue-green upgrades need '{request.nodes.max}' more machines of the reservation while they run"
        yield gke_warning("reserved-surge", "blueGreen", f"{message}; remove blueGreen, or reserve twice the machines")
