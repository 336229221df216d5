"""Plan node auto-provisioning and maintenance windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth import catalog
from berth.diagnostics import FieldPath, Severity, did_you_mean, format_value, join_quoted
from berth.plan.gke import AutoProvisioningPlan, MaintenanceExclusion, MaintenancePlan, ResourceLimit
from berth.planner.context import PlanningContext
from berth.planner.machines.hardware import accelerator_types
from berth.rules.dates import past
from berth.rules.gke.capacity import can_auto_repair
from berth.rules.gke.disks import boot_disk_type_violation, shared_boot_disk_violation
from berth.rules.gke.maintenance import OLDER_PERIOD, PERIOD, exclusion_problems, is_too_narrow
from berth.rules.gke.pool_request import PoolRequest
from berth.spec.cluster import END_OF_SUPPORT, AutoProvisioningSpec, MaintenanceExclusionSpec, MaintenanceWindowSpec


def auto_provisioning_plan(
    context: PlanningContext, spec: AutoProvisioningSpec | None, pools: Mapping[str, PoolRequest]
) -> AutoProvisioningPlan | None:
    """Return node auto-provisioning with its cluster-wide limits; None if it is off. `pools` are all pools."""
    if spec is None:
        return None
    path: FieldPath = ("cluster", "nodeAutoProvisioning")
    context.check_zones((*path, "zones"), spec.zones)
    created = (
        [pool.machine for pool in pools.values() if pool.auto_provisioned]
        if "disk_type" in spec.model_fields_set and not context.lacks_entries("pools", "computeClasses")
        else []
    )
    if violation := boot_disk_type_violation(spec.disk_type) or shared_boot_disk_violation(spec.disk_type, created):
        context.problems.add(violation.severity, violation.code, (*path, "diskType"), violation.message)
    part = ("cluster", "nodeAutoProvisioning")
    limit_specs = {"cpu": spec.cpu, "memory": spec.memory, **dict(sorted(spec.accelerators.items()))}
    for key, limit in limit_specs.items():
        limit_path = (*path, "accelerators", key) if key in spec.accelerators else (*path, key)
        if limit.max == 0:
            context.reject(*part, "bad-size", limit_path, "'0' allows no nodes; write at least 1")
        elif key in spec.accelerators and key not in accelerator_types():
            _report_accelerator(context, limit_path, key)
    return AutoProvisioningPlan(
        profile=spec.profile,
        limits=tuple(
            ResourceLimit(
                resource=k,
                minimum=0 if k in spec.accelerators and limit.min == limit.max else limit.min,
                maximum=limit.max,
            )
            for k, limit in limit_specs.items()
        ),
        zones=tuple(sorted(spec.zones or context.spec.cluster.zones)),
        disk_type=spec.disk_type,
        disk_size_gb=spec.disk_size_gb,
        auto_repair=_auto_repair(context, spec.auto_repair, pools),
        secure_boot=spec.secure_boot,
    )


def _report_accelerator(context: PlanningContext, path: FieldPath, key: str) -> None:
    """Report an accelerator that no machine has: one that may be newer than the table is unknown, else a fault."""
    shown, hint = format_value(key), did_you_mean(key, accelerator_types())
    if key.startswith(("nvidia-", "tpu")) and not any(each.startswith(key) for each in accelerator_types()):
        table = catalog.fact_tables()["accelerators"]
        unknown = table.unknown(f"'{shown}'", "whether GKE has it, and its machines, are")
        context.problems.unknown("accelerator-unknown", path, f"{unknown}{hint}")
        return
    hint = hint or "; write the value of GKE's accelerator label, such as nvidia-l4"
    message = f"no accelerator '{shown}'{hint}"
    if machine := catalog.machines().get(key):
        message = f"'{shown}' is a machine type, not an accelerator; write {machine.accelerator}"
    context.reject("cluster", "nodeAutoProvisioning", "bad-accelerator", path, message)


def _auto_repair(context: PlanningContext, written: bool | None, pools: Mapping[str, PoolRequest]) -> bool:
    """Return whether created nodes are repaired: one setting for all, off if any pool must not be repaired."""
    can_repair = can_auto_repair(pools.values())
    if written and not can_repair:
        pool_names = join_quoted(name for name, pool in pools.items() if pool.auto_provisioned and pool.uses_dws)
        message = f"'true' would interrupt jobs on the short-lived nodes of {pool_names}; remove autoRepair"
        context.problems.fault("dws-auto-repair", ("cluster", "nodeAutoProvisioning", "autoRepair"), message)
    return can_repair if written is None else written


def maintenance_plan(context: PlanningContext) -> MaintenancePlan | None:
    """Return the maintenance windows and exclusions; None if the stack file sets none."""
    spec = context.spec.cluster.maintenance
    if spec is None:
        return None
    path: FieldPath = ("cluster", "maintenance")
    window = spec.window
    if window:
        _check_window(context, window, (*path, "window"))
    if window and spec.daily_start:
        message = f"'{spec.daily_start}' cannot be combined with a recurring window; remove dailyStart"
        context.problems.fault("bad-value", (*path, "dailyStart"), message)
    _check_exclusions(context, spec.exclusions, (*path, "exclusions"))
    return MaintenancePlan(
        start=window.start if window else None,
        end=window.end if window else None,
        recurrence=window.recurrence if window else None,
        exclusions=tuple(
            MaintenanceExclusion(
                name=e.name, start=e.start, end=None if e.end == END_OF_SUPPORT else e.end, scope=e.scope
            )
            for e in spec.exclusions
        ),
        daily_start=spec.daily_start,
    )


def _check_exclusions(
    context: PlanningContext, exclusions: Sequence[MaintenanceExclusionSpec], path: FieldPath
) -> None:
    names: set[str] = set()
    of_all_upgrades: list[tuple[int, str, str, str]] = []
    for index, exclusion in enumerate(exclusions):
        if exclusion.end != END_OF_SUPPORT:
            is_sound = _check_end_after_start(context, exclusion.start, exclusion.end, (*path, index))
            if is_sound and exclusion.scope == "NO_UPGRADES":
                of_all_upgrades.append((index, exclusion.name, exclusion.start, exclusion.end))
        elif exclusion.scope == "NO_UPGRADES":
            message = (
                f"'{END_OF_SUPPORT}' is not possible with scope: NO_UPGRADES, which GKE limits in time; write a time "
                "as the end, or scope: NO_MINOR_UPGRADES"
            )
            context.problems.fault("bad-value", (*path, index, "end"), message)
        if exclusion.end != END_OF_SUPPORT and (ended := past(exclusion.end)):
            message = f"{ended}, so the exclusion '{exclusion.name}' prevents nothing; write a later end, or remove it"
            context.problems.warning("date-past", (*path, index, "end"), message)
        if exclusion.name in names:
            message = f"'{exclusion.name}' is already the name of another exclusion; write another name"
            context.problems.fault("duplicate-name", (*path, index, "name"), message)
        names.add(exclusion.name)
    for index, severity, message in exclusion_problems(of_all_upgrades):
        code = "exclusion-refused" if severity is Severity.FAULT else "exclusion-long"
        context.problems.add(severity, code, (*path, index, "end"), message)


def _check_window(context: PlanningContext, window: MaintenanceWindowSpec, path: FieldPath) -> None:
    if not _check_end_after_start(context, window.start, window.end, path):
        return
    what = f"'{window.recurrence}' from {window.start} to {window.end} leaves GKE less than 48 hours for maintenance"
    remedy = "write a later end or more days, such as 6 hours with FREQ=WEEKLY;BYDAY=SA,SU"
    is_narrow = is_too_narrow(window.start, window.end, window.recurrence)
    if is_narrow is None:
        unchecked = f"so whether GKE gets 48 hours for maintenance in {PERIOD.days} days is not checked"
        message = f"'{window.recurrence}' has other parts than FREQ, INTERVAL, BYDAY and BYMONTHDAY, {unchecked}"
        context.problems.unknown("window-unknown", path, f"{message}; write it with these alone")
    elif is_narrow:
        context.problems.fault(
            "maintenance-window", path, f"{what} in {PERIOD.days} days, in windows of at least 4 hours; {remedy}"
        )
    elif is_too_narrow(window.start, window.end, window.recurrence, OLDER_PERIOD):
        sources = f"GKE's rules of 2026-08 ask for them in {PERIOD.days} days only, and its API refused this before"
        context.problems.warning("window-narrow", path, f"{what} in {OLDER_PERIOD.days} days; {sources}: {remedy}")


def _check_end_after_start(context: PlanningContext, start: str, end: str, path: FieldPath) -> bool:
    if start >= end:
        context.problems.fault(
            "bad-value", (*path, "end"), f"'{end}' is not after the start, {start}; write a later end"
        )
    return start < end
