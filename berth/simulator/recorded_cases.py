"""Recorded cases: queues and arrivals, what was decided after each step, and what the model says of the same steps.

The form: a list of cases, each with `cohorts`, `clusterQueues` and `steps`; a step submits or finishes a job, and its
`then` holds the state of every unfinished job. A recording looks before those that were pushed out have given their
quota back, which they do when the next step begins.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import yaml

from berth.diagnostics import Problem, Problems
from berth.jobs.files import load_all
from berth.jobs.pod_set import PodSet
from berth.jobs.values import At
from berth.simulator.scheduler.model import (
    ANY,
    BEST_EFFORT_FIFO,
    BORROW_FIRST,
    LOWER_OR_NEWER,
    LOWER_PRIORITY,
    NEVER,
    PUSH_FIRST,
    STOP_SEARCH,
    STRICT_FIFO,
    TRY_NEXT,
    Cell,
    Cohort,
    Fungibility,
    Group,
    Job,
    Preemption,
    Queue,
    Quota,
    Setup,
)
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import Work

Case = dict[str, Any]
Then = dict[str, dict[str, Any]]
"""Job → its state: admitted with a flavor for each resource, or pending; how often evicted, and why last."""


def read(path: pathlib.Path) -> tuple[list[Case], list[Problem]]:
    """The cases of a file, and its faults; with a fault there are no cases."""
    shown = str(path)
    try:
        (value,) = load_all(path.read_text(encoding="utf-8")) or [None]
    except OSError as error:
        return [], [Problem("fault", "no-file", (), f"cannot be read: {error.strerror}", shown)]
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        return [], [Problem("fault", "bad-yaml", (), f"is no YAML: {str(error).splitlines()[0]}", shown)]
    problems = Problems()
    check(At(value, (), problems))
    if problems.refused():
        return [], [problem.at(shown) for problem in problems.found]
    return cast("list[Case]", value), []


def replay(case: Case) -> list[Then]:
    """What the model says after each step."""
    simulator = Simulator(setup_of(case), lagging=True)
    said: list[Then] = []
    for step in case["steps"]:
        if "submit" in step:
            simulator.submit(_job(step["submit"]))
        else:
            simulator.finish(step["finish"])
        said.append({name: _state(work) for name, work in sorted(simulator.works.items())})
    return said


def answered(cases: Iterable[Case]) -> Iterator[Case]:
    """The same cases, with the model's own `then`."""
    for case in cases:
        steps = zip(case["steps"], replay(case), strict=True)
        yield {**case, "steps": [{**step, "then": then} for step, then in steps]}


def setup_of(case: Case) -> Setup:
    """The queues and cohorts of a case."""
    cohorts = tuple(
        Cohort(name=c["name"], parent=c.get("parent"), quotas=_quotas(c.get("quotas", ())))
        for c in case.get("cohorts", ())
    )
    return Setup(queues=tuple(_queue(q) for q in case["clusterQueues"]), cohorts=cohorts)


def _queue(said: Mapping[str, Any]) -> Queue:
    fungibility = said.get("flavorFungibility", {})
    resources = tuple(dict.fromkeys(quota["resource"] for quota in said["quotas"]))
    return Queue(
        name=said["name"],
        cohort=said.get("cohort"),
        strict=said.get("strategy", BEST_EFFORT_FIFO) == STRICT_FIFO,
        groups=(Group(resources=resources, flavors=tuple(said["flavors"])),),
        quotas=_quotas(said["quotas"]),
        preemption=_preemption(said.get("preemption", {})),
        fungibility=Fungibility(
            borrow=fungibility.get("whenCanBorrow", STOP_SEARCH),
            preempt=fungibility.get("whenCanPreempt", TRY_NEXT),
            prefer=fungibility.get("preference", BORROW_FIRST),
        ),
    )


def _preemption(said: Mapping[str, Any]) -> Preemption:
    borrow = said.get("borrowWithinCohort", {})
    return Preemption(
        within_queue=said.get("withinClusterQueue", NEVER),
        reclaim=said.get("reclaimWithinCohort", NEVER),
        borrow=borrow.get("policy", NEVER),
        threshold=borrow.get("maxPriorityThreshold"),
    )


def _quotas(said: Iterable[Mapping[str, Any]]) -> dict[Cell, Quota]:
    return {
        (quota["flavor"], quota["resource"]): Quota(
            nominal=quota["nominal"],
            borrowing_limit=quota.get("borrowingLimit"),
            lending_limit=quota.get("lendingLimit"),
        )
        for quota in said
    }


def _job(said: Mapping[str, Any]) -> Job:
    pods = PodSet(name="main", count=said["pods"], requests=said["requests"])
    return Job(name=said["name"], queue=said["queue"], priority=said.get("priority", 0), pod_sets=(pods,))


