"""The workloads of the published systems come out of `berth workload`, field by field."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.berth.workloads.made import answer, objects, one, pod

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
RUN_DURATION = "provreq.kueue.x-k8s.io/maxRunDurationSeconds"


UNCOUNTED = [
    {"name": "disruption", "action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]}
]
"""The rule of JobSet's KEP-262 for a child job that its pod failure policy failed."""


def replicated(job_set: dict[str, Any]) -> dict[str, Any]:
    (each,) = job_set["spec"]["replicatedJobs"]
    return each


def requests(manifest: dict[str, Any]) -> dict[str, str]:
    """Requests of the only container, which are its limits too."""
    (container,) = pod(manifest)["containers"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    return container["resources"]["requests"]


# --- TPU multislice with JobSet and Kueue -----------------------------------------------------------------------------


@pytest.mark.parametrize("slices", [1, 2, 3])
@pytest.mark.parametrize("stack", ["multislice", "multislice-autopilot"])
def test_the_job_sets_of_one_two_and_three_slices(stack: str, slices: int) -> None:
    """Two pods of four chips on each 2x4 slice, a node pool to each; the network of the nodes only on Standard."""
    name = f"multislice-{slices}slice"
    result = one(stack, "multislice", "train", name=name, slices=slices, image="python:3.13")
    assert (result["apiVersion"], result["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet")
    metadata = result["metadata"]
    assert (metadata["name"], metadata["namespace"]) == (name, "default")
    assert metadata["labels"][QUEUE] == "multislice-queue"
    assert PRIORITY not in metadata["labels"]
    assert metadata["annotations"] == {EXCLUSIVE: "cloud.google.com/gke-nodepool"}
    assert result["spec"]["failurePolicy"] == {"maxRestarts": 4, "rules": UNCOUNTED}
    job = replicated(result)
    assert (job["name"], job["replicas"]) == ("slice", slices)
    of_job = job["template"]["spec"]
    assert (of_job["parallelism"], of_job["completions"], of_job["backoffLimit"]) == (2, 2, 0)
    assert requests(result) == {"google.com/tpu": "4"}
    (container,) = pod(result)["containers"]
    assert container["ports"] == [{"containerPort": 8471}, {"containerPort": 8080}]
    wanted = stack == "multislice" and slices > 1
    assert pod(result).get("hostNetwork", False) == wanted
    assert pod(result).get("dnsPolicy") == ("ClusterFirstWithHostNet" if wanted else None)
    assert not {"nodeSelector", "tolerations"} & pod(result).keys()


def test_a_job_set_of_low_priority() -> None:
    """The class of the pods and the label by which Kueue orders are one name."""
    result = one(
        "multislice",
        "multislice",
        "train",
        name="low-priority",
        priority="low-priority",
        image="x",
        command=("sleep", "60"),
    )
    assert result["metadata"]["labels"][PRIORITY] == "low-priority"
    assert pod(result)["priorityClassName"] == "low-priority"
    assert pod(result)["containers"][0]["command"] == ["sleep", "60"]


# --- priority and Hotswap on Trillium ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "priority"), [("high", "high-priority-job"), ("low", "low-priority-job")])
def test_the_job_sets_of_high_and_low_priority_training(name: str, priority: str) -> None:
    """Two 4x4 slices of four pods with four chips: 32 chips, restarted whole and at once, ten times."""
    result = one(
        "hotswap",
        "training",
        "train",
        name=f"{name}-jax-trillium",
        slices=2,
        priority=priority,
        max_restarts=10,
        restart_strategy="BlockingRecreate",
    )
    assert result["metadata"]["labels"] == {
        "berth.dev/team": "training",
        QUEUE: "default-queue",
        PRIORITY: priority,
    }
    assert result["metadata"]["annotations"] == {EXCLUSIVE: "cloud.google.com/gke-nodepool"}
    assert result["spec"]["failurePolicy"] == {
        "maxRestarts": 10,
        "restartStrategy": "BlockingRecreate",
        "rules": UNCOUNTED,
    }
    job = replicated(result)
    assert (job["replicas"], job["template"]["spec"]["parallelism"]) == (2, 4)
    assert job["template"]["spec"]["backoffLimit"] == 0
    assert requests(result) == {"google.com/tpu": "4"}
    assert (pod(result)["hostNetwork"], pod(result)["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod(result)["priorityClassName"] == priority


# --- Dynamic Workload Scheduler ---------------------------------------------------------------------------------------


def test_the_job_of_queued_machines() -> None:
    """One pod with one GPU, suspended, for ten minutes at the most; Kueue adds labels and tolerations."""
    result = one(
        "dws",
        "batch",
        "dws",
        kind="job",
        name="sample-job",
        gpus=1,
        cpu="100m",
        memory="100Mi",
        max_run_duration="600s",
        command=("sleep", "120"),
    )
    assert (result["kind"], result["metadata"]["labels"][QUEUE]) == ("Job", "dws-local-queue")
    assert result["metadata"]["annotations"] == {RUN_DURATION: "600"}
    spec = result["spec"]
    assert (spec["suspend"], spec["parallelism"], spec["completions"]) == (True, 1, 1)
    assert requests(result) == {"cpu": "100m", "memory": "100Mi", "nvidia.com/gpu": "1"}
    assert pod(result)["restartPolicy"] == "Never"
    assert not {"nodeSelector", "tolerations", "subdomain"} & pod(result).keys()


def test_a_request_for_machines_without_kueue() -> None:
    """A pod template and a request of one pod set, without added selectors and tolerations."""
    template, request, job = objects(
        "dws", "batch", "dws", kind="provisioning-request", name="sample", gpus=1, cpu="700m", max_run_duration="600s"
    )
    assert (template["apiVersion"], template["kind"]) == ("v1", "PodTemplate")
    assert (request["apiVersion"], request["kind"]) == ("autoscaling.x-k8s.io/v1", "ProvisioningRequest")
    assert template["metadata"]["namespace"] == request["metadata"]["namespace"] == "default"
    assert request["spec"] == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "podSets": [{"podTemplateRef": {"name": "sample"}, "count": 1}],
        "parameters": {"maxRunDurationSeconds": "600"},
    }
    spec = template["template"]["spec"]
    assert spec["restartPolicy"] == "Never"
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "700m", "nvidia.com/gpu": "1"}
    assert spec["nodeSelector"]["cloud.google.com/gke-queued"] == "true"
    assert {each["key"] for each in spec["tolerations"]} == {"nvidia.com/gpu", "cloud.google.com/gke-queued"}
    assert (job["kind"], job["spec"]["parallelism"], job["spec"]["template"]["spec"]) == ("Job", 1, spec)
    assert job["spec"]["template"]["metadata"]["annotations"] == {
        "autoscaling.x-k8s.io/consume-provisioning-request": "sample",
        "autoscaling.x-k8s.io/provisioning-class-name": "queued-provisioning.gke.io",
    }


# --- a gang of PyTorch ------------------------------------------------------------------------------------------------


def test_the_gang_of_one_master_and_two_workers() -> None:
    """Three pods, admitted all or none: Kueue resumes the job when all of them have their quota."""
    result = one("dev", "vision", "urgent", kind="pytorchjob", name="pytorch-test", pods=3, gpus=1)
    assert (result["apiVersion"], result["kind"]) == ("kubeflow.org/v1", "PyTorchJob")
    assert result["spec"]["runPolicy"]["suspend"] is True
    roles = result["spec"]["pytorchReplicaSpecs"]
    assert {role: each["replicas"] for role, each in roles.items()} == {"Master": 1, "Worker": 2}
    assert {each["template"]["spec"]["containers"][0]["name"] for each in roles.values()} == {"pytorch"}
    assert {each["restartPolicy"] for each in roles.values()} == {"OnFailure"}
    assert requests(result)["nvidia.com/gpu"] == "1"


# --- the GKE batch reference architecture -----------------------------------------------------------------------------

JOBS = {
    "lq-team-b-lp": ("default-priority-nonpreempting", {"cpu": "2", "memory": "10Gi", "nvidia.com/gpu": "2"}, 20),
    "lq-team-b-hp": ("high-priority-preempting", {"cpu": "2", "memory": "10Gi", "nvidia.com/gpu": "2"}, 15),
    "lq-team-b-compact": ("compact-priority-preempting", {"cpu": "10", "memory": "60Gi", "nvidia.com/gpu": "1"}, 15),
}
"""Local queue → priority, requests of a pod, backoff limit."""


@pytest.mark.parametrize("queue", JOBS)
def test_the_jobs_of_low_high_and_compact_priority(queue: str) -> None:
    """Two indexed pods with names and the cpu and memory that the queue counts for each GPU, and its priority."""
    priority, wanted, backoff = JOBS[queue]
    service, result = objects(
        "batch-platform", "team-b", queue, name="job-0", pods=2, backoff_limit=backoff, ports=(8080,)
    )
    assert result["metadata"]["labels"][QUEUE] == queue
    assert result["metadata"]["labels"][PRIORITY] == pod(result)["priorityClassName"] == priority
    spec = result["spec"]
    assert (spec["suspend"], spec["parallelism"], spec["completions"]) == (True, 2, 2)
    assert (spec["completionMode"], spec["backoffLimit"]) == ("Indexed", backoff)
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert rule == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    assert requests(result) == wanted
    assert (pod(result)["restartPolicy"], pod(result)["serviceAccountName"]) == ("Never", "team-b-ksa")
    assert pod(result)["containers"][0]["ports"] == [{"containerPort": 8080}]
    assert (service["kind"], service["spec"]["clusterIP"]) == ("Service", "None")
    assert service["metadata"]["name"] == pod(result)["subdomain"] == "job-0"
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": "job-0"}


def test_a_compact_job_asks_for_a_placement_group_of_its_own() -> None:
    result = one("batch-platform", "team-a", "compact", kind="job", name="c", placement_group="team-a-0-compact")
    assert pod(result)["nodeSelector"] == {"cloud.google.com/gke-placement-group": "team-a-0-compact"}


def test_the_job_sets_of_the_low_priority_queue() -> None:
    result = one(
        "batch-platform", "team-a", "lp", kind="jobset", name="jobset-0", pods=2, max_restarts=15, ports=(3389,)
    )
    job = replicated(result)
    assert (job["name"], job["replicas"]) == ("worker", 1)
    spec = job["template"]["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (2, 2, 0)
    assert result["spec"]["failurePolicy"] == {"maxRestarts": 15, "rules": UNCOUNTED}
    assert result["metadata"]["labels"][PRIORITY] == "default-priority-nonpreempting"
    assert "annotations" not in result["metadata"]
    assert requests(result) == {"cpu": "2", "memory": "10Gi", "nvidia.com/gpu": "2"}
    assert pod(result)["containers"][0]["ports"] == [{"containerPort": 3389}]


@pytest.mark.parametrize(("flavor", "gpus"), [("h100", 8), ("b200", 8)])
def test_one_pod_with_all_gpus_of_a_node(flavor: str, gpus: int) -> None:
    """In a queue of two machine types the intended one is selected; otherwise Kueue chooses by quota."""
    result = one("reservations", "research", "large", name="finetune", flavor=flavor, backoff_limit=10)
    assert requests(result) == {"nvidia.com/gpu": str(gpus)}
    accelerator = {"h100": "nvidia-h100-80gb", "b200": "nvidia-b200"}[flavor]
    assert pod(result)["nodeSelector"]["cloud.google.com/gke-accelerator"] == accelerator


# --- GPUDirect-RDMA ---------------------------------------------------------------------------------------------------


def test_multi_node_jobs_get_a_note_about_network_interfaces() -> None:
    """The workload decides which of them it needs; a single pod needs none."""
    many, alone = (answer("gpu-rdma", "llm", "train", pods=pods).notes for pods in (2, 1))
    rails = ", ".join(f"rdma-b-{number}" for number in range(7))
    assert many[-1] == f"  gvnic-b, {rails} and rdma-b-7"
    assert not any("interfaces" in note for note in alone)
    assert not any("interfaces" in note for note in answer("flex-start", "research", "gpu", pods=2).notes)


# --- RDMA without GPUs ------------------------------------------------------------------------------------------------


def test_the_mpi_job_of_the_published_sample_uses_rdma() -> None:
    """Equal to Google's sample but for the name of the network, the capability and the core of the launcher."""
    (job,) = answer("hpc", "weather", "forecast", kind="mpijob", pods=8, image="hpl:1", command=("mpirun",)).objects
    spec: Any = job["spec"]
    assert (spec["mpiImplementation"], spec["launcherCreationPolicy"]) == ("Intel", "WaitForWorkersReady")
    roles = {role: each["template"] for role, each in spec["mpiReplicaSpecs"].items()}
    annotations = roles["Worker"]["metadata"]["annotations"]
    assert annotations["networking.gke.io/default-interface"] == "eth0"
    assert json.loads(annotations["networking.gke.io/interfaces"]) == [
        {"interfaceName": "eth0", "network": "default"},
        {"interfaceName": "eth1", "network": "falcon-a-0"},
    ]
    (worker,), (launcher,) = (roles[role]["spec"]["containers"] for role in ("Worker", "Launcher"))
    assert worker["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert "annotations" not in roles["Launcher"]["metadata"] and "securityContext" not in launcher
    assert spec["slotsPerWorker"] == int(worker["resources"]["requests"]["cpu"]) == 189


def test_one_pod_and_machines_without_rdma_have_no_interface_of_their_own() -> None:
    alone = answer("hpc", "weather", "forecast", kind="job", pods=1)
    plain = answer("hpc", "weather", "prepare", kind="job", pods=2)
    for each in (alone, plain):
        template: Any = each.objects[-1]["spec"]
        assert "annotations" not in template["template"]["metadata"]
        assert not any("RDMA" in note for note in each.notes)


def test_a_template_keeps_its_own_security_context_beside_the_capability(tmp_path: pathlib.Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text("spec: {containers: [{name: a, image: 'a:1', securityContext: {runAsUser: 0}}]}")
    made = answer("hpc", "cfd", "solve", kind="job", pods=2, template=str(template))
    spec: Any = made.objects[-1]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert container["securityContext"] == {"runAsUser": 0, "capabilities": {"add": ["IPC_LOCK"]}}
