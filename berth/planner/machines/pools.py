"""Plan pools: their machines, zones, labels and taints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine, SliceShape
from berth.diagnostics import FieldPath, format_value
from berth.names import CAPACITY_MARK
from berth.plan.node_settings import Bounds, Taint
from berth.planner.context import PlanningContext
from berth.planner.machines.capacity_rules import check_reservation, check_rules, pool_request
from berth.planner.machines.compute_classes import PlannedClass, warn_smaller_nodes
from berth.planner.machines.hardware import Hardware, pool_hardware
from berth.planner.machines.node_pool_names import (
    check_adopted,
    check_node_pool_name,
    check_pod_range,
    check_slice_list,
)
from berth.planner.machines.reservations import ReservationDemand, has_reservation, reservation_name
from berth.planner.machines.zones import check_zones, pool_zones
from berth.planner.written_references import check_former_names
from berth.rules.gke.pool_request import PoolRequest
from berth.spec.machines.pools import PoolSpec

CAPACITY_TAINT = CAPACITY_MARK
"""Taint key that keeps jobs of other flavors, and jobs outside Kueue, off reserved and special machines."""

AUTOPILOT = "autopilot"
BERTH, GKE, EXTERNAL = "berth", "gke", "others"
"""Who creates the nodes of a pool."""

RESERVED_DOMAINS = ("kubernetes.io", "k8s.io", "google.com", "gke.io", "nvidia.com", "berth.dev")
"""Domains of labels and taints that describe a node. Flavors select by them, so the stack file cannot set them."""

SYSTEM = "system"
"""Key and name of the node pool that controllers run on."""


class PlannedPool(Struct, frozen=True):
    """A pool without faults: its spec, machines and zones."""

    name: str
    spec: PoolSpec
    hardware: Hardware
    zones: tuple[str, ...]
    made_by: str
    reservation: str | None
    request: PoolRequest
    compute_class: PlannedClass | None
    max_pods: int | None = None
    """Pods of a node; None where GKE, another tool or an existing cluster chooses them."""

    @property
    def key(self) -> str:
        """Key of its node pools and its flavor: the pool's first name, because neither can be renamed."""
        return self.spec.formerly or self.name

    @property
    def spare(self) -> int:
        """Accelerators of its spare slices or nodes."""
        return self.spec.spares * self.hardware.spare_unit

    @property
    def shared(self) -> int:
        """Accelerators that queues can be guaranteed: all but those of spare machines."""
        return self.hardware.accelerators.max - self.spare

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints of its nodes besides those of GKE."""
        own = tuple(Taint(key=t.key, value=t.value, effect=t.effect) for t in self.spec.taints)
        kind = self.spec.capacity.kind
        if not self._is_marked:
            return own
        return own + (berth_capacity_taints(kind) or tuple(_capacity_taint(kind) for _ in self.own_labels))

    @property
    def own_labels(self) -> dict[str, str]:
        """Berth's label of nodes without accelerators, whose machine type other nodes of the cluster may have too."""
        is_labelled = self._is_marked and self.hardware.is_cpu
        return {CAPACITY_TAINT: self.spec.capacity.kind} if is_labelled else {}

    @property
    def _is_marked(self) -> bool:
        """Whether Berth chooses the labels and taints of the nodes."""
        return self.made_by == BERTH and not self.spec.adopted

    @property
    def made_by_gke(self) -> bool:
        """Whether GKE creates the nodes for pending jobs."""
        return self.made_by == GKE


def berth_capacity_taints(kind: str) -> tuple[Taint, ...]:
    """Return the taint of nodes with a special capacity; none for on-demand, and for queued, which GKE taints."""
    return () if kind in ("on-demand", "queued") else (_capacity_taint(kind),)


def _capacity_taint(kind: str) -> Taint:
    return Taint(key=CAPACITY_TAINT, value=kind, effect="NoSchedule")


def derive_pools(context: PlanningContext, classes: Mapping[str, PlannedClass]) -> dict[str, PlannedPool]:
    """Return every pool of the spec without faults, by name."""
    check_former_names(context, ("pools",), context.spec.pools)
    planned_pools = (_pool(context, name, spec, classes) for name, spec in sorted(context.spec.pools.items()))
    return {pool.name: pool for pool in planned_pools if pool}


