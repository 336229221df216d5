"""Reservations: capacity that is paid for even if it is not used, also one that is requested now and begins later."""

from __future__ import annotations

from typing import Any, Final

from berth.plan.capacity import FutureReservationPlan
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


_ACCELERATOR_TYPE: Final = "aggregateReservation.reservedResources[0].accelerator.acceleratorType"
"""Field that Google returns as a full URL, for which the provider would replace the request. A change to another type
of chip is still detected by `vmFamily`."""

_REQUESTED_SSDS: Final = "specificSkuProperties.instanceProperties.localSsds"
"""Google reports the SSDs of machines that always bring some."""


def future_reservation(plan: FutureReservationPlan) -> Registration:
    """Return a request for machines or chips in the future, in DWS's calendar mode or without a maximum duration."""
    arguments = {
        "name": plan.name,
        "zone": plan.zone,
        "reservation_name": plan.reservation_name,
        "reservation_mode": plan.mode,
        "time_window": {"start_time": plan.start, "end_time": plan.end},
        "specific_reservation_required": True,
        "specific_sku_properties": _machines(plan),
        "aggregate_reservation": _aggregate(plan),
        "auto_delete_auto_created_reservations": True,  # with the window
        "deployment_type": plan.deployment_type,
        "planning_status": "SUBMITTED",
        "share_settings": share_settings(plan.share_with),
    }
    return Registration(
        type="gcp:compute/futureReservation:FutureReservation",
        arguments=without_none(arguments),
        protect=plan.protect,
        delete_before_replace=True,  # the name is fixed, and the machines are granted only once
        ignore_changes=(
            *(() if plan.aggregate is None else (_ACCELERATOR_TYPE,)),
            *((_REQUESTED_SSDS,) if plan.attached_ssds and plan.machine_type is not None else ()),
        ),
    )


def _machines(plan: FutureReservationPlan) -> dict[str, Any] | None:
    if plan.machine_type is None:
        return None
    return {
        "total_count": str(plan.count),
        "instance_properties": {
            "machine_type": plan.machine_type,
            "guest_accelerators": None
            if plan.gpu_type is None
            else [{"accelerator_type": plan.gpu_type, "accelerator_count": plan.gpu_count}],
            "maintenance_interval": plan.maintenance_interval,
            "local_ssds": [{"disk_size_gb": "375", "interface": "NVME"}] * plan.local_ssds or None,
        },
    }


def _aggregate(plan: FutureReservationPlan) -> dict[str, Any] | None:
    if (chips := plan.aggregate) is None:
        return None
    accelerator = {"accelerator_type": chips.accelerator_type, "accelerator_count": chips.accelerator_count}
    return {
        "reserved_resources": [{"accelerator": accelerator}],
        "vm_family": chips.vm_family,
        "workload_type": chips.workload_type,
    }
