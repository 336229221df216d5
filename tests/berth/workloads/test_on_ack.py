"""`berth workload` on an ACK One fleet: PyTorchJobs that can be dequeued and placed, in ACK's terms."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.manifests.ack import training_job
from berth.planner.ack.fleet import plan_ack
from berth.spec.ack import AckFleetSpec
from berth.spec.parse import parse_as
from berth.workloads.ack import derive_ack_workload
from berth.workloads.options import WorkloadOptions
from tests.berth.planner.ack.test_elastic_quotas import fleet
from tests.problem_lines import without_codes
from tests.stack_files import ACK_STACKS

FLEET = str(ACK_STACKS["ack-fleet"])
GANG = str(ACK_STACKS["ack-gang"])


def berth(words: str, stack: str = FLEET) -> tuple[int, str, str]:
    """Exit status and what is printed."""
    result = CliRunner().invoke(app, ["workload", stack, *words.split()])
    return result.exit_code, result.stdout, without_codes(result.stderr)


def test_the_published_job_is_one_master_and_two_workers() -> None:
    """ACK One docs, PyTorchJobs with kube-queue: `pytorch-test`, which one member gets as a whole."""
    status, out, _ = berth("examples child-2 --name pytorch-test --pods 3 --gpus 1 --cpu 4 --priority urgent")
    job: Any = yaml.safe_load(out)
    roles = {role: part["replicas"] for role, part in job["spec"]["pytorchReplicaSpecs"].items()}
    assert (status, job["kind"], roles) == (0, "PyTorchJob", {"Master": 1, "Worker": 2})
    assert job["metadata"] == {
        "name": "pytorch-test",
        "namespace": "default",
        "labels": {"berth.dev/team": "examples"},
    }
    assert "Requests 3 GPUs of 'child-2' (16 guaranteed, at most 32, 1 at a time)." in out
    pod = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert pod["priorityClassName"] == "urgent"
    assert pod["containers"][0]["resources"]["limits"] == {"cpu": "4", "nvidia.com/gpu": "1"}


def test_an_ack_plan_has_no_kueue_objects() -> None:
    """A suspended job would wait for a Kueue that is not there."""
    _, out, _ = berth("trainers train --pods 2 --gpus 8")
    assert "kueue" not in out and "suspend" not in out


def test_a_job_has_the_tolerations_of_its_queues_pools() -> None:
    value = fleet(teams={"vision": {"queues": {"train": {"flavors": [{"flavor": "a100", "guaranteed": 16}]}}}})
    kept = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
    value["ack"]["clusters"]["one"]["nodePools"]["a100"]["taints"] = [
        kept,
        {"key": "new", "value": "x", "effect": "NoExecute"},
    ]
    planned = plan_ack("test", parse_as(AckFleetSpec, value))
    assert planned is not None
    fleet_plan = derive_ack_workload(planned.plan, "vision", "train", WorkloadOptions(pods=2))
    assert fleet_plan.job is not None, fleet_plan.problems
    job: Any = training_job(fleet_plan.job)
    for part in job["spec"]["pytorchReplicaSpecs"].values():
        assert part["template"]["spec"]["tolerations"] == [
            {**kept, "operator": "Equal"},
            {"key": "new", "value": "x", "operator": "Equal", "effect": "NoExecute"},
        ]


REFUSED = {
    "trainer train": "TEAM: no team 'trainer'; did you mean 'trainers'?",
    "trainers trian": "QUEUE: team 'trainers' has no queue 'trian'; did you mean 'train'?",
    "trainers train --kind job": "--kind: 'job': the fleet propagates only PyTorchJobs; write pytorchjob",
    "trainers train --gpus 16": "--gpus: '16': a node has at most 8 GPUs; write more --pods instead",
    "trainers train --pods 3": "--pods: 3 × 8 GPUs are more than the maximum of 'trainers-train', 16; the job would "
    "wait forever"
    "\n--pods: '3': one member can run at most 2 pods of 8 GPUs",
    "examples child-2 --pods 3": "--pods: '3': one member can run at most 2 pods of 8 GPUs",
    "trainers train --pods 5 --gpus 3": "--pods: '5': one member can run at most 4 pods of 3 GPUs",
    "trainers train --priority urgnet": "--priority: no priority 'urgnet'; did you mean 'urgent'?",
    "trainers train --slices 2": "--slices: is not supported on ACK; remove --slices",
    "trainers train --name Train": "--name: 'Train' is not a workload name: write lower-case letters, digits "
    "and '-', starting with a letter",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_workload_that_could_never_run_is_a_fault(words: str) -> None:
    status, out, err = berth(words)
    assert (status, out, err.rstrip("\n")) == (1, "", REFUSED[words])


# --- without a quota tree ---------------------------------------------------------------------------------------------


def test_without_a_quota_tree_a_job_is_placed_at_once() -> None:
    status, out, _ = berth("vision vision-lab --pods 3 --gpus 8", GANG)
    job: Any = yaml.safe_load(out)
    assert (status, job["metadata"]["namespace"], job["metadata"]["name"]) == (0, "vision-lab", "vision")
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    assert "# Requests 24 GPUs, which no quota limits." in out
    assert "sends it at once, without a queue, to one member, with all pods or none." in out
    assert not any(word in out for word in ("kube-queue", "guaranteed", "suspend", "kueue"))


def test_a_job_that_is_not_suspended_is_not_reported_as_pending() -> None:
    """With a quota tree, too: nothing waits in a queue that is above the maximum of its leaf."""
    value = fleet(teams={"vision": {"queues": {"train": {"flavors": [{"flavor": "a100", "guaranteed": 8}]}}}})
    for suspension, refused in ((True, ["over-quota"]), (False, [])):
        value["ack"]["fleet"] = {"propagation": {"suspension": suspension}}
        planned = plan_ack("test", parse_as(AckFleetSpec, value))
        assert planned is not None
        derived = derive_ack_workload(planned.plan, "vision", "train", WorkloadOptions(pods=2))
        assert [each.code for each in derived.problems] == refused
        assert any("at once, without a queue" in note for note in derived.notes) == (not suspension)


REFUSED_WITHOUT_TREE = {
    "vision train": "QUEUE: the fleet has no queues, and team 'vision' has no namespace 'train'; write one of 'vision' "
    "and 'vision-lab'",
    "vision visoin": "QUEUE: the fleet has no queues, and team 'vision' has no namespace 'visoin'; did you mean "
    "'vision'?",
    "examples vision": "QUEUE: the fleet has no queues, and team 'examples' has no namespace 'vision'; write one of "
    "'default'",
    "vision vision --pods 5": "--pods: '5': one member can run at most 4 pods of 8 GPUs",
    "vision vision --gpus 9": "--gpus: '9': a node has at most 8 GPUs; write more --pods instead",
}


@pytest.mark.parametrize("words", REFUSED_WITHOUT_TREE)
def test_a_workload_that_could_never_run_is_a_fault_without_a_quota_tree(words: str) -> None:
    status, out, err = berth(words, GANG)
    assert (status, out, err.rstrip("\n")) == (1, "", REFUSED_WITHOUT_TREE[words])
