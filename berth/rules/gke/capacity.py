"""Whether the machines that a pool asks for can be had the way it asks: `violations` runs every rule over one pool.

GKE refuses such contradictions after twenty minutes; all of them are known beforehand. Facts 2.2, 4.2 and 4.5, from
GKE's autoscaler, Google's documentation and Cluster Toolkit's preconditions. What only a recalled source says is a
warning, what a source or GKE's own code says is a fault.
"""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.rules.gke.gpu import gpu
from berth.rules.gke.networks import networks
from berth.rules.gke.placement import placed
from berth.rules.gke.pool_request import WAYS, Asked, Found, Key, Violation
from berth.rules.gke.reservations import reserved


def violations(asked: Asked) -> tuple[Violation, ...]:
    """Everything that is wrong with one pool, faults and warnings; of an unsupported machine, only that."""
    if asked.machine.status == "unsupported":
        message = f"'{asked.machine.name}' is not supported: {asked.machine.note.rstrip('.')}; write another machine"
        return (Violation(code="unsupported-machine", key="machineType", message=message),)
    return tuple(found for rule in _RULES for found in rule(asked))


# --- can this machine be had at all? ----------------------------------------------------------------------------------


def _offered(asked: Asked) -> Found:
    row, machine = asked.machine.provisioning, asked.machine.name
    key: Key = "reservation" if asked.way == "reservation-any" else "capacity"
    ways = ", ".join(WAYS[way] for way in row.ways)
    if row.offer(asked.way) == "refused":
        message = f"'{machine}' cannot be had from '{WAYS[asked.way]}' capacity; write one of: {ways}"
        yield Violation(code="capacity-not-offered", key=key, message=message)
    elif row.offer(asked.way) == "doubtful":
        message = f"no source shows '{machine}' from '{WAYS[asked.way]}' capacity: {row.doubts}; known are: {ways}"
        yield Violation(code="capacity-doubtful", key=key, message=message, severity="warning")


def _sized(asked: Asked) -> Found:
    low, high = asked.nodes.min, asked.nodes.max
    if low > high:
        message = f"'{low}' nodes at the least are more than the {high} at the most; write min first, then max"
        yield Violation(code="bad-size", key=asked.size, message=message)


def _disk(asked: Asked) -> Found:
    allowed = asked.machine.boot_disk_types
    if asked.boot_disk and allowed and asked.boot_disk not in allowed:
        message = f"'{asked.boot_disk}' is no boot disk for {asked.machine.name}; write {_either(allowed)}"
        yield Violation(code="boot-disk", key="bootDisk", message=message)


# --- flex-start and queued provisioning -------------------------------------------------------------------------------


def _dws(asked: Asked) -> Found:
    """The rules of flex-start and queued provisioning (GKE docs: DWS), but for placement and reservations."""
    if not asked.dws:
        return
    yield from _from_zero(asked)
    yield from _managed(asked)
    yield from _zoned(asked)
    if asked.spot:
        message = f"'spot' and '{asked.capacity}' are two ways to get machines; write one of them as capacity"
        yield Violation(code="dws-spot", key="capacity", message=message)
    if asked.location_policy not in (None, "ANY"):
        message = f"'{asked.location_policy}' does not go with '{asked.capacity}' capacity, which takes any zone"
        yield Violation(code="dws-location-policy", key="locationPolicy", message=f"{message}; write ANY")


def _from_zero(asked: Asked) -> Found:
    low, high = asked.nodes.min, asked.nodes.max
    if not asked.made_by_gke and (not asked.autoscaled or low):
        wrong = f"a fixed number of {high} nodes" if not asked.autoscaled else f"'{low}' nodes at the least"
        message = f"{wrong} cannot be kept by '{asked.capacity}' capacity, which scales from zero"
        remedy = f"write {{min: 0, max: {_people(asked, high) or 1}}}"
        yield Violation(code="dws-static", key=asked.size, message=f"{message}; {remedy}")
    if not high:
        message = f"'{asked.capacity}' capacity with '0' nodes at the most gives none; write a max of 1 or more"
        yield Violation(code="dws-static", key=asked.size, message=message)
    yield from _request(asked)


