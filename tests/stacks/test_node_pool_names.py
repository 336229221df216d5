"""What is derived from the name of a node pool follows `nodePoolName`: nodes, jobs, lint, panels, rotation, guard."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.render.nodes import NODE_POOL, simulated_nodes
from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.classify import lost_resource
from berth.diff.guard.preview_file import PreviewStep
from berth.evaluate import evaluate_stack
from berth.plan.fleet import FleetPlan
from tests.stack_files import ALL_STACKS, GKE_STACKS, plan, plan_json, rendered, resources

SLICES = ["nodepool1", "nodepool2", "nodepool3"]
"""The names of the slices in stacks/examples/existing-gke.yaml."""
DERIVED = re.compile(r"\bv5e-(2x4-)?\d\b")
"""Names that Berth would give to them."""
STACK = str(ALL_STACKS["existing-gke"])


@pytest.mark.parametrize("stack", list(GKE_STACKS))
def test_simulated_nodes_are_in_the_node_pools_of_the_plan(stack: str) -> None:
    """Each node pool has its number of nodes; unnamed nodes are not compared."""
    fleet = plan(stack)
    nodes: dict[str, int] = {}
    for each in simulated_nodes(fleet):
        labels: Any = each["metadata"]["labels"]  # type: ignore[index]
        nodes[labels[NODE_POOL]] = nodes.get(labels[NODE_POOL], 0) + 1
    expected = {
        node_pool.name: pool.nodes.max // len(pool.node_pools)
        for pool in fleet.own_pools
        for node_pool in pool.node_pools
    }
    assert {name: nodes.get(name) for name in expected} == expected


def test_no_output_has_a_name_that_berth_would_give() -> None:
    """The plan, every object, every dashboard and alert: as text, except keys of the Pulumi program."""
    inputs = [one.inputs for one in resources("existing-gke", preview=False)]
    texts = {
        "inputs": json.dumps([dict(each) for each in inputs], default=str),
        "objects": rendered("existing-gke"),
        "plan": json.dumps(plan_json("existing-gke")["pools"]),
    }
    assert {name: DERIVED.findall(text) for name, text in texts.items() if DERIVED.search(text)} == {}
    assert all(name in texts["inputs"] for name in SLICES)


def test_panels_by_capacity_select_the_node_pools_by_their_names() -> None:
    backend = plan("existing-gke").monitoring
    assert backend is not None
    assert backend.managed is not None
    queries = [q for d in backend.managed.dashboards for s in d.sections for p in s.panels for q in p.queries.values()]
    filters = {found for query in queries for found in re.findall(r'gke_nodepool=~"([^"]*)"', query)}
    assert filters == {"|".join(SLICES), "dws"}


def test_alerts_name_no_node_pool_but_take_it_from_the_series() -> None:
    """So they hold for node pools of every name."""
    backend = plan("existing-gke").monitoring
    assert backend is not None
    assert backend.managed is not None
    by_node_pool = [alert for alert in backend.managed.alerts if "node_pool_name" in alert.by]
    assert len(by_node_pool) >= 3
    assert not [alert.key for alert in backend.managed.alerts if re.search(r'node_pool(_name)?(=|=~|!=)"', alert.query)]


# --- jobs -------------------------------------------------------------------------------------------------------------


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_a_job_of_the_template_is_accepted_by_lint(tmp_path: Path) -> None:
    """Its annotation names the label, whose value GKE gives to the nodes of each slice."""
    job = run("workload", STACK, "research", "slices", "--slices", "2", "--name", "train")
    assert job.exit_code == 0
    assert DERIVED.search(job.stdout) is None
    (tmp_path / "job.yaml").write_text(job.stdout, encoding="utf-8")
    assert run("lint", STACK, str(tmp_path / "job.yaml")).exit_code == 0


@pytest.mark.parametrize(
    ("name", "accepted"), [("nodepool1", True), ("nodepool3", True), ("nodepool4", False), ("v5e-2x4-1", False)]
)
def test_lint_checks_a_node_pool_selector_by_its_name(name: str, accepted: bool, tmp_path: Path) -> None:
    job = run("workload", STACK, "research", "slices", "--slices", "1", "--name", "train")
    manifest: Any = yaml.safe_load(job.stdout)
    pods = manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pods["nodeSelector"] = {NODE_POOL: name}
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    result = run("lint", STACK, str(file))
    values = "they have 'nodepool1', 'nodepool2' and 'nodepool3'"
    assert (result.exit_code == 0, values in result.stdout) == (accepted, not accepted), result.stdout


# --- rotation and the guard -------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    text = Path(STACK).read_text(encoding="utf-8")
    (tmp_path / "Pulumi.lab.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fleet_of(project: Path) -> FleetPlan:
    evaluation = evaluate_stack("lab", project)
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    return evaluation.fleet_plan


def steps(project: Path, *words: str) -> Iterator[FleetPlan]:
    """Yield the plan after each step of a rotation, whose diffs are applied with git."""
    result = run("rotate", "lab", *words, "--json")
    assert result.exit_code == 0, result.output
    for step in json.loads(result.stdout)["steps"]:
        subprocess.run(["git", "apply", "-"], input=step["difference"], text=True, check=True, cwd=project)
        yield fleet_of(project)


def names(fleet: FleetPlan) -> dict[str, list[str]]:
    return {pool.name: [each.name for each in pool.node_pools] for pool in fleet.own_pools if pool.name != "dws"}


@pytest.mark.parametrize("form", ["block", "flow"])
def test_a_rotated_pool_has_its_own_node_pools(form: str, project: Path) -> None:
    """In a stack file that writes the pool in lines, or on one; `adopted` stays with the old node pools too."""
    file = project / "Pulumi.lab.yaml"
    text = file.read_text(encoding="utf-8")
    name = "        nodePoolName: nodepool{n}         # nodepool1 to nodepool3\n"
    block = text[text.index("      v5e:\n") : text.index("      dws:\n")]
    flow = (
        "      v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 3, zone: us-central1-a, "
        'nodePoolName: "nodepool{n}", adopted: true}\n'
    )
    new = flow if form == "flow" else block.replace(name, f"{name}        adopted: true\n")
    file.write_text(text.replace(block, new), encoding="utf-8")
    assert names(fleet_of(project)) == {"v5e": SLICES}
    added, moved, removed = steps(project, "v5e")
    new_names = [f"v5e-next-2x4-{number}" for number in (1, 2, 3)]
    assert names(added) == names(moved) == {"v5e": SLICES, "v5e-next": new_names}
    assert names(removed) == {"v5e-next": new_names}
    assert [each.adopted for pool in removed.own_pools for each in pool.node_pools] == [None] * 4


def test_a_name_for_the_new_node_pools_can_be_given(project: Path) -> None:
    added, _, _ = steps(project, "v5e", "--set", "nodePoolName=slices-{i}")
    assert names(added) == {"v5e": SLICES, "v5e-next": ["slices-0", "slices-1", "slices-2"]}


def test_a_pool_that_is_replaced_in_place_keeps_its_names(project: Path) -> None:
    *_, last = steps(project, "v5e", "--in-place", "--set", "topology=4x4", "--set", "slices=1")
    assert names(last) == {"v5e": ["nodepool1"]}


@pytest.mark.parametrize(
    "placement", [{"type": "COMPACT", "tpuTopology": "2x4"}, {"type": "COMPACT", "policyName": "ring"}]
)
def test_the_guard_finds_the_pool_of_a_slice_that_the_plan_has_no_longer(placement: dict[str, str]) -> None:
    urn = "urn:pulumi:lab::berth::berth:gke:NodePool$gcp:container/nodePool:NodePool::v5e-9-pool"
    inputs = {"name": "nodepool9", "placementPolicy": placement}
    step = PreviewStep("delete", urn, {"inputs": inputs})
    found = lost_resource(step, GuardedAction.DELETE, plan("existing-gke"))
    assert found is not None
    assert (found.name, found.key, found.whole) == ("v5e", "v5e", False)
