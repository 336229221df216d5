"""Manifests become jobs as Kueue reads them."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from berth.diagnostics import Problems
from berth.jobs.files import ManifestDocument, read_documents
from berth.jobs.pod_set import NodeSelectorRequirement
from berth.jobs.quantities import format_quantity, parse_quantity
from berth.plan.node_settings import Toleration
from berth.simulator.arrivals import Arrival, read_arrivals
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.model import SchedulerSetup
from tests.berth.simulator.setups import queue

BOOK = SimulatedFleet(
    name="test",
    setup=SchedulerSetup(queues=(queue("cq", 8), queue("other", 8))),
    local_queues={("vision", "train"): "cq", ("default", "default"): "other"},
    priorities={"low": 10, "high": 20},
    default_priority=10,
)
LABELS = {"kueue.x-k8s.io/queue-name": "train"}
TPU = {"limits": {"google.com/tpu": 4}}


def read(manifest: dict[str, Any]) -> list[Arrival]:
    """Return the jobs of a manifest that is sound."""
    problems = Problems()
    output = list(read_arrivals(ManifestDocument("f", manifest).root_value(problems), BOOK))
    assert problems.entries == []
    return output


def manifest(kind: str, spec: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a job in the team's namespace."""
    version = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "PyTorchJob": "kubeflow.org/v1", "Pod": "v1"}
    metadata = {"name": "a", "namespace": "vision", "labels": {**LABELS, **(labels or {})}}
    return {"apiVersion": version[kind], "kind": kind, "metadata": metadata, "spec": spec}


