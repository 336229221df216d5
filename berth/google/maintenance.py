"""The maintenance policy of a cluster: when GKE may upgrade it."""

from __future__ import annotations

from typing import Any, Final

from berth.plan.gke import MaintenancePlan

_ANY_TIME: Final = {
    "start_time": "2026-01-01T00:00:00Z",
    "end_time": "2026-01-02T00:00:00Z",
    "recurrence": "FREQ=DAILY",
}
"""A window that is always open. Google accepts exclusions without a window, but the provider does not: "one of
daily_maintenance_window, recurring_maintenance_window, recurring_window must be specified"."""


def maintenance_policy(plan: MaintenancePlan | None) -> dict[str, Any] | None:
    """Return the window and its exclusions; None if neither is set."""
    if plan is None or not (plan.exclusions or plan.start or plan.daily_start):
        return None
    policy: dict[str, Any] = {
        "maintenance_exclusions": [
            {
                "exclusion_name": each.name,
                "start_time": each.start,
                "end_time": each.end,
                "exclusion_options": {
                    "scope": each.scope,
                    "end_time_behavior": "UNTIL_END_OF_SUPPORT" if each.end is None else None,
                },
            }
            for each in sorted(plan.exclusions, key=lambda exclusion: exclusion.name)
        ]
    }
    if plan.daily_start is not None:
        return {**policy, "daily_maintenance_window": {"start_time": plan.daily_start}}
    if plan.start is None:
        return {**policy, "recurring_window": _ANY_TIME}
    window = {"start_time": plan.start, "end_time": plan.end, "recurrence": plan.recurrence}
    return {**policy, "recurring_window": window}
