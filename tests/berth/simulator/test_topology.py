"""Kueue's placement by topology: recorded decisions, and small set-ups worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from berth.cli.admit.simulate import simulate_arguments
from berth.simulator import agreement
from berth.simulator.pending_reasons import find_pending_reason
from berth.simulator.recorded_cases import build_job, build_setup, read_cases, replay
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.text import RunFormatter
from tests.stack_files import ROOT

FILE = Path(__file__).parent / "topology_cases.yaml"
HOST, RACK = "kubernetes.io/hostname", "rack"


def test_the_model_agrees_with_recorded_decisions() -> None:
    """Where the pods are is compared too."""
    cases, problems = read_cases(FILE)
    assert problems == []
    assert sum(len(case["steps"]) for case in cases) >= 18
    assert [line for each in agreement.find_mismatches(cases) for line in each.lines()] == []


def test_agreement_is_stated_by_feature_and_release() -> None:
    cases, _ = read_cases(FILE)
    steps = len(cases[0]["steps"])
    wrong = [{**step, "then": {}} if number == 0 else step for number, step in enumerate(cases[0]["steps"])]
    altered = [{**cases[0], "steps": wrong}]
    lines = list(agreement.format_features(altered, list(agreement.find_mismatches(altered))))
    assert f"  topology, preferred, Kueue 0.19.2: {steps - 1} of {steps} steps" in lines
    deep = [{"name": "a"}, {"name": "b", "parent": "a"}, {"name": "c", "parent": "b"}]
    queue = {"name": "q", "cohort": "c", "flavors": ["f"], "quotas": []}
    fair = {"case": "x", "fairSharing": ["one", "two"], "cohorts": deep, "clusterQueues": [queue], "steps": []}
    assert list(agreement.case_features(fair)) == ["fair sharing with both strategies", "3 levels of cohorts"]
    assert list(agreement.format_features([{**fair, "fairSharing": None, "cohorts": []}], [])) == []


def a_case(*jobs: dict[str, Any], within: str = "Never") -> dict[str, Any]:
    """Two racks with two hosts of 4 GPUs each, all in the quota of one queue."""
    hosts = [(rack, host) for rack in "ab" for host in (1, 2)]
    return {
        "case": "a",
        "topology": [RACK, HOST],
        "nodes": [{"labels": {RACK: rack, HOST: f"{rack}{n}"}, "allocatable": {"gpu": 4}} for rack, n in hosts],
        "clusterQueues": [
            {
                "name": "q",
                "flavors": ["f"],
                "quotas": [{"flavor": "f", "resource": "gpu", "nominal": 16}],
                "preemption": {"withinClusterQueue": within},
            }
        ],
        "steps": [
            each if "finish" in each else {"submit": {"name": f"j{number}", "queue": "q", **each}}
            for number, each in enumerate(jobs)
        ],
    }


def job(pods: int, gpus: int, priority: int = 0, **topology: object) -> dict[str, Any]:
    return {"pods": pods, "requests": {"gpu": gpus}, "priority": priority, "topology": topology}


def last(case: dict[str, Any]) -> dict[str, dict[str, int] | str]:
    """Where the pods of each job are at the end, or its state."""
    return {name: state.get("domains", state["state"]) for name, state in replay(case)[-1].items()}


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        # Together in one host, in one rack; more than one rack holds is refused, or spread if it is only preferred.
        ([job(2, 2, required=HOST)], {"j0": {"a1": 2}}),
        ([job(3, 2, required=HOST)], {"j0": "pending"}),
        ([job(3, 2, required=RACK)], {"j0": {"a1": 2, "a2": 1}}),
        ([job(5, 2, required=RACK)], {"j0": "pending"}),
        ([job(5, 2, preferred=RACK)], {"j0": {"a1": 2, "a2": 2, "b1": 1}}),
        # The fullest host that still holds all pods is taken.
        ([job(1, 2, required=HOST), job(1, 2, required=HOST)], {"j0": {"a1": 1}, "j1": {"a1": 1}}),
        ([job(1, 3, required=HOST), job(1, 2, required=HOST)], {"j0": {"a1": 1}, "j1": {"a2": 1}}),
        # Without a constraint, what is left of hosts is filled first.
        ([job(1, 3, required=HOST), job(2, 1, unconstrained=True)], {"j0": {"a1": 1}, "j1": {"a2": 2}}),
        ([job(1, 3, required=HOST), job(5, 1, unconstrained=True)], {"j0": {"a1": 1}, "j1": {"a1": 1, "a2": 4}}),
        # Slices of two pods, each in one host: three GPUs of a host hold no slice of pods with two.
        (
            [job(1, 1, required=HOST), job(4, 2, preferred=RACK, sliceRequired=HOST, sliceSize=2)],
            {"j0": {"a1": 1}, "j1": {"b1": 2, "b2": 2}},
        ),
        ([job(4, 3, required=RACK, sliceRequired=HOST, sliceSize=2)], {"j0": "pending"}),
        # Quota is free, but in fragments.
        (
            [job(4, 3, unconstrained=True), job(1, 2, required=HOST)],
            {"j0": dict.fromkeys(("a1", "a2", "b1", "b2"), 1), "j1": "pending"},
        ),
        ([job(1, 1, required="block")], {"j0": "pending"}),
    ],
)
def test_where_pods_go(jobs: list[dict[str, Any]], expected: dict[str, object]) -> None:
    assert last(a_case(*jobs)) == expected


def test_a_job_that_ends_gives_its_nodes_back() -> None:
    full = job(4, 4, unconstrained=True)
    assert last(a_case(full, job(1, 1, required=HOST))) == {
        "j0": {"a1": 1, "a2": 1, "b1": 1, "b2": 1},
        "j1": "pending",
    }
    assert last(a_case(full, job(1, 1, required=HOST), {"finish": "j0"})) == {"j1": {"a1": 1}}


def test_preemption_frees_a_domain_though_quota_is_free() -> None:
    """12 of 16 GPUs are used, one in each host stays free: the job needs a whole host, and takes the last one."""
    small = [job(1, 3, required=HOST) for _ in range(4)]
    case = a_case(*small, job(1, 4, 10, required=HOST), {"finish": "j0"}, within="LowerPriority")
    states = replay(case)
    assert states[4]["j4"] == {"state": "pending"}
    assert [name for name, state in states[4].items() if state.get("evicted")] == ["j3"]
    assert last(case)["j4"] != "pending"
    assert last(a_case(*small, job(1, 4, 10, required=HOST)))["j4"] == "pending"


def test_no_preemption_helps_a_job_that_no_domain_can_hold() -> None:
    case = a_case(job(4, 4, unconstrained=True), job(3, 4, 10, required=RACK), within="LowerPriority")
    assert all("evicted" not in state for state in replay(case)[-1].values())


def test_why_no_domain_fits() -> None:
    case = a_case(job(4, 3, unconstrained=True), job(3, 1, required=RACK))
    simulator = Simulator(build_setup(case))
    for step in case["steps"]:
        simulator.submit(build_job(step["submit"]))
    workload = simulator.workloads["j1"]
    reason = find_pending_reason(simulator.trees["q"], workload, simulator.setup.resource_flavors)
    assert reason.code == "no-nodes"
    assert reason.names == ("f: there is room for 2 of its 3 pods in one rack",)


def test_a_fleet_places_pods_on_its_nodes(tmp_path: Path) -> None:
    """One GPU of each node stays free: a pod with two finds no node."""
    steps = """
stack: gb200
steps:
  - submit: {name: a, queue: llm/train, pods: 18, requests: {nvidia.com/gpu: 3}}
  - submit: {name: b, queue: vision/train, pods: 18, requests: {nvidia.com/gpu: 3}}
  - submit: {name: c, queue: vision/train, pods: 1, requests: {nvidia.com/gpu: 2}}
  - submit: {name: d, queue: vision/train, pods: 1, requests: {nvidia.com/gpu: 1}}
"""
    file = tmp_path / "steps.yaml"
    file.write_text(steps.replace("gb200", str(ROOT / "stacks" / "examples" / "gb200.yaml")), encoding="utf-8")
    (run,) = simulate_arguments([str(file)], [], ROOT).stories
    states = {each.job: each for each in run.unfinished}
    assert {name: str(each.status) for name, each in states.items()} == {
        "a": "admitted",
        "b": "admitted",
        "c": "pending",
        "d": "admitted",
    }
    reason = states["c"].pending_reason
    assert reason is not None
    assert RunFormatter(run).pending_reason(reason) == (
        "there is free quota, but no place in the topology of gb200: there is room for 0 of its 1 pods in its nodes"
    )