def template(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a pod template."""
    return {"spec": {"containers": list(containers) or [{"name": "main"}], **spec}}


def sizes(arrival: Arrival) -> list[tuple[str, int, dict[str, int]]]:
    """Name, pods and requests of each pod set."""
    return [(pods.name, pods.count, dict(pods.requests)) for pods in arrival.job.pod_sets]


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 2, "completions": 9}, 2),
    ],
)
def test_a_job_counts_the_pods_that_run_at_a_time(spec: dict[str, int], pods: int) -> None:
    (resource,) = read(manifest("Job", {**spec, "template": template({"resources": TPU})}))
    assert sizes(resource) == [("main", pods, {"google.com/tpu": 4})]
    assert (resource.job.name, resource.display_name, resource.job.queue, resource.job.priority) == (
        "vision/a",
        "a",
        "cq",
        10,
    )


def test_a_job_set_counts_every_replica_of_every_replicated_job() -> None:
    """Multislice: replicas are slices, parallelism the hosts of one."""
    slices = {
        "name": "slice",
        "replicas": 3,
        "template": {"spec": {"parallelism": 2, "template": template({"resources": TPU})}},
    }
    head = {"name": "head", "template": {"spec": {"template": template()}}}
    (each,) = read(manifest("JobSet", {"replicatedJobs": [slices, head]}))
    assert sizes(each) == [("slice", 6, {"google.com/tpu": 4}), ("head", 1, {})]


def test_a_pytorch_job_has_its_master_before_its_workers() -> None:
    replicas = {"Worker": {"replicas": 2, "template": template()}, "Master": {"template": template()}}
    (each,) = read(manifest("PyTorchJob", {"pytorchReplicaSpecs": replicas}))
    assert sizes(each) == [("master", 1, {}), ("worker", 2, {})]


def test_a_pod_is_a_job_of_its_own() -> None:
    (resource,) = read(manifest("Pod", template({"resources": TPU})["spec"]))
    assert sizes(resource) == [("main", 1, {"google.com/tpu": 4})]


def test_jobs_of_a_list_are_read_and_other_objects_skipped() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}
    items = [service, manifest("Job", {"template": template()})]
    assert [each.display_name for each in read({"apiVersion": "v1", "kind": "List", "items": items})] == ["a"]


def test_a_limit_without_a_request_is_a_request() -> None:
    resources = {"requests": {"cpu": "500m"}, "limits": {"cpu": 4, "memory": "1Gi"}}
    (resource,) = read(manifest("Job", {"template": template({"resources": resources})}))
    assert sizes(resource) == [("main", 1, {"cpu": 500, "memory": 2**30})]


def test_a_pod_counts_the_larger_of_init_and_main_containers() -> None:
    """Containers and sidecars together, or an init container with the sidecars before it; overhead on top."""

    def cpu(number: int, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": number}}, **more}

    inits = [cpu(1, restartPolicy="Always"), cpu(4), cpu(1, restartPolicy="Always")]
    spec = template(cpu(1), cpu(1), initContainers=inits, overhead={"cpu": "250m"})
    (each,) = read(manifest("Job", {"template": spec}))
    assert sizes(each) == [("main", 1, {"cpu": 5250})]


def test_requests_of_the_pod_as_a_whole_replace_those_of_its_containers() -> None:
    spec = template({"resources": {"requests": {"cpu": 1, "memory": 1}}}, resources={"requests": {"cpu": 3}})
    (each,) = read(manifest("Job", {"template": spec}))
    assert sizes(each) == [("main", 1, {"cpu": 3000, "memory": 1})]


def test_excluded_resources_do_not_count() -> None:
    resources = {"requests": {"ephemeral-storage": "10Gi", "cpu": 1}}
    (resource,) = read(manifest("Job", {"template": template({"resources": resources})}))
    assert sizes(resource) == [("main", 1, {"cpu": 1000})]


@pytest.mark.parametrize(
    ("labels", "spec", "priority"),
    [
        ({}, {}, 10),
        ({}, {"priorityClassName": "high"}, 20),
        ({"kueue.x-k8s.io/priority-class": "low"}, {"priorityClassName": "high"}, 10),
    ],
)
def test_the_label_comes_before_the_template_and_the_default_last(
    labels: dict[str, str], spec: dict[str, str], priority: int
) -> None:
    (each,) = read(manifest("Job", {"template": template(**spec)}, labels))
    assert each.job.priority == priority


def test_a_job_without_a_label_goes_to_the_local_queue_that_is_called_default() -> None:
    (each,) = read(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "b"}, "spec": {"template": template()}}
    )
    assert (each.job.name, each.job.queue) == ("default/b", "other")


def test_node_requirements_of_pods_are_kept() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    spec = template(
        nodeSelector={"shape": "2x4"}, affinity=affinity, tolerations=[{"key": "gpu", "operator": "Exists"}]
    )
    (each,) = read(manifest("Job", {"template": spec}))
    (pods,) = each.job.pod_sets
    assert pods.node_selector == {"shape": "2x4"}
    assert pods.affinity_terms == ((NodeSelectorRequirement("zone", "In", ("a", "b")),),)
    assert pods.tolerations == (Toleration(key="gpu", operator="Exists"),)


@pytest.mark.parametrize(
    ("resource", "text", "number"),
    [
        ("cpu", "500m", 500),
        ("cpu", 2, 2000),
        ("cpu", "1.5", 1500),
        ("memory", "16Gi", 16 * 2**30),
        ("memory", "1e3", 1000),
        ("memory", "1.5G", 1_500_000_000),
        ("google.com/tpu", "4", 4),
        ("google.com/tpu", "1500m", 2),
        ("memory", "-1", None),
        ("memory", "1 Gi", None),
        ("memory", "1KiB", None),
        ("memory", True, None),
        ("memory", "9Ei", None),
    ],
)
def test_quantities_are_whole_numbers_rounded_up(resource: str, text: object, number: int | None) -> None:
    assert parse_quantity(resource, text) == number


def test_a_number_is_written_as_kubernetes_would() -> None:
    assert [format_quantity(*each) for each in (("cpu", 1500), ("memory", 2**30), ("gpu", 8))] == ["1500m", "1Gi", "8"]


def test_every_document_of_a_file_knows_its_lines(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("# first\na: 1\n---\n# empty\n---\nb: {c: [1,\n  2]}\n", encoding="utf-8")
    result, problems = read_documents(file, "jobs.yaml")
    assert problems == [] and [each.value for each in result] == [{"a": 1}, {"b": {"c": [1, 2]}}]
    assert [result[1].location(path) for path in ((), ("b",), ("b", "c", 1), ("x",))] == [
        "jobs.yaml:6",
        "jobs.yaml:6",
        "jobs.yaml:7",
        "jobs.yaml:6",
    ]
