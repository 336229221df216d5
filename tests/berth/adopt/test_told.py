"""The lines that `berth adopt` prints: three parts, nothing twice, and what to do."""

from __future__ import annotations

import json
from typing import Any

from berth.adopt.api_objects import Fate, NotAdopted
from berth.adopt.first_update import first_update_changes
from berth.adopt.inventory import read_inventory
from berth.cli.adopt import answer
from berth.cli.adopt.answer import AdoptionResult, adopt_inventory
from tests.gke_answers import files
from tests.stack_files import plan


def told(edit: Any, *, stack: str = "dev") -> list[str]:
    """Return what is not adopted of the example with an edit of its answers."""
    answers = {name: json.loads(text) for name, text in files(plan(stack), noise=True).items()}
    edit(answers)
    inventory = read_inventory({name: json.dumps(each) for name, each in answers.items()}, None)
    return [each.line() for each in adopt_inventory(inventory, stack)[1].not_adopted]


def test_lines_have_three_parts_and_the_next_step() -> None:
    result = AdoptionResult(
        {},
        (
            NotAdopted("flavor a", "becomes b", Fate.CHANGED),
            NotAdopted("2 dashboards", "in no answer", Fate.CREATED),
            NotAdopted("node pool x", "stays"),
            NotAdopted("flavor b", "becomes c", Fate.CHANGED),
        ),
        (),
    )
    assert [*answer.change_lines(result), *answer.written_lines(result)] == [
        "not adopted, or assumed (1):",
        "  node pool x: stays",
        "changed by the first `pulumi up` (2):",
        "  flavor a: becomes b",
        "  flavor b: becomes c",
        "created by the first `pulumi up` (1):",
        "  2 dashboards: in no answer",
        "next: read these lines, then import the resources (docs/adopt.md, step 3)",
    ]


def test_objects_of_a_kind_that_get_labels_share_a_line() -> None:
    answers = {name: json.loads(text) for name, text in files(plan("dev"), noise=True).items()}
    queues = [each for each in answers["objects.json"]["items"] if each["kind"] == "ClusterQueue"]
    for queue in queues:
        queue["metadata"]["labels"] = {}
    inventory = read_inventory({name: json.dumps(each) for name, each in answers.items()}, None)
    evaluation = adopt_inventory(inventory, "dev")[2]
    assert evaluation.fleet_plan is not None
    lines = [
        each.line()
        for each in first_update_changes(inventory, evaluation.fleet_plan)
        if each.subject.startswith("Cluster")
    ]
    assert len(queues) > 5
    (line,) = [each for each in lines if each.endswith(": labels added: app.kubernetes.io/managed-by, berth.dev/team")]
    assert f"({len(queues)} in all)" in line


def test_a_change_of_prices_in_recording_rules_is_listed() -> None:
    def edit(answers: Any) -> None:
        rules = [{"record": "berth:accelerator:price_per_hour", "expr": "vector(1)"}]
        spec = {"groups": [{"name": "berth", "rules": rules}]}
        (found,) = [
            each
            for each in answers["objects.json"]["items"]
            if (each["kind"], each["metadata"]["name"]) == ("ClusterRules", "berth")
        ]
        found["spec"] = spec

    line = (
        "monitoring.prices: the cluster's recording rules have prices, which are not read; write them, or the first "
        "`pulumi up` removes the rules"
    )
    assert [each for each in told(edit) if each.startswith("monitoring")] == [line]
    assert [each for each in told(lambda _: None) if each.startswith("monitoring")] == []


def test_a_default_pool_is_reported_once_for_any_machine() -> None:
    deleted = "the first `pulumi up` would delete it: fix the state after the import (docs/adopt.md, step 3)"

    def renamed(name: str) -> Any:
        def edit(answers: Any) -> None:
            (node_pool,) = [each for each in answers["node-pools.json"] if each["name"] == name]
            node_pool["name"] = "default-pool"

        return edit

    assert [each for each in told(renamed("l4-spot")) if "default-pool" in each and each.startswith("node pool")] == [
        f"node pool default-pool: {deleted}"
    ]
    (line,) = [each for each in told(renamed("system")) if each.startswith("node pool default-pool")]
    assert line.endswith(f"has no accelerators that Berth knows; {deleted}")
