"""Recorded cases: queues, submitted jobs, Kueue's decisions after each step, and those of the model.

A file is a list of cases, each with `cohorts`, `clusterQueues` and `steps`, and with `fairSharing`, the preemption
strategies in order, if fair sharing was on. In a file with a `weight` it was on in every case that does not say. A step
submits or finishes a job, and its `then` has the state of every unfinished job. A recording reads the state before
preempted jobs release their quota, which they do when the next step begins.
"""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from berth.diagnostics import Problem, Problems
from berth.jobs.files import read_values
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import parse_amount
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import SourceValue
from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.simulator.arrivals import already_submitted
from berth.simulator.scheduler.fair_sharing import FAIR_STRATEGIES
from berth.simulator.scheduler.model import (
    ANY,
    BEST_EFFORT_FIFO,
    BORROWING_FIRST,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    NEVER,
    PREEMPTION_FIRST,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
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
    cases = cast("list[RecordedCase]", value)
    if any("weight" in entry for case in cases for entry in (*case["clusterQueues"], *case.get("cohorts", ()))):
        return [{"fairSharing": list(FAIR_STRATEGIES), **case} for case in cases], []
    return cases, []


def replay(case: RecordedCase, late: Collection[int] = ()) -> list[ExpectedStates]:
    """Return the simulated states after each step; in `late` steps, after preempted jobs have released their quota."""
    simulator = Simulator(build_setup(case), delay_release=True)
    states: list[ExpectedStates] = []
    for index, step in enumerate(case["steps"]):
        simulator.delay_release = index not in late
        if "submit" in step:
            simulator.submit(_build_job(step["submit"]))
        else:
            simulator.finish(step["finish"])
        states.append({name: _observed_state(work) for name, work in sorted(simulator.workloads.items())})
    return states


def with_simulated_states(cases: Iterable[RecordedCase]) -> Iterator[RecordedCase]:
    """Yield the cases with the simulated states in `then`."""
    for case in cases:
        steps = zip(case["steps"], replay(case), strict=True)
        yield {**case, "steps": [{**step, "then": then} for step, then in steps]}


def build_setup(case: RecordedCase) -> SchedulerSetup:
    """Return the queues and cohorts of a case."""
    cohorts = tuple(
        Cohort(name=c["name"], parent=c.get("parent"), quotas=_build_quotas(c.get("quotas", ())), weight=_weight(c))
        for c in case.get("cohorts", ())
    )
    strategies = case.get("fairSharing")
    return SchedulerSetup(
        queues=tuple(_build_queue(q) for q in case["clusterQueues"]),
        cohorts=cohorts,
        fair_strategies=None if strategies is None else tuple(strategies),
    )


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
        weight=_weight(entry),
    )


def _weight(entry: Mapping[str, Any]) -> float:
    """Return a weight, which is written as a quantity such as 500m."""
    return (parse_quantity("cpu", entry.get("weight", 1)) or 0) / 1000


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


def _build_job(entry: Mapping[str, Any]) -> Job:
    pod_set = PodSet(name="main", count=entry["pods"], requests=entry["requests"])
    return Job(name=entry["name"], queue=entry["queue"], priority=entry.get("priority", 0), pod_sets=(pod_set,))


def _observed_state(work: SimulatedWorkload) -> dict[str, Any]:
    state: dict[str, Any] = {"state": "admitted" if work.has_quota() else "pending"}
    if work.has_quota():
        state["flavors"] = dict(sorted(work.flavors[0].items()))
    if work.eviction_count:
        state["evicted"] = work.eviction_count
        if not work.has_quota():
            state["reason"] = work.eviction_reason
    return state


# --- validation -------------------------------------------------------------------------------------------------------


def check_cases(cases: SourceValue) -> None:
    """Add a fault for every value of a file that is not in the format."""
    for case in cases.sequence("a list of cases") or ():
        fields = case.known_fields(("case", "clusterQueues", "steps"), ("cohorts", "fairSharing"))
        if fields is not None:
            fields["case"].text("a case's name")
            strategies = fields.get("fairSharing")
            for strategy in (strategies.sequence("a list of preemption strategies") if strategies else None) or ():
                strategy.one_of(FAIR_STRATEGIES)
            cohorts_value = fields.get("cohorts")
            for cohort in (cohorts_value.sequence("a list of cohorts") if cohorts_value else None) or ():
                _check_cohort(cohort)
            queues = [
                _check_queue(queue) for queue in fields["clusterQueues"].sequence("a list of cluster queues") or ()
            ]
            _check_steps(fields["steps"], {name for name in queues if name})


def _check_cohort(cohort: SourceValue) -> None:
    fields = cohort.known_fields(("name",), ("parent", "quotas", "weight"))
    if fields is not None:
        _check_weight(fields)
        fields["name"].text("a cohort's name")
        _check_optional_name(fields.get("parent"))
        if "quotas" in fields:
            _check_quotas(fields["quotas"])


