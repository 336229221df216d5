"""Trees of cohorts: ceilings against a brute force over the definition, and figures of the whole planner.

The definition is Kueue's. A node's quota is its own nominal and what its children lend; a child lends what its lending
limit allows. What a node uses beyond what it does not lend is used of its parent too; no node uses more than its quota
and its borrowing limit, and a root no more than its quota.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.plan.kueue import CohortPlan, FlavorQuotasPlan, QuotaPlan, ResourceGroupPlan
from berth.planner.queueing.quota_tree import QuotaTree
from tests.components.kueue.plans import queue
from tests.small_fleets import ZONE, fleet_with, problems, run_planner, team

few = settings(deadline=None, max_examples=50)
many = settings(deadline=None, max_examples=200)

GPU = "nvidia.com/gpu"
RESOURCES = {"l4": GPU}


@dataclass(eq=False)
class Part:
    """A cohort with parts below it, or (without `below`) a queue; limits as Kueue reads them, None being no limit."""

    name: str
    nominal: int
    borrow: int | None
    lend: int | None
    below: list[Part] = field(default_factory=list)
    counted: bool = False


def leaves(part: Part) -> list[Part]:
    """The queues of a tree."""
    return [leaf for each in part.below for leaf in leaves(each)] if part.below else [part]


@lru_cache(maxsize=1024)
def quota(part: Part) -> int:
    """What a part and those below it hold together."""
    return part.nominal + sum(quota(each) - kept(each) for each in part.below)


@lru_cache(maxsize=1024)
def kept(part: Part) -> int:
    """What a part does not lend."""
    return 0 if part.lend is None else max(0, quota(part) - part.lend)


def used(part: Part, uses: dict[str, int]) -> int:
    """What is used at a part: of a queue everything, of a cohort what those below take beyond their own."""
    if not part.below:
        return uses.get(part.name, 0)
    return sum(max(0, used(each, uses) - kept(each)) for each in part.below)


def allowed(part: Part, uses: dict[str, int], *, root: bool = True) -> bool:
    """Whether every limit in a tree is kept."""
    borrow = 0 if root else part.borrow
    within = borrow is None or used(part, uses) <= quota(part) + borrow
    return within and all(allowed(each, uses, root=False) for each in part.below)


def tried(root: Part) -> int:
    """The most that the counted queues use together, over every way to use them while the others are idle."""
    everything = nominal(root)
    counted = [leaf.name for leaf in leaves(root) if leaf.counted]
    ways = product(range(everything + 1), repeat=len(counted))
    return max(sum(way) for way in ways if allowed(root, dict(zip(counted, way, strict=True))))


def nominal(part: Part) -> int:
    """All nominal quota of a part and below."""
    return part.nominal + sum(map(nominal, part.below))


@st.composite
def parts(draw: st.DrawFn, name: str = "r", depth: int = 0) -> Part:
    """A random tree, at most four levels deep, with few queues and small numbers so that all ways can be tried."""
    limits = st.none() | st.integers(0, 3)
    narrow = depth > 1
    below = draw(st.integers(1, 1 if narrow else 2)) if depth == 0 or (depth < 3 and draw(st.booleans())) else 0
    result = Part(name, draw(st.integers(0, 2)), draw(limits), draw(limits))
    result.below = [draw(parts(f"{name}{index}", depth + 1)) for index in range(below)]
    if not below:
        result.lend = None if result.lend is None else min(result.lend, result.nominal)
        result.counted = draw(st.booleans())
    return result


def entry(part: Part) -> FlavorQuotasPlan:
    """The quota of a part as a plan says it."""
    plan = QuotaPlan(resource=GPU, nominal=part.nominal, borrowing_limit=part.borrow, lending_limit=part.lend)
    return FlavorQuotasPlan(flavor="l4", quotas=(plan,))


def tree_of(root: Part) -> QuotaTree:
    """The same tree as the planner has it; a cohort that limits and adds nothing has no entry at all."""
    cohorts: list[CohortPlan] = []
    queues = [
        queue(leaf.name, cohort=above.name, flavors=(entry(leaf),))
        for above in inner(root)
        for leaf in above.below
        if not leaf.below
    ]
    parents = {each.name: above.name for above in inner(root) for each in above.below}
    for part in inner(root):
        silent = (part.nominal, part.borrow, part.lend) == (0, None, None)
        group = ResourceGroupPlan(covered_resources=(GPU,), flavors=(entry(part),))
        groups = () if silent else (group,)
        cohorts.append(CohortPlan(name=part.name, parent=parents.get(part.name), resource_groups=groups))
    return QuotaTree(queues, cohorts, RESOURCES)


def inner(part: Part) -> list[Part]:
    """The cohorts of a tree, the root first."""
    return [part, *(item for each in part.below for item in inner(each))] if part.below else []


def counted_queues(root: Part) -> list[Any]:
    """The queues whose ceiling is asked for."""
    return [queue(leaf.name, flavors=(entry(leaf),)) for leaf in leaves(root) if leaf.counted]


@many
@given(parts())
def test_a_ceiling_in_a_tree_is_the_maximum_over_all_admissions_of_kueue(root: Part) -> None:
    assert tree_of(root).ceilings(counted_queues(root)).get("l4", 0) == tried(root)


@many
@given(parts())
def test_the_maximum_use_of_a_part_is_over_all_admissions(root: Part) -> None:
    """The ceiling of every cohort and of every queue, each counted separately."""
    tree = tree_of(root)
    for part in inner(root):
        mine = {leaf.name for leaf in leaves(part)}
        for leaf in leaves(root):
            leaf.counted = leaf.name in mine
        assert tree.cohort_nodes(part.name)["l4"].ceiling == tried(root)
        assert tree.cohort_nodes(part.name)["l4"].guaranteed == nominal(part)
    for leaf in leaves(root):
        for other in leaves(root):
            other.counted = other is leaf
        assert tree.queue_nodes(leaf.name)["l4"].ceiling == tried(root)


@many
@given(parts())
def test_a_whole_tree_can_use_all_that_is_nominal_in_it(root: Part) -> None:
    """Unless a cohort keeps what none of its queues may use; limits move quota and make none."""
    tree = tree_of(root)
    queues = [queue(leaf.name, flavors=(entry(leaf),)) for leaf in leaves(root)]
    assert tree.ceilings(queues)["l4"] <= nominal(root) == tree.cohort_nodes(root.name)["l4"].guaranteed


def test_a_chain_of_a_thousand_cohorts_needs_no_recursion() -> None:
    names = [f"c{index}" for index in range(1000)]
    cohorts = [CohortPlan(name=n, parent=above) for n, above in zip(names, [None, *names[:-1]], strict=True)]
    one = queue("q", cohort=names[-1], flavors=(entry(Part("q", 3, None, None)),))
    tree = QuotaTree([one], cohorts, RESOURCES)
    assert tree.ceilings([one]) == {"l4": 3}
    assert tree.root_cohort(names[-1]) == "c0"


# --- through the whole planner ----------------------------------------------------------------------------------------


def company(**cohorts: Any) -> dict[str, Any]:
    """Two teams of 8 and 4 L4 in two cohorts below one; `cohorts` are merged into them."""
    return fleet_with({
        "pools": {"l4": {"machineType": "g2-standard-24", "nodes": 10, "zone": ZONE}},
        "cohorts": {"company": {}, "research": {"parent": "company"}, "product": {"parent": "company"}} | cohorts,
        "teams": {
            "vision": {"cohort": "research", "queues": {"q": {"flavors": [{"pool": "l4", "guaranteed": 8,
                                                                           "borrow": "unlimited"}]}}},
            "speech": {"cohort": "product", "queues": {"q": {"flavors": [{"pool": "l4", "guaranteed": 4,
                                                                          "borrow": "unlimited"}]}}},
        },
    })  # fmt: skip


def limited(parent: str | None, **entry: Any) -> dict[str, Any]:
    """A cohort with one entry for the L4."""
    above = {} if parent is None else {"parent": parent}
    return {**above, "flavors": [{"pool": "l4", **entry}]}


def ceilings_of(fleet: dict[str, Any]) -> dict[str, int]:
    """Team to the ceiling it reads."""
    plan = run_planner(fleet).plan
    return {t.name: team(plan, t.name).ceiling["l4"] for t in plan.teams}


def test_without_limits_every_ceiling_is_the_whole_fleet() -> None:
    assert ceilings_of(company()) == {"vision": 12, "speech": 12}


def test_an_entry_without_borrow_means_none_for_all_below() -> None:
    assert ceilings_of(company(research=limited("company"))) == {"vision": 8, "speech": 12}


def test_the_lending_limit_of_a_cohort_bounds_other_ceilings() -> None:
    assert ceilings_of(company(product=limited("company", lend=1, borrow=8))) == {"vision": 9, "speech": 12}


def test_the_guarantee_of_a_cohort_beyond_its_queues_is_its_own_quota() -> None:
    """Shared by all below, and no team's guarantee; cpu, memory and pods come with it."""
    plan = run_planner(company(research=limited("company", guaranteed=12, borrow=0, lend=0))).plan
    (value,) = [c for c in plan.cohorts if c.name == "research"]
    ((entry,),) = [group.flavors for group in value.resource_groups]
    assert [(q.resource, q.nominal) for q in entry.quotas][-2:] == [(GPU, 4), ("pods", 180)]
    assert all(q.nominal > 0 for q in entry.quotas)
    assert ceilings_of(company(research=limited("company", guaranteed=12, lend=0))) == {"vision": 12, "speech": 4}
    assert {f.name: f.promised for f in plan.flavors} == {"l4": 16}


