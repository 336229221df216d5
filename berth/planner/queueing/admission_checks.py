"""Queued capacity: the admission checks through which Kueue asks for machines before a job starts."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import Path, shown
from berth.names import LABEL, shorten
from berth.plan.admission_checks import (
    PROVISIONING_CONFIG,
    AdmissionCheckPlan,
    ParametersPlan,
    ProvisioningConfigPlan,
    RetryPlan,
)
from berth.planner.context import Draft
from berth.planner.queueing.flavors import Flavor
from berth.rules.gke.settings import settings
from berth.spec.machines.capacity import QueuedSpec, RetrySpec


def check_of(flavor: Flavor) -> str | None:
    """The admission check of a queued flavor, by the name that was given or the flavor's own; None of any other."""
    queued = flavor.pools[0].spec.capacity.queued
    return queued and (queued.admission_check or shorten(f"dws-{flavor.name}", LABEL))


def checks(
    draft: Draft, flavors: Mapping[str, Flavor]
) -> tuple[tuple[AdmissionCheckPlan, ...], tuple[ProvisioningConfigPlan, ...]]:
    """A check and what it is configured with, for every queued flavor; flavors that say the same share one."""
    made: dict[str, AdmissionCheckPlan] = {}
    configs: dict[str, ProvisioningConfigPlan] = {}
    for flavor in flavors.values():
        queued, name = flavor.pools[0].spec.capacity.queued, check_of(flavor)
        if queued is None or name is None:
            continue
        path: Path = ("pools", flavor.pools[0].name, "capacity", "queued")
        config = _config(draft, flavor, queued, queued.provisioning_request_config or name)
        check = AdmissionCheckPlan(name=name, parameters=ParametersPlan(kind=PROVISIONING_CONFIG, name=config.name))
        draft.origins.setdefault(("admission check", name), path)
        draft.origins.setdefault(("provisioning config", config.name), path)
        if configs.setdefault(config.name, config) != config or made.setdefault(name, check) != check:
            message = (
                f"'{shown(name)}' with '{shown(config.name)}' is already the check of other machines, or of other "
                "options; write another admissionCheck and provisioningRequestConfig"
            )
            draft.problems.fault("duplicate-name", path, message)
    return tuple(made[name] for name in sorted(made)), tuple(configs[name] for name in sorted(configs))


def _config(draft: Draft, flavor: Flavor, queued: QueuedSpec, name: str) -> ProvisioningConfigPlan:
    pool = flavor.pools[0]
    managed, path = queued.managed_resources, ("pools", pool.name, "capacity", "queued", "managedResources")
    if managed and flavor.resource not in managed:
        message = f"without '{flavor.resource}', jobs of '{flavor.name}' would start before their machines are there"
        draft.problems.fault("unmanaged-accelerator", path, f"{message}; name {flavor.resource} too")
    retry = queued.retry_strategy or RetrySpec()
    return ProvisioningConfigPlan(
        name=name,
        managed_resources=managed or (flavor.resource,),
        parameters=dict(settings(pool.asked, pool.hardware.nodes).request_parameters),
        retry=RetryPlan(
            limit_count=retry.backoff_limit_count,
            base_seconds=retry.backoff_base_seconds,
            max_seconds=retry.backoff_max_seconds,
        ),
        merge_policy=queued.pod_set_merge_policy,
    )
