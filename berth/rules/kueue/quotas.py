"""Rules of resource groups: of cluster queues, and of cohorts with quotas of their own."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from berth.diagnostics import FieldPath, format_value
from berth.manifests.quantities import MAXIMUM
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QuotaPlan, ResourceGroupPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import FieldError, Rule, check_label_key, check_max_items, check_subdomain


class ResourceGroups(Struct, frozen=True):
    """The resource groups of a queue or cohort, each with its path; `shared` where it has somebody to borrow from."""

    groups: tuple[ResourceGroupPlan, ...]
    paths: tuple[FieldPath, ...]
    can_borrow: bool
    is_queue: bool


def queue_groups(plan: ClusterQueuePlan) -> ResourceGroups:
    """The one group of a cluster queue."""
    group = ResourceGroupPlan(covered_resources=plan.covered_resources, flavors=plan.flavors)
    return ResourceGroups((group,), ((),), plan.cohort is not None, is_queue=True)


def cohort_groups(plan: CohortPlan) -> ResourceGroups:
    """The groups of a cohort."""
    paths: tuple[FieldPath, ...] = tuple(("resourceGroups", index) for index in range(len(plan.resource_groups)))
    return ResourceGroups(plan.resource_groups, paths, plan.parent is not None, is_queue=False)


def check_weight(value: float | None) -> Iterator[FieldError]:
    """A fair-share weight is 0, or a number above 1n with nine decimals at most."""
    path: FieldPath = ("fairShareWeight",)
    if value is None:
        return
    if value < 0 or 0 < value <= bounds.MIN_WEIGHT:
        yield path, f"'{value:g}' is no weight; write 0 (never ahead of anybody) or a number above 0.000000001"
    elif (Fraction(str(value)) * 10**9).denominator != 1:
        yield path, f"'{value!r}' has more decimals than Kubernetes keeps; write nine at most"


# --- how many ---------------------------------------------------------------------------------------------------------


def _group_count(plan: ResourceGroups) -> Iterator[FieldError]:
    path: FieldPath = ("resourceGroups",)
    yield from check_max_items(path, len(plan.groups), bounds.GROUPS, "resource groups", "join some")


def _group_sizes(plan: ResourceGroups) -> Iterator[FieldError]:
    for group_path, group in zip(plan.paths, plan.groups, strict=True):
        covered, flavors = len(group.covered_resources), len(group.flavors)
        path = (*group_path, "coveredResources")
        yield from check_max_items(path, covered, bounds.GROUP_RESOURCES, "resources of one group", "cover fewer")
        path = (*group_path, "flavors")
        yield from check_max_items(path, flavors, bounds.GROUP_FLAVORS, "flavors of one group", "name fewer")


def _empty_groups(plan: ResourceGroups) -> Iterator[FieldError]:
    for group_path, group in zip(plan.paths, plan.groups, strict=True):
        if not group.covered_resources:
            yield (*group_path, "coveredResources"), "'[]' covers nothing; Kueue wants a resource in each group"
        if not group.flavors:
            yield (*group_path, "flavors"), "'[]' has no quota; Kueue wants a flavor in each group"


def _total_counts(plan: ResourceGroups) -> Iterator[FieldError]:
    if plan.is_queue:
        flavors = sum(len(group.flavors) for group in plan.groups)
        yield from check_max_items(
            ("flavors",), flavors, bounds.TOTAL_FLAVORS, "flavors", "make several cluster queues"
        )
        covered = sum(len(group.covered_resources) for group in plan.groups)
        path: FieldPath = ("coveredResources",)
        yield from check_max_items(
            path, covered, bounds.TOTAL_RESOURCES, "covered resources", "make several cluster queues"
        )


def _flavor_resource_pairs(plan: ResourceGroups) -> Iterator[FieldError]:
    if plan.is_queue:
        for group_path, group in zip(plan.paths, plan.groups, strict=True):
            pairs = sum(len(flavor.quotas) for flavor in group.flavors)
            remedy = "name fewer flavors, or make several cluster queues"
            yield from check_max_items(
                (*group_path, "flavors"), pairs, bounds.GROUP_PAIRS, "quotas in one group", remedy
            )


# --- names ------------------------------------------------------------------------------------------------------------


def _resource_names(plan: ResourceGroups) -> Iterator[FieldError]:
    for path, name in _resource_paths(plan):
        yield from check_label_key(path, name, "resource name")


def _unique_resources(plan: ResourceGroups) -> Iterator[FieldError]:
    seen = set[str]()
    for path, name in _resource_paths(plan):
        if name in seen:
            yield path, f"resource '{format_value(name)}' is covered twice; a resource is in one group, once"
        seen.add(name)


def _flavor_names(plan: ResourceGroups) -> Iterator[FieldError]:
    for path, name in flavor_paths(plan):
        yield from check_subdomain(path, name, "a flavor")


def _unique_flavors(plan: ResourceGroups) -> Iterator[FieldError]:
    seen = set[str]()
    for path, name in flavor_paths(plan):
        if name in seen:
            yield path, f"flavor '{format_value(name)}' is here twice; a flavor is in one group, once"
        seen.add(name)


def _resource_paths(plan: ResourceGroups) -> Iterator[tuple[FieldPath, str]]:
    for group_path, group in zip(plan.paths, plan.groups, strict=True):
        for name in group.covered_resources:
            yield (*group_path, "coveredResources"), name


def flavor_paths(plan: ResourceGroups) -> Iterator[tuple[FieldPath, str]]:
    """Every flavor with its path."""
    for group_path, group in zip(plan.paths, plan.groups, strict=True):
        for index, flavor in enumerate(group.flavors):
            yield (*group_path, "flavors", index), flavor.flavor


def _resource_order(plan: ResourceGroups) -> Iterator[FieldError]:
    for group_path, group in zip(plan.paths, plan.groups, strict=True):
        for index, flavor in enumerate(group.flavors):
            resources = tuple(quota.resource for quota in flavor.quotas)
            if resources != group.covered_resources:
                expected, actual = ", ".join(group.covered_resources), ", ".join(resources)
                message = f"'{actual}' are not the covered resources in their order; Kueue wants {expected}"
                yield (*group_path, "flavors", index), message


# --- amounts ----------------------------------------------------------------------------------------------------------


def _quotas(plan: ResourceGroups) -> Iterator[tuple[FieldPath, QuotaPlan]]:
    for group_path, group in zip(plan.paths, plan.groups, strict=True):
        for index, flavor in enumerate(group.flavors):
            for quota in flavor.quotas:
                yield (*group_path, "flavors", index), quota


def _amounts(plan: ResourceGroups) -> Iterator[FieldError]:
    for path, quota in _quotas(plan):
        for key, amount in _amounts_of(quota):
            if not 0 <= amount <= MAXIMUM:
                yield (*path, key), f"'{amount}' {quota.resource} is no quota; write 0 to {MAXIMUM}"


def _amounts_of(quota: QuotaPlan) -> Iterator[tuple[str, int]]:
    yield "guaranteed", quota.nominal
    if quota.borrowing_limit is not None:
        yield "borrow", quota.borrowing_limit
    if quota.lending_limit is not None:
        yield "lend", quota.lending_limit


def _limits_need_cohort(plan: ResourceGroups) -> Iterator[FieldError]:
    """0 is the plan's way of saying that there is no limit to write."""
    if plan.can_borrow:
        return
    for path, quota in _quotas(plan):
        for key, amount in (("borrow", quota.borrowing_limit), ("lend", quota.lending_limit)):
            if amount:
                parent_noun = "a cohort" if plan.is_queue else "a parent"
                yield (*path, key), f"'{amount}' {quota.resource}: there is nobody to {key} with; name {parent_noun}"


