"""Fair sharing: what real Kueue decided with it on, and shares computed by hand."""

from __future__ import annotations

import pathlib
import random
from fractions import Fraction

import pytest
from msgspec.structs import replace

from berth.simulator import agreement
from berth.simulator.fleet import build_simulated_fleet, unmodelled_warnings
from berth.simulator.recorded_cases import read_cases
from berth.simulator.scheduler.events import JobEventKind
from berth.simulator.scheduler.fair_sharing import FAIR_STRATEGIES, compute_share
from berth.simulator.scheduler.model import Cohort
from tests.berth.simulator import setups
from tests.berth.simulator.setups import (
    ANY,
    GPU,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    job,
    queue,
    simulator,
    submitted,
)
from tests.small_fleets import fleet_with, plan

FINAL, INITIAL = FAIR_STRATEGIES

LATE = {
    "fc0018": {4},
    "fh0001": {9, 10},
    "fh0003": {6},
    "fh0004": {4},
    "fh0009": {1},
    "fh0022": {3},
    "fh0034": {6},
    "fh0036": {9},
    "fh0037": {8},
    "fh0040": {5, 7},
    "fh0045": {9},
    "fh0048": {10},
    "fh0051": {5},
    "fh0061": {9},
}
"""Case → the steps that were read after preempted jobs had stopped (test_agreement.py)."""

UNEXPLAINED = {"fh0089": 6}
"""Case → steps that differ. At step 8 real Kueue tried a job again that no event in the recording frees."""


def test_895_of_901_steps_agree_with_real_kueue() -> None:
    cases, problems = read_cases(pathlib.Path(__file__).with_name("fair_cases.yaml"))
    assert problems == []
    found = {case["case"]: agreement.find_late_steps(case) for case in cases}
    assert {name: late for name, (late, _) in found.items() if late} == LATE
    wrong = {case["case"]: len(case["steps"]) - found[case["case"]][1] for case in cases}
    assert {name: steps for name, steps in wrong.items() if steps} == UNEXPLAINED
    assert sum(agreeing for _, agreeing in found.values()) == 895
    assert sum(len(case["steps"]) for case in cases) == 901


def test_282_of_283_steps_with_one_strategy_agree_with_real_kueue() -> None:
    """Recorded after the model was written. In ofc0026 Kueue evicted j4 and admitted it again within one step."""
    cases, problems = read_cases(pathlib.Path(__file__).with_name("fair_one_strategy.yaml"))
    assert problems == []
    assert all(case["fairSharing"] == [FINAL] for case in cases)
    found = {case["case"]: agreement.find_late_steps(case) for case in cases}
    assert {name: late for name, (late, _) in found.items() if late} == {"ofc0059": {5, 7}}
    assert sum(agreeing for _, agreeing in found.values()) == 282
    assert sum(len(case["steps"]) for case in cases) == 283


def test_a_file_with_weights_was_recorded_with_fair_sharing(tmp_path: pathlib.Path) -> None:
    """Because weights mean nothing without it; a case may say otherwise."""
    queues = "clusterQueues: [{name: q, flavors: [f], quotas: [], weight: '2'}], steps: []"
    other = "clusterQueues: [{name: q, flavors: [f], quotas: []}], steps: []"
    path = tmp_path / "cases.yaml"
    path.write_text(
        f"- {{case: a, {queues}}}\n- {{case: b, {other}}}\n- {{case: c, fairSharing: [{INITIAL}], {other}}}\n"
    )
    cases, problems = read_cases(path)
    assert problems == []
    assert [case["fairSharing"] for case in cases] == [list(FAIR_STRATEGIES), list(FAIR_STRATEGIES), [INITIAL]]
    path.write_text(f"- {{case: b, {other}}}\n")
    assert "fairSharing" not in read_cases(path)[0][0]


def test_each_queue_gets_its_share_of_idle_quota_by_weight() -> None:
    """12 lent GPUs at weights 1 and 2: 4 and 8, whoever comes first."""
    for first, second in (("a", "b"), ("b", "a")):
        sim = simulator(
            queue("lender", 12, "all"),
            queue("a", 0, "all", reclaim=ANY, weight=1.0),
            queue("b", 0, "all", reclaim=ANY, weight=2.0),
            fair=FAIR_STRATEGIES,
        )
        submitted(sim, *(job(f"{first}{number}", first, 1) for number in range(12)))
        submitted(sim, *(job(f"{second}{number}", second, 1) for number in range(12)))
        assert (setups.used(sim, "a"), setups.used(sim, "b")) == (4, 8)


