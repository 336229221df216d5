"""Settings derived from a pool's capacity: node pool fields, labels that flavors select by, taints that GKE adds.

GKE accepts the settings of every pool that has no faults (`capacity.pool_violations`).
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.plan.node_settings import DRAIN_FIRST, SURGE_ONE, Bounds, Taint
from berth.rules.gke.placement import domain_surge
from berth.rules.gke.pool_request import PoolRequest
from berth.rules.gke.reservations import ReservationAffinity, reservation_affinity, reservation_labels
from berth.spec.machines.node_system import SurgeSpec


class NodePoolSettings(Struct, frozen=True, kw_only=True):
    """Fields of one node pool that its capacity determines; None omits a provider's block or field.

    Exactly one of `nodes_per_zone` (static), `per_zone` and `total` (autoscaled) is set. `max_run_duration` is in the
    provider's format ("3600s"); on queued nodes each job sets its own. `request_parameters` apply to every queued
    request (GKE docs: queued provisioning), without the run duration: Kueue would delete and recreate the request of a
    job that sets another one. `labels` are those that GKE does not add by itself.
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
    labels: tuple[tuple[str, str], ...] = ()


def node_pool_settings(request: PoolRequest, nodes: Bounds, *, flex_start_known: bool = True) -> NodePoolSettings:
    """Return the settings of one node pool with `nodes` nodes: those of the whole pool, or of one slice.

    `flex_start_known` False: the cluster is older than flex-start, so a queued pool sets only queued provisioning.
    """
    queued, shape = request.capacity == "queued", request.shape
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
        request_parameters=(("tpu-topology", shape.topology),) if queued and shape and request.multi_host else (),
        auto_repair=not request.uses_dws,
        labels=((catalog.labels().queued, "true"),) if queued else (),
    )


class _NodeCounts(Struct, frozen=True):
    fixed: int | None = None
    per_zone: Bounds | None = None
    total: Bounds | None = None


def _node_counts(request: PoolRequest, nodes: Bounds) -> _NodeCounts:
    """Return the node counts. TPU pools of DWS have limits per zone: the provider's total limits break flex-start."""
    zones = max(1, len(request.zones))
    if request.uses_dws and request.shape:
        return _NodeCounts(per_zone=Bounds(min=0, max=nodes.max // zones))
    if nodes.min != nodes.max:
        return _NodeCounts(total=nodes)
    return _NodeCounts(fixed=nodes.max // zones)


def upgrade_surge(request: PoolRequest) -> SurgeSpec | None:
    """Return how a pool is upgraded; None for DWS: GKE chooses its strategy, which the provider cannot express.

    By default one node at a time: in place if no extra machine can exist, else with a surge node. A slice has no room
    for an extra machine, because its hosts are wired together (GKE recreates the whole slice in any case). Neither has
    a pool that fills its reservation: a surge node would wait forever.
    """
    if request.uses_dws or request.settings.blue_green is not None:
        return None
    if request.machine.domain_topology:
        return domain_surge(request)
    in_place = request.multi_host or reservation_affinity(request).type == "SPECIFIC_RESERVATION"
    return request.settings.surge or (DRAIN_FIRST if in_place else SURGE_ONE)


def capacity_labels(request: PoolRequest) -> dict[str, str]:
    """Return the node labels by which a flavor selects this capacity; empty for on-demand.

    Berth labels queued nodes; nodes of pools that GKE creates have only the taint (GKE's autoscaler).
    """
    keys = catalog.labels()
    if request.capacity == "queued" and request.made_by_gke:
        return {}
    key_by_capacity = {"spot": keys.spot, "flex-start": keys.flex_start, "queued": keys.queued}
    key = key_by_capacity.get(request.capacity)
    return {key: "true"} if key else reservation_labels(request)


def gke_capacity_taints(request: PoolRequest) -> tuple[Taint, ...]:
    """Return the taint that GKE adds to nodes of this capacity. Flavors must tolerate it; Berth never adds it."""
    return (catalog.taints().queued,) if request.capacity == "queued" else ()
