"""Rules of resource groups: of cluster queues, and of cohorts with quotas of their own."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from berth.diagnostics import Path, shown
from berth.manifests.quantities import MAXIMUM
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QuotaPlan, ResourceGroupPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import Fault, Rule, label_key, subdomain, too_many


class Groups(Struct, frozen=True):
    """The resource groups of a queue or cohort, each with its path; `shared` where it has somebody to borrow from."""

    groups: tuple[ResourceGroupPlan, ...]
    places: tuple[Path, ...]
    shared: bool
    of_queue: bool


def of_queue(plan: ClusterQueuePlan) -> Groups:
    """The one group of a cluster queue."""
    group = ResourceGroupPlan(covered_resources=plan.covered_resources, flavors=plan.flavors)
    return Groups((group,), ((),), plan.cohort is not None, of_queue=True)


def of_cohort(plan: CohortPlan) -> Groups:
    """The groups of a cohort."""
    places: tuple[Path, ...] = tuple(("resourceGroups", index) for index in range(len(plan.resource_groups)))
    return Groups(plan.resource_groups, places, plan.parent is not None, of_queue=False)


def weight(share: float | None) -> Iterator[Fault]:
    """A fair-share weight is 0, or a number above 1n with nine decimals at most."""
    hint: Path = ("fairShareWeight",)
    if share is None:
        return
    if share < 0 or 0 < share <= bounds.LEAST_WEIGHT:
        yield hint, f"'{share:g}' is no weight; write 0 (never ahead of anybody) or a number above 0.000000001"
    elif (Fraction(str(share)) * 10**9).denominator != 1:
        yield hint, f"'{share!r}' has more decimals than Kubernetes keeps; write nine at most"


# --- how many ---------------------------------------------------------------------------------------------------------


def _groups(plan: Groups) -> Iterator[Fault]:
    hint: Path = ("resourceGroups",)
    yield from too_many(hint, len(plan.groups), bounds.GROUPS, "resource groups", "join some")


def _group_sizes(plan: Groups) -> Iterator[Fault]:
    for place, group in zip(plan.places, plan.groups, strict=True):
        covered, flavors = len(group.covered_resources), len(group.flavors)
        hint = (*place, "coveredResources")
        yield from too_many(hint, covered, bounds.GROUP_RESOURCES, "resources of one group", "cover fewer")
        hint = (*place, "flavors")
        yield from too_many(hint, flavors, bounds.GROUP_FLAVORS, "flavors of one group", "name fewer")


def _empty(plan: Groups) -> Iterator[Fault]:
    for place, group in zip(plan.places, plan.groups, strict=True):
        if not group.covered_resources:
            yield (*place, "coveredResources"), "'[]' covers nothing; Kueue wants a resource in each group"
        if not group.flavors:
            yield (*place, "flavors"), "'[]' has no quota; Kueue wants a flavor in each group"


def _totals(plan: Groups) -> Iterator[Fault]:
    if plan.of_queue:
        flavors = sum(len(group.flavors) for group in plan.groups)
        yield from too_many(("flavors",), flavors, bounds.TOTAL_FLAVORS, "flavors", "make several cluster queues")
        covered = sum(len(group.covered_resources) for group in plan.groups)
        hint: Path = ("coveredResources",)
        yield from too_many(hint, covered, bounds.TOTAL_RESOURCES, "covered resources", "make several cluster queues")


def _pairs(plan: Groups) -> Iterator[Fault]:
    if plan.of_queue:
        for place, group in zip(plan.places, plan.groups, strict=True):
            pairs = sum(len(flavor.quotas) for flavor in group.flavors)
            remedy = "name fewer flavors, or make several cluster queues"
            yield from too_many((*place, "flavors"), pairs, bounds.GROUP_PAIRS, "quotas in one group", remedy)


# --- names ------------------------------------------------------------------------------------------------------------


def _resource_names(plan: Groups) -> Iterator[Fault]:
    for hint, name in _resource_places(plan):
        yield from label_key(hint, name, "resource name")


def _resource_once(plan: Groups) -> Iterator[Fault]:
    seen = set[str]()
    for hint, name in _resource_places(plan):
        if name in seen:
            yield hint, f"resource '{shown(name)}' is covered twice; a resource is in one group, once"
        seen.add(name)


def _flavor_names(plan: Groups) -> Iterator[Fault]:
    for hint, name in flavor_places(plan):
        yield from subdomain(hint, name, "a flavor")


def _flavor_once(plan: Groups) -> Iterator[Fault]:
    seen = set[str]()
    for hint, name in flavor_places(plan):
        if name in seen:
            yield hint, f"flavor '{shown(name)}' is here twice; a flavor is in one group, once"
        seen.add(name)


def _resource_places(plan: Groups) -> Iterator[tuple[Path, str]]:
    for place, group in zip(plan.places, plan.groups, strict=True):
        for name in group.covered_resources:
            yield (*place, "coveredResources"), name


def flavor_places(plan: Groups) -> Iterator[tuple[Path, str]]:
    """Every flavor with its path."""
    for place, group in zip(plan.places, plan.groups, strict=True):
        for index, flavor in enumerate(group.flavors):
            yield (*place, "flavors", index), flavor.flavor


def _order(plan: Groups) -> Iterator[Fault]:
    for place, group in zip(plan.places, plan.groups, strict=True):
        for index, flavor in enumerate(group.flavors):
            named = tuple(quota.resource for quota in flavor.quotas)
            if named != group.covered_resources:
                wanted, given = ", ".join(group.covered_resources), ", ".join(named)
                message = f"'{given}' are not the covered resources in their order; Kueue wants {wanted}"
                yield (*place, "flavors", index), message


# --- amounts ----------------------------------------------------------------------------------------------------------


def _quotas(plan: Groups) -> Iterator[tuple[Path, QuotaPlan]]:
    for place, group in zip(plan.places, plan.groups, strict=True):
        for index, flavor in enumerate(group.flavors):
            for quota in flavor.quotas:
                yield (*place, "flavors", index), quota


def _amounts(plan: Groups) -> Iterator[Fault]:
    for hint, quota in _quotas(plan):
        for key, amount in _written(quota):
            if not 0 <= amount <= MAXIMUM:
                yield (*hint, key), f"'{amount}' {quota.resource} is no quota; write 0 to {MAXIMUM}"


def _written(quota: QuotaPlan) -> Iterator[tuple[str, int]]:
    yield "guaranteed", quota.nominal
    if quota.borrowing_limit is not None:
        yield "borrow", quota.borrowing_limit
    if quota.lending_limit is not None:
        yield "lend", quota.lending_limit


def _limits(plan: Groups) -> Iterator[Fault]:
    """0 is the plan's way of saying that there is no limit to write."""
    if plan.shared:
        return
    for hint, quota in _quotas(plan):
        for key, amount in (("borrow", quota.borrowing_limit), ("lend", quota.lending_limit)):
            if amount:
                wanted = "a cohort" if plan.of_queue else "a parent"
                yield (*hint, key), f"'{amount}' {quota.resource}: there is nobody to {key} with; name {wanted}"


