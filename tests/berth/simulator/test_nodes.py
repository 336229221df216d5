"""What `berth admit` says of nodes: jobs beside jobs, running workloads, topologies."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import yaml

from berth.cli.admit import output, simulate
from berth.evaluate import evaluate_config
from berth.jobs.files import ManifestDocument
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.simulator.story import JobStatus
from berth.simulator.text import RunFormatter
from berth.yaml_loader import load_yaml

GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
STACK = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {zones: [us-central1-a]}
    pools:
      h100: {machineType: a3-highgpu-8g, nodes: 4, zone: us-central1-a, acceptZone: true}
      v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 3, zone: us-central1-a, topologyAware: true}
    teams:
      red:
        queues:
          gpu: {flavors: [{pool: h100, guaranteed: all}]}
          tpu: {flavors: [{pool: v5e, guaranteed: all}]}
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "stack.yaml").write_text(STACK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(name: str, pods: int, each: int, **annotations: str) -> dict[str, Any]:
    queue, resource = ("tpu", TPU) if annotations else ("gpu", GPU)
    resources = {"requests": {"cpu": 2, "memory": "4Gi"}, "limits": {resource: each}}
    template = {
        "metadata": {"annotations": {f"kueue.x-k8s.io/{key}": value for key, value in annotations.items()}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "busybox", "resources": resources}],
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "red", "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"parallelism": pods, "completions": pods, "template": template},
    }


def run(folder: pathlib.Path, *jobs: dict[str, Any], live: tuple[pathlib.Path, ...] = ()) -> simulate.SimulationResult:
    (folder / "jobs.yaml").write_text(yaml.safe_dump_all(jobs), encoding="utf-8")
    return simulate.simulate_arguments(["stack.yaml", "jobs.yaml"], list(live), folder)


def verdicts(result: simulate.SimulationResult) -> dict[str, str]:
    return {each["job"].partition("/")[2]: each["verdict"] for each in output.simulation_as_json(result)["jobs"]}


def statuses(result: simulate.SimulationResult) -> dict[str, str]:
    return {each.job.partition("/")[2]: each.status for each in result.stories[0].unfinished}


def test_a_job_for_a_whole_node_does_not_run_beside_jobs_on_every_node(folder: pathlib.Path) -> None:
    result = run(folder, job("small", 4, 6), job("big", 1, 8))
    assert statuses(result) == {"small": JobStatus.ADMITTED, "big": JobStatus.UNPLACED}
    assert verdicts(result) == {"small": "runs", "big": "never"}
    assert [each.line() for each in result.faults] == [
        "jobs.yaml:26: error: Job/big: the nodes of h100 have no room for its 1 pod beside small; "
        "submit it when one of them has ended [nodes-taken]"
    ]


def test_what_depends_on_the_scheduler_is_unknown(folder: pathlib.Path) -> None:
    result = run(folder, job("small", 3, 2), job("other", 1, 2), job("big", 2, 8))
    assert statuses(result) == dict.fromkeys(("small", "other", "big"), JobStatus.ADMITTED)
    assert verdicts(result) == {"small": "runs", "other": "runs", "big": "unknown"}
    assert result.faults == ()
    assert [each.message for each in result.problems if each.is_unknown] == [
        "Job/big: whether the nodes of h100 have room for its 2 pods depends on where the pods of small and other are"
    ]
    (outcome,) = [each for each in output.simulation_as_json(result)["unfinished"] if "room" in each]
    room = {"nodes": "open", "certainPods": 0, "pods": 2, "flavors": ["h100"], "otherJobs": ["small", "other"]}
    assert (outcome["job"], outcome["room"]) == ("big", room)


def test_whole_nodes_find_room_where_they_have_quota(folder: pathlib.Path) -> None:
    result = run(folder, job("a", 1, 8), job("b", 2, 8), job("c", 4, 2), job("d", 1, 8))
    assert verdicts(result) == {"a": "runs", "b": "runs", "c": "runs", "d": "runs"}
    assert statuses(result)["d"] == JobStatus.PENDING  # quota counts before nodes do


def test_pods_get_the_nodes_of_a_job_that_ends(folder: pathlib.Path) -> None:
    for name, pods, each in (("small", 4, 6), ("big", 1, 8)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(job(name, pods, each)), encoding="utf-8")
    steps = "stack: stack.yaml\nsteps:\n- submit: small.yaml\n- submit: big.yaml\n- finish: small\n"
    (folder / "steps.yaml").write_text(steps, encoding="utf-8")
    result = simulate.simulate_arguments(["steps.yaml"], [], folder)
    assert result.faults == ()
    changes = [(each.job, each.status) for step in result.stories[0].steps for each in step.outcomes]
    assert changes == [
        ("red/small", JobStatus.ADMITTED),
        ("red/big", JobStatus.UNPLACED),
        ("red/small", JobStatus.FINISHED),
        ("red/big", JobStatus.ADMITTED),
    ]
    assert verdicts(result)["big"] == "runs"


@pytest.mark.parametrize(
    ("has_template", "each", "verdict"), [(True, 6, "never"), (True, 8, "runs"), (False, 6, "unknown")]
)
def test_running_workloads_hold_nodes(folder: pathlib.Path, has_template: bool, each: int, verdict: str) -> None:
    """Without their templates, as a filtered answer of kubectl has them, only what they use in total is known."""
    running = job("small", 32 // 8 if each == 6 else 3, each)
    count = running["spec"]["parallelism"]
    usage = {GPU: str(count * each), "cpu": str(2 * count), "memory": f"{4 * count}Gi"}
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for kind in ("QuotaReserved", "Admitted")
    ]
    assigned = {"name": "main", "count": count, "flavors": dict.fromkeys(usage, "h100"), "resourceUsage": usage}
    if not has_template:
        del assigned["count"]
    pod_set = {"name": "main", "count": count, "template": running["spec"]["template"]}
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "job-small", "namespace": "red", "ownerReferences": [{"kind": "Job", "name": "small"}]},
        "spec": {"queueName": "gpu", "podSets": [pod_set] if has_template else []},
        "status": {
            "admission": {"clusterQueue": "red-gpu", "podSetAssignments": [assigned]},
            "conditions": conditions,
        },
    }
    (folder / "live.json").write_text(json.dumps({"items": [workload]}), encoding="utf-8")
    result = run(folder, job("big", 1, 8), live=(folder / "live.json",))
    assert verdicts(result) == {"big": verdict}


def test_jobs_on_a_topology_are_placed_one_after_the_other(folder: pathlib.Path) -> None:
    level = {"podset-required-topology": "cloud.google.com/gke-nodepool"}
    two, one = job("two", 2, 4, **level), job("one", 1, 4, **level)
    assert verdicts(run(folder, two, job("more", 2, 4, **level), job("last", 2, 4, **level))) == dict.fromkeys(
        ("two", "more", "last"), "runs"
    )
    ones = [{**one, "metadata": {**one["metadata"], "name": f"one-{number}"}} for number in range(2)]
    # Two pods of one host each share a slice, by Kueue's algorithm, so that two whole slices are left.
    result = run(folder, *ones, two, job("more", 2, 4, **level))
    assert verdicts(result)["more"] == "runs"


BESIDE = load_yaml((pathlib.Path(__file__).parent / "recorded_beside.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", range(len(BESIDE)))
def test_jobs_beside_jobs_are_judged_as_they_were_on_a_real_cluster(folder: pathlib.Path, number: int) -> None:
    """Never only where pods got no node, runs only where all got one; unknown where that was the scheduler's luck."""
    jobs: list[dict[str, Any]] = BESIDE[number]
    said = verdicts(run(folder, *(job(each["name"], each["pods"], each["gpus"]) for each in jobs)))
    for each in jobs:
        assert each["admitted"]
        assert said[each["name"]] in ("runs" if each["placed"] == each["pods"] else "never", "unknown")
    assert said["big"] == ("never", "runs", "unknown")[number]