def _check_queue(queue: SourceValue) -> str | None:
    fields = queue.known_fields(
        ("name", "flavors", "quotas"), ("cohort", "strategy", "preemption", "flavorFungibility", "weight")
    )
    if fields is None:
        return None
    _check_weight(fields)
    _check_quotas(fields["quotas"])
    for flavor in fields["flavors"].sequence("a list of flavors, in order of preference") or ():
        flavor.text("a flavor's name")
    _check_optional_name(fields.get("cohort"))
    if "strategy" in fields:
        fields["strategy"].one_of((STRICT_FIFO, BEST_EFFORT_FIFO))
    if "flavorFungibility" in fields:
        keys = ("whenCanBorrow", "whenCanPreempt", "preference")
        for key, rule in (fields["flavorFungibility"].known_fields((), keys) or {}).items():
            rule.one_of(
                (BORROWING_FIRST, PREEMPTION_FIRST) if key == "preference" else (MAY_STOP_SEARCH, TRY_NEXT_FLAVOR)
            )
    if "preemption" in fields:
        _check_preemption(fields["preemption"])
    return fields["name"].text("a cluster queue's name")


def _check_weight(fields: Mapping[str, SourceValue]) -> None:
    if "weight" in fields:
        parse_amount("cpu", fields["weight"])


def _check_preemption(preemption: SourceValue) -> None:
    fields = preemption.known_fields((), ("withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort")) or {}
    if "withinClusterQueue" in fields:
        fields["withinClusterQueue"].one_of((NEVER, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL))
    if "reclaimWithinCohort" in fields:
        fields["reclaimWithinCohort"].one_of((NEVER, LOWER_PRIORITY, ANY))
    if "borrowWithinCohort" in fields:
        borrow_fields = fields["borrowWithinCohort"].known_fields(("policy",), ("maxPriorityThreshold",))
        if borrow_fields:
            borrow_fields["policy"].one_of((NEVER, LOWER_PRIORITY))
            if "maxPriorityThreshold" in borrow_fields:
                borrow_fields["maxPriorityThreshold"].integer("a whole number", -(2**31), 2**31 - 1)


def _check_quotas(quotas: SourceValue) -> None:
    for quota in quotas.sequence("a list of quotas") or ():
        fields = quota.known_fields(("flavor", "resource", "nominal"), ("borrowingLimit", "lendingLimit")) or {}
        for key in fields.keys() & {"flavor", "resource"}:
            fields[key].text(f"a {key}'s name")
        for key in ("nominal", "borrowingLimit", "lendingLimit"):
            if key in fields:
                fields[key].integer("a whole number from 0", 0)


def _check_steps(steps: SourceValue, queues: set[str]) -> None:
    unfinished: set[str] = set()
    for step in steps.sequence("a list of steps") or ():
        fields = step.known_fields((), ("submit", "finish", "then"))
        if fields is None:
            continue
        if "then" in fields:
            _check_states(fields["then"])
        if ("submit" in fields) == ("finish" in fields):
            step.fault("bad-step", "a step submits one job or finishes one; write submit or finish")
        elif "submit" in fields:
            _check_submit(fields["submit"], queues, unfinished)
        elif (name := fields["finish"].text("a job's name")) is not None:
            if name not in unfinished:
                fields["finish"].fault("no-job", f"no unfinished job '{name}'; submit it in an earlier step")
            unfinished.discard(name)


def _check_optional_name(cohort: SourceValue | None) -> None:
    if cohort is not None and cohort.value is not None:
        cohort.text("a cohort's name")


def _check_states(states: SourceValue) -> None:
    for state in (states.mapping("a mapping of jobs to their states") or {}).values():
        fields = state.known_fields(("state",), ("flavors", "evicted", "reason")) or {}
        for key in fields.keys() & {"state", "reason"}:
            fields[key].text(f"a {key}")
        if "flavors" in fields:
            for flavor in (fields["flavors"].mapping("a mapping of resources to flavors") or {}).values():
                flavor.text("a flavor's name")
        if "evicted" in fields:
            fields["evicted"].integer("a whole number from 0", 0)


def _check_submit(submit: SourceValue, queues: set[str], unfinished: set[str]) -> None:
    fields = submit.known_fields(("name", "queue", "pods", "requests"), ("priority",))
    if fields is None:
        return
    queue = fields["queue"].text("a cluster queue's name")
    if queue is not None and queue not in queues:
        fields["queue"].one_of(sorted(queues))
    fields["pods"].integer("a whole number of pods from 1", 1)
    if "priority" in fields:
        fields["priority"].integer("a whole number", -(2**31), 2**31 - 1)
    for amount in (fields["requests"].mapping("a mapping of resources to amounts") or {}).values():
        amount.integer("a whole number from 0", 0)
    name = fields["name"].text("a job's name")
    if name in unfinished:
        fields["name"].fault("twice", already_submitted(name))
    if name is not None:
        unfinished.add(name)
