"""What a manager queues is what every worker knows: its Kueue connects to no worker that lacks the CRD of a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pulumi_kubernetes as kubernetes
import pytest

from berth.plan.admission_checks import WorkerAccessPlan
from berth.plan.configuration import JOB_FRAMEWORKS
from components.kueue.worker_access import WorkerAccess
from tests import small_fleets as small
from tests.engine import Run, run, using
from tests.stack_files import plan

INSTALLED = {"jobset": "jobset.x-k8s.io/jobset"}
"""Chart to the kind of job whose CRD it brings."""


def managed(token_date: str | None = None, **kueue: Any) -> dict[str, Any]:
    """A manager with one worker."""
    worker: dict[str, Any] = {
        "cluster": {"name": "east"},
        "pools": {"l4": {"machineType": "g2-standard-24", "nodes": 4, "zone": small.ZONE}},
    }
    if token_date is not None:
        worker["tokenDate"] = token_date
    team = {"queues": {"train": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}}}
    fleet = {"workers": {"east": worker}, "pools": small.REMOVED, "cohorts": small.REMOVED, "teams": {"vision": team}}
    return small.fleet_with({**fleet, "kueue": kueue})


def test_a_manager_queues_no_kind_that_a_worker_may_not_know() -> None:
    manager = plan("multikueue")
    assert manager.kueue is not None
    for worker in manager.workers:
        known = {"batch/job", *(kind for chart in worker.plan.charts if (kind := INSTALLED.get(chart.name)))}
        assert set(manager.kueue.frameworks) == known
        assert worker.plan.kueue is not None
        assert worker.plan.kueue.frameworks == JOB_FRAMEWORKS  # nobody connects there for them
        assert worker.plan.manager_access is not None
        assert worker.plan.manager_access.job_kinds == {"batch": ("jobs",), "jobset.x-k8s.io": ("jobsets",)}


@pytest.mark.parametrize(
    ("frameworks", "text"),
    [
        (["batch/job"], []),
        (["batch/job", "pod", "jobset.x-k8s.io/jobset"], []),
        (["kubeflow.org/pytorchjob", "batch/job", "ray.io/rayjob"], ["kubeflow.org/pytorchjob and ray.io/rayjob"]),
    ],
)
def test_kinds_of_external_controllers_are_queued_if_written_and_noted(frameworks: list[str], text: list[str]) -> None:
    fleet = managed(integrations={"frameworks": frameworks})
    fleet_plan = small.plan(fleet)
    assert fleet_plan.kueue is not None
    assert [*fleet_plan.kueue.frameworks] == frameworks
    notes = [p.message.partition(":")[0] for p in small.problems(fleet) if p.code == "kinds-on-workers"]
    assert notes == text


def test_an_existing_kueue_accepts_every_kind_of_job() -> None:
    (worker,) = small.plan(managed(existing=True)).workers
    assert worker.plan.manager_access is not None
    groups = {framework.rpartition("/")[0] for framework in JOB_FRAMEWORKS}
    assert worker.plan.manager_access.job_kinds.keys() == groups


def test_a_queue_open_to_namespaces_that_workers_lack_gets_a_note() -> None:
    fleet = managed()
    fleet["clusterQueues"] = {
        "open": {"teams": ["vision"], "namespaces": "all", "flavors": [{"pool": "l4", "guaranteed": 4}]}
    }
    fleet["teams"]["vision"]["queues"]["train"]["flavors"][0]["guaranteed"] = 4
    assert [(p.severity, p.path) for p in small.problems(fleet) if p.code == "namespaces-on-workers"] == [
        ("note", ("clusterQueues", "open", "namespaces"))
    ]
    for cluster in (small.plan(fleet), small.plan(fleet).workers[0].plan):
        doors = [door.namespace for queue in cluster.cluster_queues for door in queue.local_queues]
        assert set(doors) == {"vision"}


def test_nodes_of_a_cluster_that_is_there_are_known_by_the_labels_they_have() -> None:
    """The manager's flavor selects what both have, for nothing runs there."""
    fleet = managed()
    known = {"example.com/gpu": "l4"}
    pool = {"machineType": "g2-standard-24", "nodes": 2, "zone": small.ZONE, "nodeLabels": known}
    fleet["workers"]["lab"] = {"kubeconfig": "lab", "pools": {"l4": pool}}
    fleet_plan = small.plan(fleet)
    selected = {worker.name: dict(worker.plan.flavors[0].node_labels) for worker in fleet_plan.workers}
    assert selected == {"east": {"cloud.google.com/gke-accelerator": "nvidia-l4"}, "lab": known}
    assert dict(fleet_plan.flavors[0].node_labels) == {}
    fleet["workers"]["east"]["pools"]["l4"]["nodeLabels"] = known
    assert small.faults(fleet) == ["existing-cluster workers.east.pools.l4.nodeLabels"]


def test_a_new_date_is_a_new_token_and_the_same_resource() -> None:
    """The engine replaces it: the new Secret first, then the manager's kubeconfig, and the old Secret last."""
    urns, names = set[str](), list[str]()
    for date in (None, "2026-08-01", "2026-11-22"):
        (worker,) = small.plan(managed(date)).workers
        made = access_of(worker.plan.manager_access)
        token = made.only_resource("core/v1:Secret", "access-token")
        urns.add(token.urn)
        names.append(cast("Mapping[str, str]", token.inputs["metadata"])["name"])
        assert token.delete_before_replace is not True
    assert len(urns) == 1
    assert names == ["multikueue", "multikueue-2026-08-01", "multikueue-2026-11-22"]


def test_a_manager_changes_jobs_and_workloads_and_only_reads_queues() -> None:
    """What Kueue's own script for a worker's kubeconfig gives."""
    (worker,) = small.plan(managed()).workers
    rules = cast(Any, access_of(worker.plan.manager_access).only_resource("ClusterRole").inputs["rules"])
    verbs = {
        f"{group}/{resource}": set(rule["verbs"])
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    reads, creates = {"get", "list", "watch"}, {"create", "delete", "get", "list", "watch"}
    assert verbs == {
        "batch/jobs": creates,
        "batch/jobs/status": {"get"},
        "jobset.x-k8s.io/jobsets": creates,
        "jobset.x-k8s.io/jobsets/status": {"get"},
        "kueue.x-k8s.io/workloads": {*creates, "update", "patch"},
        "kueue.x-k8s.io/workloads/status": {"get", "update", "patch"},
        "kueue.x-k8s.io/clusterqueues": reads,
        "kueue.x-k8s.io/localqueues": reads,
    }


def access_of(access: WorkerAccessPlan | None) -> Run:
    """What the access to a worker consists of."""
    assert access is not None

    def build() -> None:
        opts = using(kubernetes.Provider("worker"))
        WorkerAccess("access", "east", access, server="https://203.0.113.10", opts=opts)

    return run(build, preview=True)
