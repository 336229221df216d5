"""Whether the machines that a pool asks for can be had the way it asks: `violations` runs every rule over one pool.

GKE refuses such contradictions after twenty minutes; all of them are known beforehand. Facts 2.2, 4.2 and 4.5, from
GKE's autoscaler, Google's documentation and Cluster Toolkit's preconditions. What only a recalled source says is a
warning, what a source or GKE's own code says is a fault.
"""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.diagnostics import Severity
from berth.rules.gke.gpu import device_violations
from berth.rules.gke.networks import network_violations
from berth.rules.gke.placement import placement_violations
from berth.rules.gke.pool_request import MODEL_LABELS, GkeViolation, PoolRequest, SettingKey, Violations
from berth.rules.gke.reservations import reservation_violations


def pool_violations(request: PoolRequest) -> tuple[GkeViolation, ...]:
    """Everything that is wrong with one pool, faults and warnings."""
    return tuple(violation for rule in _RULES for violation in rule(request))


# --- can this machine be had at all? ----------------------------------------------------------------------------------


def _check_availability(request: PoolRequest) -> Violations:
    provisioning, machine = request.machine.provisioning, request.machine.name
    key: SettingKey = "reservation" if request.provisioning_model == "reservation-any" else "capacity"
    known_models = ", ".join(MODEL_LABELS[model] for model in provisioning.offered_models)
    if provisioning.availability(request.provisioning_model) == "refused":
        message = (
            f"'{machine}' cannot be had from '{MODEL_LABELS[request.provisioning_model]}' "
            f"capacity; write one of: {known_models}"
        )
        yield GkeViolation(code="capacity-not-offered", key=key, message=message)
    elif provisioning.availability(request.provisioning_model) == "doubtful":
        message = (
            f"no source shows '{machine}' from '{MODEL_LABELS[request.provisioning_model]}' "
            f"capacity: {provisioning.doubts}; known are: {known_models}"
        )
        yield GkeViolation(code="capacity-doubtful", key=key, message=message, severity=Severity.WARNING)


def _check_size(request: PoolRequest) -> Violations:
    min_nodes, max_nodes = request.nodes.min, request.nodes.max
    if min_nodes > max_nodes:
        message = (
            f"'{min_nodes}' nodes at the least are more than the {max_nodes} at the most; write min first, then max"
        )
        yield GkeViolation(code="bad-size", key=request.size_key, message=message)


# --- flex-start and queued provisioning -------------------------------------------------------------------------------


def _check_dws(request: PoolRequest) -> Violations:
    """The rules of flex-start and queued provisioning (GKE docs: DWS), but for placement and reservations."""
    if not request.uses_dws:
        return
    yield from _check_scale_from_zero(request)
    yield from _check_node_management(request)
    yield from _check_dws_zones(request)


def _check_scale_from_zero(request: PoolRequest) -> Violations:
    min_nodes, max_nodes = request.nodes.min, request.nodes.max
    if not request.made_by_gke and (not request.autoscaled or min_nodes):
        problem = (
            f"a fixed number of {max_nodes} nodes" if not request.autoscaled else f"'{min_nodes}' nodes at the least"
        )
        message = f"{problem} cannot be kept by '{request.capacity}' capacity, which scales from zero"
        remedy = f"write {{min: 0, max: {_slices_or_nodes(request, max_nodes) or 1}}}"
        yield GkeViolation(code="dws-static", key=request.size_key, message=f"{message}; {remedy}")
    if not max_nodes:
        message = f"'{request.capacity}' capacity with '0' nodes at the most gives none; write a max of 1 or more"
        yield GkeViolation(code="dws-static", key=request.size_key, message=message)
    yield from _check_request_size(request)


def _check_request_size(request: PoolRequest) -> Violations:
    """One request for nodes has a bound, and a slice is one request (GKE docs: DWS)."""
    limit = catalog.limits().max_request_nodes
    if request.capacity != "queued" or max(request.nodes.max, request.shape.hosts if request.shape else 0) <= limit:
        return
    if request.shape and request.shape.hosts > limit:
        message = f"'{request.shape.topology}' has {request.shape.hosts} hosts, and a queued request at most {limit}"
        yield GkeViolation(code="queued-request", key="topology", message=f"{message}; write a smaller topology")
    elif not request.shape:
        message = (
            f"'{request.nodes.max}' nodes: a job that asks for more than {limit} at once is refused; keep jobs below"
        )
        yield GkeViolation(code="queued-request", key="nodes", message=message, severity=Severity.WARNING)


def _check_node_management(request: PoolRequest) -> Violations:
    if request.upgrade:
        message = f"'SURGE' upgrades have no effect with '{request.capacity}' capacity, whose nodes GKE lets run out"
        yield GkeViolation(
            code="dws-upgrade", key="surge", message=f"{message}; leave surge out", severity=Severity.WARNING
        )


def _check_surge(request: PoolRequest) -> Violations:
    """Upgrade settings that GKE passes over, or that wait for a machine that there is not."""
    if request.upgrade is None or request.uses_dws or request.made_by_gke or request.machine.domain_topology:
        return
    if request.multi_host:
        message = "'surge' has no effect on slices of several hosts, each of which GKE makes anew as a whole"
        yield GkeViolation(
            code="slice-surge", key="surge", message=f"{message}; leave it out", severity=Severity.WARNING
        )
    elif request.provisioning_model == "reservation-specific" and request.upgrade.max_surge:
        message = f"'{request.upgrade.max_surge}' surge nodes wait for machines that the reservation has to spare"
        remedy = "write maxSurge: 0 and maxUnavailable: 1, or reserve more than the pool takes"
        yield GkeViolation(
            code="reserved-surge", key="surge", message=f"{message}; {remedy}", severity=Severity.WARNING
        )