def reservation_demands(
    context: PlanningContext, planned_pools: Mapping[str, PlannedPool]
) -> dict[str, dict[str, ReservationDemand]]:
    """Return reservation → pool → demand; a compute class uses what the pools leave."""
    demand_by_reservation: dict[str, dict[str, ReservationDemand]] = {}
    for pool in planned_pools.values():
        key = pool.spec.capacity.reservation
        if key is not None:
            declared = context.spec.reservations.get(key)
            each = pool.hardware.machine.accelerators if declared is not None and declared.chips else 1
            amount = Bounds(min=pool.hardware.nodes.min * each, max=pool.hardware.nodes.max * each)
            demand_by_reservation.setdefault(key, {})[pool.name] = ReservationDemand(amount, pool.request.multi_host)
    for pool in planned_pools.values():
        for priority in pool.compute_class.priorities if pool.compute_class else ():
            if priority.reserved is not None:
                users = demand_by_reservation.setdefault(priority.reserved.name, {})
                each = priority.reserved.amount_of(priority.request.machine)
                remaining = max(0, priority.reserved.count - sum(user.amount.max for user in users.values()))
                most = min(pool.hardware.nodes.max, remaining // each) * each
                users[pool.name] = ReservationDemand(Bounds(min=0, max=most), pool.request.multi_host)
    return demand_by_reservation


def _pool(
    context: PlanningContext, name: str, spec: PoolSpec, classes: Mapping[str, PlannedClass]
) -> PlannedPool | None:
    pool_machines = pool_hardware(context, name, spec)
    _check_labels_and_taints(context, ("pools", name), spec)
    key = spec.capacity.reservation
    if not has_reservation(context, name, key) or pool_machines is None:
        return None
    if spec.compute_class is not None:
        check_slice_list(context, name, spec, pool_machines, made_by_berth=False)
        return _class_pool(context, name, spec, pool_machines, classes)
    if spec.auto_provisioned and context.spec.cluster.mode == AUTOPILOT:
        message = "an Autopilot cluster creates all its nodes itself; remove autoProvisioned"
        context.problems.fault("autopilot", ("pools", name, "autoProvisioned"), message)
    is_made_by_gke = spec.auto_provisioned or context.spec.cluster.mode == AUTOPILOT
    made_by = EXTERNAL if context.only_connects else GKE if is_made_by_gke else BERTH
    if made_by == GKE:
        _check_gke_taints(context, ("pools", name), spec)
    if not check_slice_list(context, name, spec, pool_machines, made_by_berth=made_by == BERTH):
        return None
    if made_by != EXTERNAL and not _check_node_pools(context, name, spec, pool_machines, made_by):
        return None
    zones = pool_zones(context, name, spec, pool_machines.machine, made_by_berth=made_by == BERTH)
    if not check_zones(context, name, spec, pool_machines, zones, made_by_berth=made_by == BERTH):
        return None
    request = pool_request(context, spec, pool_machines.machine, pool_machines.shape, pool_machines.nodes, zones)
    mode_or_zones_unknown = context.is_set_aside("cluster", "mode") or context.is_set_aside("cluster", "zones")
    if not check_reservation(context, name, request) or (
        not mode_or_zones_unknown and not check_rules(context, name, request)
    ):
        return None
    return PlannedPool(
        name,
        spec,
        pool_machines,
        zones,
        made_by,
        reservation_name(context, key) if key else None,
        request,
        None,
        spec.max_pods_per_node or _default_max_pods(context, adopted=spec.adopted),
    )


def _default_max_pods(context: PlanningContext, *, adopted: bool = False) -> int | None:
    """Return the pods of a node without a number of its own; None where nobody says it."""
    existing = context.spec.cluster.existing
    if context.cluster_exists or adopted or context.spec.cluster.mode == AUTOPILOT:
        return existing.max_pods_per_node if existing else None
    return catalog.DEFAULT_MAX_PODS


def _check_node_pools(context: PlanningContext, name: str, spec: PoolSpec, hardware: Hardware, made_by: str) -> bool:
    """Check the keys of node pools that another tool created; return False after a fault."""
    by_berth = made_by == BERTH
    results = (
        check_node_pool_name(context, name, spec, hardware, made_by_berth=by_berth),
        check_adopted(context, name, spec, made_by_berth=by_berth),
        check_pod_range(context, name, spec, made_by_berth=by_berth),
    )
    return all(results)


# --- pools of a compute class -----------------------------------------------------------------------------------------

_CLASS_POOL_FIELDS = (
    "machine_type",
    "topology",
    "accept_topology",
    "accelerator",
    "slices",
    "nodes",
    "flavor",
    "compute_class",
)
"""Keys that a pool of a compute class can have; its class determines the rest."""


def _class_pool(
    context: PlanningContext, name: str, spec: PoolSpec, machines: Hardware, classes: Mapping[str, PlannedClass]
) -> PlannedPool | None:
    path: FieldPath = ("pools", name)
    compute_class = context.resolve("computeClasses", spec.compute_class or "", classes, (*path, "computeClass"))
    if compute_class is None:
        context.set_entry_aside(*path)
        return None
    for field in sorted(spec.model_fields_set.difference(_CLASS_POOL_FIELDS)):
        key = type(spec).model_fields[field].alias or field
        message = f"the compute class '{compute_class.name}' determines {key} of these nodes; remove {key}"
        context.reject(*path, "class-decides", (*path, key), message)
    for number, priority in enumerate(compute_class.priorities, 1):
        if (priority.request.machine.accelerator, priority.request.shape) != (
            machines.machine.accelerator,
            machines.shape,
        ):
            offered, counted = (
                _accelerator_text(priority.request.machine, priority.request.shape),
                _accelerator_text(machines.machine, machines.shape),
            )
            message = (
                f"priority {number} of '{compute_class.name}' provides {offered}, "
                f"but the quota of this pool counts {counted}; write the same "
                "accelerator in both"
            )
            context.reject(*path, "class-mismatch", (*path, "computeClass"), message)
    warn_smaller_nodes(context, (*path, "computeClass"), machines.machine, compute_class)
    request = pool_request(context, spec, machines.machine, machines.shape, machines.nodes, ())
    if request.autoscaled and request.nodes.min:
        message = f"'{request.nodes.min}' nodes as a minimum are impossible with a compute class; write min: 0"
        context.reject(*path, "gke-minimum", (*path, request.size_key), message)
    if path in context.set_aside:
        return None
    return PlannedPool(name, spec, machines, (), GKE, None, request, compute_class, _default_max_pods(context))


def _accelerator_text(machine: Machine, shape: SliceShape | None) -> str:
    return f"{machine.accelerator} {shape.topology}" if shape else machine.accelerator


# --- labels and taints ------------------------------------------------------------------------------------------------


def _check_labels_and_taints(context: PlanningContext, path: FieldPath, spec: PoolSpec) -> None:
    """Report labels and taints that Kubernetes, GKE or Berth sets, and repeated taints."""
    for key in sorted(spec.labels):
        _check_key_is_free(context, (*path, "labels", key), key)
    seen_taints: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.taints):
        taint_path = (*path, "taints", index)
        _check_key_is_free(context, taint_path, taint.key)
        if (taint.key, taint.effect) in seen_taints:
            message = f"'{format_value(taint.key)}' with the effect {taint.effect} is listed twice; remove one of them"
            context.problems.fault("duplicate-name", taint_path, message)
        seen_taints.add((taint.key, taint.effect))


