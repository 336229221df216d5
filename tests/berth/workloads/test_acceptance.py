"""`berth workload --acceptance`: a short job for each pool, which lint says runs on that pool, and nowhere else."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_config
from berth.jobs.files import ManifestDocument
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.plan.node_settings import Bounds
from berth.workloads.acceptance import acceptance_trials, missing_image
from berth.yaml_loader import load_table
from tests.stack_files import ALL_STACKS, ROOT, every_stack, plan

SCRIPTS: dict[str, Any] = load_table(ROOT / "berth/workloads/acceptance.yaml")


def accepted(stack: str, *words: str) -> dict[str, Any]:
    """The JSON of the verb."""
    done = CliRunner().invoke(app, ["workload", str(ALL_STACKS[stack]), *words, "--acceptance", "--json"])
    assert done.exit_code == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def pod_of(job: dict[str, Any]) -> dict[str, Any]:
    spec = job["spec"]
    inner = spec["replicatedJobs"][0]["template"]["spec"] if job["kind"] == "JobSet" else spec
    return {"spec": inner["template"]["spec"], "pods": inner["parallelism"]}


@every_stack
def test_every_pool_of_a_queue_has_a_job_that_lint_admits(stack: str) -> None:
    fleet, answer = plan(stack), accepted(stack)
    used = {entry.flavor for queue in fleet.cluster_queues for entry in queue.flavors if queue.local_queues}
    expected = [pool.name for pool in fleet.pools if pool.flavor in used and pool.nodes.max]
    refused = [each["message"] for each in answer["problems"]]
    assert [each["pool"] for each in answer["jobs"]] == expected, refused
    for job in (document for each in answer["jobs"] for document in each["objects"]):
        findings = lint_documents([ManifestDocument("", job)], LintContext(fleet))
        assert [p.message for finding in findings for p in finding.problems if p.severity == "error"] == []


@every_stack
def test_a_job_expects_the_accelerators_of_its_nodes(stack: str) -> None:
    """Computed from the manifest: accelerators, or cores, of a pod times its pods."""
    for each in accepted(stack)["jobs"]:
        pod = pod_of(each["objects"][-1])
        container = pod["spec"]["containers"][0]
        environment = {entry["name"]: entry["value"] for entry in container["env"]}
        requested = container["resources"]["requests"]
        accelerators = [
            int(amount) for resource, amount in requested.items() if "/" in resource and "devices" not in resource
        ]
        per_pod = accelerators[0] if accelerators else int(requested["cpu"])
        assert int(environment["EXPECTED"]) == per_pod * pod["pods"]
        assert int(environment["HOSTS"]) == pod["pods"]


def test_a_job_is_kept_on_its_pool_and_its_flavor() -> None:
    (job,) = next(each["objects"] for each in accepted("dev")["jobs"] if each["pool"] == "l4-on-demand")
    affinity = pod_of(job)["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert affinity["nodeSelectorTerms"][0]["matchExpressions"] == [
        {"key": "cloud.google.com/gke-nodepool", "operator": "In", "values": ["l4-on-demand"]},
        {"key": "cloud.google.com/reservation-name", "operator": "DoesNotExist"},
    ]


def test_a_team_and_a_queue_limit_the_jobs() -> None:
    answer = accepted("dev", "vision", "train")
    assert {each["objects"][0]["metadata"]["namespace"] for each in answer["jobs"]} == {"vision"}
    without = [each["message"] for each in answer["problems"]]
    assert any("no queue of vision has a job that runs on pool" in message for message in without)


def test_one_node_is_enough_where_two_are_not_there() -> None:
    """Two nodes measure the network; a pool with one node has a job on it."""
    fleet = plan("batch-platform")
    pools = {pool.name: pool for pool in fleet.pools}
    hosts = [trial.options.pods for trial in acceptance_trials(fleet, pools["dws-h100"], None, None)]
    assert set(hosts) == {None}
    assert next(acceptance_trials(fleet, pools["spot-np"], None, None)).options.pods == 2


def test_a_part_of_a_gpu_and_an_architecture_without_an_image() -> None:
    """A process sees one partition of a GPU; nothing is guessed for nodes that no image is known to run on."""
    zone = {"zone": "us-central1-a"}
    pools: dict[str, dict[str, object]] = {
        "mig": {"machineType": "a2-highgpu-2g", "nodes": {"max": 2}, "gpuPartition": "1g.5gb", **zone},
        "arm": {"machineType": "c4a-standard-16", "nodes": {"max": 2}, **zone},
    }
    queues = {name: {"flavors": [{"pool": name, "guaranteed": "all"}]} for name in pools}
    value = {
        "project": "my-project",
        "region": "us-central1",
        "cluster": {"zones": ["us-central1-a"]},
        "pools": pools,
        "teams": {"red": {"queues": queues}},
    }
    fleet = evaluate_config("test", value, ROOT).fleet_plan
    assert fleet is not None
    arm, mig = fleet.pools
    (trial,) = acceptance_trials(fleet, mig, None, None)
    assert (trial.options.gpus, trial.options.pods, trial.options.kind) == (1, None, "job")
    assert missing_image(fleet, arm) is None
    tpu = replace(arm, slices=Bounds(min=1, max=1))
    assert list(acceptance_trials(fleet, tpu, None, None)) == []
    assert "no image is known to run on its arm64 nodes" in (missing_image(fleet, tpu) or "")


def test_the_image_is_of_the_architecture_of_the_nodes() -> None:
    domain, job = accepted("gb200")["jobs"][0]["objects"]
    assert (domain["kind"], domain["spec"]["numNodes"]) == ("ComputeDomain", 2)
    assert pod_of(job)["spec"]["containers"][0]["image"] == SCRIPTS["gpu"]["images"]["arm64"]


@pytest.mark.parametrize("kind", ["tpu", "cpu"])
def test_the_scripts_are_python(kind: str) -> None:
    assert ast.parse(SCRIPTS[kind]["script"]).body


def test_the_script_for_gpus_contains_python() -> None:
    body = SCRIPTS["gpu"]["script"].partition("<<'END'\n")[2].partition("\nEND\n")[0]
    assert ast.parse(body).body


def test_the_script_for_cores_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for expected, status in (("1", 0), ("100000", 1)):
        monkeypatch.setenv("EXPECTED", expected)
        with pytest.raises(SystemExit) as stopped:
            exec(SCRIPTS["cpu"]["script"], {})
        assert stopped.value.code == status


def test_wrong_usage(tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["workload", *words])
        return done.exit_code, done.stderr

    code, error = run("dev", "--acceptance", "--slices", "2")
    assert code == 2
    assert "leave out --slices" in error
    code, error = run("dev")
    assert code == 2
    assert "write TEAM and QUEUE, or --acceptance" in error
    assert run("dev", "nobody", "--acceptance")[0] == 1
