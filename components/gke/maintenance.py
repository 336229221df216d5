"""Convert the maintenance policy of a cluster to arguments of the provider."""

from __future__ import annotations

from typing import Final

import pulumi_gcp as gcp

from berth.plan.gke import MaintenanceExclusion, MaintenancePlan

_ANY_TIME: Final = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "FREQ=DAILY")
"""A window that is always open. Google accepts exclusions without a window, but the provider does not: "one of
daily_maintenance_window, recurring_maintenance_window, recurring_window must be specified"."""


def policy(plan: MaintenancePlan | None) -> gcp.container.ClusterMaintenancePolicyArgs | None:
    """Return the window and its exclusions; None if neither is set."""
    if plan is None or (not plan.exclusions and not _has_window(plan)):
        return None
    arguments = gcp.container.ClusterMaintenancePolicyArgs(
        maintenance_exclusions=[_exclusion(e) for e in sorted(plan.exclusions, key=lambda e: e.name)]
    )
    if plan.daily_start is not None:
        arguments.daily_maintenance_window = gcp.container.ClusterMaintenancePolicyDailyMaintenanceWindowArgs(
            start_time=plan.daily_start
        )
    else:
        arguments.recurring_window = _window(plan)
    return arguments


def _has_window(plan: MaintenancePlan) -> bool:
    return plan.start is not None or plan.daily_start is not None


def _window(plan: MaintenancePlan) -> gcp.container.ClusterMaintenancePolicyRecurringWindowArgs:
    start, end, recurrence = plan.start, plan.end, plan.recurrence
    if start is None or end is None or recurrence is None:
        start, end, recurrence = _ANY_TIME
    return gcp.container.ClusterMaintenancePolicyRecurringWindowArgs(
        start_time=start, end_time=end, recurrence=recurrence
    )


def _exclusion(plan: MaintenanceExclusion) -> gcp.container.ClusterMaintenancePolicyMaintenanceExclusionArgs:
    options = gcp.container.ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs(scope=plan.scope)
    if plan.end is None:
        options.end_time_behavior = "UNTIL_END_OF_SUPPORT"
    return gcp.container.ClusterMaintenancePolicyMaintenanceExclusionArgs(
        exclusion_name=plan.name, start_time=plan.start, end_time=plan.end, exclusion_options=options
    )