def _check_gke_taints(context: PlanningContext, path: FieldPath, spec: PoolSpec) -> None:
    """Report taints without an equal label, from which GKE makes the taints of nodes that it creates."""
    for index, taint in enumerate(spec.taints):
        if spec.labels.get(taint.key) != taint.value:
            context.problems.fault(
                "gke-taint",
                (*path, "taints", index),
                f"'{format_value(taint.key)}' has no effect: on nodes that GKE creates, taints come from labels only; "
                f"write labels: {{{taint.key}: {taint.value or '<value>'}}} instead of the taint",
            )


def _check_key_is_free(context: PlanningContext, path: FieldPath, key: str) -> None:
    check_key_is_free(context, path, key, RESERVED_DOMAINS, "GKE")


def check_key_is_free(
    context: PlanningContext, path: FieldPath, key: str, reserved_domains: Iterable[str], backend: str
) -> None:
    """Report the key of a label or taint that Kubernetes, the `backend` (its name) or Berth sets."""
    domain = key.rpartition("/")[0]
    if any(domain == reserved or domain.endswith(f".{reserved}") for reserved in reserved_domains):
        message = f"'{format_value(key)}' is reserved for Kubernetes, {backend} or Berth; write another key"
        context.problems.fault("reserved-label", path, message)
