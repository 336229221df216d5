"""Plan one reservation that a program creates, whoever uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from berth import catalog
from berth.diagnostics import FieldPath, Problem, Severity
from berth.parts.context import finds_every_fault, is_zone, part_context, part_problems
from berth.plan.capacity import FutureReservationPlan
from berth.plan.gke import ReservationPlan
from berth.planner.machines.reservation_checks import check_reservations
from berth.planner.machines.reservations import (
    MISSING_COUNT,
    future_reservations,
    reservation_plans,
    reserved_machines,
)

KEY: Final = "reservation"
_OF_FLEETS: Final = ("project", "protect")
_AMOUNTS: Final = ("count", "chips")


class ReservationPart(Struct, frozen=True):
    """A reservation that exists now, or the request of a `future` one; neither with a fault in `problems`."""

    reservation: ReservationPlan | None
    future: FutureReservationPlan | None
    problems: tuple[Problem, ...]

    @property
    def requested(self) -> FutureReservationPlan:
        """The request, of a part without faults whose reservation begins later."""
        assert self.future is not None
        return self.future


@finds_every_fault
def plan_reservation(
    name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()
) -> ReservationPart:
    """Plan a reservation called `name`, or as its argument says. Which pools use it is not known."""
    path: FieldPath = ("reservations", KEY)
    machines = {"name": name, **arguments, "existing": False}
    sections: dict[str, Any] = {key: machines.pop(key) for key in _OF_FLEETS if key in machines}
    zone = machines.get("zone")
    if isinstance(zone, str) and is_zone(zone):
        sections["region"] = catalog.region_of_zone(zone)
    context = part_context(name, {**sections, "reservations": {KEY: machines}}, path, known_problems)
    context.check_region()
    reserved = reserved_machines(context)
    check_reservations(context, reserved, None)
    current, future = reservation_plans(context, reserved), future_reservations(context, reserved, {})
    problems = part_problems(context.problems.entries, path)
    is_reported = any(each.path and each.path[0] in _AMOUNTS for each in (*problems, *known_problems))
    if not is_reported and not any(key in arguments for key in _AMOUNTS):
        # Told together with other missing arguments, without which no machine is planned.
        problems = (*problems, Problem(Severity.FAULT, "missing-key", ("count",), MISSING_COUNT))
    return ReservationPart(current[0] if current else None, future[0] if future else None, problems)
