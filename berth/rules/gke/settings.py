"""What follows from a capacity: settings of the node pool, labels that flavors select by, taints that GKE adds.

Nothing here is a choice. A pool whose faults are none (`capacity.violations`) has settings that GKE accepts.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.plan.node_settings import DRAIN_FIRST, SURGE_ONE, UpgradePlan
from berth.plan.nodes import Bounds, Taint
from berth.rules.gke.placement import domain_upgrade
from berth.rules.gke.pool_request import PoolRequest
from berth.rules.gke.reservations import ReservationAffinity, reservation_affinity, reservation_labels


class NodePoolSettings(Struct, frozen=True, kw_only=True):
    """One node pool as its capacity wants it; None leaves a provider's block or field out.

    Exactly one of `nodes_per_zone` (static), `per_zone` and `total` (autoscaled) is set. `max_run_duration` is in the
    provider's spelling ("3600s"); a job on queued nodes names its own. `request_parameters` are those of every request.
    `labels` are those that Berth must add itself.
    """

    spot: bool
    flex_start: bool
    queued: bool
    affinity: ReservationAffinity
    nodes_per_zone: int | None = None
    per_zone: Bounds | None = None
    total: Bounds | None = None
    location_policy: str | None = None
    max_run_duration: str | None = None
    request_parameters: tuple[tuple[str, str], ...] = ()
    auto_repair: bool
    upgrade: UpgradePlan | None
    labels: tuple[tuple[str, str], ...] = ()


def node_pool_settings(request: PoolRequest, nodes: Bounds, *, flex_start_known: bool = True) -> NodePoolSettings:
    """The settings of one node pool with these nodes: the whole pool's, or those of one slice.

    `flex_start_known` False is a cluster before flex-start: a queued pool then says queued provisioning alone.
    """
    queued = request.capacity == "queued"
    max_run_duration = None if request.node_run_seconds is None else f"{request.node_run_seconds}s"
    node_counts = _node_counts(request, nodes)
    return NodePoolSettings(
        spot=request.capacity == "spot",
        flex_start=request.capacity == "flex-start" or (queued and flex_start_known),
        queued=queued,
        affinity=reservation_affinity(request),
        nodes_per_zone=node_counts.fixed,
        per_zone=node_counts.per_zone,
        total=node_counts.total,
        location_policy=None if node_counts.fixed is not None else "ANY",
        max_run_duration=max_run_duration,
        request_parameters=_request_parameters(request),
        auto_repair=not request.uses_dws,
        upgrade=_upgrade_settings(request),
        labels=((catalog.labels().queued, "true"),) if queued else (),
    )


class _NodeCounts(Struct, frozen=True):
    fixed: int | None = None
    per_zone: Bounds | None = None
    total: Bounds | None = None


def _node_counts(request: PoolRequest, nodes: Bounds) -> _NodeCounts:
    """TPU pools of DWS are bounded per zone: the provider's total form breaks flex-start of TPUs."""
    zones = max(1, len(request.zones))
    if request.uses_dws and request.shape:
        return _NodeCounts(per_zone=Bounds(min=0, max=nodes.max // zones))
    if nodes.min != nodes.max:
        return _NodeCounts(total=nodes)
    return _NodeCounts(fixed=nodes.max // zones)


def _request_parameters(request: PoolRequest) -> tuple[tuple[str, str], ...]:
    """Parameters of the ProvisioningRequestConfig (GKE docs: queued provisioning); values are text.

    The run duration is not among them: Kueue deletes and recreates the request of a job that names another one.
    """
    if request.capacity != "queued" or not request.shape or not request.multi_host:
        return ()
    return (("tpu-topology", request.shape.topology),)


def _upgrade_settings(request: PoolRequest) -> UpgradePlan | None:
    """None under DWS, where GKE has a strategy of its own that the provider cannot say."""
    if request.uses_dws:
        return None
    return domain_upgrade(request) if request.machine.domain_topology else request.upgrade or _default_upgrade(request)


def _default_upgrade(request: PoolRequest) -> UpgradePlan:
    """One node at a time, in place where no further machine can exist, else with a surge node.

    No machine can exist beside a slice, whose hosts are wired together (GKE recreates all of it whatever the settings
    are), nor beside a pool that fills its reservation: a surge node would wait for one without end.
    """
    in_place = request.multi_host or reservation_affinity(request).value is not None
    return DRAIN_FIRST if in_place else SURGE_ONE


def capacity_labels(request: PoolRequest) -> dict[str, str]:
    """The node labels by which a flavor tells this capacity from another; none of on-demand.

    Queued nodes have theirs from Berth; those that GKE makes by itself carry the taint alone (GKE's autoscaler).
    """
    keys = catalog.labels()
    if request.capacity == "queued" and request.made_by_gke:
        return {}
    key_by_capacity = {"spot": keys.spot, "flex-start": keys.flex_start, "queued": keys.queued}
    key = key_by_capacity.get(request.capacity)
    return {key: "true"} if key else reservation_labels(request)


def gke_capacity_taints(request: PoolRequest) -> tuple[Taint, ...]:
    """The taint that GKE puts on the nodes of this capacity, which a flavor must tolerate; Berth never adds it."""
    return (catalog.taints().queued,) if request.capacity == "queued" else ()