def _request(asked: Asked) -> Found:
    """One request for nodes has a bound, and a slice is one request (GKE docs: DWS)."""
    most = catalog.limits().max_request_nodes
    if asked.capacity != "queued" or max(asked.nodes.max, asked.shape.hosts if asked.shape else 0) <= most:
        return
    if asked.shape and asked.shape.hosts > most:
        message = f"'{asked.shape.topology}' has {asked.shape.hosts} hosts, and a queued request at most {most}"
        yield Violation(code="queued-request", key="topology", message=f"{message}; write a smaller topology")
    elif not asked.shape:
        message = f"'{asked.nodes.max}' nodes: a job that asks for more than {most} at once is refused; keep jobs below"
        yield Violation(code="queued-request", key="nodes", message=message, severity="warning")


def _managed(asked: Asked) -> Found:
    if asked.auto_repair:
        message = f"'autoRepair' does not go with '{asked.capacity}' capacity: repaired nodes are not got again"
        yield Violation(code="dws-auto-repair", key="autoRepair", message=f"{message}; leave it out")
    if asked.upgrade:
        refused = asked.upgrade.strategy != "SURGE"
        message = f"'{asked.upgrade.strategy}' upgrades {'do not go' if refused else 'have no effect'} with"
        message = f"{message} '{asked.capacity}' capacity, whose nodes GKE lets run out; leave surge out"
        yield Violation(code="dws-upgrade", key="surge", message=message, severity="fault" if refused else "warning")


def _surging(asked: Asked) -> Found:
    """Upgrade settings that GKE passes over, or that wait for a machine that there is not."""
    if asked.upgrade is None or asked.dws or asked.made_by_gke or asked.machine.domain_topology:
        return
    if asked.multi_host:
        message = "'surge' has no effect on slices of several hosts, each of which GKE makes anew as a whole"
        yield Violation(code="slice-surge", key="surge", message=f"{message}; leave it out", severity="warning")
    elif asked.way == "reservation-specific" and asked.upgrade.max_surge:
        message = f"'{asked.upgrade.max_surge}' surge nodes wait for machines that the reservation has to spare"
        remedy = "write maxSurge: 0 and maxUnavailable: 1, or reserve more than the pool takes"
        yield Violation(code="reserved-surge", key="surge", message=f"{message}; {remedy}", severity="warning")


def _zoned(asked: Asked) -> Found:
    """TPU pools have bounds per zone (GKE docs: DWS), so their maximum is spread evenly; flex-start knows few zones."""
    zones, listed = asked.zones, asked.machine.flex_start_zones
    if asked.shape and not asked.multi_host and zones and asked.nodes.max % len(zones):
        message = f"'{asked.nodes.max}' slices cannot be spread evenly over {len(zones)} zones, and TPU pools of"
        message = f"{message} {asked.capacity} have bounds per zone; write a multiple of {len(zones)}, or one zone"
        yield Violation(code="dws-tpu-zones", key="slices", message=message)
    elsewhere = [zone for zone in zones if zone not in listed]
    if asked.capacity == "flex-start" and listed and elsewhere:
        message = f"'{elsewhere[0]}' was not among the zones with flex-start of {asked.machine.name} in mid-2026"
        yield Violation(
            code="flex-start-zone", key="zones", message=f"{message}: {', '.join(listed)}", severity="warning"
        )


def _ends(asked: Asked) -> Found:
    limits, seconds = catalog.limits(), asked.max_run_seconds
    if seconds is None:
        return
    if not limits.min_run_seconds <= seconds <= limits.max_run_seconds:
        message = f"'{seconds}' seconds are not from {limits.min_run_seconds} (10 minutes) to {limits.max_run_seconds}"
        yield Violation(code="max-run", key="maxRunDuration", message=f"{message} (7 days); write a time between them")
    if not asked.dws:
        message = f"a run time of '{seconds}' seconds is known of flex-start and queued, and not of {asked.capacity}"
        message = f"{message}; leave it out, or write such a capacity"
        yield Violation(code="max-run-unknown", key="maxRunDuration", message=message, severity="warning")