# The stories of Kueue's proposal of fair sharing (KEP-1714), with a tenth of their GPUs.


def test_two_teams_get_equal_space_beyond_their_guarantees() -> None:
    """The first story: the team in the east comes three hours earlier, and its own guarantee is another."""
    sim = simulator(
        queue("pool", 12, "all"),
        queue("east", 2, "all", reclaim=ANY),
        queue("west", 4, "all", reclaim=ANY),
        fair=FAIR_STRATEGIES,
    )
    submitted(sim, *(job(f"e{number}", "east", 1) for number in range(20)))
    assert setups.used(sim, "east") == 18
    submitted(sim, *(job(f"w{number}", "west", 1) for number in range(20)))
    assert (setups.used(sim, "east"), setups.used(sim, "west")) == (2 + 6, 4 + 6)


def test_a_department_shares_with_its_own_teams_first() -> None:
    """The second story: what team 1A leaves free is for 1B and 1C, and for department 2 only if they want none."""
    queues = [queue(f"{number}{team}", 4, f"d{number}", reclaim=ANY) for number in (1, 2) for team in "abc"]
    departments = (setups.cohort("d1", "top"), setups.cohort("d2", "top"), setups.cohort("top"))
    second = ("2a", "2b", "2c")
    for first, used in ((("1b", "1c"), [6, 6, 4, 4, 4]), ((), [8, 8, 8])):
        sim = simulator(*queues, cohorts=departments, fair=FAIR_STRATEGIES)
        for each in (*second, *first):
            submitted(sim, *(job(f"{each}-{number}", each, 1) for number in range(12)))
        assert [setups.used(sim, each) for each in (*first, *second)] == used


def test_cohorts_of_equal_weight_share_alike_and_their_queues_by_weight() -> None:
    """The third story: 30 GPUs are lent, half to each cohort; in the first one 1C counts three times 1A and 1B."""
    sim = simulator(
        queue("lender", 30, "cs"),
        queue("1a", 0, "c1", reclaim=ANY),
        queue("1b", 0, "c1", reclaim=ANY),
        queue("1c", 0, "c1", reclaim=ANY, weight=3.0),
        queue("2a", 0, "c2", reclaim=ANY),
        cohorts=(*(setups.cohort(name, "top") for name in ("cs", "c1", "c2")), setups.cohort("top")),
        fair=FAIR_STRATEGIES,
    )
    for each in ("2a", "1a", "1b", "1c"):
        submitted(sim, *(job(f"{each}-{number}", each, 1) for number in range(30)))
    assert [setups.used(sim, each) for each in ("1a", "1b", "1c", "2a")] == [3, 3, 9, 15]


def test_the_order_of_heads_follows_shares_and_not_arrival() -> None:
    """Of two heads that wait, the one whose queue has the lower share after admission starts."""
    sim = simulator(queue("lender", 4, "all"), queue("a", 0, "all"), queue("b", 0, "all"), fair=(FINAL,))
    submitted(sim, job("a0", "a", 2), job("x", "lender", 2), job("a1", "a", 1), job("b0", "b", 2))
    assert sim.finish("x") and setups.standing(sim) == {"a0": "f", "a1": "-", "b0": "f"}


def test_the_final_share_spares_a_large_job_and_the_initial_share_does_not() -> None:
    """`small` would have 4/8 of what is lent; without `big`, its queue has 0."""
    queues = queue("lender", 8, "all"), queue("a", 0, "all"), queue("b", 0, "all", reclaim=ANY)
    for fair, standing in (((FINAL,), "-"), ((INITIAL,), "f"), (FAIR_STRATEGIES, "f")):
        sim = simulator(*queues, fair=fair)
        assert submitted(sim, job("big", "a", 8), job("small", "b", 4))["small"] == standing


def test_within_its_guarantee_a_queue_takes_quota_back_whatever_its_share() -> None:
    sim = simulator(queue("a", 4, "all", reclaim=ANY, weight=0.0), queue("b", 0, "all"), fair=(FINAL,))
    submitted(sim, job("b0", "b", 4))
    events = sim.submit(job("a0", "a", 4))
    assert [each.reason for each in events if each.kind == JobEventKind.PREEMPTED] == ["InCohortReclamation"]


