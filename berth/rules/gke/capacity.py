"""Rules on the capacity of a pool: whether its machines exist with the requested provisioning and settings.

`pool_violations` runs every rule on one pool. GKE reports such contradictions only after the cluster exists. Sources:
GKE's autoscaler, Google's documentation and Cluster Toolkit's preconditions. A rule from documentation or code is a
fault; a rule without a written source is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.diagnostics import join_or
from berth.rules.gke.disks import boot_disk_violations
from berth.rules.gke.gpu import device_violations
from berth.rules.gke.networks import network_violations
from berth.rules.gke.node_features import node_feature_violations, node_upgrade_violations
from berth.rules.gke.placement import placement_violations
from berth.rules.gke.pool_request import (
    MODEL_LABELS,
    GkeViolation,
    PoolRequest,
    SettingKey,
    Violations,
    gke_fault,
    gke_warning,
)
from berth.rules.gke.reservations import reservation_violations
from berth.spec.machines.pools import NodeSettings
from berth.text import format_duration


def pool_violations(request: PoolRequest) -> tuple[GkeViolation, ...]:
    """Everything that is wrong with one pool, faults and warnings."""
    return tuple(violation for rule in _RULES for violation in rule(request))


# --- is this machine available? ---------------------------------------------------------------------------------------


def _check_availability(request: PoolRequest) -> Violations:
    provisioning, machine = request.machine.provisioning, request.machine.name
    if request.machine.known == "nothing":  # the warning of the machine says that this is not checked
        return
    key: SettingKey = "reservation" if request.provisioning_model == "reservation-any" else "capacity"
    known_models = join_or([MODEL_LABELS[model] for model in provisioning.offered_models])
    if provisioning.availability(request.provisioning_model) == "refused":
        yield gke_fault(
            "capacity-not-offered",
            key,
            f"'{machine}' is not available with '{MODEL_LABELS[request.provisioning_model]}' capacity; "
            f"write {known_models}",
        )
    elif provisioning.availability(request.provisioning_model) == "doubtful":
        yield gke_warning(
            "capacity-doubtful",
            key,
            f"'{machine}' is not documented with '{MODEL_LABELS[request.provisioning_model]}' capacity: "
            f"{provisioning.doubts}; write {known_models}, or ask Google",
        )


def _check_size(request: PoolRequest) -> Violations:
    min_nodes, max_nodes = request.nodes.min, request.nodes.max
    if min_nodes > max_nodes:
        yield gke_fault(
            "bad-size",
            request.size_key,
            f"the minimum of '{min_nodes}' nodes is above the maximum of {max_nodes}; write a min of at most "
            f"{max_nodes}",
        )


# --- flex-start and queued provisioning -------------------------------------------------------------------------------


def _check_dws(request: PoolRequest) -> Violations:
    """Rules of flex-start and queued provisioning (GKE docs: DWS), except placement and reservations."""
    if not request.uses_dws:
        return
    yield from _check_scale_from_zero(request)
    yield from _check_request_size(request)
    if request.settings.surge:
        message = f"surge upgrades have no effect with '{request.capacity}' capacity, whose nodes expire"
        yield gke_warning("dws-upgrade", "surge", f"{message}; remove surge")
    zones = request.zones
    if request.shape and not request.multi_host and zones and request.nodes.max % len(zones):
        # DWS limits TPU pools per zone (GKE docs: DWS).
        message = f"'{request.nodes.max}' slices do not divide evenly by {len(zones)} zones, and {request.capacity}"
        yield gke_fault(
            "dws-tpu-zones",
            "slices",
            f"{message} limits TPU pools per zone; write a multiple of {len(zones)}, or one zone",
        )


def _check_scale_from_zero(request: PoolRequest) -> Violations:
    min_nodes, max_nodes = request.nodes.min, request.nodes.max
    if not request.made_by_gke and (not request.autoscaled or min_nodes):
        problem = (
            f"a fixed number of {max_nodes} nodes" if not request.autoscaled else f"a minimum of '{min_nodes}' nodes"
        )
        message = f"{problem} is impossible with '{request.capacity}' capacity, which scales from zero"
        size = max_nodes // request.shape.hosts if request.shape else max_nodes
        remedy = f"write {{min: 0, max: {size or 1}}}"
        yield gke_fault("dws-static", request.size_key, f"{message}; {remedy}")
    if not max_nodes:
        yield gke_fault(
            "dws-static",
            request.size_key,
            f"'{request.capacity}' capacity with a maximum of '0' never has a node; write a max of 1 or more",
        )


def _check_request_size(request: PoolRequest) -> Violations:
    """A queued request has a maximum number of nodes, and a slice is one request (GKE docs: DWS)."""
    limit = catalog.limits().max_request_nodes
    if request.capacity != "queued" or max(request.nodes.max, request.shape.hosts if request.shape else 0) <= limit:
        return
    if request.shape and request.shape.hosts > limit:
        message = (
            f"'{request.shape.topology}' has {request.shape.hosts} hosts, but a queued request has at most {limit}"
        )
        yield gke_fault("queued-request", "topology", f"{message}; write a smaller topology")
    elif not request.shape:
        yield gke_warning(
            "queued-request",
            "nodes",
            f"'{request.nodes.max}' nodes are more than the {limit} that one queued job may request; "
            f"keep each job at {limit} nodes or fewer",
        )


def _check_surge(request: PoolRequest) -> Violations:
    """Upgrade settings that GKE ignores, or that wait for a machine that does not exist."""
    if request.settings.surge is None or request.uses_dws or request.made_by_gke or request.machine.domain_topology:
        return
    if request.multi_host:
        message = "'surge' has no effect on slices of several hosts: GKE recreates a whole slice at a time"
        yield gke_warning("slice-surge", "surge", f"{message}; remove surge")
    elif request.provisioning_model == "reservation-specific" and request.settings.surge.max_surge:
        message = f"'{request.settings.surge.max_surge}' surge nodes wait until the reservation has an unused machine"
        remedy = "write maxSurge: 0 and maxUnavailable: 1, or reserve more machines than the pool uses"
        yield gke_warning("reserved-surge", "surge", f"{message}; {remedy}")


def _check_max_run(request: PoolRequest) -> Violations:
    limits, seconds = catalog.limits(), request.max_run_seconds
    if seconds is None:
        return
    if not limits.min_run_seconds <= seconds <= limits.max_run_seconds:
        bounds = f"{format_duration(limits.min_run_seconds)} to {format_duration(limits.max_run_seconds)}"
        yield gke_fault(
            "max-run",
            "maxRunDuration",
            f"'{format_duration(seconds)}' is outside the range {bounds}; write a duration in this range",
        )


# --- pools that GKE creates -------------------------------------------------------------------------------------------


def _check_made_by_gke(request: PoolRequest) -> Violations:
    """Settings that nodes created by GKE (auto-provisioning, Autopilot) cannot have."""
    if not request.made_by_gke:
        return
    provisioner = "Autopilot" if request.cluster.autopilot else "auto-provisioning"
    if request.autoscaled and request.nodes.min:
        message = f"a minimum of '{request.nodes.min}' nodes is impossible with {provisioner}, which removes idle pools"
        yield gke_fault("gke-minimum", request.size_key, f"{message}; write min: 0")
    if request.machine.kind == catalog.CPU:
        # GKE chooses the machine type of a node without accelerators, so that no flavor can count its cores.
        remedy = "use a Standard cluster" if request.cluster.autopilot else "remove autoProvisioned"
        message = f"{provisioner} does not create '{request.machine.name}' nodes for jobs: it chooses the machine type"
        yield gke_fault("gke-cpu", "machineType", f"{message} itself; {remedy}")
    if not request.compute_class:
        yield from _check_unsupported_keys(request, provisioner)
    yield from _check_explicit_only(request, provisioner)
    if request.cluster.autopilot and request.capacity == "queued":
        yield gke_warning(
            "autopilot-queued",
            "capacity",
            "'queued' capacity is not documented on Autopilot; write flex-start, which is",
        )


_SETTINGS_ON_NODES_OF_GKE = {"compact_placement", "topology_aware", "gpu_sharing", "gpu_partition", "pod_range_name"}
"""Settings that nodes which GKE creates can have, or whose own rule has a better message."""


def _check_unsupported_keys(request: PoolRequest, provisioner: str) -> Violations:
    other = "" if request.cluster.autopilot else ", or remove autoProvisioned"
    for name, field in NodeSettings.model_fields.items():
        if name in _SETTINGS_ON_NODES_OF_GKE or name not in request.settings.model_fields_set:
            continue
        if getattr(request.settings, name) not in (None, ()):
            message = f"'{field.alias}' cannot be set on a pool whose nodes {provisioner} creates; remove {field.alias}"
            yield gke_fault("gke-setting", field.alias, f"{message}{other}")


def _check_explicit_only(request: PoolRequest, provisioner: str) -> Violations:
    machine = request.machine
    if machine.explicit_only and not request.compute_class:
        yield gke_warning(
            "explicit-only",
            "machineType",
            f"{provisioner} creates '{machine.name}' only for a job or a ComputeClass that names it; name it there",
        )
    if machine.domain_topology:
        yield gke_warning(
            "gke-domain",
            "autoProvisioned",
            f"'{machine.name}' needs its own workload policy, which {provisioner} is not documented to create; "
            "remove autoProvisioned",
        )


_RULES = (
    _check_availability,
    _check_size,
    reservation_violations,
    _check_dws,
    _check_surge,
    _check_max_run,
    placement_violations,
    device_violations,
    boot_disk_violations,
    network_violations,
    node_feature_violations,
    node_upgrade_violations,
    _check_made_by_gke,
)


# --- the whole cluster ------------------------------------------------------------------------------------------------


def can_auto_repair(pools: Iterable[PoolRequest]) -> bool:
    """Return whether auto-provisioning may repair nodes: one setting for all, which DWS forbids (GKE docs: DWS)."""
    return not any(pool.auto_provisioned and pool.uses_dws for pool in pools)


def capacity_notes(request: PoolRequest) -> tuple[str, ...]:
    """Return notes on a pool's capacity for the plan: quotas that it uses, and when its nodes expire."""
    lines: list[str] = []
    if request.capacity == "queued":
        limit = catalog.limits().max_resize_requests
        lines.append(
            f"GKE allows {limit} queued requests at a time per project and region (quota ACTIVE_RESIZE_REQUESTS); "
            "request more quota if more jobs must wait for nodes at once"
        )
    if request.uses_dws or request.capacity == "spot":
        lines.append("uses the preemptible quota of its accelerators")
    if request.uses_dws:
        days = (request.max_run_seconds or catalog.limits().max_run_seconds) / 86400
        lines.append(f"nodes expire after at most {days:g} days")
    if request.multi_host and not request.uses_dws:
        lines.append("a node upgrade recreates whole slices; a maintenance exclusion postpones it")
    return tuple(lines)
