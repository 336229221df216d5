"""Reservations: capacity that is paid for even if it is not used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_gcp as gcp

from berth.google.reservation import future_reservation, reservation
from berth.parts.reservation import ReservationPart, plan_reservation
from berth.plan.gke import ReservationPlan

from ..arguments.reservation import ReservationArgs
from ..options import resource_options


class Reservation(pulumi.ComponentResource):
    """A zonal reservation as its arguments say, consumed only by pools that name it.

    Owns the reservation, or the request of one that begins later; does not own its pools. They use the name output, so
    that they are created after it and deleted before it (Google refuses to delete a reservation in use). A fleet passes
    its plan instead of arguments.
    """

    def __init__(
        self,
        name: str,
        args: ReservationArgs | ReservationPlan,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Reservation", name, None, opts)
        args = ReservationArgs.of(args, name)
        in_project: Mapping[str, Any] = {}
        if isinstance(args, ReservationArgs):
            given, part = args.planned(self, name, plan_reservation)
            in_project = {"project": given.plain["project"]}
        else:
            part = ReservationPart(args, None, ())
        if part.reservation is None:
            made = future_reservation(part.requested)
            request = gcp.compute.FutureReservation(
                f"{name}-request", **made.arguments, **in_project, opts=resource_options(made, self, depends_on)
            )
            self.reservation_name: pulumi.Output[str] = request.reservation_name.apply(lambda known: known or "")
        else:
            made = reservation(part.reservation)
            self.reservation_name = gcp.compute.Reservation(
                f"{name}-reservation", **made.arguments, **in_project, opts=resource_options(made, self, depends_on)
            ).name
        self.register_outputs({"reservationName": self.reservation_name})
