"""Plan the admission checks of queued capacity, with which Kueue requests machines before a job starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from berth.diagnostics import FieldPath, format_value
from berth.names import MAX_LABEL, shorten
from berth.plan.admission_checks import (
    PROVISIONING_CONFIG,
    AdmissionCheckPlan,
    ParametersPlan,
    ProvisioningConfigPlan,
    RetryPlan,
)
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup
from berth.rules.gke.settings import node_pool_settings
from berth.spec.machines.capacity import QueuedSpec, RetrySpec

SLICES = "dynamic-slices"
"""Name of the admission check of every flavor whose slices a controller forms: it has no settings."""


def admission_check_name(flavor: FlavorGroup) -> str | None:
    """Return the name of a queued flavor's admission check: as written, else the flavor's; None if not queued."""
    queued = flavor.pools[0].spec.capacity.queued
    return queued and (queued.admission_check or shorten(f"dws-{flavor.name}", MAX_LABEL))


def slice_check_name(flavor: FlavorGroup) -> str | None:
    """Return the name of the admission check that forms the slices of a flavor; None if nothing forms any."""
    return SLICES if flavor.slicing is not None and flavor.slicing.controller is not None else None


class PlannedChecks(NamedTuple):
    """The admission checks of a cluster, and the ProvisioningRequestConfigs that they name; both by name."""

    checks: tuple[AdmissionCheckPlan, ...]
    provisioning_configs: tuple[ProvisioningConfigPlan, ...]


def plan_checks(context: PlanningContext, flavors: Mapping[str, FlavorGroup]) -> PlannedChecks:
    """Return a check and its config for every queued flavor; flavors with equal settings share one."""
    checks_by_name: dict[str, AdmissionCheckPlan] = {}
    configs: dict[str, ProvisioningConfigPlan] = {}
    for flavor in flavors.values():
        if flavor.slicing is not None and flavor.slicing.controller is not None:
            path = ("pools", flavor.pools[0].name, "dynamicSlicing")
            context.origins.setdefault(("admission check", SLICES), path)
            checks_by_name[SLICES] = AdmissionCheckPlan(name=SLICES, controller=flavor.slicing.controller)
        queued, name = flavor.pools[0].spec.capacity.queued, admission_check_name(flavor)
        if queued is None or name is None:
            continue
        path: FieldPath = ("pools", flavor.pools[0].name, "capacity", "queued")
        config = _provisioning_config(context, flavor, queued, queued.provisioning_request_config or name)
        check = AdmissionCheckPlan(name=name, parameters=ParametersPlan(kind=PROVISIONING_CONFIG, name=config.name))
        context.origins.setdefault(("admission check", name), path)
        context.origins.setdefault(("provisioning config", config.name), path)
        if configs.setdefault(config.name, config) != config or checks_by_name.setdefault(name, check) != check:
            context.problems.fault(
                "duplicate-name",
                path,
                f"admission check '{format_value(name)}' with config '{format_value(config.name)}' already exists "
                "for a pool with other machines or options; write another admissionCheck and provisioningRequestConfig",
            )
    return PlannedChecks(
        tuple(checks_by_name[name] for name in sorted(checks_by_name)),
        tuple(configs[name] for name in sorted(configs)),
    )


def _provisioning_config(
    context: PlanningContext, flavor: FlavorGroup, queued: QueuedSpec, name: str
) -> ProvisioningConfigPlan:
    pool = flavor.pools[0]
    managed_resources, path = queued.managed_resources, ("pools", pool.name, "capacity", "queued", "managedResources")
    if managed_resources and flavor.resource not in managed_resources:
        message = f"without '{flavor.resource}', jobs of '{flavor.name}' would start before their machines exist"
        context.problems.fault("unmanaged-accelerator", path, f"{message}; add {flavor.resource}")
    retry = queued.retry_strategy or RetrySpec()
    return ProvisioningConfigPlan(
        name=name,
        managed_resources=managed_resources or (flavor.resource,),
        parameters=dict(node_pool_settings(pool.request, pool.hardware.nodes).request_parameters),
        max_run_seconds=pool.request.max_run_seconds,
        retry=RetryPlan(
            limit_count=retry.backoff_limit_count,
            base_seconds=retry.backoff_base_seconds,
            max_seconds=retry.backoff_max_seconds,
        ),
        merge_policy=queued.pod_set_merge_policy,
    )