def test_a_weight_of_zero_borrows_only_what_nobody_else_wants() -> None:
    sim = simulator(
        queue("lender", 4, "all"),
        queue("zero", 0, "all", reclaim=ANY, weight=0.0),
        queue("b", 0, "all", reclaim=ANY),
        fair=FAIR_STRATEGIES,
    )
    assert submitted(sim, job("z0", "zero", 4), job("b0", "b", 4)) == {"z0": "-", "b0": "f"}
    assert submitted(sim, job("z1", "zero", 1)) == {"z0": "-", "b0": "f", "z1": "-"}


def test_shares_are_those_of_exact_fractions() -> None:
    """Of random usage in three levels: the highest of (borrowed / what the parent can use) / weight, over resources."""
    rng = random.Random(7)
    for _ in range(50):
        weights = [rng.choice([0.5, 1.0, 2.0, 3.0]) for _ in range(3)]
        nominal = [rng.randint(0, 6) for _ in range(3)]
        sim = simulator(
            queue("a", {"f": setups.quota(nominal[0]), "g": setups.quota(1)}, "left", weight=weights[0]),
            queue("b", {"f": setups.quota(nominal[1]), "g": setups.quota(0)}, "right"),
            cohorts=(
                Cohort(name="left", parent="all", weight=weights[1]),
                Cohort(name="right", parent="all", weight=weights[2]),
                Cohort(name="all", quotas={("f", GPU): setups.quota(nominal[2])}),
            ),
            fair=FAIR_STRATEGIES,
        )
        submitted(sim, *(job(f"j{n}", rng.choice("ab"), rng.randint(1, 4)) for n in range(6)))
        lent = sum(nominal) + 1
        for name, own, weight in (("a", {"f": nominal[0], "g": 1}, weights[0]), ("b", {"f": nominal[1], "g": 0}, 1.0)):
            borrowed = sum(max(0, setups.used(sim, name, flavor) - amount) for flavor, amount in own.items())
            share = Fraction(1000 * borrowed, lent or 1) / Fraction(weight)
            assert compute_share(sim.queue_states[name].node).rank == (0, pytest.approx(float(share)))


def test_preemption_without_end_is_found() -> None:
    """b0 preempts a0 by its share, a1 takes the guarantee of its queue back from b0, and a0 is older than a1."""
    sim = simulator(
        queue("a", 2, "all", within=LOWER_OR_NEWER_EQUAL, reclaim=ANY),
        queue("b", 4, "all", within=LOWER_OR_NEWER_EQUAL, reclaim=ANY),
        fair=FAIR_STRATEGIES,
    )
    submitted(sim, job("a0", "a", 5), job("b0", "b", 5))
    events = sim.submit(job("a1", "a", 2))
    assert {each.workload.job.name for each in events if each.kind == JobEventKind.PREEMPTION_LOOP} == {"b0"}


def test_without_fair_sharing_weights_change_nothing() -> None:
    queues = queue("lender", 8, "all"), queue("a", 0, "all"), queue("b", 0, "all", reclaim=ANY, within=LOWER_PRIORITY)
    jobs = job("big", "a", 8), job("small", "b", 4)
    plain = submitted(simulator(*queues), *jobs)
    assert plain == submitted(simulator(*(replace(each, weight=5.0) for each in queues)), *jobs)
    assert plain == {"big": "f", "small": "-"}


def test_a_stack_is_simulated_with_its_weights_and_strategies() -> None:
    written = fleet_with({"kueue": {"fairSharing": {"preemptionStrategies": [FINAL]}}})
    team = next(iter(written["teams"].values()))
    next(iter(team["queues"].values()))["fairShareWeight"] = 2.5
    fleet = plan(written)
    setup = build_simulated_fleet(fleet).setup
    assert setup.fair_strategies == (FINAL,)
    assert 2.5 in {each.weight for each in setup.queues}
    assert unmodelled_warnings(fleet) == []


def test_both_strategies_are_warned_of() -> None:
    problems = unmodelled_warnings(plan(fleet_with({"kueue": {"fairSharing": {}}})))
    assert [each.code for each in problems] == ["preemption-loop"]
