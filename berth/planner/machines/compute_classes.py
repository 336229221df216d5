"""Compute classes: ways to get nodes in order of preference, each of them held to the rules of capacity."""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import Path
from berth.plan.compute_classes import (
    ClassGpuPlan,
    ClassPriorityPlan,
    ClassReservationPlan,
    ClassTpuPlan,
    ComputeClassPlan,
)
from berth.plan.nodes import Bounds
from berth.planner.context import Draft
from berth.planner.machines.capacity_rules import cluster_asked, reservation_asked, sound
from berth.planner.machines.hardware import machine_and_shape, machine_of
from berth.planner.machines.reservations import is_there
from berth.planner.machines.reservations import reserved as reserved_of
from berth.rules.gke.capacity import violations
from berth.rules.gke.pool_request import Asked
from berth.rules.gke.reservations import mismatches
from berth.spec.machines.compute_classes import ClassPrioritySpec, ComputeClassSpec

_AFFINITIES = {"own": "Specific", "named": "Specific", "any": "AnyBestEffort"}


class Way(Struct, frozen=True):
    """One priority of a class: what it asks for, and the machines that its reservation holds (None without one)."""

    asked: Asked
    reservation: str | None
    held: int


class Ladder(Struct, frozen=True):
    """A class that can exist, with its ways in order of preference."""

    name: str
    spec: ComputeClassSpec
    ways: tuple[Way, ...]

    @property
    def spot(self) -> bool:
        """Whether some of its nodes may be spot ones."""
        return any(way.asked.capacity == "spot" for way in self.ways)


def ladders(draft: Draft) -> dict[str, Ladder]:
    """Every compute class that can exist, by name."""
    found = {name: _ladder(draft, name, spec) for name, spec in sorted(draft.spec.compute_classes.items())}
    _used(draft)
    return {name: ladder for name, ladder in found.items() if ladder}


def _ladder(draft: Draft, name: str, spec: ComputeClassSpec) -> Ladder | None:
    path: Path = ("computeClasses", name)
    if not spec.node_pool_auto_creation:
        message = "'false' leaves no way to get nodes: the priorities name machines, and no pool that exists"
        draft.drop(*path, "class-makes-nothing", (*path, "nodePoolAutoCreation"), f"{message}; leave it out")
    if spec.when_unsatisfiable == "ScaleUpAnyway":
        message = "'ScaleUpAnyway' ends with ordinary nodes, which have no accelerators; write DoNotScaleUp"
        draft.problems.warning("class-scales-anyway", (*path, "whenUnsatisfiable"), message)
    ways: dict[ClassPrioritySpec, Way] = {}
    for index, priority in enumerate(spec.priorities):
        where_to: Path = (*path, "priorities", index)
        if priority in ways:
            draft.drop(*path, "class-repeats", where_to, "is a priority before already; leave one of them out")
        elif way := _way(draft, name, where_to, priority):
            ways[priority] = way
    return None if path in draft.set_aside else Ladder(name, spec, tuple(ways.values()))