# --- pools that GKE makes ---------------------------------------------------------------------------------------------


def _made_by_gke(asked: Asked) -> Found:
    """What cannot be said of nodes that GKE makes by itself (auto-provisioning, Autopilot)."""
    if not asked.made_by_gke:
        return
    maker = "Autopilot" if asked.cluster.autopilot else "auto-provisioning"
    if asked.autoscaled and asked.nodes.min:
        message = f"'{asked.nodes.min}' nodes at the least cannot be kept by {maker}, which removes idle pools"
        yield Violation(code="gke-minimum", key=asked.size, message=f"{message}; write min: 0")
    if not asked.compute_class:
        yield from _unsaid(asked, maker)
    yield from _named_only(asked, maker)
    if asked.cluster.autopilot and asked.capacity == "queued":
        message = "no source shows 'queued' capacity on Autopilot; flex-start is known to work there"
        yield Violation(code="autopilot-queued", key="capacity", message=message, severity="warning")


def _unsaid(asked: Asked, maker: str) -> Found:
    remedy = "leave it out" if asked.cluster.autopilot else "leave it out, or make the pool yourself"
    settings: tuple[tuple[Key, object], ...] = (
        ("surge", asked.upgrade),
        ("locationPolicy", asked.location_policy),
        ("localSsd", asked.local_ssds),
        ("bootDisk", asked.boot_disk),
        ("diskSizeGb", asked.boot_disk_gb),
        ("driverVersion", asked.driver),
        ("networking", None if asked.network == "none" else asked.network),
        ("dynamicSlicing", asked.dynamic_slicing or None),
        ("maxPodsPerNode", asked.max_pods),
        ("secureBoot", asked.secure_boot),
        ("confidentialNodes", asked.confidential),
        ("nodeSystemConfig", asked.node_system or None),
    )
    for key, value in settings:
        if value is not None:
            message = f"'{key}' cannot be set on one pool of {maker}, which makes its nodes by itself; {remedy}"
            yield Violation(code="gke-setting", key=key, message=message)


def _named_only(asked: Asked, maker: str) -> Found:
    machine = asked.machine
    if machine.explicit_only and not asked.compute_class:
        message = f"'{machine.name}' is made by {maker} only where a job or a ComputeClass names it; name it there"
        yield Violation(code="explicit-only", key="machineType", message=message, severity="warning")
    if machine.domain_topology:
        message = f"'{machine.name}' wants a workload policy of its own, and no source shows that {maker} makes one"
        message = f"{message}; make the pool yourself"
        yield Violation(code="gke-domain", key="autoProvisioned", message=message, severity="warning")


_RULES = (_offered, _sized, _disk, reserved, _dws, _surging, _ends, placed, gpu, networks, _made_by_gke)


# --- the whole cluster ------------------------------------------------------------------------------------------------


def made_pools_are_repaired(pools: Iterable[Asked]) -> bool:
    """Whether auto-provisioning may repair its nodes: one setting holds for all, and DWS wants none (GKE docs: DWS)."""
    return not any(pool.auto_provisioned and pool.dws for pool in pools)


def notes(asked: Asked) -> tuple[str, ...]:
    """What the plan says of a pool's capacity: quotas that it draws on, and when its nodes end."""
    found: list[str] = []
    if asked.capacity == "queued":
        most = catalog.limits().max_resize_requests
        found.append(f"at most {most} requests at once per project and region (quota ACTIVE_RESIZE_REQUESTS)")
    if asked.dws or asked.capacity == "spot":
        found.append("draws on the preemptible quota of its accelerators")
    if asked.dws:
        days = (asked.max_run_seconds or catalog.limits().max_run_seconds) / 86400
        found.append(f"nodes end after {days:g} days at the latest")
    if asked.multi_host and not asked.dws:
        found.append("an upgrade of nodes recreates whole slices; a maintenance exclusion holds it off")
    return tuple(found)


def _people(asked: Asked, nodes: int) -> int:
    """Nodes as their owner counts them: slices of a TPU pool."""
    return nodes // asked.shape.hosts if asked.shape else nodes


def _either(words: tuple[str, ...]) -> str:
    return " or ".join(words)
