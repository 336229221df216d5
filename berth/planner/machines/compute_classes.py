"""Plan compute classes: ordered priorities of how to get nodes, each checked with the capacity rules."""

from __future__ import annotations

from msgspec import Struct

from berth.catalog import Machine
from berth.diagnostics import FieldPath, join_words
from berth.plan.compute_classes import (
    ClassGpuPlan,
    ClassPriorityPlan,
    ClassReservationPlan,
    ClassTpuPlan,
    ComputeClassPlan,
)
from berth.plan.gke import NO_SETTINGS
from berth.plan.node_settings import Bounds
from berth.planner.context import PlanningContext
from berth.planner.machines.capacity_rules import (
    check_zones_list_machine,
    cluster_features,
    report,
    reservation_request,
)
from berth.planner.machines.hardware import known_machine, machine_and_shape
from berth.planner.machines.reservations import declared_reservation as reserved_of
from berth.planner.machines.reservations import is_delivered
from berth.rules.gke.capacity import pool_violations
from berth.rules.gke.pool_request import PoolRequest
from berth.rules.gke.reservations import DeclaredReservation, reservation_mismatches
from berth.spec.machines.compute_classes import ClassPrioritySpec, ComputeClassSpec
from berth.spec.machines.pools import NodeSettings

_AFFINITIES = {"own": "Specific", "named": "Specific", "any": "AnyBestEffort", "any-or-fail": "AnyThenFail"}


class ClassPriority(Struct, frozen=True):
    """One priority of a class: its request, and the machines of its reservation (None without one)."""

    request: PoolRequest
    reservation: str | None
    reserved: DeclaredReservation | None


class PlannedClass(Struct, frozen=True):
    """A class without faults, with its priorities in order of preference."""

    name: str
    spec: ComputeClassSpec
    priorities: tuple[ClassPriority, ...]

    @property
    def may_use_spot(self) -> bool:
        """Whether some of its nodes may be spot VMs."""
        return any(priority.request.capacity == "spot" for priority in self.priorities)


def plan_classes(context: PlanningContext) -> dict[str, PlannedClass]:
    """Return every compute class without faults, by name."""
    classes = {name: _plan_class(context, name, spec) for name, spec in sorted(context.spec.compute_classes.items())}
    _warn_unused_classes(context)
    return {name: planned_class for name, planned_class in classes.items() if planned_class}


def _plan_class(context: PlanningContext, name: str, spec: ComputeClassSpec) -> PlannedClass | None:
    path: FieldPath = ("computeClasses", name)
    if not spec.node_pool_auto_creation:
        message = "'false' leaves no way to get nodes, because the priorities name machines, not existing pools"
        key = "nodePoolAutoCreation"
        context.reject(*path, "class-makes-nothing", (*path, key), f"{message}; remove {key}")
    if spec.when_unsatisfiable == "ScaleUpAnyway":
        message = "'ScaleUpAnyway' creates nodes without accelerators as a last resort; write DoNotScaleUp"
        context.problems.warning("class-scales-anyway", (*path, "whenUnsatisfiable"), message)
    planned_priorities: dict[ClassPrioritySpec, ClassPriority] = {}
    for index, priority in enumerate(spec.priorities):
        priority_path: FieldPath = (*path, "priorities", index)
        if priority in planned_priorities:
            context.reject(*path, "class-repeats", priority_path, "repeats an earlier priority; remove one of them")
        elif planned := _plan_priority(context, name, priority_path, priority):
            planned_priorities[priority] = planned
    return None if path in context.set_aside else PlannedClass(name, spec, tuple(planned_priorities.values()))


def _plan_priority(
    context: PlanningContext, name: str, path: FieldPath, spec: ClassPrioritySpec
) -> ClassPriority | None:
    machine_and_slice = machine_and_shape(context, ("computeClasses", name), path, spec)
    key = spec.capacity.reservation
    reservation_spec = (
        context.resolve("reservations", key, context.spec.reservations, (*path, "capacity")) if key else None
    )
    if machine_and_slice is None or (key and reservation_spec is None):
        context.set_aside.add(("computeClasses", name))
        return None
    machine, shape = machine_and_slice
    for index, zone in enumerate(spec.zones):
        context.check_zone((*path, "zones", index), zone, accepted=spec.accept_zone, machine=machine)
    if spec.capacity.kind == "queued":
        message = "'queued' capacity is not possible in a compute class; write flex-start"
        context.reject("computeClasses", name, "class-queued", (*path, "capacity"), message)
    if reservation_spec and not is_delivered(context, key):
        message = f"reservation '{key}' is not delivered yet; remove this priority until then"
        context.reject("computeClasses", name, "reservation-not-active", (*path, "capacity"), message)
    request = PoolRequest(
        machine=machine,
        nodes=Bounds(min=0, max=shape.hosts if shape else 1),
        capacity=spec.capacity.kind,
        reservation=reservation_request(context, spec.capacity),
        max_run_seconds=spec.capacity.max_run_seconds,
        shape=shape,
        autoscaled=True,
        zones=(reservation_spec.zone,) if reservation_spec and not spec.zones else tuple(sorted(spec.zones)),
        auto_provisioned=True,
        compute_class=True,
        cluster=cluster_features(context),
        settings=NodeSettings.model_construct(driver_version=spec.driver_version)
        if "driver_version" in spec.model_fields_set
        else NO_SETTINGS,
    )
    part = ("computeClasses", name)
    reserved_machine = known_machine(reservation_spec) if reservation_spec else None
    reserved = (
        reserved_of(reservation_spec, key, reserved_machine) if reservation_spec and key and reserved_machine else None
    )
    if reserved is not None:
        report(context, part, path, request, reservation_mismatches(reserved, request))
    report(context, part, path, request, pool_violations(request))
    check_zones_list_machine(context, part, path, request, accepted=spec.accept_zone)
    return ClassPriority(request, key, reserved)


