"""What follows from a capacity: settings of the node pool, labels that flavors select by, taints that GKE adds.

Nothing here is a choice. A pool whose faults are none (`capacity.violations`) has settings that GKE accepts.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.plan.nodes import Bounds, Taint
from berth.rules.gke.placement import domain_upgrade
from berth.rules.gke.pool_request import Asked, Upgrade
from berth.rules.gke.reservations import Affinity, affinity, reservation_labels


class Settings(Struct, frozen=True, kw_only=True):
    """One node pool as its capacity wants it; None leaves a provider's block or field out.

    Exactly one of `nodes_per_zone` (static), `per_zone` and `total` (autoscaled) is set. `max_run_duration` is in the
    provider's spelling ("3600s"); of a queued pool it is a parameter of the request: `request_parameters`.
    `labels` are those that Berth must add itself.
    """

    spot: bool
    flex_start: bool
    queued: bool
    affinity: Affinity
    nodes_per_zone: int | None = None
    per_zone: Bounds | None = None
    total: Bounds | None = None
    location_policy: str | None = None
    max_run_duration: str | None = None
    request_parameters: tuple[tuple[str, str], ...] = ()
    auto_repair: bool
    upgrade: Upgrade | None
    labels: tuple[tuple[str, str], ...] = ()


def settings(asked: Asked, nodes: Bounds, *, flex_start_known: bool = True) -> Settings:
    """The settings of one node pool with these nodes: the whole pool's, or those of one slice.

    `flex_start_known` False is a cluster before flex-start: a queued pool then says queued provisioning alone.
    """
    queued = asked.capacity == "queued"
    seconds = f"{asked.max_run_seconds}s" if asked.max_run_seconds is not None and not queued else None
    counts = _counts(asked, nodes)
    return Settings(
        spot=asked.capacity == "spot",
        flex_start=asked.capacity == "flex-start" or (queued and flex_start_known),
        queued=queued,
        affinity=affinity(asked),
        nodes_per_zone=counts.fixed,
        per_zone=counts.per_zone,
        total=counts.total,
        location_policy=None if counts.fixed is not None else "ANY" if asked.dws else asked.location_policy or "ANY",
        max_run_duration=seconds,
        request_parameters=_parameters(asked),
        auto_repair=not asked.dws if asked.auto_repair is None else asked.auto_repair,
        upgrade=_upgrade(asked),
        labels=((catalog.labels().queued, "true"),) if queued else (),
    )


class _Counts(Struct, frozen=True):
    fixed: int | None = None
    per_zone: Bounds | None = None
    total: Bounds | None = None


def _counts(asked: Asked, nodes: Bounds) -> _Counts:
    """TPU pools of DWS are bounded per zone: the provider's total form breaks flex-start of TPUs."""
    zones = max(1, len(asked.zones))
    if asked.dws and asked.shape:
        return _Counts(per_zone=Bounds(min=0, max=nodes.max // zones))
    if nodes.min != nodes.max:
        return _Counts(total=nodes)
    return _Counts(fixed=nodes.max // zones)


def _parameters(asked: Asked) -> tuple[tuple[str, str], ...]:
    """Parameters of the ProvisioningRequestConfig (GKE docs: queued provisioning); values are text."""
    if asked.capacity != "queued":
        return ()
    seconds = () if asked.max_run_seconds is None else (("maxRunDurationSeconds", str(asked.max_run_seconds)),)
    topology = (("tpu-topology", asked.shape.topology),) if asked.shape and asked.multi_host else ()
    return (*seconds, *topology)


def _upgrade(asked: Asked) -> Upgrade | None:
    """None under DWS, where GKE has a strategy of its own that the provider cannot say."""
    if asked.dws:
        return None
    return domain_upgrade(asked) if asked.machine.domain_topology else asked.upgrade


def capacity_labels(asked: Asked) -> dict[str, str]:
    """The node labels by which a flavor tells this capacity from another; none of on-demand.

    Queued nodes have theirs from Berth; those that GKE makes by itself carry the taint alone (GKE's autoscaler).
    """
    keys = catalog.labels()
    if asked.capacity == "queued" and asked.made_by_gke:
        return {}
    marks = {"spot": keys.spot, "flex-start": keys.flex_start, "queued": keys.queued}
    key = marks.get(asked.capacity)
    return {key: "true"} if key else reservation_labels(asked)


def capacity_taints(asked: Asked) -> tuple[Taint, ...]:
    """The taint that GKE puts on the nodes of this capacity, which a flavor must tolerate; Berth never adds it."""
    return (catalog.taints().queued,) if asked.capacity == "queued" else ()
