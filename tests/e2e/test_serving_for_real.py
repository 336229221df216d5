"""Services on a real Kueue: gated, admitted and preempting where a namespace has serving, untouched by it elsewhere.

Needs a Kueue with the integrations of services that manages jobs in namespaces of teams, and its webhooks under the
names of its chart. The fleet is the example of inference beside batch, with simulated nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from berth.manifests.fleet import all_manifests
from tests.e2e.support import hostile_fleet
from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, Failed, output
from tests.stack_files import plan

Manifest = dict[str, Any]
EXAMPLE = "stacks/examples/inference.yaml"
SERVICE = "stacks/jobs/inference/job.yaml"
GATE = "kueue.x-k8s.io/admission"
_CPU = {"containers": [{"name": "main", "image": "x"}], "terminationGracePeriodSeconds": 0}


def rendered() -> tuple[list[Manifest], list[Manifest]]:
    """The objects that a cluster without GKE's own kinds can have, and the patches of Kueue's webhooks."""
    manifests: list[Any] = list(all_manifests(plan("inference")))
    return [each for each in manifests if hostile_fleet.is_served(each)], hostile_fleet.patches(manifests)


@pytest.fixture(scope="module")
def fleet(cluster: Cluster) -> Iterator[Cluster]:
    """Provide the cluster with the example on it."""
    objects, patches = rendered()
    try:
        for each in patches:
            cluster.get(each["kind"], each["metadata"]["name"])
    except Failed:
        pytest.skip("Kueue's webhooks do not have the names of its chart")
    before = cluster.objects()
    try:
        hostile_fleet.apply(cluster, objects)
        hostile_fleet.apply_patches(cluster, patches)
        cluster.kubectl("apply", "-f", "-", given=output([*BERTH, "render", EXAMPLE, "--nodes"], ROOT))
        until("default accounts", lambda: accounts(cluster), lambda names: len(names) == 2)
        hostile_fleet.wait_for_quotas(cluster)
        if not queues_services(cluster):
            pytest.skip("Kueue of this cluster does not have the integrations of services")
        yield cluster
    finally:
        for namespace in ("chat", "research"):
            cluster.kubectl("delete", "deployments,jobs", "--all", "-n", namespace, "--ignore-not-found")
        bare = [{key: each[key] for key in ("apiVersion", "kind", "metadata")} for each in patches]
        hostile_fleet.apply_patches(cluster, bare)
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", given=hostile_fleet.stream(objects))
        until("the fleet to be gone", lambda: sorted(cluster.objects() - before), lambda left: not left)
        cluster.kubectl("delete", "nodes", "-l", "berth.dev/simulated=true", "--ignore-not-found")


def accounts(cluster: Cluster) -> list[str]:
    items = cluster.get("serviceaccounts", "-A", "--field-selector", "metadata.name=default")["items"]
    return [each["metadata"]["namespace"] for each in items if each["metadata"]["namespace"] in ("chat", "research")]


def deployment(name: str, namespace: str, queue: str | None) -> Manifest:
    """A Deployment of one pod without accelerators."""
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    template = {"metadata": {"labels": {"app": name}}, "spec": _CPU}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def queues_services(cluster: Cluster) -> bool:
    """Return whether the webhook of Deployments does something."""
    probe = deployment("probe", "chat", "online")
    answer = cluster.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", given=json.dumps(probe))
    return "annotations" in json.loads(answer)["spec"]["template"]["metadata"]


def pods(cluster: Cluster, namespace: str, selector: str) -> list[Manifest]:
    return cluster.get("pods", "-n", namespace, "-l", selector)["items"]


def gates(pod: Manifest) -> list[str]:
    return [each["name"] for each in pod["spec"].get("schedulingGates", ())]


def running(values: list[Manifest]) -> int:
    return sum(each["status"].get("phase") == "Running" for each in values)


def test_a_service_is_admitted_pod_by_pod_and_preempts_batch_when_it_scales_out(fleet: Cluster) -> None:
    """The scenario of the example: batch fills what the service leaves, and gives it back."""
    chat = "app.kubernetes.io/name=chat"
    fleet.kubectl("apply", "-f", SERVICE)
    until("two pods of the service", lambda: running(pods(fleet, "chat", chat)), lambda number: number == 2)
    for number in range(7):
        words = ("research", "batch", "--kind", "job", "--name", f"batch-{number}", "--", "sleep", "999")
        fleet.kubectl("apply", "-f", "-", given=output([*BERTH, "workload", EXAMPLE, *words], ROOT))
    job = "batch.kubernetes.io/job-name"
    until("six batch jobs", lambda: running(pods(fleet, "research", job)), lambda number: number == 6)
    fleet.kubectl("scale", "deployment", "chat", "-n", "chat", "--replicas=7")
    until("six pods of the service", lambda: running(pods(fleet, "chat", chat)), lambda number: number == 6)
    until("two batch jobs", lambda: running(pods(fleet, "research", job)), lambda number: number == 2)
    (waiting,) = [each for each in pods(fleet, "chat", chat) if each["status"].get("phase") != "Running"]
    assert GATE in gates(waiting)
    fleet.kubectl("scale", "deployment", "chat", "-n", "chat", "--replicas=2")
    until("six batch jobs again", lambda: running(pods(fleet, "research", job)), lambda number: number == 6)


@pytest.mark.parametrize("queue", ["batch", None])
def test_without_serving_kueue_ignores_a_deployment(fleet: Cluster, queue: str | None) -> None:
    name = f"web-{queue}".lower()
    fleet.kubectl("create", "-f", "-", given=json.dumps(deployment(name, "research", queue)))
    (pod,) = until("the pod", lambda: pods(fleet, "research", f"app={name}"), bool)
    assert gates(pod) == []
    assert "kueue.x-k8s.io/managed" not in pod["metadata"]["labels"]
    assert not any(key.startswith("kueue.x-k8s.io") for key in pod["metadata"].get("annotations", {}))
    owners = [each["metadata"]["name"] for each in fleet.get("workloads", "-n", "research")["items"]]
    assert not any(name in owner for owner in owners)


def test_with_serving_a_deployment_without_a_queue_is_held(fleet: Cluster) -> None:
    fleet.kubectl("create", "-f", "-", given=json.dumps(deployment("lost", "chat", None)))
    (pod,) = until("the pod", lambda: pods(fleet, "chat", "app=lost"), bool)
    assert GATE in gates(pod)


def test_accelerators_of_a_service_are_refused_where_serving_is_off(fleet: Cluster) -> None:
    service = deployment("thief", "research", "batch")
    container = {"name": "main", "image": "x", "resources": {"limits": {"google.com/tpu": 4}}}
    service["spec"]["template"]["spec"] = {"containers": [container]}
    with pytest.raises(Failed, match="Kueue does not queue services in this namespace"):
        fleet.kubectl("create", "-f", "-", given=json.dumps(service))
