"""Room that GKE keeps for services: how many nodes it is, what the objects say, what it costs, what a change does."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.diff.pools import compare_buffers
from berth.evaluate import evaluate_stack
from berth.plan.fleet import FleetPlan
from berth.yaml_loader import LOADER
from tests.berth.manifests.test_crd_schemas import faults
from tests.stack_files import ALL_STACKS

STACK = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {version: "1.36", nodeAutoProvisioning: {cpu: {max: 2000}, memory: {max: 8000}}}
    pools:
      l4: {machineType: g2-standard-24, nodes: {min: MIN, max: 6}, zone: us-central1-b}
      web: {machineType: n2-standard-8, nodes: {max: 8}, zone: us-central1-b}
    teams:
      chat:
        namespaces: [{name: chat, serving: true}, chat-web]
        capacityBuffers:
          ready: {BUFFER}
        queues:
          gpus: {flavors: [{pool: l4, guaranteed: 8}]}
          web: {flavors: [{pool: web, guaranteed: all}]}
"""
PRICES = """\
currency: USD
hourly: {g2-standard-24: {on-demand: 2}, n2-standard-8: {on-demand: 1}, e2-standard-4: {on-demand: 0}}
"""
ACTIVE, STANDBY = "buffer.x-k8s.io/active-capacity", "buffer.gke.io/standby-capacity"
NIGHT = "provisioningStrategy: standby, namespace: chat-web, unit: {cpu: 4, memory: 8Gi}"


def run(folder: pathlib.Path, buffer: str, *arguments: str, least: int = 0) -> str:
    """Return what a verb prints of the stack with a buffer."""
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (folder / "prices.yaml").write_text(PRICES)
    text = STACK.replace("BUFFER", buffer).replace("MIN", str(least))
    (folder / "Pulumi.lab.yaml").write_text(text if buffer else text.replace("          ready: {}\n", ""))
    return CliRunner().invoke(app, [*arguments]).stdout


def objects(text: str) -> dict[str, Any]:
    """Return the buffer and its template by kind."""
    made = (each for each in yaml.load_all(text, LOADER) if each)
    return {each["kind"]: each for each in made if each["kind"] in ("CapacityBuffer", "PodTemplate")}


