"""Recorded cases: queues, submitted jobs, Kueue's decisions after each step, and those of the model.

A file is a list of cases, each with `cohorts`, `clusterQueues` and `steps`; with `kueue`, the release; with
`fairSharing`, the strategies of preemption in order, if fair sharing was on; and with `topology` (levels) and `nodes`,
whose labels are in the order of the levels, if Kueue placed the pods. In a file with a `weight` fair sharing was on in
every case that does not say. With `admissionFairSharing` (times in seconds) the `localQueues` of a queue that is
`usageBased` take turns by usage, and each step has its second in `at`. A step submits or finishes a job, and its `then`
has the state of every unfinished job; or `changes` has those that differ from the step before. A recording reads the
state before preempted jobs release their quota, which they do when the next step begins; one that is `settled`, after.
"""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from berth.diagnostics import Problem, Problems
from berth.jobs.files import read_values
from berth.jobs.pod_set import PodSet
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import SourceValue
from berth.placement.kueue import ResourceFlavor
from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.simulator.recorded_format import build_nodes, build_request, check_cases
from berth.simulator.scheduler.fair_sharing import FAIR_STRATEGIES
from berth.simulator.scheduler.model import (
    BEST_EFFORT_FIFO,
    BORROWING_FIRST,
    MAY_STOP_SEARCH,
    NEVER,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
    AdmissionFairSharing,
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    FlavorResource,
    Job,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import SimulatedWorkload
from berth.simulator.topology_rooms import PlacedPods

RecordedCase = dict[str, Any]
ExpectedStates = dict[str, dict[str, Any]]
"""Job → its state: admitted with a flavor for each resource, or pending; number of evictions and the last reason."""


def read_cases(path: pathlib.Path) -> tuple[list[RecordedCase], list[Problem]]:
    """Return the cases of a file and its faults; no cases if there is a fault."""
    path_text = str(path)
    values, faults = read_values(path, path_text)
    if faults:
        return [], faults
    value = values[0] if len(values) == 1 else None
    problems = Problems()
    check_cases(SourceValue(value, (), problems))
    if problems.has_faults():
        return [], [problem.with_place(path_text) for problem in problems.entries]
    cases = [_with_all_states(case) for case in cast("list[RecordedCase]", value)]
    if any("weight" in entry for case in cases for entry in (*case["clusterQueues"], *case.get("cohorts", ()))):
        return [{"fairSharing": list(FAIR_STRATEGIES), **case} for case in cases], []
    return cases, []


def _with_all_states(case: RecordedCase) -> RecordedCase:
    """Return a case with the states of all jobs in each step."""
    states: ExpectedStates = {}
    steps: list[dict[str, Any]] = []
    for step in case["steps"]:
        full: dict[str, Any] = {key: value for key, value in step.items() if key != "changes"}
        if "changes" in step:
            changed: ExpectedStates = step["changes"] or {}
            full["then"] = {name: each for name, each in {**states, **changed}.items() if name != step.get("finish")}
        states = full.get("then", {})
        steps.append(full)
    return {**case, "steps": steps}


def replay(case: RecordedCase, late: Collection[int] = ()) -> list[ExpectedStates]:
    """Return the simulated states after each step; in `late` steps, after preempted jobs have released their quota."""
    simulator = Simulator(build_setup(case), delay_release=True)
    simulator.moment.has_clock = True
    states: list[ExpectedStates] = []
    times = [step.get("at", 0) for step in case["steps"]]
    for index, step in enumerate(case["steps"]):
        simulator.delay_release = index not in late and not case.get("settled")
        simulator.moment.now = times[index]
        if "submit" in step:
            simulator.submit(build_job(step["submit"]))
        else:
            simulator.finish(step["finish"])
        if index + 1 < len(times):
            _pass_time(simulator, times[index + 1])
        states.append({name: _observed_state(work) for name, work in sorted(simulator.workloads.items())})
    return states


def _pass_time(simulator: Simulator, end: float) -> None:
    """Let time pass, in which local queues may take turns."""
    while (turn := simulator.next_turn()) is not None and turn <= end:
        simulator.moment.now = turn
        simulator.take_turns()
    simulator.moment.now = end


def with_simulated_states(cases: Iterable[RecordedCase]) -> Iterator[RecordedCase]:
    """Yield the cases with the simulated states in `then`."""
    for case in cases:
        steps = zip(case["steps"], replay(case), strict=True)
        yield {**case, "steps": [{**step, "then": then} for step, then in steps]}


def build_setup(case: RecordedCase) -> SchedulerSetup:
    """Return the queues and cohorts of a case."""
    cohorts = tuple(
        Cohort(
            name=c["name"],
            parent=c.get("parent"),
            quotas=_build_quotas(c.get("quotas", ())),
            weight=_weight(c.get("weight", 1)),
        )
        for c in case.get("cohorts", ())
    )
    strategies = case.get("fairSharing")
    return SchedulerSetup(
        queues=tuple(_build_queue(q) for q in case["clusterQueues"]),
        cohorts=cohorts,
        fair_strategies=None if strategies is None else tuple(strategies),
        admission_fair_sharing=_build_rules(case.get("admissionFairSharing")),
        **_build_topology(case),
    )


def _build_rules(entry: Mapping[str, Any] | None) -> AdmissionFairSharing | None:
    if entry is None:
        return None
    return AdmissionFairSharing(
        half_life_seconds=entry["usageHalfLifeTime"],
        sampling_seconds=entry["usageSamplingInterval"],
        resource_weights=_weights(entry.get("resourceWeights", {})),
    )


def _build_topology(case: RecordedCase) -> dict[str, Any]:
    """Return the nodes of a case, which all of its flavors have in common, and their levels."""
    if "topology" not in case:
        return {}
    flavors = {quota["flavor"] for queue in case["clusterQueues"] for quota in queue["quotas"]}
    levels = tuple(case["topology"])
    return {
        "topology_nodes": {flavor: build_nodes(case["nodes"], flavor) for flavor in flavors},
        "resource_flavors": {flavor: ResourceFlavor(levels=levels) for flavor in flavors},
    }


def _build_queue(entry: Mapping[str, Any]) -> ClusterQueue:
    fungibility = entry.get("flavorFungibility", {})
    resources = tuple(dict.fromkeys(quota["resource"] for quota in entry["quotas"]))
    return ClusterQueue(
        name=entry["name"],
        cohort=entry.get("cohort"),
        is_strict_fifo=entry.get("strategy", BEST_EFFORT_FIFO) == STRICT_FIFO,
        resource_groups=(ResourceGroup(resources=resources, flavors=tuple(entry["flavors"])),),
        quotas=_build_quotas(entry["quotas"]),
        preemption=_build_preemption(entry.get("preemption", {})),
        fungibility=FlavorFungibility(
            when_can_borrow=fungibility.get("whenCanBorrow", MAY_STOP_SEARCH),
            when_can_preempt=fungibility.get("whenCanPreempt", TRY_NEXT_FLAVOR),
            preference=fungibility.get("preference", BORROWING_FIRST),
        ),
        weight=_weight(entry.get("weight", 1)),
        local_weights=_weights(entry["localQueues"]) if entry.get("usageBased") else None,
    )


def _weights(entry: Mapping[str, object]) -> dict[str, float]:
    return {name: _weight(written) for name, written in entry.items()}


def _weight(written: object) -> float:
    """Return a weight, which is written as a quantity such as 500m."""
    return (parse_quantity("cpu", written) or 0) / 1000


def _build_preemption(entry: Mapping[str, Any]) -> PreemptionPlan:
    borrow_entry = entry.get("borrowWithinCohort", {})
    return PreemptionPlan(
        within_cluster_queue=entry.get("withinClusterQueue", NEVER),
        reclaim_within_cohort=entry.get("reclaimWithinCohort", NEVER),
        borrow_within_cohort=borrow_entry.get("policy", NEVER),
        max_priority_threshold=borrow_entry.get("maxPriorityThreshold"),
    )


def _build_quotas(entries: Iterable[Mapping[str, Any]]) -> dict[FlavorResource, QuotaLimits]:
    return {
        (quota["flavor"], quota["resource"]): QuotaLimits(
            nominal=quota["nominal"],
            borrowing_limit=quota.get("borrowingLimit"),
            lending_limit=quota.get("lendingLimit"),
        )
        for quota in entries
    }


def build_job(entry: Mapping[str, Any]) -> Job:
    """Return the job of a step that submits it."""
    topology = build_request(entry.get("topology"))
    pod_set = PodSet(name="main", count=entry["pods"], requests=entry["requests"], topology=topology)
    return Job(
        name=entry["name"],
        queue=entry["queue"],
        priority=entry.get("priority", 0),
        pod_sets=(pod_set,),
        local_queue=entry.get("localQueue", ""),
    )


def _observed_state(work: SimulatedWorkload) -> dict[str, Any]:
    state: dict[str, Any] = {"state": "admitted" if work.has_quota() else "pending"}
    if work.has_quota():
        state["flavors"] = dict(sorted(work.flavors[0].items()))
        if domains := _domains(work):
            state["domains"] = domains
    if work.eviction_count:
        state["evicted"] = work.eviction_count
        if not work.has_quota():
            state["reason"] = work.eviction_reason
    return state


def _domains(work: SimulatedWorkload) -> dict[str, int]:
    """Return the pods of a job in each domain of the lowest level."""
    pods: dict[str, int] = {}
    for placed in work.usage:
        if isinstance(placed, PlacedPods):
            for leaf, count in placed.nodes:
                labels = list(leaf.node_class.group.labels.items())
                pods[labels[-1][1]] = pods.get(labels[-1][1], 0) + count
    return dict(sorted(pods.items()))
