"""Queues: whose they are, who gets in, by which rules they share; and the priorities and cohorts they refer to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.small_fleets import REMOVED, TRAIN, faults, fleet_with, message, plan, queue, run_planner, team

SHARED: dict[str, Any] = {
    "clusterQueues": {"common": {"teams": ["vision", "speech"], "flavors": [{"pool": "l4", "guaranteed": 8}]}},
    "teams.vision.queues.urgent": REMOVED,
    "teams.speech.queues.serve": REMOVED,
}
"""The L4 of the small fleet behind one queue for both teams."""

NEVER = {"withinClusterQueue": "Never", "reclaimWithinCohort": "Never"}


# --- a team's own queue -----------------------------------------------------------------------------------------------


def test_a_cluster_queue_is_named_after_team_and_queue_and_its_local_queue_after_the_queue() -> None:
    """Cluster queues are cluster-scoped, so two teams' `train` need two names; local queues are not."""
    result = queue(plan(fleet_with()), "vision-train")
    assert (result.teams, result.cohort, result.namespaces) == (("vision",), "research", ("vision",))
    assert [(d.name, d.namespace, d.cluster_queue, d.team) for d in result.local_queues] == [
        ("train", "vision", "vision-train", "vision")
    ]


def test_names_that_others_depend_on_can_be_given() -> None:
    result = queue(plan(fleet_with({f"{TRAIN}.name": "cq", f"{TRAIN}.localQueue": "lq"})), "cq")
    assert [d.name for d in result.local_queues] == ["lq"]


def test_a_queue_admits_only_its_teams_namespace_by_default() -> None:
    """None is Kueue's `{}`, every namespace; left out, Kueue would admit nothing."""
    assert queue(plan(fleet_with({"teams.vision.namespace": "ns"})), "vision-train").namespaces == ("ns",)
    assert queue(plan(fleet_with({f"{TRAIN}.namespaces": "all"})), "vision-train").namespaces is None


def test_queues_come_by_name_and_not_in_the_order_of_the_file() -> None:
    names = [q.name for q in plan(fleet_with()).cluster_queues]
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("changes", "protected"),
    [
        ({}, True),
        ({f"{TRAIN}.flavors.0": {"pool": "v5e", "borrow": "1 slice"}}, False),
        ({f"{TRAIN}.stopPolicy": "Hold"}, True),
        ({f"{TRAIN}.stopPolicy": "HoldAndDrain"}, False),
        ({"allowDeletion": {"clusterQueues.vision-train": "the project is over"}}, False),
        ({"allowDeletion": {"clusterQueues.speech-train": "the project is over"}}, True),
        ({"allowReplacement": {"cluster": "moves"}}, False),
        ({"protect": False}, False),
    ],
)
def test_a_queue_with_a_guarantee_is_protected(changes: dict[str, Any], protected: bool) -> None:
    assert queue(plan(fleet_with(changes)), "vision-train").protect is protected


# --- a shared queue ---------------------------------------------------------------------------------------------------


def test_a_shared_queue_has_a_local_queue_in_each_teams_namespace() -> None:
    result = queue(plan(fleet_with(SHARED)), "common")
    assert (result.teams, result.namespaces, result.cohort) == (("speech", "vision"), ("speech", "vision"), None)
    assert [(d.name, d.namespace) for d in result.local_queues] == [("common", "speech"), ("common", "vision")]


def test_shared_quota_is_guaranteed_to_no_team_and_in_every_ceiling() -> None:
    """Adding it to each team's guarantee would promise it twice."""
    fleet_plan = plan(fleet_with(SHARED))
    for name, own in (("vision", 8), ("speech", 16)):
        assert team(fleet_plan, name).guaranteed == {"v5e": own}
        assert team(fleet_plan, name).ceiling == {"l4": 8, "v5e": own}


def test_a_shared_queue_may_be_in_a_cohort_of_its_own() -> None:
    assert queue(plan(fleet_with({**SHARED, "clusterQueues.common.cohort": "research"})), "common").cohort == "research"


# --- references and names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"teams.vision.cohort": "reserch"}, "unknown-reference teams.vision.cohort"),
        ({f"{TRAIN}.priority": "hihg"}, "unknown-reference teams.vision.queues.train.priority"),
        ({**SHARED, "clusterQueues.common.teams": ["vision", "x"]}, "unknown-reference clusterQueues.common.teams[1]"),
        ({**SHARED, "clusterQueues.common.teams": ["vision", "vision"]}, "bad-value clusterQueues.common.teams"),
        ({**SHARED, "clusterQueues.common.cohort": "x"}, "unknown-reference clusterQueues.common.cohort"),
        ({f"{TRAIN}.name": "vision-urgent"}, "duplicate-name teams.vision.queues.train.name"),
        ({f"{TRAIN}.name": "speech-serve"}, "duplicate-name teams.vision.queues.train.name"),
        ({f"{TRAIN}.localQueue": "urgent"}, "duplicate-name teams.vision.queues.train.localQueue"),
        ({**SHARED, "clusterQueues.common.localQueue": "train"}, "duplicate-name clusterQueues.common.localQueue"),
    ],
)
def test_a_reference_to_nothing_and_a_name_used_twice_are_faults(change: dict[str, Any], expected: str) -> None:
    assert expected in faults(fleet_with(change))


def test_a_repeated_name_has_the_place_of_the_first_use() -> None:
    text = message(fleet_with({f"{TRAIN}.name": "speech-serve"}), "duplicate-name")
    assert text == "cluster queue 'speech-serve' already belongs to teams.speech.queues.serve; write another name"


