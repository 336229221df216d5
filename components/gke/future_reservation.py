"""Future reservations: capacity that is requested now and begins later."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.reservation import future_reservation
from berth.plan.capacity import FutureReservationPlan

from ..options import resource_options


class FutureReservation(pulumi.ComponentResource):
    """A request for machines or chips in the future, in DWS's calendar mode or without a maximum duration.

    Owns the request. Does not own the reservation `reservation_name` that Google delivers: pools use the output with
    that name, so that they are created after the request and deleted before it. Google creates the reservation when it
    approves the request; a pool that refers to it earlier is refused. A request can be cancelled until its lock time,
    and is billed from then on.
    """

    def __init__(
        self,
        name: str,
        plan: FutureReservationPlan,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:FutureReservation", name, None, opts)
        made = future_reservation(plan)
        request = gcp.compute.FutureReservation(
            f"{name}-request", **made.arguments, opts=resource_options(made, self, depends_on)
        )
        # An input, so it is known in a preview; as an output it makes its users depend on the request.
        self.reservation_name: pulumi.Output[str] = request.reservation_name.apply(lambda known: known or "")
        self.register_outputs({"reservationName": self.reservation_name})