def _lending(plan: Groups) -> Iterator[Fault]:
    """Of a cohort more may be lent than it has: what its queues lend it passes on."""
    if plan.of_queue:
        for hint, quota in _quotas(plan):
            if quota.lending_limit is not None and quota.lending_limit > quota.nominal:
                message = f"'{quota.lending_limit}' {quota.resource} is more than the {quota.nominal} there are to lend"
                yield (*hint, "lend"), message


RULES: tuple[Rule[Groups], ...] = (
    Rule("too-many-groups", "CRD ClusterQueue, Cohort: resourceGroups maxItems", _groups),
    Rule("group-too-large", "CRD ClusterQueue, Cohort: coveredResources, flavors maxItems", _group_sizes),
    Rule("group-empty", "CRD ClusterQueue, Cohort: coveredResources, flavors minItems", _empty),
    Rule("too-many-in-all", "webhook validateTotalFlavors, validateTotalCoveredResources", _totals),
    Rule("too-many-pairs", "webhook validateFlavorResourceCombinations", _pairs),
    Rule("bad-resource-name", "webhook validateResourceName", _resource_names),
    Rule("resource-twice", "webhook validateResourceGroups", _resource_once),
    Rule("bad-flavor-name", "CRD ClusterQueue, Cohort: flavors[].name pattern", _flavor_names),
    Rule("flavor-twice", "webhook validateResourceGroups; CRD flavors list map key", _flavor_once),
    Rule("quota-order", "CEL resourceGroups[] (same number); webhook validateFlavorQuotas (same order)", _order),
    Rule("bad-quota", "webhook validateResourceQuantity; apimachinery resource.Quantity", _amounts),
    Rule("limit-without-cohort", "CEL ClusterQueue.spec; webhook validateLimit", _limits),
    Rule("lend-above-nominal", "webhook validateLendingLimit", _lending),
)