def test_two_teams_may_give_their_queues_the_same_local_name() -> None:
    assert faults(fleet_with()) == []
    assert {d.name for q in plan(fleet_with()).cluster_queues for d in q.local_queues} == {"train", "urgent", "serve"}


# --- preemption and order ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "within", "reclaim"),
    [
        ({}, "LowerPriority", "Any"),
        ({f"{TRAIN}.preemption": NEVER}, "Never", "Never"),
        ({f"{TRAIN}.preemption": {"reclaimWithinCohort": "LowerPriority"}}, "LowerPriority", "LowerPriority"),
        ({"teams.vision.cohort": REMOVED}, "LowerPriority", "Never"),
    ],
)
def test_by_default_a_queue_reclaims_its_guarantee(change: dict[str, Any], within: str, reclaim: str) -> None:
    """A guarantee that has to wait for a borrower is none; without a cohort there is nothing to take back."""
    fleet_plan = queue(run_planner(fleet_with(change)).plan, "vision-train").preemption
    assert (fleet_plan.within_cluster_queue, fleet_plan.reclaim_within_cohort) == (within, reclaim)
    assert (fleet_plan.borrow_within_cohort, fleet_plan.max_priority_threshold) == (None, None)


def test_a_queue_can_preempt_while_borrowing_if_configured() -> None:
    rule = {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 10}}
    result = queue(plan(fleet_with({f"{TRAIN}.preemption": rule})), "vision-train").preemption
    assert (result.borrow_within_cohort, result.max_priority_threshold) == ("LowerPriority", 10)


@pytest.mark.parametrize(
    "change", [{f"{TRAIN}.preemption.reclaimWithinCohort": "Never"}, {"teams.vision.cohort": REMOVED}]
)
def test_without_reclaim_a_queue_cannot_preempt_to_borrow(change: dict[str, Any]) -> None:
    """Kueue's webhook refuses the pair (Kueue 0.19 webhooks)."""
    rule = {f"{TRAIN}.preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}}
    assert faults(fleet_with({**rule, **change})) == [f"bad-preemption {TRAIN}.preemption.borrowWithinCohort"]


def test_omitted_queue_fields_have_kueues_defaults() -> None:
    result = queue(plan(fleet_with()), "vision-train")
    assert (result.queueing_strategy, result.when_can_borrow, result.when_can_preempt) == ("BestEffortFIFO", None, None)


def test_fungibility_and_strategy_match_the_stack_file() -> None:
    written = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"}
    change = {f"{TRAIN}.flavorFungibility": written, f"{TRAIN}.queueingStrategy": "StrictFIFO"}
    result = queue(plan(fleet_with(change)), "vision-train")
    assert result.queueing_strategy == "StrictFIFO"
    assert (result.when_can_borrow, result.when_can_preempt) == ("TryNextFlavor", "MayStopSearch")


# --- priorities, cohorts, controllers ---------------------------------------------------------------------------------


def test_priorities_come_the_lowest_first() -> None:
    fleet_plan = plan(fleet_with({"priorities.middle": {"value": 15}})).priorities
    assert [(p.name, p.value, p.default, p.preempts) for p in fleet_plan] == [
        ("low", 10, True, False), ("middle", 15, False, True), ("high", 20, False, True)
    ]  # fmt: skip


def test_a_cluster_has_one_default_priority() -> None:
    fleet = fleet_with({"priorities.high.default": True})
    assert faults(fleet) == ["two-defaults priorities.high.default"]
    assert message(fleet, "two-defaults").startswith("'low' is already the default")


def test_priority_names_with_the_prefix_system_are_rejected() -> None:
    assert faults(fleet_with({"priorities.system-low": {"value": 1}})) == ["bad-value priorities.system-low"]


def test_cohorts_are_flat_and_each_is_declared() -> None:
    fleet_plan = plan(fleet_with({"cohorts.empty": None})).cohorts
    assert [(c.name, c.parent) for c in fleet_plan] == [("empty", None), ("research", None)]


def test_jobset_is_installed_before_kueue_at_pinned_releases() -> None:
    """Kueue looks for JobSet's kind when it starts (Kueue docs: installation)."""
    fleet_plan = plan(fleet_with()).charts
    assert [(c.name, c.version, c.namespace) for c in fleet_plan] == [
        ("jobset", "0.12.0", "jobset-system"), ("kueue", "0.19.2", "kueue-system")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kueue": {"existing": True}}, ["jobset 0.12.0"]),
        ({"kueue": {"existing": True}, "jobset": {"existing": True}}, []),
        ({"kueue": {"version": "0.20.0"}}, ["jobset 0.12.0", "kueue 0.20.0"]),
    ],
)
def test_an_existing_controller_is_not_installed(change: dict[str, Any], expected: list[str]) -> None:
    assert [f"{c.name} {c.version}" for c in plan(fleet_with(change)).charts] == expected


def test_a_chart_may_come_from_a_mirror() -> None:
    values = {c.name: c.chart for c in plan(fleet_with({"kueue": {"chart": "oci://mirror.local/kueue"}})).charts}
    assert values == {"kueue": "oci://mirror.local/kueue", "jobset": "oci://registry.k8s.io/jobset/charts/jobset"}


def test_pods_have_an_hour_to_be_ready_by_default() -> None:
    """Kueue's own 30 minutes are too short for a large slice (systems.md, section 0)."""
    for change, seconds in ({}, 3600), ({"kueue": {"waitForPodsReadyMinutes": 45}}, 2700):
        values = str(plan(fleet_with(change)).charts[1].values)
        assert f'"timeout": "{seconds}s"' in values.replace("\\n", "\n")