def _check_dws_zones(request: PoolRequest) -> Violations:
    """TPU pools have bounds per zone (GKE docs: DWS), so their maximum is spread evenly."""
    zones = request.zones
    if request.shape and not request.multi_host and zones and request.nodes.max % len(zones):
        message = f"'{request.nodes.max}' slices cannot be spread evenly over {len(zones)} zones, and TPU pools of"
        message = f"{message} {request.capacity} have bounds per zone; write a multiple of {len(zones)}, or one zone"
        yield GkeViolation(code="dws-tpu-zones", key="slices", message=message)


def _check_max_run(request: PoolRequest) -> Violations:
    limits, seconds = catalog.limits(), request.max_run_seconds
    if seconds is None:
        return
    if not limits.min_run_seconds <= seconds <= limits.max_run_seconds:
        message = f"'{seconds}' seconds are not from {limits.min_run_seconds} (10 minutes) to {limits.max_run_seconds}"
        yield GkeViolation(
            code="max-run", key="maxRunDuration", message=f"{message} (7 days); write a time between them"
        )


# --- pools that GKE makes ---------------------------------------------------------------------------------------------


def _check_made_by_gke(request: PoolRequest) -> Violations:
    """What cannot be said of nodes that GKE makes by itself (auto-provisioning, Autopilot)."""
    if not request.made_by_gke:
        return
    provisioner = "Autopilot" if request.cluster.autopilot else "auto-provisioning"
    if request.autoscaled and request.nodes.min:
        message = f"'{request.nodes.min}' nodes at the least cannot be kept by {provisioner}, which removes idle pools"
        yield GkeViolation(code="gke-minimum", key=request.size_key, message=f"{message}; write min: 0")
    if not request.compute_class:
        yield from _check_unsupported_keys(request, provisioner)
    yield from _check_explicit_only(request, provisioner)
    if request.cluster.autopilot and request.capacity == "queued":
        message = "no source shows 'queued' capacity on Autopilot; flex-start is known to work there"
        yield GkeViolation(code="autopilot-queued", key="capacity", message=message, severity=Severity.WARNING)


def _check_unsupported_keys(request: PoolRequest, provisioner: str) -> Violations:
    remedy = "leave it out" if request.cluster.autopilot else "leave it out, or make the pool yourself"
    settings: tuple[tuple[SettingKey, object], ...] = (
        ("surge", request.upgrade),
        ("localSsd", request.local_ssds),
        ("diskSizeGb", request.boot_disk_gb),
        ("driverVersion", request.driver),
        ("networking", None if request.network == "none" else request.network),
        ("maxPodsPerNode", request.max_pods),
        ("secureBoot", request.secure_boot),
        ("confidentialNodes", request.confidential),
        ("serviceAccount", request.service_account),
        ("nodeSystemConfig", request.node_system or None),
    )
    for key, value in settings:
        if value is not None:
            message = f"'{key}' cannot be set on one pool of {provisioner}, which makes its nodes by itself; {remedy}"
            yield GkeViolation(code="gke-setting", key=key, message=message)


def _check_explicit_only(request: PoolRequest, provisioner: str) -> Violations:
    machine = request.machine
    if machine.explicit_only and not request.compute_class:
        message = (
            f"'{machine.name}' is made by {provisioner} only where a job or a ComputeClass names it; name it there"
        )
        yield GkeViolation(code="explicit-only", key="machineType", message=message, severity=Severity.WARNING)
    if machine.domain_topology:
        message = (
            f"'{machine.name}' wants a workload policy of its own, and no source shows that {provisioner} makes one"
        )
        message = f"{message}; make the pool yourself"
        yield GkeViolation(code="gke-domain", key="autoProvisioned", message=message, severity=Severity.WARNING)


_RULES = (
    _check_availability,
    _check_size,
    reservation_violations,
    _check_dws,
    _check_surge,
    _check_max_run,
    placement_violations,
    device_violations,
    network_violations,
    _check_made_by_gke,
)


# --- the whole cluster ------------------------------------------------------------------------------------------------


def can_auto_repair(pools: Iterable[PoolRequest]) -> bool:
    """Whether auto-provisioning may repair its nodes: one setting holds for all, and DWS wants none (GKE docs: DWS)."""
    return not any(pool.auto_provisioned and pool.uses_dws for pool in pools)


def capacity_notes(request: PoolRequest) -> tuple[str, ...]:
    """What the plan says of a pool's capacity: quotas that it draws on, and when its nodes end."""
    lines: list[str] = []
    if request.capacity == "queued":
        limit = catalog.limits().max_resize_requests
        lines.append(f"at most {limit} requests at once per project and region (quota ACTIVE_RESIZE_REQUESTS)")
    if request.uses_dws or request.capacity == "spot":
        lines.append("draws on the preemptible quota of its accelerators")
    if request.uses_dws:
        days = (request.max_run_seconds or catalog.limits().max_run_seconds) / 86400
        lines.append(f"nodes end after {days:g} days at the latest")
    if request.multi_host and not request.uses_dws:
        lines.append("an upgrade of nodes recreates whole slices; a maintenance exclusion holds it off")
    return tuple(lines)


def _slices_or_nodes(request: PoolRequest, nodes: int) -> int:
    """Nodes as their owner counts them: slices of a TPU pool."""
    return nodes // request.shape.hosts if request.shape else nodes