@few
@given(st.integers(0, 20))
def test_promises_of_a_tree_are_kept_exactly_when_the_pools_hold_them(guaranteed: int) -> None:
    """20 L4 are held, 12 guaranteed to queues; a root that is guaranteed more than 20 is one promise too many."""
    output = {p.code for p in problems(company(company=limited(None, guaranteed=guaranteed + 5)))}
    assert ("overpromised-cohort" in output) == (guaranteed + 5 < 12)
    assert ("overcommitted" in output) == (guaranteed + 5 > 20)


# --- what comes with accelerators -------------------------------------------------------------------------------------


def counting(rate: int, part: dict[str, Any]) -> dict[str, Any]:
    """A cohort, or a team with one queue, that counts so many cpu for each L4 (a machine has 12)."""
    if "queues" not in part:
        return {**part, "perAccelerator": {"cpu": rate}}
    return {**part, "queues": {"q": {**part["queues"]["q"], "perAccelerator": {"cpu": rate}}}}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, []),
        # Eight of its own with 96 cpu, and four of speech's with 4: 100 cpu are for 8 L4.
        ({"teams.speech": 1}, ["can have up to 12 L4 of 'l4', but cpu for only 8"]),
        # The other way round speech is short: 48 cpu of its own, and 8 with the eight of vision.
        ({"teams.vision": 1}, ["can have up to 12 L4 of 'l4', but cpu for only 4"]),
        # Four more L4 may be borrowed for research, and with them 4 × 3 cpu: 108 in all.
        ({"cohorts.research": 3}, ["can have up to 12 L4 of 'l4', but cpu for only 9"]),
        ({"cohorts.research": 12}, []),
        ({"cohorts.research": 12, "teams.vision": 12, "teams.speech": 12}, []),
    ],
)
def test_a_ceiling_above_the_available_cpu_is_reported(changes: dict[str, int], text: list[str]) -> None:
    fleet = company(research=limited("company", borrow=4))
    for path, rate in changes.items():
        section, name = path.split(".")
        fleet[section][name] = counting(rate, fleet[section][name])
    messages = [p.message for p in problems(fleet) if p.code == "uneven-rates"]
    assert [message.partition(", because")[0] for message in messages] == text
