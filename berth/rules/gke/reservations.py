"""Rules on reservations: every way in which a pool uses one, and what must be equal between the two.

Sources: GKE's documentation and its autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.catalog import Machine
from berth.plan.capacity import reservation_path
from berth.plan.node_settings import Bounds
from berth.rules.gke.pool_request import (
    GkeViolation,
    PoolRequest,
    ReservationRequest,
    SettingKey,
    Violations,
    gke_fault,
    gke_warning,
)

AFFINITY_KEY = "compute.googleapis.com/reservation-name"
"""Key of the affinity to a reservation by name."""

MAX_CALENDAR_DAYS = 90
"""Longest calendar reservation in days (Compute Engine docs: future reservations in calendar mode)."""


class ReservationAffinity(Struct, frozen=True, kw_only=True):
    """The `reservation_affinity` of a node pool: the provider's consume type, and key and value of a specific one.

    The value of a specific one is None where only the reservation's resource knows its name.
    """

    type: str
    key: str | None = None
    value: str | None = None


def reservation_affinity(request: PoolRequest) -> ReservationAffinity:
    """Return the pool's affinity; NO_RESERVATION is explicit, because without it GKE uses any that matches."""
    if request.capacity != "reservation" or request.reservation is None:
        return ReservationAffinity(type="NO_RESERVATION")
    if not request.reservation.is_specific:
        fail_otherwise = request.reservation.form == "any-or-fail"
        return ReservationAffinity(type="ANY_RESERVATION_THEN_FAIL" if fail_otherwise else "ANY_RESERVATION")
    reservation = request.reservation
    path = reservation.name and reservation_path(
        reservation.name, project=reservation.project, block=reservation.block, sub_block=reservation.sub_block
    )
    return ReservationAffinity(type="SPECIFIC_RESERVATION", key=AFFINITY_KEY, value=path)


def reservation_labels(request: PoolRequest) -> dict[str, str]:
    """Return the node labels by which a flavor selects a reservation's machines; empty unless the pool names it."""
    reservation = request.reservation
    if request.capacity != "reservation" or reservation is None or not reservation.is_specific:
        return {}
    keys = catalog.labels()
    labels = {
        keys.reservation_name: reservation.name,
        keys.reservation_project: reservation.project,
        keys.reservation_blocks: reservation.block,
        keys.reservation_subblocks: reservation.sub_block,
    }
    return {key: value for key, value in labels.items() if value}


# --- rules of a pool --------------------------------------------------------------------------------------------------


def reservation_violations(request: PoolRequest) -> Violations:
    """Yield contradictions between a pool's capacity and its reservation."""
    reservation = request.reservation
    if reservation is None:
        return
    if not reservation.is_specific and request.cluster.autopilot:
        yield gke_fault(
            "autopilot-reservation",
            "reservation",
            "Autopilot does not use 'any' reservation; write a reservation's name",
        )
    if reservation.begins and request.nodes.min:  # what does not exist yet keeps no minimum of nodes
        hosts = request.shape.hosts if request.shape else 1
        yield gke_fault(
            "reservation-not-active",
            request.size_key,
            f"a minimum of '{request.nodes.min // hosts}' {request.size_key} is impossible: "
            f"{_display_name(reservation)} has machines only from "
            f"{reservation.begins} to {reservation.ends}; write {{min: 0, max: {request.nodes.max // hosts}}}",
        )
    yield from _check_kind(request, reservation)


def _check_kind(request: PoolRequest, reservation: ReservationRequest) -> Violations:
    provisioning, machine = request.machine.provisioning, request.machine
    if reservation.block and provisioning.reservations != "dense":
        message = f"block '{reservation.block}': blocks are not documented for reservations of {machine.name}"
        yield gke_warning("reservation-block", "reservation", f"{message}; remove block unless Google gave you one")
    if reservation.form == "own" and provisioning.reservations == "aggregate" and not reservation.begins:
        message = (
            f"{_display_name(reservation)} would be created by Berth, but {machine.name} is usually reserved through"
        )
        message = f"{message} Google's sales or a future reservation; write existing: true for such a reservation"
        yield gke_warning("own-tpu-reservation", "reservation", message)
    if reservation.project and request.made_by_gke and (request.settings.compact_placement or request.multi_host):
        message = (
            f"{_display_name(reservation)} is shared, and auto-provisioning cannot combine a shared reservation with a"
        )
        yield gke_fault(
            "shared-placement",
            "reservation",
            f"{message} placement policy; remove autoProvisioned, or remove compactPlacement",
        )


def _display_name(reservation: ReservationRequest) -> str:
    return f"reservation '{reservation.name or reservation.form}'"


# --- a reservation that the stack file declares -----------------------------------------------------------------------


class DeclaredReservation(Struct, frozen=True, kw_only=True):
    """A reservation of the stack file: `count` machines, or chips if it is `of_chips` of the machine's family.

    `local_ssds` None: those of the machine type. `accept_overlap`: its pools may together grow above it.
    """

    name: str
    machine: Machine
    zone: str
    count: int
    of_chips: bool = False
    local_ssds: int | None = None
    accept_overlap: bool = False
    maintenance_interval: str | None = None

    @property
    def noun(self) -> str:
        """What is counted."""
        return "chips" if self.of_chips else "machines"

    def amount_of(self, machine: Machine) -> int:
        """Return what one machine takes of the reservation."""
        return machine.accelerators if self.of_chips else 1


