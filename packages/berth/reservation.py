"""A reservation of machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from components.gke.future_reservation import FutureReservation
from components.gke.reservation import Reservation as GkeReservation
from packages.berth.arguments import read_arguments, warn
from packages.berth.partial import UNUSED_REGION, plan_part
from packages.berth.scopes import scope_below
from stacks.connections import google_provider

_KEY: Final = "reservation"


class Reservation(pulumi.ComponentResource):
    """A zonal reservation, which exists now or begins later."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("Reservation", args)
        machines = {"name": name, **arguments.of_model("project", "protect"), "existing": False}
        fleet = {key: arguments.plain[key] for key in ("project", "protect") if key in arguments.plain}
        fleet |= {"region": _region(machines.get("zone")), "reservations": {_KEY: machines}}
        plan, problems = plan_part(arguments, name, fleet, part=("reservations", _KEY))
        super().__init__("berth:index:Reservation", name, None, opts)
        warn(self, problems)
        scope = scope_below(self, name, arguments)
        opts_of_parts = scope.options(google_provider(plan, scope), project=plan.project)
        made = [
            *(GkeReservation(f"{name}-{each.key}", each, opts=opts_of_parts) for each in plan.reservations),
            *(FutureReservation(f"{name}-{each.key}", each, opts=opts_of_parts) for each in plan.future_reservations),
        ]
        self.outputs: Mapping[str, pulumi.Input[Any]] = {"name": made[0].reservation_name}
        self.register_outputs(dict(self.outputs))


def _region(zone: object) -> str:
    """Return the region of a zone; any region where the zone is none, which is a fault of its own."""
    return zone.rpartition("-")[0] if isinstance(zone, str) and zone.count("-") > 1 else UNUSED_REGION