def _way(draft: Draft, name: str, path: Path, spec: ClassPrioritySpec) -> Way | None:
    found = machine_and_shape(draft, ("computeClasses", name), path, spec)
    key = spec.capacity.reservation
    reserved = draft.find("reservations", key, draft.spec.reservations, (*path, "capacity")) if key else None
    if found is None or (key and reserved is None):
        draft.set_aside.add(("computeClasses", name))
        return None
    machine, shape = found
    for index, zone in enumerate(spec.zones):
        draft.check_zone((*path, "zones", index), zone)
    if spec.capacity.kind == "queued":
        message = "'queued' is no way of a compute class, which no request is made to; write flex-start"
        draft.drop("computeClasses", name, "class-queued", (*path, "capacity"), message)
    if reserved and not is_there(draft, key):
        message = f"reservation '{key}' is not there yet; leave this priority out until it is delivered"
        draft.drop("computeClasses", name, "reservation-not-active", (*path, "capacity"), message)
    asked = Asked(
        machine=machine,
        nodes=Bounds(min=0, max=shape.hosts if shape else 1),
        capacity=spec.capacity.kind,
        reservation=reservation_asked(draft, spec.capacity),
        max_run_seconds=spec.capacity.max_run_seconds,
        shape=shape,
        autoscaled=True,
        zones=(reserved.zone,) if reserved and not spec.zones else tuple(sorted(spec.zones)),
        auto_provisioned=True,
        compute_class=True,
        driver=spec.driver_version if "driver_version" in spec.model_fields_set else None,
        cluster=cluster_asked(draft),
    )
    part = ("computeClasses", name)
    if reserved and key:
        held = reserved_of(reserved, key, machine_of(reserved.machine_type, reserved.accelerator))
        sound(draft, part, path, asked, mismatches(held, asked))
    sound(draft, part, path, asked, violations(asked))
    return Way(asked, key, reserved.count if reserved else 0)


def _used(draft: Draft) -> None:
    """A class that no pool names counts for no quota: nothing that Kueue admits ever gets its nodes."""
    used = {pool.compute_class for pool in draft.spec.pools.values()}
    aside = {name for section, name in draft.set_aside if section == "computeClasses"}
    if not any(section == "pools" for section, _ in draft.set_aside):
        for name in sorted(draft.spec.compute_classes.keys() - used - aside):
            message = "no pool names this class, so no queue has a share in it; write a pool with computeClass"
            draft.problems.warning("unused-class", ("computeClasses", name), message)


# --- the plan ---------------------------------------------------------------------------------------------------------


def class_plan(draft: Draft, ladder: Ladder, account: str) -> ComputeClassPlan:
    """The class as GKE gets it: its nodes have the `account` (an address) of the others, and are as they are."""
    spec, ours = ladder.spec, draft.spec.cluster.mode == "standard"
    return ComputeClassPlan(
        name=ladder.name,
        priorities=tuple(_priority_plan(way) for way in ladder.ways),
        when_unsatisfiable=spec.when_unsatisfiable,
        migrate_up=spec.active_migration,
        consolidation_minutes=spec.consolidation_delay_minutes,
        service_account=account if ours else None,
        secure_boot=True if ours else None,
        image_streaming=draft.spec.cluster.image_streaming if ours else None,
    )


def _priority_plan(way: Way) -> ClassPriorityPlan:
    """Chips and topology say which machine a slice is of; GPUs leave it open. On-demand nodes take nothing reserved."""
    asked, machine = way.asked, way.asked.machine
    kind, count, driver = machine.accelerator, machine.accelerators, asked.driver or "default"
    gpus = machine.kind == "gpu"
    return ClassPriorityPlan(
        machine_type=machine.name if gpus else None,
        gpu=ClassGpuPlan(type=kind, count=count, driver=driver) if gpus else None,
        tpu=ClassTpuPlan(type=kind, count=count, topology=asked.shape.topology) if asked.shape else None,
        spot=True if asked.capacity == "spot" else None,
        flex_start=asked.capacity == "flex-start",
        max_run_seconds=asked.max_run_seconds,
        affinity=_affinity(asked),
        reservations=_reservations(asked),
        zones=asked.zones,
    )


def _affinity(asked: Asked) -> str | None:
    if asked.reservation:
        return _AFFINITIES[asked.reservation.form]
    return "None" if asked.capacity == "on-demand" else None


def _reservations(asked: Asked) -> tuple[ClassReservationPlan, ...]:
    reservation = asked.reservation
    if reservation is None or reservation.name is None:
        return ()
    return (
        ClassReservationPlan(
            name=reservation.name,
            project=reservation.project,
            block=reservation.block,
            sub_block=reservation.sub_block,
            zones=asked.zones,
        ),
    )
