"""Reservations: capacity that is paid for even if it is not used."""

from __future__ import annotations

from typing import Any, Final

from berth.plan.gke import ReservationPlan
from berth.registration import Registration, without_none

_SSDS: Final = "specificReservation.instanceProperties.localSsds"
"""Google reports the SSDs of machines that always bring some; the provider would replace the reservation over them."""


def reservation(plan: ReservationPlan) -> Registration:
    """Return a zonal reservation, consumed only by pools that name it."""
    arguments = {
        "name": plan.name,
        "zone": plan.zone,
        "specific_reservation_required": True,
        "specific_reservation": {
            "count": plan.count,
            "instance_properties": {
                "machine_type": plan.machine_type,
                "guest_accelerators": None
                if plan.gpu_type is None
                else [{"accelerator_type": plan.gpu_type, "accelerator_count": plan.gpu_count}],
                # Explicitly NVMe: the provider's default is SCSI, which GKE does not use.
                "maintenance_interval": plan.maintenance_interval,
                "local_ssds": [{"disk_size_gb": 375, "interface": "NVME"}] * plan.local_ssds or None,
            },
        },
        "share_settings": share_settings(plan.share_with),
    }
    return Registration(
        type="gcp:compute/reservation:Reservation",
        arguments=without_none(arguments),
        protect=plan.protect,
        delete_before_replace=True,  # the name is fixed, and the machines exist only once
        ignore_changes=(_SSDS,) if plan.attached_ssds else (),
    )


def share_settings(projects: tuple[str, ...]) -> dict[str, Any] | None:
    """Return sharing by a list of project IDs; the alternative map needs project numbers and would show a change."""
    return {"share_type": "SPECIFIC_PROJECTS", "projects": sorted(projects)} if projects else None
