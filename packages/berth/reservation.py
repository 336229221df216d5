"""A reservation of machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from berth.parts.reservation import KEY, plan_reservation
from components.gke.future_reservation import FutureReservation
from components.gke.reservation import Reservation as GkeReservation
from packages.berth.arguments import read_arguments, refuse, warn
from packages.berth.scopes import scope_below


class Reservation(pulumi.ComponentResource):
    """A zonal reservation, which exists now or begins later."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("Reservation", args)
        part = plan_reservation(name, arguments.plain, arguments.problems)
        refuse(arguments, name, part.problems)
        super().__init__("berth:index:Reservation", name, None, opts)
        warn(self, part.problems)
        scope, project = scope_below(self, name, arguments), arguments.plain.get("project")
        region = str(arguments.plain["zone"]).rpartition("-")[0]
        opts_of_parts = scope.options(scope.google_provider(project, region), project=project)
        made = (
            GkeReservation(f"{name}-{KEY}", part.reservation, opts=opts_of_parts)
            if part.reservation is not None
            else FutureReservation(f"{name}-{KEY}", part.requested, opts=opts_of_parts)
        )
        self.outputs: Mapping[str, pulumi.Input[Any]] = {"name": made.reservation_name}
        self.register_outputs(dict(self.outputs))
