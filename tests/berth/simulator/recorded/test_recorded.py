"""What real Kueue 0.19.2 decided with topologies, fair sharing and turns of local queues, and what the model says."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth.simulator import agreement
from berth.simulator.recorded_cases import build_setup, read_cases, replay

HERE = Path(__file__).parent

UNEXPLAINED = {
    "topologies": {"ta0113": 1},
    "fair": {"dc0022": 1, "ve0012": 1},
    "local_queues": {"ub0001": 4, "uc0001": 3, "uc0030": 1, "uc0036": 7, "uc0041": 3, "uc0057": 2},
}
"""File → case → steps that differ (docs/admission.md)."""


@pytest.mark.parametrize(
    ("name", "number", "steps"), [("topologies", 199, 1727), ("fair", 109, 1085), ("local_queues", 80, 995)]
)
def test_the_model_agrees_with_recorded_decisions_of_each_feature(name: str, number: int, steps: int) -> None:
    """The model was written before fair.yaml and local_queues.yaml were seen; one rule of topologies was corrected."""
    cases, problems = read_cases(HERE / f"{name}.yaml")
    assert problems == []
    assert (len(cases), sum(len(case["steps"]) for case in cases)) == (number, steps)
    differing: dict[str, int] = {}
    for each in agreement.find_mismatches(cases):
        differing[each.case] = differing.get(each.case, 0) + 1
    assert differing == UNEXPLAINED[name]


def test_changes_are_all_states_of_a_step(tmp_path: Path) -> None:
    """A job that finishes is gone, and the others stay as they were."""
    path = tmp_path / "cases.yaml"
    path.write_text(
        "- case: a\n"
        "  settled: true\n"
        "  clusterQueues: [{name: q, flavors: [f], quotas: [{flavor: f, resource: gpu, nominal: 4}]}]\n"
        "  steps:\n"
        "  - {submit: {name: x, queue: q, pods: 1, requests: {gpu: 1}}, changes: {x: {state: admitted}}}\n"
        "  - {submit: {name: y, queue: q, pods: 1, requests: {gpu: 9}}, changes: {y: {state: pending}}}\n"
        "  - {finish: x, changes: {}}\n",
        encoding="utf-8",
    )
    ((case,), problems) = read_cases(path)
    assert problems == []
    x, y = {"state": "admitted"}, {"state": "pending"}
    assert [step["then"] for step in case["steps"]] == [{"x": x}, {"x": x, "y": y}, {"y": y}]


@pytest.mark.parametrize("weight", ["0.25", "250m"])
def test_a_weight_of_a_resource_is_a_quantity(tmp_path: Path, weight: str) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(
        "- case: a\n"
        "  admissionFairSharing:\n"
        f"    {{usageHalfLifeTime: 60, usageSamplingInterval: 5, resourceWeights: {{gpu: {weight}}}}}\n"
        "  clusterQueues:\n"
        "  - {name: q, flavors: [f], quotas: [{flavor: f, resource: gpu, nominal: 4}], localQueues: {l: 1},\n"
        "     usageBased: true}\n"
        "  steps:\n"
        "  - {submit: {name: x, queue: q, localQueue: l, pods: 1, requests: {gpu: 1}}}\n",
        encoding="utf-8",
    )
    ((case,), problems) = read_cases(path)
    assert problems == []
    assert replay(case) == [{"x": {"state": "admitted", "flavors": {"gpu": "f"}}}]
    rules = build_setup(case).admission_fair_sharing
    assert rules is not None
    assert rules.resource_weights == {"gpu": 0.25}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("settled: yes please", "settled: 'yes please' is not true"),
        ("admissionFairSharing: {usageHalfLifeTime: 0, usageSamplingInterval: 5}", "usageHalfLifeTime"),
        ("admissionFairSharing: {usageHalfLifeTime: 5}", "usageSamplingInterval"),
    ],
)
def test_a_setting_of_a_case_that_is_none_is_a_fault(tmp_path: Path, written: str, message: str) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(f"- case: a\n  {written}\n  clusterQueues: []\n  steps: []\n", encoding="utf-8")
    cases, problems = read_cases(path)
    assert cases == []
    assert message in problems[0].line()
