"""A queue's longest run binds its jobs: what `berth lint` prints, and what every written workload names."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from berth.evaluate import evaluate_stack
from berth.jobs.files import ManifestDocument
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.manifests.fleet import all_manifests
from berth.manifests.workloads.objects import workload_manifests
from berth.plan.fleet import FleetPlan
from berth.workloads.derive import derive_workload
from berth.workloads.options import WorkloadOptions
from tests.cel import Request, refusals

ROOT = pathlib.Path(__file__).parents[3]
RUN_DURATION = "provreq.kueue.x-k8s.io/maxRunDurationSeconds"
STACK = (ROOT / "stacks/examples/dws.yaml").read_text().replace("maxRunDuration: 7d", "maxRunDuration: 2d")
SERVING = STACK.replace("{name: default, existing: true,", "{name: default, existing: true, serving: true,")
SERVICES = ("Pod", "Deployment", "StatefulSet")
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: sample
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: dws-local-queue}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}}]
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> FleetPlan:
    return planned(STACK, tmp_path_factory)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> FleetPlan:
    """The fleet with services in its queue."""
    return planned(SERVING, tmp_path_factory)


def planned(text: str, tmp_path_factory: pytest.TempPathFactory) -> FleetPlan:
    folder = tmp_path_factory.mktemp("dws")
    (folder / "Pulumi.dws.yaml").write_text(text, encoding="utf-8")
    evaluation = evaluate_stack(str(folder / "Pulumi.dws.yaml"), folder).fleet_plan
    assert evaluation is not None
    return evaluation


def messages(plan: FleetPlan, annotations: dict[str, str]) -> list[str]:
    return reported(plan, of_kind("Job", annotations))


def reported(plan: FleetPlan, job: Any) -> list[str]:
    (finding,) = lint_documents([ManifestDocument("a.yaml", job)], LintContext(plan))
    return [f"{each.code}: {each.message}" for each in finding.problems]


def of_kind(kind: str, annotations: dict[str, str]) -> Any:
    """An object with the annotations where Kueue reads them: those of a Deployment are in its pods.

    Of a kind with other fields (JobSet, PyTorchJob) it is a Job: only its metadata count.
    """
    job: Any = yaml.safe_load(JOB)
    template = job["spec"]["template"]
    (template.setdefault("metadata", {}) if kind == "Deployment" else job["metadata"])["annotations"] = annotations
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": job["metadata"], "spec": template["spec"]}
    if kind in ("Deployment", "StatefulSet"):
        del template["spec"]["restartPolicy"]
        template.setdefault("metadata", {})["labels"] = {"app": "x"}
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": template}
        return job | {"apiVersion": "apps/v1", "kind": kind, "spec": spec}
    return job


def test_a_job_within_the_queues_maximum_is_admitted(plan: FleetPlan) -> None:
    assert messages(plan, {RUN_DURATION: "172800"}) == []
    assert messages(plan, {RUN_DURATION: "600"}) == []


def test_a_job_above_the_queues_maximum_is_refused(plan: FleetPlan) -> None:
    assert messages(plan, {RUN_DURATION: "172801"}) == [
        "above-run-limit: '172801' seconds are more than the maximum of batch/dws-local-queue, 172800; "
        "write '172800' or less"
    ]


def test_a_job_without_a_run_duration_gets_the_maximum_of_gke(plan: FleetPlan) -> None:
    assert messages(plan, {}) == [
        "above-run-limit: has no run duration, so it could keep its machines for 604800 seconds, but "
        f"batch/dws-local-queue allows at most 172800; write the annotation {RUN_DURATION}: '172800'"
    ]


def test_a_job_that_contradicts_an_existing_provisioning_config_never_starts(plan: FleetPlan) -> None:
    (config,) = plan.provisioning_configs
    foreign = replace(config, parameters={"maxRunDurationSeconds": "3600"}, max_run_seconds=None)
    fleet = replace(plan, provisioning_configs=(foreign,))
    assert messages(fleet, {RUN_DURATION: "3600"}) == []
    assert messages(fleet, {RUN_DURATION: "600"}) == [
        "parameter-conflict: '3600' is the run duration in ProvisioningRequestConfig 'dws-config': Kueue deletes and "
        "recreates a request that differs, and the job never starts; remove the annotation"
    ]


def test_a_deployments_own_annotation_does_not_reach_its_pods(serving: FleetPlan) -> None:
    service = of_kind("Deployment", {})
    service["metadata"]["annotations"] = {RUN_DURATION: "600"}
    assert any(each.startswith("above-run-limit: has no run duration") for each in reported(serving, service))


@pytest.mark.parametrize("kind", ["job", "jobset", "pytorchjob", "deployment", "provisioning-request"])
@pytest.mark.parametrize(("seconds", "named"), [(None, "172800"), (600, "600")])
def test_every_workload_names_its_own_run_duration(plan: FleetPlan, kind: str, seconds: int | None, named: str) -> None:
    options = WorkloadOptions(kind=kind, max_run_seconds=seconds)
    workload = derive_workload(plan, "batch", "dws-local-queue", options).workload
    assert workload is not None
    objects: list[Any] = workload_manifests(workload)
    parameters = [each["spec"]["parameters"] for each in objects if each["kind"] == "ProvisioningRequest"]
    read = [each["spec"]["template"] if each["kind"] == "Deployment" else each for each in objects]
    annotations = [each["metadata"].get("annotations", {}).get(RUN_DURATION) for each in read]
    assert parameters == [{"maxRunDurationSeconds": named}] or named in annotations


def test_a_workload_requests_at_most_its_queues_limit(plan: FleetPlan) -> None:
    derived = derive_workload(plan, "batch", "dws-local-queue", WorkloadOptions(max_run_seconds=172801))
    assert [(each.code, each.message) for each in derived.problems] == [
        (
            "above-run-limit",
            "'172801s' is more than the maximum of batch/dws-local-queue, 172800s; write 172800s or less",
        )
    ]


DURATIONS: dict[str, str | None] = {
    "the maximum": "172800",
    "above it": "172801",
    "the shortest": "600",
    "below the shortest": "599",
    "above GKE's maximum": "604801",
    "none": None,
    "empty": "",
    "words": "2h",
    "negative": "-600",
    "a fraction": "600.5",
    "spaces": " 600",
}


@pytest.mark.parametrize("kind", ["Job", "JobSet", "PyTorchJob", *SERVICES])
@pytest.mark.parametrize("name", DURATIONS)
def test_the_admission_policy_agrees_with_lint(plan: FleetPlan, serving: FleetPlan, name: str, kind: str) -> None:
    """`berth-runs` rejects the run durations that lint rejects, for every kind of job."""
    duration = DURATIONS[name]
    annotations = {} if duration is None else {RUN_DURATION: duration}
    job = of_kind(kind, annotations)
    plan = serving if kind in SERVICES else plan
    lint_refuses = any(each.startswith(("above-run-limit", "dws")) for each in reported(plan, job))
    group, resource = {
        "Job": ("batch", "jobs"),
        "JobSet": ("jobset.x-k8s.io", "jobsets"),
        "PyTorchJob": ("kubeflow.org", "pytorchjobs"),
        "Pod": ("", "pods"),
        "Deployment": ("apps", "deployments"),
        "StatefulSet": ("apps", "statefulsets"),
    }[kind]
    namespace = next((m for m in all_manifests(plan) if (m["kind"], _name(m)) == ("Namespace", "default")), None)
    request = Request(
        group=group,
        resource=resource,
        namespace=namespace or {"metadata": {"name": "default", "labels": {}}},
        after=job,
        before=None,
        everywhere=False,
    )
    policy = [m for m in all_manifests(plan) if _name(m).startswith("berth-runs")]
    assert len(policy) >= 2
    assert bool(refusals(policy, request)) == lint_refuses


def _name(manifest: Any) -> str:
    return str(manifest["metadata"]["name"])