def _warn_unused_classes(context: PlanningContext) -> None:
    """Warn of classes that no pool names: without quota, Kueue admits no job to their nodes."""
    used_classes = {pool.compute_class for pool in context.spec.pools.values()}
    faulty_classes = {name for section, name in context.set_aside if section == "computeClasses"}
    if not context.lacks_entries("pools"):
        for name in sorted(context.spec.compute_classes.keys() - used_classes - faulty_classes):
            message = "no pool uses this class, so no queue has quota for its nodes; write a pool with computeClass"
            context.problems.warning("unused-class", ("computeClasses", name), message)


# --- the plan ---------------------------------------------------------------------------------------------------------


def warn_smaller_nodes(context: PlanningContext, path: FieldPath, machine: Machine, planned: PlannedClass) -> None:
    """Warn of priorities whose nodes have no room for pods that use a whole node of the pool's machine.

    The message says for every size of node which pods fit on which priorities.
    """
    machines = [each.request.machine for each in planned.priorities]
    alike = {str(number): each for number, each in enumerate(machines, 1) if each.accelerator == machine.accelerator}
    smaller = {number: each for number, each in alike.items() if each.accelerators < machine.accelerators}
    if not smaller:
        return
    named = join_words([f"{number} ({each.name}) has {each.accelerators}" for number, each in smaller.items()])
    sizes = sorted({each.accelerators for each in smaller.values()})
    fits: list[str] = []
    for size in sizes:
        roomy = [number for number, each in alike.items() if each.accelerators >= size]
        fits.append(f"pods of up to {size} fit on {_numbered(roomy) if len(roomy) < len(alike) else 'all'}")
    whole = [number for number in alike if number not in smaller]
    fits.append(f"larger ones {f'only on {_numbered(whole)}' if whole else 'on none'}")
    least = min(smaller.values(), key=lambda each: each.accelerators)
    removed = f", or remove {_numbered([*smaller])}" if whole else ""
    context.problems.warning(
        "class-smaller-node",
        path,
        f"of '{planned.name}' priority {named} {machine.noun} a node, and the pool's {machine.name} "
        f"{machine.accelerators}: {'; '.join(fits)}; write machineType: {least.name}{removed}",
    )


def _numbered(numbers: list[str]) -> str:
    return f"priorit{'y' if len(numbers) == 1 else 'ies'} {join_words(numbers)}"


def class_plan(context: PlanningContext, planned_class: PlannedClass, service_account: str) -> ComputeClassPlan:
    """Return the plan of a class; its nodes use `service_account` (an email address) and the cluster's settings."""
    spec, is_standard = planned_class.spec, context.spec.cluster.mode == "standard"
    return ComputeClassPlan(
        name=planned_class.name,
        priorities=tuple(_priority_plan(priority) for priority in planned_class.priorities),
        when_unsatisfiable=spec.when_unsatisfiable,
        migrate_up=spec.active_migration,
        consolidation_minutes=spec.consolidation_delay_minutes,
        service_account=service_account if is_standard else None,
        secure_boot=True if is_standard else None,
        image_streaming=context.spec.cluster.image_streaming if is_standard else None,
    )


def _priority_plan(priority: ClassPriority) -> ClassPriorityPlan:
    """Return the plan of a priority. Chips and topology determine the machine of a slice; GPUs need a machine type."""
    request, machine = priority.request, priority.request.machine
    accelerator, count, driver = machine.accelerator, machine.accelerators, request.settings.driver_version
    is_gpu, unreserved = machine.kind == "gpu", "None" if request.capacity == "on-demand" else None
    return ClassPriorityPlan(
        machine_type=machine.name if is_gpu else None,
        gpu=ClassGpuPlan(type=accelerator, count=count, driver=driver) if is_gpu else None,
        tpu=ClassTpuPlan(type=accelerator, count=count, topology=request.shape.topology) if request.shape else None,
        spot=True if request.capacity == "spot" else None,
        flex_start=request.capacity == "flex-start",
        max_run_seconds=request.node_run_seconds,
        affinity=_AFFINITIES[request.reservation.form] if request.reservation else unreserved,
        reservations=_class_reservations(request),
        zones=request.zones,
    )


def _class_reservations(request: PoolRequest) -> tuple[ClassReservationPlan, ...]:
    reservation = request.reservation
    if reservation is None or reservation.name is None:
        return ()
    return (
        ClassReservationPlan(
            name=reservation.name,
            project=reservation.project,
            block=reservation.block,
            sub_block=reservation.sub_block,
            zones=request.zones,
        ),
    )
