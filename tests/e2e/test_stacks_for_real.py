"""Stacks on a real engine and a real cluster: they come up, stay as they are, change, and go without a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from berth.evaluate import evaluate_config
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.project import ROOT, stack_files, stack_name
from tests.e2e.support.queueing import other_guarantee, queueing_part
from tests.e2e.support.stack import Project, counted
from tests.plain import plaintext_secrets

ON_KUEUE = [file for file in stack_files() if "    ack:" not in file.read_text(encoding="utf-8")]
"""Fleets on Alibaba Cloud have no queueing part: kube-queue is there, not Kueue."""


@pytest.mark.parametrize("file", ON_KUEUE, ids=stack_name)
def test_a_stack_is_created_updated_and_destroyed(file: Path, cluster: Cluster, project: Project) -> None:
    part = queueing_part(file, cluster.context)
    print(f"\n{part.stack}: left out: {', '.join(part.left_out) or 'nothing'}; instead: {', '.join(part.added)}")
    before = cluster.objects()
    stack = project.stack(part.stack, part.text())
    made = stack.up()
    assert set(made) == {"created"}
    assert list(plaintext_secrets(json.loads(stack.run("stack", "export")))) == []
    unchanged = {"unchanged": made["created"]}
    assert stack.preview() == unchanged
    assert stack.refresh() == unchanged

    edited, queue = other_guarantee(part)
    stack.write(edited.text())
    assert stack.up()["updated"] >= 1
    assert _quotas(cluster, queue) == _planned(edited.stack, edited.fleet, queue)
    gone = stack.destroy()
    assert gone == {"deleted": made["created"]}
    assert cluster.objects() == before
    print(f"{part.stack}: {made['created']} resources; '{queue}' changed")


def _quotas(cluster: Cluster, queue: str) -> dict[tuple[str, str], int]:
    """What the cluster guarantees: by flavor and accelerator, how many."""
    groups = cluster.get("clusterqueue", queue)["spec"]["resourceGroups"]
    flavors = [flavor for group in groups for flavor in group["flavors"]]
    return {
        (flavor["name"], each["name"]): int(each["nominalQuota"])
        for flavor in flavors
        for each in flavor["resources"]
        if "/" in each["name"]
    }


def _planned(stack: str, fleet: object, queue: str) -> dict[tuple[str, str], int]:
    plan = evaluate_config(stack, fleet, ROOT).fleet_plan
    assert plan is not None
    (item,) = (each for each in plan.cluster_queues if each.name == queue)
    return {
        (flavor.flavor, each.resource): each.nominal
        for flavor in item.flavors
        for each in flavor.quotas
        if "/" in each.resource
    }


def test_the_change_summary_of_an_engine_is_read() -> None:
    printed = "Resources:\n    ~ 1 to update\n\nResources:\n    + 3 created\n    +-1 replaced\n    2 unchanged\n"
    assert counted(printed) == {"created": 3, "replaced": 1, "unchanged": 2}
    assert counted("Outputs:\n") == {}
