"""`berth why` on states with values of other types, times without a zone, and numbers without a bound."""

from __future__ import annotations

import copy
import json
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from berth.document.text import render_text
from berth.evaluate import evaluate_stack
from berth.jobs.files import ManifestDocument
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.live import read_cluster_state
from berth.why.answer import explain_workload
from berth.why.cluster import SeenCluster
from berth.why.document import why_as_json, why_document
from tests.berth.why.test_why import full, with_condition
from tests.stack_files import ROOT

ODD = (None, "", 0, -1, 10**30, [], {}, True, "x", "2026-13-01T00:00:00Z", "2026-11-23T08:01:30", [None], {"a": None})


def state() -> list[Any]:
    items = full()
    with_condition(items[0], "PodsReady", "Not all pods are ready or succeeded", reason="WaitForStart")
    check = {"name": "dws", "state": "Retry", "message": "no capacity", "requeueAfterSeconds": 60}
    items[2]["status"] |= {
        "requeueState": {"count": 2, "requeueAt": "2026-11-23T08:20:00Z"},
        "admissionChecks": [check | {"lastTransitionTime": "2026-11-23T08:01:30Z"}],
    }
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return [*items, {"kind": "Node", "metadata": {"name": "n", "labels": {}}, "status": ready}]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield from [path] if path else []
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from paths(inner, (*path, key))


@pytest.mark.parametrize("seed", range(8))
def test_an_odd_value_is_a_fault_or_gets_an_answer(seed: int) -> None:
    plan = evaluate_stack(str(ROOT / "tests" / "berth" / "simulator" / "stack.yaml"), pathlib.Path()).fleet_plan
    assert plan is not None
    fleet = build_simulated_fleet(plan)
    chance = random.Random(seed)
    known = list(paths(state()))
    answered = 0
    for _ in range(40):
        items = copy.deepcopy(state())
        *above, last = chance.choice(known)
        place: Any = items
        for step in above:
            place = place[step]
        place[last] = chance.choice(ODD)
        document = ManifestDocument("state.json", {"items": items})
        live, problems = read_cluster_state([document], fleet)
        if any(each.severity == "fault" for each in problems):
            continue
        cluster = SeenCluster(plan, fleet, [document], live)
        answers = [explain_workload(cluster, workload) for workload in cluster.workloads]
        assert render_text(why_document(answers))
        assert json.dumps(why_as_json(answers))
        answered += 1
    assert answered > 20
