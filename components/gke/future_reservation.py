"""Future reservations: capacity that is requested now and begins later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi
import pulumi_gcp as gcp

from berth.plan.capacity import AggregatePlan, FutureReservationPlan

_ACCELERATOR_TYPE: Final = "aggregateReservation.reservedResources[0].accelerator.acceleratorType"
"""Field that Google returns as a full URL, for which the provider would replace the request. A change to another type
of chip is still detected by `vmFamily`."""

_SSDS: Final = "specificSkuProperties.instanceProperties.localSsds"
"""Google reports the SSDs of machines that always bring some."""


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
        request = gcp.compute.FutureReservation(
            f"{name}-request",
            _arguments(plan),
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=plan.protect,
                delete_before_replace=True,  # the name is fixed, and the machines are granted only once
                ignore_changes=_ignore_changes(plan) or None,
                depends_on=[*depends_on],
            ),
        )
        # An input, so it is known in a preview; as an output it makes its users depend on the request.
        self.reservation_name: pulumi.Output[str] = request.reservation_name.apply(lambda known: known or "")
        self.register_outputs({"reservationName": self.reservation_name})


def _ignore_changes(plan: FutureReservationPlan) -> list[str]:
    """What Google reports in another spelling, or of machines that always bring SSDs."""
    return [
        *([] if plan.aggregate is None else [_ACCELERATOR_TYPE]),
        *([_SSDS] if plan.attached_ssds and plan.machine_type is not None else []),
    ]


def _arguments(plan: FutureReservationPlan) -> gcp.compute.FutureReservationArgs:
    return gcp.compute.FutureReservationArgs(
        name=plan.name,
        zone=plan.zone,
        reservation_name=plan.reservation_name,
        reservation_mode=plan.mode,
        time_window=gcp.compute.FutureReservationTimeWindowArgs(start_time=plan.start, end_time=plan.end),
        specific_reservation_required=True,
        specific_sku_properties=_machines(plan),
        aggregate_reservation=None if plan.aggregate is None else _aggregate(plan.aggregate),
        auto_delete_auto_created_reservations=True,  # with the window
        deployment_type=plan.deployment_type,
        planning_status="SUBMITTED",
        share_settings=_share_settings(plan),
    )


def _machines(plan: FutureReservationPlan) -> gcp.compute.FutureReservationSpecificSkuPropertiesArgs | None:
    if plan.machine_type is None:
        return None
    properties = gcp.compute.FutureReservationSpecificSkuPropertiesInstancePropertiesArgs(
        machine_type=plan.machine_type,
        guest_accelerators=_gpus(plan),
        local_ssds=_ssds(plan),
    )
    return gcp.compute.FutureReservationSpecificSkuPropertiesArgs(
        total_count=str(plan.count), instance_properties=properties
    )


def _gpus(
    plan: FutureReservationPlan,
) -> list[gcp.compute.FutureReservationSpecificSkuPropertiesInstancePropertiesGuestAcceleratorArgs] | None:
    if plan.gpu_type is None:
        return None
    return [
        gcp.compute.FutureReservationSpecificSkuPropertiesInstancePropertiesGuestAcceleratorArgs(
            accelerator_type=plan.gpu_type, accelerator_count=plan.gpu_count
        )
    ]


def _ssds(
    plan: FutureReservationPlan,
) -> list[gcp.compute.FutureReservationSpecificSkuPropertiesInstancePropertiesLocalSsdArgs] | None:
    return [
        gcp.compute.FutureReservationSpecificSkuPropertiesInstancePropertiesLocalSsdArgs(
            disk_size_gb="375", interface="NVME"
        )
        for _ in range(plan.local_ssds)
    ] or None


def _aggregate(plan: AggregatePlan) -> gcp.compute.FutureReservationAggregateReservationArgs:
    accelerator = gcp.compute.FutureReservationAggregateReservationReservedResourceAcceleratorArgs(
        accelerator_type=plan.accelerator_type, accelerator_count=plan.accelerator_count
    )
    return gcp.compute.FutureReservationAggregateReservationArgs(
        reserved_resources=[
            gcp.compute.FutureReservationAggregateReservationReservedResourceArgs(accelerator=accelerator)
        ],
        vm_family=plan.vm_family,
        workload_type=plan.workload_type,
    )


def _share_settings(plan: FutureReservationPlan) -> gcp.compute.FutureReservationShareSettingsArgs | None:
    if not plan.share_with:
        return None
    return gcp.compute.FutureReservationShareSettingsArgs(
        share_type="SPECIFIC_PROJECTS", projects=sorted(plan.share_with)
    )
