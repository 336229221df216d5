"""`berth diff --live FILE`: the admitted jobs that a change hits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.berth.diff.edits.edited import BASE, plan, write

NAMESPACE = "language"
SMALLER = "max: 12}, capacity: spot → max: 8}, capacity: spot; guaranteed: 12 → guaranteed: 6"
REPLACED = "max: 12}, capacity: spot → max: 12}, capacity: spot, localSsd: {ephemeral: 2}"
HIGHER = "high: {value: 20} → high: {value: 30}"


def workload(name: str, queue: str, *, flavor: str, count: int, priority: int, day: int) -> dict[str, Any]:
    """A Workload that Kueue admitted on a day of November, as kubectl prints it."""
    resource = next(each.resource for each in plan().flavors if each.name == flavor)
    moment = f"2026-11-{day:02}T08:00:00Z"
    conditions = [
        {"type": each, "status": "True", "lastTransitionTime": moment} for each in ("QuotaReserved", "Admitted")
    ]
    owner = {"kind": "Job", "name": name, "controller": True}
    assignment = {"name": "main", "flavors": {resource: flavor}, "resourceUsage": {resource: str(count)}, "count": 1}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "namespace": queue.partition("-")[0],
            "name": f"job-{name}",
            "creationTimestamp": moment,
            "ownerReferences": [owner],
        },
        "spec": {"queueName": queue.partition("-")[2], "priority": priority, "podSets": []},
        "status": {
            "conditions": conditions,
            "admission": {"clusterQueue": queue, "podSetAssignments": [assignment]},
        },
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the stack dev, and what kubectl printed of its workloads."""
    write(tmp_path, BASE)
    queue = next(each.name for each in plan().cluster_queues if any(e.flavor == "l4-spot" for e in each.flavors))
    items = [
        workload("important", queue, flavor="l4-spot", count=8, priority=20, day=1),
        workload("old", queue, flavor="l4-spot", count=8, priority=10, day=2),
        workload("new", queue, flavor="l4-spot", count=8, priority=10, day=3),
    ]
    (tmp_path / "workloads.json").write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def diff(folder: Path, edit: str, *words: str) -> str:
    """What the verb prints of one edit of the stack."""
    text = BASE["Pulumi.dev.yaml"]
    for before, after in (pair.split(" → ") for pair in edit.split("; ")):
        text = text.replace(before, after)
    (folder / "Pulumi.next.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["diff", "dev", "next", "--live", "workloads.json", *words])
    assert result.stderr == ""
    return result.stdout


def test_a_shrunk_pool_names_the_jobs_that_hold_it_the_first_to_be_preempted_first(folder: Path) -> None:
    output = diff(folder, SMALLER)
    section = output[output.index("Admitted jobs affected") :]
    assert [line.split(":")[0].strip() for line in section.splitlines()[2:]] == [
        f"{NAMESPACE}/{job}" for job in ("new", "old", "important")
    ]


def test_a_change_without_capacity_affects_no_job(folder: Path) -> None:
    assert diff(folder, HIGHER).endswith("Admitted jobs affected\n  none\n")


def test_json_and_markdown_have_them_too(folder: Path) -> None:
    (hit,) = json.loads(diff(folder, REPLACED, "--format", "json"))["admittedJobs"]
    assert (hit["flavor"], hit["admitted"], len(hit["jobs"])) == ("l4-spot", 24, 3)
    assert "**Admitted jobs affected**" in diff(folder, REPLACED, "--format", "markdown")


def test_a_file_that_is_not_json_is_a_fault(folder: Path) -> None:
    (folder / "workloads.json").write_text("{", encoding="utf-8")
    result = CliRunner().invoke(app, ["diff", "dev", "dev", "--live", "workloads.json"])
    assert (result.exit_code, "workloads.json" in result.stderr) == (1, True)


@pytest.mark.parametrize(("most", "answer"), [(8, "blocked"), (12, "safe")])
def test_the_guard_blocks_machines_that_jobs_hold(folder: Path, most: int, answer: str) -> None:
    """24 L4 are admitted on 12 nodes of a spot pool: 8 nodes are too few for them."""
    text = BASE["Pulumi.dev.yaml"]
    for before, after in (pair.split(" → ") for pair in SMALLER.split("; ") if most == 8):
        text = text.replace(before, after)
    (folder / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")
    urn = "urn:pulumi:dev::berth::gcp:container/nodePool:NodePool::l4-spot-pool"
    old, new = ({"urn": urn, "inputs": {"autoscaling": {"totalMaxNodeCount": count}}} for count in (12, most))
    step = {"op": "update", "urn": urn, "oldState": old, "newState": new}
    (folder / "preview.json").write_text(
        json.dumps({"steps": [step], "changeSummary": {"update": 1}}), encoding="utf-8"
    )
    result = CliRunner().invoke(app, ["guard", "dev", "preview.json", "--live", "workloads.json"])
    told = "pool l4-spot would lose machines (at most 12 → 8 nodes and l4-spot keeps 16 of 24 that admitted jobs hold)"
    assert (told in result.stdout) == (answer == "blocked"), result.output
    assert result.stdout.startswith("dev: blocked: ") == (answer == "blocked")