def _state(work: Work) -> dict[str, Any]:
    said: dict[str, Any] = {"state": "admitted" if work.holds() else "pending"}
    if work.holds():
        said["flavors"] = dict(sorted(work.flavors[0].items()))
    if work.evictions:
        said["evicted"] = work.evictions
        if not work.holds():
            said["reason"] = work.reason
    return said


# --- whether a file has the form --------------------------------------------------------------------------------------


def check(cases: At) -> None:
    """Add a fault for everything in which a file's value is not of the form."""
    for case in cases.items("a list of cases") or ():
        found = case.keys(("case", "clusterQueues", "steps"), ("cohorts",))
        if found is not None:
            cohorts = found.get("cohorts")
            for cohort in (cohorts.items("a list of cohorts") if cohorts else None) or ():
                _check_cohort(cohort)
            queues = [_check_queue(queue) for queue in found["clusterQueues"].items("a list of cluster queues") or ()]
            _check_steps(found["steps"], {name for name in queues if name})


def _check_cohort(cohort: At) -> None:
    found = cohort.keys(("name",), ("parent", "quotas"))
    if found is not None:
        found["name"].text("a cohort's name")
        if "quotas" in found:
            _check_quotas(found["quotas"])


def _check_queue(queue: At) -> str | None:
    found = queue.keys(("name", "flavors", "quotas"), ("cohort", "strategy", "preemption", "flavorFungibility"))
    if found is None:
        return None
    _check_quotas(found["quotas"])
    for flavor in found["flavors"].items("a list of flavors, in order of preference") or ():
        flavor.text("a flavor's name")
    if "strategy" in found:
        found["strategy"].one_of((STRICT_FIFO, BEST_EFFORT_FIFO))
    if "flavorFungibility" in found:
        keys = ("whenCanBorrow", "whenCanPreempt", "preference")
        for key, rule in (found["flavorFungibility"].keys((), keys) or {}).items():
            rule.one_of((BORROW_FIRST, PUSH_FIRST) if key == "preference" else (STOP_SEARCH, TRY_NEXT))
    if "preemption" in found:
        _check_preemption(found["preemption"])
    return found["name"].text("a cluster queue's name")


def _check_preemption(preemption: At) -> None:
    found = preemption.keys((), ("withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort")) or {}
    if "withinClusterQueue" in found:
        found["withinClusterQueue"].one_of((NEVER, LOWER_PRIORITY, LOWER_OR_NEWER))
    if "reclaimWithinCohort" in found:
        found["reclaimWithinCohort"].one_of((NEVER, LOWER_PRIORITY, ANY))
    if "borrowWithinCohort" in found:
        inner = found["borrowWithinCohort"].keys(("policy",), ("maxPriorityThreshold",))
        if inner:
            inner["policy"].one_of((NEVER, LOWER_PRIORITY))


def _check_quotas(quotas: At) -> None:
    for quota in quotas.items("a list of quotas") or ():
        found = quota.keys(("flavor", "resource", "nominal"), ("borrowingLimit", "lendingLimit")) or {}
        for key in ("nominal", "borrowingLimit", "lendingLimit"):
            if key in found:
                found[key].whole("a whole number from 0", 0)


def _check_steps(steps: At, queues: set[str]) -> None:
    there: set[str] = set()
    for step in steps.items("a list of steps") or ():
        found = step.keys((), ("submit", "finish", "then"))
        if found is None:
            continue
        if ("submit" in found) == ("finish" in found):
            step.fault("bad-step", "a step submits one job or finishes one; write submit or finish")
        elif "submit" in found:
            _check_submit(found["submit"], queues, there)
        elif (name := found["finish"].text("a job's name")) is not None:
            if name not in there:
                found["finish"].fault("no-job", f"no job '{name}' is there to finish; submit it in a step before")
            there.discard(name)


def _check_submit(submit: At, queues: set[str], there: set[str]) -> None:
    found = submit.keys(("name", "queue", "pods", "requests"), ("priority",))
    if found is None:
        return
    queue = found["queue"].text("a cluster queue's name")
    if queue is not None and queue not in queues:
        found["queue"].one_of(sorted(queues))
    found["pods"].whole("a whole number of pods from 1", 1)
    if "priority" in found:
        found["priority"].whole("a whole number", -(2**31), 2**31 - 1)
    for amount in (found["requests"].entries("a mapping of resources to amounts") or {}).values():
        amount.whole("a whole number from 0", 0)
    name = found["name"].text("a job's name")
    if name in there:
        found["name"].fault("twice", f"job '{name}' is there already; finish it first, or write another name")
    if name is not None:
        there.add(name)
