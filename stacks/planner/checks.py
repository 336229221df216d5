"""Queued capacity: the admission checks through which Kueue asks for machines before a job starts."""

from __future__ import annotations

from collections.abc import Mapping

from components.names import LABEL, shorten
from components.plan.checks import PROVISIONING_CONFIG, AdmissionCheckPlan, ParametersPlan, ProvisioningConfigPlan
from stacks.planner.draft import Draft
from stacks.planner.flavors import Flavor
from stacks.problems import shown
from stacks.rules.settings import settings

ONE_POD_SET = "IdenticalWorkloadSchedulingRequirements"
"""GKE takes one pod set a request; so jobs whose pods ask for the same, under several names, become one (facts 3.2)."""


def check_of(flavor: Flavor) -> str | None:
    """The admission check of a queued flavor, by the name that was given or the flavor's own; None of any other."""
    capacity = flavor.pools[0].spec.capacity
    return capacity.check or shorten(f"dws-{flavor.name}", LABEL) if capacity.kind == "queued" else None


def checks(
    draft: Draft, flavors: Mapping[str, Flavor]
) -> tuple[tuple[AdmissionCheckPlan, ...], tuple[ProvisioningConfigPlan, ...]]:
    """A check and what it is configured with, for every queued flavor; flavors that say the same share one."""
    made: dict[str, AdmissionCheckPlan] = {}
    configs: dict[str, ProvisioningConfigPlan] = {}
    for flavor in flavors.values():
        name = check_of(flavor)
        if name is None:
            continue
        config = _config(flavor, name)
        check = AdmissionCheckPlan(name=name, parameters=ParametersPlan(kind=PROVISIONING_CONFIG, name=config.name))
        if configs.setdefault(config.name, config) != config or made.setdefault(name, check) != check:
            message = (
                f"'{shown(name)}' with '{shown(config.name)}' is already the check of other machines, or of another "
                "duration; write another admissionCheck and provisioningRequestConfig"
            )
            draft.problems.fault("duplicate-name", ("pools", flavor.pools[0].name, "capacity"), message)
    return tuple(made[name] for name in sorted(made)), tuple(configs[name] for name in sorted(configs))


def _config(flavor: Flavor, check: str) -> ProvisioningConfigPlan:
    pool = flavor.pools[0]
    return ProvisioningConfigPlan(
        name=pool.spec.capacity.config or check,
        managed_resources=(flavor.resource,),
        parameters=dict(settings(pool.asked, pool.hardware.nodes).request_parameters),
        merge_policy=ONE_POD_SET,
    )
