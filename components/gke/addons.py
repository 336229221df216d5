"""Storage drivers of a cluster as arguments of the provider."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeVar

import pulumi_gcp as gcp

from berth.plan.gke import ClusterPlan

_Block = TypeVar("_Block")

DRIVERS = ("gcs-fuse", "filestore", "parallelstore", "lustre")
"""Storage drivers that Berth turns on or off."""

SILENT_DRIVERS = ("lustre",)
"""Drivers that are omitted while they are off; all others are turned off explicitly."""

_BROUGHT_BY_AUTOPILOT = ("gcs-fuse", "filestore")


def standard_addons(plan: ClusterPlan) -> gcp.container.ClusterAddonsConfigArgs:
    """Return the storage drivers; drivers that the plan omits are turned off, because omitting a block would not do so.

    Exceptions are the drivers omitted while off, and the one for persistent disks, which GKE turns on itself.
    """
    return _drivers(plan, [d for d in DRIVERS if d in plan.storage_drivers or d not in SILENT_DRIVERS])


def autopilot_addons(plan: ClusterPlan) -> gcp.container.ClusterAddonsConfigArgs | None:
    """Return requested drivers that Autopilot does not already have; None if there are none."""
    drivers = [d for d in DRIVERS if d in plan.storage_drivers and d not in _BROUGHT_BY_AUTOPILOT]
    return _drivers(plan, drivers) if drivers else None


def _drivers(plan: ClusterPlan, explicit: Container[str]) -> gcp.container.ClusterAddonsConfigArgs:
    def block(arguments: Callable[..., _Block], driver: str) -> _Block | None:
        return arguments(enabled=driver in plan.storage_drivers) if driver in explicit else None

    args = gcp.container
    return args.ClusterAddonsConfigArgs(
        gcs_fuse_csi_driver_config=block(args.ClusterAddonsConfigGcsFuseCsiDriverConfigArgs, "gcs-fuse"),
        gcp_filestore_csi_driver_config=block(args.ClusterAddonsConfigGcpFilestoreCsiDriverConfigArgs, "filestore"),
        parallelstore_csi_driver_config=block(
            args.ClusterAddonsConfigParallelstoreCsiDriverConfigArgs, "parallelstore"
        ),
        lustre_csi_driver_config=block(args.ClusterAddonsConfigLustreCsiDriverConfigArgs, "lustre"),
    )