def test_json_has_the_flavors_that_kueue_chooses(folder: pathlib.Path) -> None:
    answer = output.simulation_as_json(run(folder, job("small", 4, 6)))
    assert [each["flavors"] for each in answer["jobs"]] == [{"main": "h100"}]


def test_lint_and_admit_judge_a_job_that_accepts_fewer_pods_with_as_many_as_fit(folder: pathlib.Path) -> None:
    """Kueue starts a Job with a minimum parallelism on what its queue can hold; its webhook refuses other minimums."""
    plan = evaluate_config("stack", yaml.safe_load(STACK)["config"]["berth:fleet"], folder).fleet_plan
    assert plan is not None
    context = LintContext(plan)

    def verdict(least: int | None) -> tuple[str, list[str], list[str]]:
        flexible = job("flexible", 6, 8)
        if least is not None:
            flexible["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": str(least)}
        (finding,) = lint_documents([ManifestDocument("job.yaml", flexible)], context)
        result = run(folder, flexible)
        assert verdicts(result) == {"flexible": finding.verdict}
        codes = [each.code for each in finding.problems]
        return finding.verdict, codes, [each.status for story in result.stories for each in story.unfinished]

    assert verdict(None) == ("never", ["above-ceiling"], ["never-admitted"])
    assert verdict(5) == ("never", ["above-ceiling"], ["never-admitted"])
    assert verdict(4) == ("runs", ["not-all-fit"], ["admitted"])
    assert verdict(1) == ("runs", ["not-all-fit"], ["admitted"])
    assert verdict(6)[:2] == ("never", ["refused", "above-ceiling"])
    assert verdict(0)[:2] == ("never", ["refused", "above-ceiling"])
    result = run(folder, job("small", 1, 8), {**job("flexible", 6, 8), "metadata": _least(job("flexible", 6, 8), 3)})
    story = result.stories[0]
    rows = [row for step in story.steps for row in output.step_rows(step, RunFormatter(story, step))]
    assert rows[-1][-1].startswith("starts with 3 pods, because not all fit; ")


def _least(manifest: dict[str, Any], pods: int) -> dict[str, Any]:
    return {**manifest["metadata"], "annotations": {"kueue.x-k8s.io/job-min-parallelism": str(pods)}}