def reservation_mismatches(reservation: DeclaredReservation, request: PoolRequest) -> Iterator[GkeViolation]:
    """Yield the fields in which the machines of a pool and of the reservation that it names differ."""
    reserved_machine, requested_machine = reservation.machine, request.machine
    is_family = reserved_machine.generation is not None and reserved_machine.generation == requested_machine.generation
    if reservation.of_chips and not is_family:
        family = str(reserved_machine.generation)
        yield gke_fault(
            "reservation-mismatch",
            "machineType",
            f"reservation '{reservation.name}' has chips of {family}, but this pool has '{requested_machine.name}'; "
            f"write a machine type of {family}, or another reservation",
        )
    elif not reservation.of_chips and reserved_machine.name != requested_machine.name:
        violation = _mismatch(
            reservation, "machineType", "machines of type", reserved_machine.name, requested_machine.name
        )
        chips = reservation.count * reserved_machine.accelerators
        remedy = f", or chips: {chips} instead of count if Google reserved chips" if is_family else ""
        yield replace(violation, message=violation.message + remedy)
    elif not reservation.of_chips:
        yield from _field_mismatches(reservation, request)
    reserved_interval, interval = reservation.maintenance_interval, request.settings.maintenance_interval
    if reserved_interval != interval and not request.made_by_gke:
        states = ["states none" if each is None else f"has '{each}'" for each in (reserved_interval, interval)]
        message = f"reservation '{reservation.name}' {states[0]}, and this pool {states[1]}: Compute Engine gives"
        where = "the pool" if reserved_interval else "the reservation, if it has it"
        yield gke_warning(
            "maintenance-interval",
            "maintenanceInterval",
            f"{message} reserved machines only to a pool with the same interval; write maintenanceInterval: "
            f"{reserved_interval or interval} in {where}",
        )
    for zone in request.zones:
        if zone != reservation.zone:
            yield gke_fault(
                "reservation-mismatch",
                "zones",
                f"reservation '{reservation.name}' is in {reservation.zone}, "
                f"but this pool is in '{zone}'; write {reservation.zone}",
            )


def _field_mismatches(reservation: DeclaredReservation, request: PoolRequest) -> Iterator[GkeViolation]:
    """Yield the differences that machines of one type may have."""
    fields: tuple[tuple[SettingKey, str, str, str], ...] = (
        ("accelerator", "accelerators", _accelerators_text(reservation.machine), _accelerators_text(request.machine)),
        (
            "localSsd",
            "local SSDs",
            _local_ssds_text(reservation.machine, reservation.local_ssds),
            _local_ssds_text(request.machine, request.local_ssds),
        ),
    )
    for key, noun, reserved_value, requested_value in fields:
        if reserved_value != requested_value:
            yield _mismatch(reservation, key, noun, reserved_value, requested_value)


def _mismatch(
    reservation: DeclaredReservation, key: SettingKey, noun: str, reserved_value: str, requested_value: str
) -> GkeViolation:
    return gke_fault(
        "reservation-mismatch",
        key,
        f"reservation '{reservation.name}' has {noun} '{reserved_value}', but "
        f"this pool has '{requested_value}'; write the same {key} in both",
    )


def overuse_violation(reservation: DeclaredReservation, pools: Mapping[str, Bounds]) -> GkeViolation | None:
    """Return the fault if `pools` may use more than is reserved, or the warning if that is accepted or is not so.

    `pools` has for each pool the minimum and maximum of machines, or of chips.
    """
    least, most = sum(each.min for each in pools.values()), sum(each.max for each in pools.values())
    key, noun = "chips" if reservation.of_chips else "count", reservation.noun
    if most <= reservation.count:
        if not reservation.accept_overlap:
            return None
        message = f"is not needed: pools use at most {most} of {reservation.count} {noun}; remove acceptOverlap"
        return gke_warning("reservation-overlap", "acceptOverlap", message)
    fits = least <= reservation.count
    if fits and reservation.accept_overlap:
        message = (
            f"'{reservation.count}' {noun} are reserved, and pools together can grow to {most}: some wait for others"
        )
        return gke_warning("reservation-overlap", "acceptOverlap", f"{message}; write smaller pools if none may wait")
    needed, verb = (most, "may use") if fits else (least, "always use")
    used = ", ".join(f"{pool} {each.max if fits else each.min}" for pool, each in pools.items())
    accepted = ", or acceptOverlap: <why> if they may wait for each other" if fits and len(pools) > 1 else ""
    return gke_fault(
        "reservation-overused",
        key,
        f"'{reservation.count}' {noun} are reserved, but pools {verb} {needed} ({used}); write {key}: {needed}, or "
        f"reduce the pools{accepted}",
    )


def _accelerators_text(machine: Machine) -> str:
    return f"{machine.accelerators} {machine.accelerator}"


def _local_ssds_text(machine: Machine, count: int | None) -> str:
    return str(machine.ssd_automatic if count is None else count)


# --- future and calendar reservations ---------------------------------------------------------------------------------


def window_violations(start: datetime, end: datetime, *, calendar: bool) -> Iterator[GkeViolation]:
    """Yield what is wrong with the time window of a future reservation; a `calendar` one has a maximum length."""
    if end <= start:
        yield gke_fault(
            "reservation-window",
            "end",
            f"'{end:{_TIME_FORMAT}}' is not after the start, {start:{_TIME_FORMAT}}; write a later end",
        )
    elif calendar and end - start > timedelta(days=MAX_CALENDAR_DAYS):
        days = (end - start) / timedelta(days=1)
        yield gke_fault(
            "reservation-window",
            "end",
            f"'{days:g}' days are more than the maximum of {MAX_CALENDAR_DAYS} for a calendar reservation; write an "
            "earlier end",
        )


_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
