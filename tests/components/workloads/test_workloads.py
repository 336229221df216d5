"""Workloads as resources: exactly their manifests, made and not waited for, and Kueue's fields left to Kueue."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from msgspec.structs import replace

from berth.manifests.workloads.jobs import job, job_set
from berth.manifests.workloads.objects import workload_manifests
from berth.plan.workloads import (
    JobPlan,
    JobSetPlan,
    PodPlan,
    ProvisioningRequestPlan,
    PyTorchJobPlan,
    SubmissionPlan,
    WorkloadPlan,
)
from components.kubernetes import overlay, type_token
from components.workloads.workload import Workload
from tests.engine import Run, both_modes, broken_rules, run, using

SUBMISSION = SubmissionPlan(name="train", namespace="vision", team="vision", queue="train", priority="high")
POD = PodPlan(image="trainer:1", command=("python", "train.py"), resources={"cpu": 500, "google.com/tpu": 4})
JOB = JobPlan(submission=SUBMISSION, pod=replace(POD, restart_policy="Never"), pods=2, backoff_limit=15)
JOB_SET = JobSetPlan(
    submission=SUBMISSION,
    pod=POD,
    replicated_job="slice",
    replicas=3,
    pods=2,
    max_restarts=4,
    exclusive_topology="cloud.google.com/gke-nodepool",
)
PYTORCH_JOB = PyTorchJobPlan(submission=SUBMISSION, pod=replace(POD, restart_policy="OnFailure"), workers=2)
REQUEST = ProvisioningRequestPlan(
    name="night",
    namespace="vision",
    team="vision",
    pod=POD,
    pods=4,
    class_name="queued-provisioning.gke.io",
    with_job=False,
)
PLANS: tuple[WorkloadPlan, ...] = (JOB, JOB_SET, PYTORCH_JOB, REQUEST)
KINDS = (("Service", "Job"), ("JobSet",), ("PyTorchJob",), ("PodTemplate", "ProvisioningRequest"))
NOT_AWAITED = {"pulumi.com/skipAwait": "true"}

every_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)


def made(plan: WorkloadPlan, preview: bool, namespace: str | None = None) -> Run:
    """The workload of a plan, in a namespace that is an output where one is given."""

    def build() -> None:
        provider = kubernetes.Provider("kubernetes", kubeconfig="{}")
        live = pulumi.Output.from_input(namespace) if namespace else None
        Workload("train", plan, opts=using(provider), namespace=live)

    return run(build, preview)


@both_modes
@every_plan
def test_a_workload_is_exactly_its_manifests(plan: WorkloadPlan, preview: bool) -> None:
    done = made(plan, preview)
    resource = [one for one in done.resources if one.type.startswith("kubernetes:")]
    awaited = {"metadata": {"annotations": NOT_AWAITED}}
    assert [one.type for one in resource] == [type_token(each) for each in workload_manifests(plan)]
    assert [one.inputs for one in resource] == [overlay(each, awaited) for each in workload_manifests(plan)]
    assert broken_rules(done) == []


def test_each_plan_has_its_kinds() -> None:
    assert [tuple(each["kind"] for each in workload_manifests(plan)) for plan in PLANS] == list(KINDS)


@every_plan
def test_referenced_objects_of_a_workload_come_first(plan: WorkloadPlan) -> None:
    """A Job's pods look for their service, and a request for its pod template."""
    resource = [one for one in made(plan, False).resources if one.type.startswith("kubernetes:")]
    for before, after in pairwise(resource):
        assert before.urn in after.dependencies


@every_plan
def test_the_namespace_may_be_made_by_the_same_program(plan: WorkloadPlan) -> None:
    resource = [one for one in made(plan, False, namespace="made").resources if one.type.startswith("kubernetes:")]
    spaces = [cast("dict[str, object]", one.inputs["metadata"])["namespace"] for one in resource]
    assert set(spaces) == {"made"}


@pytest.mark.parametrize(("plan", "pods"), [(JOB, 1), (JOB, 2)])
def test_one_pod_alone_needs_no_index_and_no_service(plan: JobPlan, pods: int) -> None:
    alone = replace(plan, pods=pods)
    spec: Any = job(alone)["spec"]
    assert ("completionMode" in spec, len(workload_manifests(alone))) == ((True, 2) if pods > 1 else (False, 1))


def test_pod_disruptions_are_ignored_only_where_kubernetes_accepts_it() -> None:
    """A pod failure policy goes with restartPolicy Never alone (Kubernetes, validation of batch/v1)."""
    spec: Any = job(replace(JOB, pod=POD))["spec"]
    assert "podFailurePolicy" not in spec


def test_a_pytorch_job_of_one_pod_has_only_a_master() -> None:
    (each,) = workload_manifests(replace(PYTORCH_JOB, workers=0))
    spec: Any = each["spec"]
    assert list(spec["pytorchReplicaSpecs"]) == ["Master"]


def test_an_unnamed_priority_is_the_default_of_the_fleet() -> None:
    result: Any = job_set(replace(JOB_SET, submission=replace(SUBMISSION, priority=None)))
    assert "kueue.x-k8s.io/priority-class" not in result["metadata"]["labels"]
    assert "priorityClassName" not in str(result)


def test_nothing_of_a_manifest_is_shared_with_another() -> None:
    """Whoever changes one must not change what is rendered next."""
    one, other = (job_set(JOB_SET) for _ in range(2))
    one["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] = 9  # type: ignore[index]
    assert other == job_set(JOB_SET) != one
