"""Limits against needs: each status, the fallback of preemptible quotas, and which value of an answer counts."""

from __future__ import annotations

import pytest

from berth.catalog import QuotaMetric, quota_table
from berth.plan.node_settings import Bounds
from berth.quota.answers import Answers, QuotaLimit
from berth.quota.compare import QuotaComparison, compare_with_limits
from berth.quota.required import QuotaNeed, RequiredQuota

L4 = quota_table().accelerators["nvidia-l4"]
H100 = quota_table().accelerators["nvidia-h100-80gb"].standard
PLACE = {"project": "p", "location": "us-central1"}


def required(metric: QuotaMetric, *, doubt: str = "", fallback: QuotaMetric | None = None) -> RequiredQuota:
    """4 of something at least and 10 at most, and 2 more in an upgrade."""
    use = QuotaNeed(
        metric=metric,
        source="pools.a",
        pool="a",
        capacity="on-demand",
        amount=Bounds(min=4, max=10),
        surge=2,
        doubt=doubt,
        fallback=fallback,
    )
    return RequiredQuota(metric=metric, project="p", location="us-central1", uses=(use,))


def limit(
    metric: QuotaMetric,
    value: int,
    *,
    usage: int | None = None,
    locations: tuple[str, ...] = ("us-central1",),
    dimensions: tuple[tuple[str, str], ...] | None = None,
) -> QuotaLimit:
    """A value of a metric."""
    return QuotaLimit(
        names=(metric.metric,),
        project="p",
        locations=locations,
        dimensions=metric.dimensions if dimensions is None else dimensions,
        limit=value,
        usage=usage,
    )


def compare(quota: RequiredQuota, *limits: QuotaLimit) -> QuotaComparison:
    """The comparison of one quota."""
    (comparison,) = compare_with_limits([quota], Answers(limits=limits))
    return comparison


@pytest.mark.parametrize(
    ("value", "usage", "status", "short_by", "short_at_first"),
    [
        (3, 0, "short", 7, 1),
        (4, 0, "short", 6, 0),
        (9, 0, "short", 1, 0),
        (10, 0, "upgrade", 0, 0),
        (11, 0, "upgrade", 0, 0),
        (12, 0, "enough", 0, 0),
        (12, 2, "enough", 0, 0),
        (12, 3, "in-use", 0, 0),
        (12, None, "enough", 0, 0),
        (-1, 99, "enough", 0, 0),
        (0, None, "short", 10, 4),
    ],
)
def test_values_at_each_limit(value: int, usage: int | None, status: str, short_by: int, short_at_first: int) -> None:
    changes = compare(required(L4.standard), limit(L4.standard, value, usage=usage))
    assert (changes.status, changes.short_by, changes.short_at_first) == (status, short_by, short_at_first)


def test_a_doubtful_quota_is_never_reported_as_short() -> None:
    assert compare(required(L4.standard, doubt="perhaps"), limit(L4.standard, 3)).status == "uncertain"
    unsure = QuotaMetric(metric="CPUS_PER_VM_FAMILY", unit="vCPUs", doubt="no source names it")
    assert compare(required(unsure), limit(unsure, 3)).status == "uncertain"


def test_a_missing_quota_is_not_zero() -> None:
    """`regions describe` lists the older metrics only, so nothing follows from what it leaves out."""
    assert compare(required(L4.standard)).status == "not-listed"
    assert compare(required(L4.standard), limit(L4.preemptible, 0)).status == "not-listed"


def test_machines_without_preemptible_quota_count_against_the_standard_one() -> None:
    quotas = [required(L4.standard), required(L4.preemptible, fallback=L4.standard)]
    answers = Answers(limits=(limit(L4.standard, 15), limit(L4.preemptible, 0)))
    (change,) = compare_with_limits(quotas, answers)
    assert change.required.metric == L4.standard
    assert (change.required.minimum, change.required.maximum) == (4, 10)  # both uses are of one pool here
    assert change.moved == ("PREEMPTIBLE_NVIDIA_L4_GPUS",)


def test_a_fleet_without_preemptible_quota_needs_the_standard_quota() -> None:
    answers = Answers(limits=(limit(L4.standard, 6), limit(L4.preemptible, 0)))
    (change,) = compare_with_limits([required(L4.preemptible, fallback=L4.standard)], answers)
    assert (change.required.metric, change.status, change.short_by) == (L4.standard, "short", 4)


def test_a_preemptible_quota_of_one_counts_by_itself() -> None:
    quotas = [required(L4.preemptible, fallback=L4.standard)]
    (change,) = compare_with_limits(quotas, Answers(limits=(limit(L4.preemptible, 1), limit(L4.standard, 99))))
    assert (change.required.metric, change.status, change.short_by) == (L4.preemptible, "short", 9)


@pytest.mark.parametrize("order", [1, -1])
def test_the_most_specific_value_counts(order: int) -> None:
    """Family and region, then the family anywhere, then the region, then every other place; in any order."""
    values = [
        limit(H100, 40),
        limit(H100, 30, locations=()),
        limit(H100, 20, dimensions=()),
        limit(H100, 10, locations=(), dimensions=()),
    ]
    for count in range(len(values), 0, -1):
        subset = values[-count:][::order]
        assert compare(required(H100), *subset).limit == values[-count]


def test_values_of_other_families_regions_and_projects_do_not_count() -> None:
    others = [
        limit(H100, 99, dimensions=(("gpu_family", "NVIDIA_B200"),)),
        limit(H100, 99, locations=("us-east5",)),
        QuotaLimit(names=(H100.metric,), project="q", locations=(), dimensions=(), limit=99),
    ]
    assert compare(required(H100), *others).status == "not-listed"
