"""Reservations: capacity that is paid for even if it is not used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import ReservationPlan

_SSDS: Final = "specificReservation.instanceProperties.localSsds"
"""Google reports the SSDs of machines that always bring some; the provider would replace the reservation over them."""


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
        reservation = gcp.compute.Reservation(
            f"{name}-reservation",
            name=plan.name,
            zone=plan.zone,
            specific_reservation_required=True,
            specific_reservation=_machines(plan),
            share_settings=_share_settings(plan),
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=plan.protect,
                delete_before_replace=True,  # the name is fixed, and the machines exist only once
                ignore_changes=[_SSDS] if plan.attached_ssds else None,
                depends_on=[*depends_on],
            ),
        )
        self.reservation_name: pulumi.Output[str] = reservation.name
        self.register_outputs({"reservationName": self.reservation_name})


def _machines(plan: ReservationPlan) -> gcp.compute.ReservationSpecificReservationArgs:
    properties = gcp.compute.ReservationSpecificReservationInstancePropertiesArgs(
        machine_type=plan.machine_type,
        guest_accelerators=_gpus(plan),
        local_ssds=_ssds(plan),
    )
    return gcp.compute.ReservationSpecificReservationArgs(count=plan.count, instance_properties=properties)


def _gpus(
    plan: ReservationPlan,
) -> list[gcp.compute.ReservationSpecificReservationInstancePropertiesGuestAcceleratorArgs] | None:
    if plan.gpu_type is None:
        return None
    return [
        gcp.compute.ReservationSpecificReservationInstancePropertiesGuestAcceleratorArgs(
            accelerator_type=plan.gpu_type, accelerator_count=plan.gpu_count
        )
    ]


def _ssds(
    plan: ReservationPlan,
) -> list[gcp.compute.ReservationSpecificReservationInstancePropertiesLocalSsdArgs] | None:
    """Return one block per disk, explicitly NVMe: the provider's default is SCSI, which GKE does not use."""
    return [
        gcp.compute.ReservationSpecificReservationInstancePropertiesLocalSsdArgs(disk_size_gb=375, interface="NVME")
        for _ in range(plan.local_ssds)
    ] or None


def _share_settings(plan: ReservationPlan) -> gcp.compute.ReservationShareSettingsArgs | None:
    """Return sharing by a list of project IDs; the alternative map needs project numbers and would show a change."""
    if not plan.share_with:
        return None
    return gcp.compute.ReservationShareSettingsArgs(share_type="SPECIFIC_PROJECTS", projects=sorted(plan.share_with))