def _lending_limits(plan: ResourceGroups) -> Iterator[FieldError]:
    """Of a cohort more may be lent than it has: what its queues lend it passes on."""
    if plan.is_queue:
        for path, quota in _quotas(plan):
            if quota.lending_limit is not None and quota.lending_limit > quota.nominal:
                message = f"'{quota.lending_limit}' {quota.resource} is more than the {quota.nominal} there are to lend"
                yield (*path, "lend"), message


RULES: tuple[Rule[ResourceGroups], ...] = (
    Rule("too-many-groups", "CRD ClusterQueue, Cohort: resourceGroups maxItems", _group_count),
    Rule("group-too-large", "CRD ClusterQueue, Cohort: coveredResources, flavors maxItems", _group_sizes),
    Rule("group-empty", "CRD ClusterQueue, Cohort: coveredResources, flavors minItems", _empty_groups),
    Rule("too-many-in-all", "webhook validateTotalFlavors, validateTotalCoveredResources", _total_counts),
    Rule("too-many-pairs", "webhook validateFlavorResourceCombinations", _flavor_resource_pairs),
    Rule("bad-resource-name", "webhook validateResourceName", _resource_names),
    Rule("resource-twice", "webhook validateResourceGroups", _unique_resources),
    Rule("bad-flavor-name", "CRD ClusterQueue, Cohort: flavors[].name pattern", _flavor_names),
    Rule("flavor-twice", "webhook validateResourceGroups; CRD flavors list map key", _unique_flavors),
    Rule(
        "quota-order", "CEL resourceGroups[] (same number); webhook validateFlavorQuotas (same order)", _resource_order
    ),
    Rule("bad-quota", "webhook validateResourceQuantity; apimachinery resource.Quantity", _amounts),
    Rule("limit-without-cohort", "CEL ClusterQueue.spec; webhook validateLimit", _limits_need_cohort),
    Rule("lend-above-nominal", "webhook validateLendingLimit", _lending_limits),
)
