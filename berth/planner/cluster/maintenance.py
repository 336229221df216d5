"""What GKE does by itself: it makes nodes where jobs ask for them, and it upgrades them."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import Path, near_miss, quoted, shown
from berth.plan.gke import AutoProvisioningPlan, MaintenanceExclusion, MaintenancePlan, ResourceLimit
from berth.planner.context import Draft
from berth.planner.machines.hardware import accelerator_types
from berth.rules.gke.capacity import made_pools_are_repaired
from berth.rules.gke.pool_request import Asked
from berth.spec.cluster import OPEN, AutoProvisioningSpec


def auto_provisioning(
    draft: Draft, spec: AutoProvisioningSpec | None, pools: Mapping[str, Asked]
) -> AutoProvisioningPlan | None:
    """Node auto-provisioning, with the limits that count the whole cluster; `pools` are those of the fleet."""
    if spec is None:
        return None
    path: Path = ("cluster", "nodeAutoProvisioning")
    for index, zone in enumerate(spec.zones):
        draft.check_zone((*path, "zones", index), zone)
    part = ("cluster", "nodeAutoProvisioning")
    written = {"cpu": spec.cpu, "memory": spec.memory, **dict(sorted(spec.accelerators.items()))}
    for key, limit in written.items():
        where = (*path, "accelerators", key) if key in spec.accelerators else (*path, key)
        if limit.max == 0:
            draft.drop(*part, "bad-size", where, "'0' lets no node be made; write at least 1")
        elif key in spec.accelerators and key not in accelerator_types():
            hint = near_miss(key, accelerator_types()) or "; write one as nodes are labelled, such as nvidia-l4"
            draft.drop(*part, "bad-accelerator", where, f"no accelerator '{shown(key)}'{hint}")
    return AutoProvisioningPlan(
        profile=spec.profile,
        limits=tuple(_limit(k, limit.min, limit.max, k in spec.accelerators) for k, limit in written.items()),
        zones=tuple(sorted(spec.zones or draft.spec.cluster.zones)),
        disk_type=spec.disk_type,
        disk_size_gb=spec.disk_size_gb,
        auto_repair=_repaired(draft, spec.auto_repair, pools),
        secure_boot=spec.secure_boot,
    )


def _repaired(draft: Draft, wanted: bool | None, pools: Mapping[str, Asked]) -> bool:
    """One setting holds for all nodes that are made: where some of them must not be repaired, none is."""
    may = made_pools_are_repaired(pools.values())
    if wanted and not may:
        named = quoted(name for name, pool in pools.items() if pool.auto_provisioned and pool.dws)
        message = f"'true' would break up jobs on the short-lived nodes of {named}; leave autoRepair out"
        draft.problems.fault("dws-auto-repair", ("cluster", "nodeAutoProvisioning", "autoRepair"), message)
    return may if wanted is None else wanted


def _limit(resource: str, minimum: int, maximum: int, accelerator: bool) -> ResourceLimit:
    """A plain number for an accelerator is its limit, and no floor."""
    return ResourceLimit(
        resource=resource, minimum=0 if accelerator and minimum == maximum else minimum, maximum=maximum
    )


def maintenance(draft: Draft) -> MaintenancePlan | None:
    """The times at which GKE may upgrade, and those at which it may not."""
    spec = draft.spec.cluster.maintenance
    if spec is None:
        return None
    path: Path = ("cluster", "maintenance")
    window = spec.window
    if window:
        _ends_after(draft, window.start, window.end, (*path, "window"))
    names: set[str] = set()
    if window and spec.daily_start:
        message = f"'{spec.daily_start}' is a window of its own, and there is a recurring one; leave dailyStart out"
        draft.problems.fault("bad-value", (*path, "dailyStart"), message)
    for index, exclusion in enumerate(spec.exclusions):
        if exclusion.end != OPEN:
            _ends_after(draft, exclusion.start, exclusion.end, (*path, "exclusions", index))
        elif exclusion.scope == "NO_UPGRADES":
            message = f"'{OPEN}': GKE holds off all upgrades for a limited time alone; write an end, or a smaller scope"
            draft.problems.fault("bad-value", (*path, "exclusions", index, "end"), message)
        if exclusion.name in names:
            message = f"'{exclusion.name}' is the name of another exclusion already; name it otherwise"
            draft.problems.fault("duplicate-name", (*path, "exclusions", index, "name"), message)
        names.add(exclusion.name)
    return MaintenancePlan(
        start=window.start if window else None,
        end=window.end if window else None,
        recurrence=window.recurrence if window else None,
        exclusions=tuple(
            MaintenanceExclusion(name=e.name, start=e.start, end=None if e.end == OPEN else e.end, scope=e.scope)
            for e in spec.exclusions
        ),
        daily_start=spec.daily_start,
    )


def _ends_after(draft: Draft, start: str, end: str, path: Path) -> None:
    if start >= end:
        message = f"'{end}' is not after the start, {start}; write a later end"
        draft.problems.fault("bad-value", (*path, "end"), message)
