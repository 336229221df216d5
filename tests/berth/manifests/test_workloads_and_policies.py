"""What `berth workload` writes passes the admission policies, in queues with one kind of machines and with both."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from berth.evaluate import evaluate_stack
from berth.manifests.fleet import all_manifests
from berth.manifests.workloads.objects import workload_manifests
from berth.plan.fleet import FleetPlan
from berth.workloads.derive import derive_workload
from berth.workloads.options import WorkloadOptions
from tests import hostile
from tests.cel import Request, refusals
from tests.stack_files import ROOT

Manifest = dict[str, Any]
_QUEUES = [("speech", "l4", "l4"), ("speech", "mixed", "l4"), ("speech", "mixed", "n2"), ("speech", "gb200", "gb200")]
_COMMANDS = {"mpijob": ("mpirun", "train"), "rayjob": ("python", "tune.py")}
_KINDS = ("job", "jobset", "mpijob", "pytorchjob", "raycluster", "rayjob", "trainjob")


@cache
def fleet() -> FleetPlan:
    plan = evaluate_stack(str(hostile.FOLDER / "shared.yaml"), ROOT).plan
    assert isinstance(plan, FleetPlan)
    return plan


@cache
def rendered() -> list[Manifest]:
    return list(all_manifests(fleet()))


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("team", "queue", "flavor"), _QUEUES)
def test_a_workload_of_each_kind_passes_in_each_queue(team: str, queue: str, flavor: str, kind: str) -> None:
    (namespace,) = (m for m in rendered() if m["kind"] == "Namespace" and m["metadata"]["name"] == team)
    options = WorkloadOptions(kind=kind, flavor=flavor, pods=2, image="x", command=_COMMANDS.get(kind, ()))
    made = derive_workload(fleet(), team, queue, options)
    assert made.workload is not None, made.problems
    for each in workload_manifests(made.workload):
        kind_of, group = each["kind"], str(each["apiVersion"]).rpartition("/")[0]
        asked = Request(group, f"{str(kind_of).lower()}s", namespace, each, None, everywhere=False)
        assert refusals(rendered(), asked) == []


def test_a_launcher_that_selects_no_machines_is_refused() -> None:
    """The rule is asked: without its selector, the launcher of the same MPIJob would get an accelerator machine."""
    (namespace,) = (m for m in rendered() if m["kind"] == "Namespace" and m["metadata"]["name"] == "speech")
    options = WorkloadOptions(kind="mpijob", flavor="l4", pods=2, image="x", command=_COMMANDS["mpijob"])
    made = derive_workload(fleet(), "speech", "mixed", options)
    assert made.workload is not None
    *_, running = workload_manifests(made.workload)
    job: Any = running
    del job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["nodeSelector"]
    (message,) = refusals(rendered(), Request("kubeflow.org", "mpijobs", namespace, job, None, everywhere=False))
    assert "this queue has others" in message