@pytest.mark.parametrize(
    ("buffer", "units", "nodes"),
    [
        ("pool: l4, replicas: 2", 2, 2),
        ("pool: l4, replicas: 3, unit: {accelerators: 1}", 3, 2),
        ("pool: l4, replicas: 3, unit: {accelerators: 1, memory: 60Gi}", 3, 3),
        ("pool: l4, replicas: 5, limits: {accelerators: 4}", 2, 2),
        ("pool: l4, limits: {accelerators: 7}", 3, 3),
        ("pool: web, namespace: chat-web, replicas: 4, unit: {cpu: 3}", 4, 2),
        ("pool: web, namespace: chat-web, limits: {cpu: 16}, unit: {cpu: 5}", 3, 3),
        ("pool: web, namespace: chat-web, percentage: 20, scalableRef: {kind: Deployment, name: web}", None, None),
        ("pool: web, namespace: chat-web, replicas: 2, scalableRef: {kind: Deployment, name: web}", 2, None),
        (f"{NIGHT}, limits: {{cpu: 18}}", 4, None),
    ],
)
def test_units_take_nodes(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, buffer: str, units: int | None, nodes: int | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (team,) = json.loads(run(tmp_path, buffer, "plan", "lab", "--json"))["teams"]
    assert [(each["units"], each["nodes"]) for each in team["capacityBuffers"]] == [(units, nodes)]


@pytest.mark.parametrize(
    ("buffer", "spec", "annotations"),
    [
        ("pool: l4, replicas: 2", {"podTemplateRef": {"name": "ready-unit"}, "replicas": 2}, None),
        (
            "pool: l4, limits: {accelerators: 4, memory: 64Gi}, unit: {memory: 8Gi}",
            {"podTemplateRef": {"name": "ready-unit"}, "limits": {"nvidia.com/gpu": "4", "memory": "64Gi"}},
            None,
        ),
        (
            "pool: web, percentage: 150, scalableRef: {kind: Deployment, name: web}",
            {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}, "percentage": 150},
            None,
        ),
        (
            f"{NIGHT}, replicas: 3, initTime: 10m, refreshFrequency: never",
            {"podTemplateRef": {"name": "ready-unit"}, "replicas": 3, "provisioningStrategy": STANDBY},
            {f"{STANDBY}-init-time": "10m", f"{STANDBY}-refresh-frequency": "never"},
        ),
    ],
)
def test_the_buffer_is_as_its_kind_is_published(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    buffer: str,
    spec: dict[str, Any],
    annotations: dict[str, str] | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    made = objects(run(tmp_path, buffer, "render", "lab"))
    assert made["CapacityBuffer"]["spec"] == {"provisioningStrategy": ACTIVE, **spec}
    assert made["CapacityBuffer"]["metadata"].get("annotations") == annotations
    assert faults(made["CapacityBuffer"]) == []
    assert ("PodTemplate" in made) is ("podTemplateRef" in spec)


def test_a_unit_is_a_pod_of_the_queue_on_the_nodes_of_the_pool(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    template = objects(run(tmp_path, "pool: l4, replicas: 1", "render", "lab"))["PodTemplate"]
    pod = template["template"]
    assert template["metadata"]["namespace"] == "chat"
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpus"
    assert pod["spec"]["nodeSelector"] == {"cloud.google.com/gke-accelerator": "nvidia-l4"}
    assert [each["key"] for each in pod["spec"]["tolerations"]] == ["nvidia.com/gpu"]
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": "2"}


@pytest.mark.parametrize(("least", "committed"), [(0, 4), (1, 4), (3, 6)])
def test_nodes_that_are_kept_ready_are_paid_for(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, least: int, committed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run(tmp_path, "pool: l4, replicas: 2", "plan", "lab", "--json", "--prices", "prices.yaml", least=least)
    pool = next(each for each in json.loads(answer)["cost"]["machines"] if each["name"] == "l4")
    assert (pool["committed"], pool["ceiling"]) == (committed, 12)


def test_standby_nodes_have_no_price(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run(tmp_path, f"{NIGHT}, replicas: 1", "plan", "lab", "--prices", "prices.yaml")
    assert "GKE chooses the machines of standby buffers, which cost their disks; not counted: chat/ready" in answer
    assert "without chat/ready" in answer


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("", "pool: l4, replicas: 2", "chat/ready keeps 2 × 2 nvidia.com/gpu (2 nodes of l4) ready"),
        (
            "pool: l4, replicas: 2",
            "",
            "chat/ready no longer keeps 2 × 2 nvidia.com/gpu (2 nodes of l4) ready: pods of services wait for nodes",
        ),
        (
            "pool: l4, replicas: 1",
            "pool: l4, replicas: 2",
            "chat/ready keeps 2 × 2 nvidia.com/gpu (2 nodes of l4) ready instead of "
            "1 × 2 nvidia.com/gpu (1 node of l4)",
        ),
    ],
)
def test_a_change_says_what_is_kept_ready(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run(tmp_path, before, "check", "lab")
    (tmp_path / "Pulumi.lab.yaml").rename(tmp_path / "Pulumi.old.yaml")
    answer = run(tmp_path, after, "diff", "old", "lab")
    assert answer.splitlines()[0] == f"lab: {words}"


def test_a_share_of_a_workload_is_not_more_than_a_number_of_its_pods(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    of, plans = "pool: l4, scalableRef: {kind: Deployment, name: web}", list[FleetPlan]()
    for size in ("replicas: 3", "percentage: 20"):
        run(tmp_path, f"{of}, {size}", "check", "lab")
        plan = evaluate_stack("lab", tmp_path).fleet_plan
        assert plan is not None
        plans.append(plan)
    assert [[each.less for each in compare_buffers(*sides)] for sides in (plans, plans[::-1])] == [[True], [True]]


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        ("ack-fleet", "is not possible on ACK, which has no capacity buffers"),
        ("multikueue", "has no effect on a manager, which runs no pods"),
        ("local", "others make the nodes of this cluster"),
    ],
)
def test_clusters_without_buffers(tmp_path: pathlib.Path, stack: str, message: str) -> None:
    config = yaml.load(ALL_STACKS[stack].read_text(encoding="utf-8"), LOADER)
    (fleet,) = [each for key, each in config["config"].items() if key.startswith("berth:")]
    team = next(iter(fleet["teams"]))
    fleet["teams"][team]["capacityBuffers"] = {"ready": {"pool": "x", "replicas": 1}}
    file = tmp_path / f"Pulumi.{stack}.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    assert message in CliRunner().invoke(app, ["check", str(file)]).output


def test_a_buffer_of_another_size_is_found_in_the_cluster(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    buffer = objects(run(tmp_path, "pool: l4, replicas: 2", "render", "lab"))["CapacityBuffer"]
    (tmp_path / "live.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [buffer]}))
    answer = run(tmp_path, "pool: l4, replicas: 1", "verify", "lab", "--live", "live.json")
    assert "CapacityBuffer chat/ready: replicas is 2 instead of 1" in answer


@pytest.mark.parametrize("made_by", ["zone: us-central1-b", "computeClass: fast"])
def test_a_pool_without_nodes_keeps_nothing_ready(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, made_by: str
) -> None:
    """GKE chooses the number of nodes of a compute class, but never more than 0 of 0; the remedy is one that helps."""
    monkeypatch.chdir(tmp_path)
    run(tmp_path, "pool: l4, replicas: 1", "check", "lab")
    written = (tmp_path / "Pulumi.lab.yaml").read_text()
    classes = "    computeClasses: {fast: {priorities: [{machineType: g2-standard-24}]}}\n    teams:\n"
    written = written.replace("    teams:\n", classes).replace("guaranteed: 8", "guaranteed: 0")
    pool = "nodes: {min: 0, max: 6}, zone: us-central1-b"
    assert pool in written
    for nodes, faults_left in (("{min: 0, max: 0}", 1), ("{min: 0, max: 1}", 0)):
        (tmp_path / "Pulumi.lab.yaml").write_text(written.replace(pool, f"nodes: {nodes}, {made_by}"))
        answer = CliRunner().invoke(app, ["check", "lab"]).output
        assert answer.count("[capacity-buffer]") == faults_left, answer
        assert answer.count("write pools.l4.nodes: {min: 0, max: 1} [capacity-buffer]") == faults_left
