"""Ceilings and guarantees, against a second way of computing them: every division of a cohort, tried.

The rule is Kueue's. A queue may use up to nominal + borrowing limit. What it does not lend (nominal - lending limit) is
its own; whatever it uses above that comes out of the cohort, and the cohort holds what all its queues lend.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorQuotasPlan, QuotaPlan
from berth.planner.queueing.quota_tree import QuotaTree, lendable
from tests.components.kueue.plans import queue as plan_queue
from tests.small_fleets import ZONE, fleet_with, problems, queue, run_planner, team

few = settings(deadline=None, max_examples=50)
many = settings(deadline=None, max_examples=200)


@st.composite
def quotas(draw: st.DrawFn) -> QuotaPlan:
    """Any quota that a queue in a cohort may have; small, so that all divisions can be tried."""
    nominal = draw(st.integers(0, 4))
    return QuotaPlan(
        resource="nvidia.com/gpu",
        nominal=nominal,
        borrowing_limit=draw(st.none() | st.integers(0, 4)),
        lending_limit=draw(st.none() | st.integers(0, nominal)),
    )


cohorts = st.lists(quotas(), min_size=1, max_size=5)


def tried(cohort: Sequence[QuotaPlan], counted: Sequence[bool]) -> int:
    """The most that the `counted` queues use together, over every division of the cohort that Kueue allows."""
    lent = [q.nominal if q.lending_limit is None else q.lending_limit for q in cohort]
    shared = sum(lent)

    @cache
    def most(index: int, left: int) -> int:
        if index == len(cohort):
            return 0
        own, limit = cohort[index].nominal - lent[index], cohort[index].borrowing_limit
        highest = own + shared if limit is None else cohort[index].nominal + limit
        uses = (use for use in range(highest + 1) if max(0, use - own) <= left)
        return max(use * counted[index] + most(index + 1, left - max(0, use - own)) for use in uses)

    return most(0, shared)


def ceiling(own: Sequence[int], cohort: Sequence[QuotaPlan]) -> int:
    """What the planner says that the queues with these indices can use together, all of them in one cohort."""
    queues = [queue_of(f"q{n}", q) for n, q in enumerate(cohort)]
    tree = QuotaTree(queues, [CohortPlan(name="research", parent=None)], {"l4": "nvidia.com/gpu"})
    return tree.ceilings([queues[n] for n in own]).get("l4", 0)


def queue_of(name: str, quota: QuotaPlan) -> ClusterQueuePlan:
    """A queue of the cohort with one quota."""
    return plan_queue(name, cohort="research", flavors=(FlavorQuotasPlan(flavor="l4", quotas=(quota,)),))


@many
@given(cohorts, st.data())
def test_a_ceiling_is_the_maximum_over_all_divisions_of_kueue(cohort: list[QuotaPlan], data: st.DataObject) -> None:
    counted = data.draw(st.lists(st.booleans(), min_size=len(cohort), max_size=len(cohort)))
    own = [n for n, mine in enumerate(counted) if mine]
    assert ceiling(own, cohort) == tried(cohort, counted)


@many
@given(cohorts)
def test_a_whole_cohort_can_use_what_is_nominal_unless_limits_forbid_it(cohort: list[QuotaPlan]) -> None:
    """Borrowing moves quota and creates none: no ceiling exceeds the sum of nominal quota."""
    assert ceiling(range(len(cohort)), cohort) == sum(q.nominal for q in cohort)


@many
@given(cohorts)
def test_a_ceiling_is_never_below_what_is_guaranteed(cohort: list[QuotaPlan]) -> None:
    for index, quota in enumerate(cohort):
        assert ceiling([index], cohort) >= quota.nominal


@many
@given(cohorts, quotas())
def test_a_new_queue_does_not_change_the_others(cohort: list[QuotaPlan], newcomer: QuotaPlan) -> None:
    for index in range(len(cohort)):
        assert ceiling([index], cohort) <= ceiling([index], [*cohort, newcomer])


@pytest.mark.parametrize(
    ("nominal", "lending", "expected"), [(8, None, 8), (8, 0, 0), (8, 3, 3), (0, None, 0), (8, 8, 8)]
)
def test_a_queue_lends_its_whole_guarantee_by_default(nominal: int, lending: int | None, expected: int) -> None:
    quota = QuotaPlan(resource="cpu", nominal=nominal, borrowing_limit=0, lending_limit=lending)
    assert lendable(quota) == expected


# --- the same through the whole planner: from what people write to what a team reads ----------------------------------

wishes = st.fixed_dictionaries(
    {"guaranteed": st.integers(0, 4)},
    optional={"borrow": st.integers(0, 4) | st.just("unlimited"), "lend": st.integers(0, 4)},
)


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    """Two or three teams with one to three queues each on one pool of L4, most of them in one cohort."""
    teams: dict[str, Any] = {}
    for name in draw(st.sampled_from([("a", "b"), ("a", "b", "c")])):
        inside = draw(st.sampled_from([True, True, True, False]))
        written = draw(st.lists(wishes.filter(lends_what_it_has), min_size=1, max_size=3))
        entries = [wish if inside else {"guaranteed": wish["guaranteed"]} for wish in written]
        queues = {f"q{n}": {"flavors": [{"pool": "l4", **entry}]} for n, entry in enumerate(entries)}
        teams[name] = {"queues": queues, **({"cohort": "research"} if inside else {})}
    return fleet_with({"pools": {"l4": {"machineType": "g2-standard-24", "nodes": 50, "zone": ZONE}}, "teams": teams})


def lends_what_it_has(wish: dict[str, Any]) -> bool:
    """Return whether Kueue accepts the requested limits."""
    return wish.get("lend", 0) <= wish["guaranteed"]


def written_quotas(fleet: dict[str, Any]) -> list[tuple[str, QuotaPlan]]:
    """Every quota as written, with its team; a team outside the cohort can neither borrow nor lend."""
    return [
        (name, quota_of(entry, "cohort" in spec))
        for name, spec in fleet["teams"].items()
        for wanted in spec["queues"].values()
        for entry in wanted["flavors"]
    ]


def quota_of(entry: dict[str, Any], inside: bool) -> QuotaPlan:
    """A quota as the stack file means it: no `borrow` is none, no `lend` is all."""
    borrow, lend = (entry.get("borrow", 0), entry.get("lend")) if inside else (0, 0)
    limit = None if borrow == "unlimited" else borrow
    return QuotaPlan(resource="", nominal=entry["guaranteed"], borrowing_limit=limit, lending_limit=lend)


@few
@given(fleets())
def test_the_ceiling_of_a_team_is_the_maximum_use_of_its_queues_together(fleet: dict[str, Any]) -> None:
    quotas_of = written_quotas(fleet)
    for name in fleet["teams"]:
        most = tried([q for _, q in quotas_of], [owner == name for owner, _ in quotas_of])
        assert team(run_planner(fleet).plan, name).ceiling == {"l4": most}


@few
@given(fleets())
def test_the_guarantee_of_a_team_is_the_sum_of_its_entries(fleet: dict[str, Any]) -> None:
    for name in fleet["teams"]:
        total = sum(q.nominal for owner, q in written_quotas(fleet) if owner == name)
        assert team(run_planner(fleet).plan, name).guaranteed == {"l4": total}


@few
@given(fleets(), st.integers(0, 12), st.integers(10, 40))
def test_guarantees_exceed_capacity_exactly_when_the_proof_fails(
    fleet: dict[str, Any], nodes: int, tenths: int
) -> None:
    """Σ guaranteed ≤ capacity × oversubscription, in whole numbers: 10 × Σ ≤ 2 GPUs × nodes × tenths."""
    fleet = fleet_with(
        {"pools.l4.nodes": nodes, "flavors.l4": {"oversubscription": tenths / 10, "reason": "so"}}, fleet
    )
    total = sum(q.nominal for _, q in written_quotas(fleet))
    output = {p.code for p in problems(fleet)}
    assert ("overcommitted" in output) == (10 * total > 2 * nodes * tenths)


@pytest.mark.parametrize(
    ("nodes", "factor", "promised"), [(15, 4.1, 123), (50, 4.35, 435), (25, 1.16, 58), (25, 4.6, 230)]
)
def test_a_factor_is_its_decimal_value_and_not_the_nearest_float(nodes: int, factor: float, promised: int) -> None:
    """100 × 4.35 is 435, though in floats it is 434.99999999999994."""
    wanted = {"queues": {"train": {"flavors": [{"pool": "l4", "guaranteed": promised}]}}}
    fleet = fleet_with({
        "pools": {"l4": {"machineType": "g2-standard-24", "nodes": nodes, "zone": ZONE}},
        "flavors": {"l4": {"oversubscription": factor, "reason": "so"}},
        "teams": {"vision": wanted},
    })  # fmt: skip
    assert "overcommitted" not in {p.code for p in problems(fleet)}


# --- arithmetic of pools and shares -----------------------------------------------------------------------------------

SLICED = [("ct5lp-hightpu-4t", "2x4", 4), ("ct5lp-hightpu-4t", "8x16", 4), ("ct6e-standard-4t", "4x4", 4),
          ("ct5p-hightpu-4t", "4x4x8", 4), ("ct5lp-hightpu-8t", "2x4", 8), ("ct5lp-hightpu-1t", "1x1", 1)]  # fmt: skip
Slices = tuple[tuple[str, str, int], int]
"""Machine type, topology and chips of a host; and how many slices."""
sliced = st.tuples(st.sampled_from(SLICED), st.integers(1, 12))


def of_slices(kind: tuple[str, str, int], slices: int, wanted: list[dict[str, Any]]) -> dict[str, Any]:
    """A pool of slices, and a queue for each request, all of them in one cohort."""
    queues = {f"q{n}": {"flavors": [{"pool": "tpu", **wish}]} for n, wish in enumerate(wanted)}
    pool = {"machineType": kind[0], "topology": kind[1], "slices": slices, "zone": ZONE}
    return fleet_with({"pools": {"tpu": pool}, "teams": {"a": {"cohort": "research", "queues": queues}}})


@few
@given(sliced)
def test_hosts_times_chips_per_host_are_the_chips(of: Slices) -> None:
    """And slices × hosts are the nodes, those of all node pools together; chips are the product of the topology."""
    kind, slices = of
    (fleet_plan,) = run_planner(of_slices(kind, slices, [{"guaranteed": "all"}])).plan.pools
    chips = 1
    for side in kind[1].split("x"):
        chips *= int(side)
    assert fleet_plan.hosts_per_slice is not None
    assert fleet_plan.hosts_per_slice * kind[2] == chips
    assert (
        fleet_plan.nodes.max
        == slices * fleet_plan.hosts_per_slice
        == sum(n.nodes_per_zone or 0 for n in fleet_plan.node_pools)
    )
    assert fleet_plan.accelerators.max == fleet_plan.nodes.max * kind[2] == slices * chips


@few
@given(sliced, st.integers(0, 12))
def test_a_quota_in_slices_is_that_many_times_the_chips_of_one(of: Slices, wanted: int) -> None:
    kind, slices = of
    fleet_plan = run_planner(of_slices(kind, slices, [{"guaranteed": f"{wanted} slices"}])).plan
    (entry,) = queue(fleet_plan, "a-q0").flavors
    (chips,) = [each.nominal for each in entry.quotas if each.resource == fleet_plan.flavors[0].resource]
    assert chips == wanted * fleet_plan.flavors[0].unit
    assert fleet_plan.flavors[0].unit * slices == fleet_plan.flavors[0].capacity.max


@few
@given(sliced)
def test_four_quarters_are_the_whole(of: Slices) -> None:
    kind, slices = of
    assume(slices % 4 == 0)
    quarters = run_planner(of_slices(kind, slices, [{"guaranteed": "25%"}] * 4)).plan
    whole = run_planner(of_slices(kind, slices, [{"guaranteed": "all"}])).plan
    assert [q.flavors[0].quotas for q in quarters.cluster_queues] == [quarters.cluster_queues[0].flavors[0].quotas] * 4
    for each in range(3):
        one, total = quarters.cluster_queues[0].flavors[0].quotas[each], whole.cluster_queues[0].flavors[0].quotas[each]
        assert one.nominal * 4 == total.nominal


def shuffled(value: Any, data: st.DataObject) -> Any:
    """The same value with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = data.draw(st.permutations(list(value)))
        return {key: shuffled(value[key], data) for key in keys}
    return [shuffled(item, data) for item in value] if isinstance(value, list) else value


@few
@given(fleets(), st.data())
def test_the_plan_does_not_depend_on_the_order_of_keys(fleet: dict[str, Any], data: st.DataObject) -> None:
    """The engine sorts them when it rewrites the file, so order may mean nothing but in lists."""
    other = shuffled(fleet, data)
    assert run_planner(other) == run_planner(fleet)
    assert sorted(map(str, problems(other))) == sorted(map(str, problems(fleet)))
