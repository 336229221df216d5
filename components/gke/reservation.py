"""Reservations: capacity that is paid for even if it is not used."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.reservation import reservation
from berth.plan.gke import ReservationPlan
from components.options import resource_options


class Reservation(pulumi.ComponentResource):
    """A zonal reservation, consumed only by pools that name it.

    Owns the reservation; does not own its pools. They use the name output, so that they are created after it and
    deleted before it (Google refuses to delete a reservation in use).
    """

    def __init__(
        self,
        name: str,
        plan: ReservationPlan,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Reservation", name, None, opts)
        made = reservation(plan)
        created = gcp.compute.Reservation(
            f"{name}-reservation", **made.arguments, opts=resource_options(made, self, depends_on)
        )
        self.reservation_name: pulumi.Output[str] = created.name
        self.register_outputs({"reservationName": self.reservation_name})
