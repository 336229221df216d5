"""The Google Cloud quotas of a plan, in one line that leads to `berth quota`."""

from __future__ import annotations

from berth.plan.fleet import FleetPlan
from berth.quota.required import required_quotas

_UNITS = ("GPUs", "chips")


def text(plan: FleetPlan) -> str:
    """The quotas of accelerators that the fleet needs at its maximum; empty where it needs none."""
    required = [quota for quota in required_quotas(plan) if not quota.is_optional]
    accelerators = [quota for quota in required if quota.metric.unit in _UNITS and quota.metric.scope == "region"]
    if not accelerators:
        return ""
    regions = {quota.location for quota in accelerators}
    amounts = [
        f"{quota.maximum} {quota.metric.name}{f' in {quota.location}' if len(regions) > 1 else ''}"
        for quota in accelerators
    ]
    rest = len(required) - len(accelerators)
    return f"Google Cloud quotas, at most: {', '.join(amounts)} and {rest} more; see berth quota {plan.stack}"
