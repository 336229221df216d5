"""`berth why`: whole answers for workloads in every state, and its forecast against a second way of ending jobs."""

from __future__ import annotations

import json
import pathlib
import random
import shutil
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack
from berth.jobs.files import ManifestDocument
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.live import read_cluster_state
from berth.simulator.scheduler.simulate import Simulator
from berth.why.until import forecast
from tests.kueue_workloads import workload_object
from tests.stack_files import ROOT

TPU = ("v5e", "google.com/tpu")
SHORT = (
    "couldn't assign flavors to pod set main: insufficient unused quota for google.com/tpu in flavor v5e, 8 more needed"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    shutil.copy(ROOT / "tests" / "berth" / "simulator" / "stack.yaml", tmp_path / "Pulumi.lab.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def workload(name: str, team: str, minute: int, chips: int, *, admitted: bool, **spec: Any) -> dict[str, Any]:
    """Return a Workload of pods with 4 chips."""
    requests = {"google.com/tpu": 4, "cpu": "1"}
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}}
    pods = {"name": "main", "count": chips // 4, "template": template}
    usage = {"google.com/tpu": str(chips), "cpu": str(chips // 4)}
    held = {"name": "main", "flavors": dict.fromkeys(usage, "v5e"), "resourceUsage": usage, "count": chips // 4}
    day = f"2026-11-23T08:{minute:02}"
    made = workload_object(name, team, pods, f"{day}:00Z", held if admitted else None, f"{day}:30Z")
    made["spec"] |= spec
    return made


def with_condition(
    made: dict[str, Any], kind: str, message: str, status: str = "False", reason: str = "Pending"
) -> dict[str, Any]:
    condition = {"type": kind, "status": status, "reason": reason, "message": message}
    condition["lastTransitionTime"] = "2026-11-23T08:10:00Z"
    made["status"].setdefault("conditions", []).append(condition)
    return made


def state(*items: dict[str, Any]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    pathlib.Path("state.json").write_text(json.dumps(listed), encoding="utf-8")


def why(*words: str, exit_code: int = 0) -> str:
    done = CliRunner().invoke(app, ["why", "lab", *words, "--live", "state.json"])
    assert done.exit_code == exit_code, done.output
    return done.stdout if exit_code == 0 else done.stderr


def full(*, limited: bool = True, message: str = SHORT) -> list[dict[str, Any]]:
    """All 24 chips are in use, 8 by their owner for at most an hour; a job of vision waits for 8."""
    spec = {"maximumExecutionTimeSeconds": 3600} if limited else {}
    return [
        workload("a", "speech", 1, 8, admitted=True, **spec),
        workload("b", "vision", 2, 16, admitted=True),
        with_condition(workload("c", "vision", 3, 8, admitted=False), "QuotaReserved", message),
    ]


def test_quota_in_use_says_how_much_until_when_and_whose_job() -> None:
    state(*full())
    assert why("c") == (
        "Job/c in vision, queue vision/train: waits\n"
        "\n"
        "What is in the way\n"
        "  the quota that it needs is in use\n"
        f"      Kueue: {SHORT}\n"
        "\n"
        "How much\n"
        "  v5e: it asks 8 v5e chips; 0 of at most 24 are free to its queue; Kueue counts 8 more needed\n"
        "\n"
        "Until when\n"
        "  2026-11-23 09:01 UTC at the latest, when enough of the jobs that hold the quota have reached their maximum "
        "run time; sooner if they end, later if another job comes first\n"
        "\n"
        "Who could help\n"
        "  you: wait, submit a smaller job, or ask the team that holds the quota\n"
        "  your team: it starts if b (vision/train, 16) ends\n"
        "  speech: it starts if a (speech/train, 8) ends\n"
    )


@pytest.mark.parametrize(("asked", "at"), [(8, "09:01"), (16, "10:01"), (24, "11:01")])
def test_the_time_is_that_of_the_first_jobs_whose_ends_are_enough(asked: int, at: str) -> None:
    """Not that of the last job with a limit: the run times are one, two and three hours."""
    held = [
        workload(f"h{hours}", "vision", 1, 8, admitted=True, maximumExecutionTimeSeconds=3600 * hours)
        for hours in (3, 1, 2)
    ]
    waits = workload("c", "vision", 3, asked, admitted=False)
    state(*held, with_condition(waits, "QuotaReserved", SHORT.replace("8 more", f"{asked} more")))
    assert f"Until when\n  2026-11-23 {at} UTC at the latest" in why("c")


def test_without_a_limit_the_time_is_unknown_and_says_why() -> None:
    state(*full(limited=False))
    assert "Until when\n  unknown: 2 of 2 jobs that hold the quota have no limit of their run time\n" in why("c")


def test_an_amount_that_differs_from_the_stack_file_is_said() -> None:
    state(*full(message=SHORT.replace("8 more", "4 more")))
    assert "Kueue counts 4 more needed, the stack file 8\n" in why("c")


def test_a_job_that_the_stack_file_would_admit_is_told_to_compare_the_cluster() -> None:
    state(*full()[1:])
    assert "Kueue would give it quota at its next attempt" in why("vision/c")
    assert "berth verify lab --live FILE" in why("vision/c")


def test_jobs_ahead_in_its_queue_are_named() -> None:
    first = with_condition(workload("first", "vision", 2, 8, admitted=False), "QuotaReserved", SHORT)
    state(*full(), first)
    assert "Note: 1 job of its queue is tried first: first.\n" in why("c")


def test_a_job_without_any_reason_gets_the_stack_files() -> None:
    items = full()
    items[2]["status"] = {}
    state(*items)
    answer = why("c")
    assert "Note: Kueue has written no reason yet; what follows is what the stack file says.\n" in answer
    assert "it asks 8 v5e chips; 0 of at most 24 are free to its queue\n" in answer


def test_what_never_ends_says_so() -> None:
    text = (
        "couldn't assign flavors to pod set main: insufficient quota for google.com/tpu in flavor v5e, previously "
        "considered podsets requests (0) + current podset request (32) > maximum capacity (24)"
    )
    state(with_condition(workload("big", "vision", 3, 32, admitted=False), "QuotaReserved", text))
    answer = why("big")
    assert "it asks more than the queue can ever use of v5e: 24 google.com/tpu\n" in answer
    assert "Until when\n  it does not end by itself\n" in answer


def test_pods_that_are_not_ready_have_nodes_and_the_time_at_which_kueue_gives_up() -> None:
    made = with_condition(
        workload("s", "vision", 1, 8, admitted=True),
        *("PodsReady", "Not all pods are ready or succeeded"),
        reason="WaitForStart",
    )
    plan = evaluate_stack("lab", pathlib.Path()).fleet_plan
    assert plan is not None
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = {"kind": "Node", "metadata": {"name": "n", "labels": dict(plan.flavors[0].node_labels)}, "status": ready}
    other = {"kind": "Node", "metadata": {"name": "o", "labels": {}}, "status": ready}
    state(made, node, other)
    answer = why("s")
    assert answer.startswith("Job/s in vision, queue vision/train: admitted, its pods are not ready\n")
    assert "  v5e: 1 node in the cluster, 1 ready; nodes by the stack file: v5e 6 (on-demand)\n" in answer
    # Admitted at 08:01:30; the stack file leaves waitForPodsReady at its default.
    assert plan.kueue is not None
    assert plan.kueue.pods_ready.timeout_seconds == 3600
    assert "at 2026-11-23 09:01 UTC Kueue takes its quota back and queues it again" in answer
    state(made)
    assert "the state has no nodes, so how many there are is not known" in why("s")


def test_queued_nodes_of_the_same_machine_are_not_those_of_a_flavor(folder: pathlib.Path) -> None:
    """They have the labels of its flavor, and a taint that it does not tolerate."""
    file = folder / "Pulumi.lab.yaml"
    queued = (
        "v5eq: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: {max: 1}, zone: us-central1-a, capacity: queued}"
    )
    text = file.read_text().replace("    priorities:\n", f"      {queued}\n    priorities:\n", 1)
    file.write_text(
        text.replace("2 slices}]}\n", "2 slices}]}\n          night: {flavors: [{pool: v5eq, guaranteed: all}]}\n")
    )
    plan = evaluate_stack("lab", pathlib.Path()).fleet_plan
    assert plan is not None
    made = with_condition(workload("s", "vision", 1, 8, admitted=True), "PodsReady", "Not all", reason="WaitForStart")
    own = next(each for each in plan.flavors if each.name == "v5e")
    nodes = [
        {
            "kind": "Node",
            "metadata": {
                "name": pool.name,
                "labels": {**own.node_labels, "cloud.google.com/gke-nodepool": pool.node_pools[0].name},
            },
        }
        for pool in plan.pools
    ]
    state(made, *nodes)
    assert "  v5e: 1 node in the cluster, 0 ready; nodes by the stack file:" in why("s")


def test_a_time_that_kueue_set_is_known() -> None:
    items = full()
    items[2]["status"]["requeueState"] = {"count": 2, "requeueAt": "2026-11-23T08:20:00Z"}
    state(*items)
    assert "Until when\n  Kueue tries it again at 2026-11-23 08:20 UTC\n" in why("c")


def test_a_check_waits_and_is_repeated() -> None:
    made = workload("q", "vision", 1, 8, admitted=True)
    made["status"]["conditions"] = made["status"]["conditions"][:1]
    check = {"name": "dws", "state": "Pending", "message": "", "lastTransitionTime": "2026-11-23T08:02:00Z"}
    made["status"]["admissionChecks"] = [check]
    state(made)
    assert "waits for an admission check, such as machines that are queued for\n      Kueue: dws: no message" in why(
        "q"
    )
    check |= {"state": "Retry", "message": "Retrying after failure: no capacity", "requeueAfterSeconds": 120}
    state(made)
    assert "Kueue tries it again at 2026-11-23 08:04 UTC" in why("q")


def test_a_job_that_runs_is_finished_or_switched_off_says_so() -> None:
    off = workload("off", "vision", 1, 8, admitted=False, active=False)
    message = "The workload is deactivated due to exceeding the maximum number of re-queuing retries"
    with_condition(off, "Evicted", message, "True", "DeactivatedDueToRequeuingLimitExceeded")
    done = with_condition(workload("done", "vision", 1, 8, admitted=True), "Finished", "", "True")
    state(off, done, workload("runs", "speech", 2, 8, admitted=True))
    assert why("done", "runs") == (
        "Job/done in vision, queue vision/train: finished\n\nJob/runs in speech, queue speech/train: runs\n"
    )
    assert why("off").startswith("Job/off in vision, queue vision/train: stopped\n")
    assert "its pods were not ready in time too often, so Kueue gave up\n" in why("off")


def test_why_it_lost_its_quota_the_last_time_is_told_apart() -> None:
    items = full()
    text = (
        "Previously: Preempted to accommodate a workload (UID: u, JobUID: j) due to reclamation within the cohort; "
        "preemptor path: /research/speech-train; preemptee path: /research/vision-train"
    )
    with_condition(items[2], "Evicted", text, reason="QuotaReserved")
    state(*items)
    assert "Before\n  a team took back quota that this job had borrowed\n" in why("c")


def test_a_manifest_names_its_job(folder: pathlib.Path) -> None:
    state(*full())
    text = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: c, namespace: vision}\nspec: {}\n"
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    assert why("job.yaml") == why("c")
    (folder / "job.yaml").write_text(text.replace("kind: Job", "kind: JobSet"), encoding="utf-8")
    assert why("job.yaml", exit_code=1).startswith("state.json: error: no workload of JobSet 'vision/c'; did you")


def test_a_name_that_is_not_there_gets_the_nearest() -> None:
    state(workload("train-llm", "vision", 1, 8, admitted=True))
    assert why("train-lm", exit_code=1) == (
        "state.json: error: no workload of 'train-lm'; did you mean 'train-llm'?; submit it, or write the state again "
        "with kubectl get workloads,clusterqueues,localqueues,nodes -A -o json [no-workload]\n"
    )


def test_json_has_the_same_answer() -> None:
    state(*full())
    value = json.loads(why("c", "--json"))["workloads"][0]
    assert (value["job"], value["status"]) == ("Job/c", "waits")
    assert value["until"]["at"] == "2026-11-23T09:01:30+00:00"
    assert value["obstacles"] == [
        {"code": "quota-in-use", "means": "the quota that it needs is in use", "kueue": SHORT}
    ]


@pytest.mark.parametrize("seed", range(30))
def test_a_job_whose_end_is_enough_is_so_when_it_finishes(seed: int) -> None:
    """A second way: instead of leaving a job out of the state, it finishes in a simulation that has begun."""
    chance = random.Random(seed)
    items = [
        workload(f"j{number}", chance.choice(["vision", "speech"]), number + 1, 8, admitted=number < 3)
        for number in range(chance.randint(4, 6))
    ]
    plan = evaluate_stack("lab", pathlib.Path()).fleet_plan
    assert plan is not None
    fleet = build_simulated_fleet(plan)
    live, problems = read_cluster_state([ManifestDocument("s", {"items": items})], fleet)
    assert problems == []
    target = chance.choice([each.job.name for each in live.workloads if each.reserved_at is None])
    found = forecast(fleet, live, target, [TPU], {})
    for holder in found.holders:
        simulator = Simulator(fleet.setup)
        live.populate(simulator)
        simulator.settle()
        if simulator.workloads[target].has_quota():
            assert found.starts_now
            break
        simulator.finish(holder.job)
        assert (holder in found.singles) == simulator.workloads[target].has_quota()
    assert sum(holder.amount for holder in found.holders) == 24


def test_a_job_behind_another_one_in_a_strict_queue_is_not_told_that_it_starts() -> None:
    """Both are made in one second, as `kubectl apply` does; Kueue wrote only about the first."""
    stack = pathlib.Path("Pulumi.lab.yaml")
    text = stack.read_text(encoding="utf-8").replace("train:\n", "train:\n            queueingStrategy: StrictFIFO\n")
    stack.write_text(text, encoding="utf-8")
    message = "couldn't assign flavors to pod set main: insufficient unused quota for google.com/tpu in flavor v5e"
    head = with_condition(
        workload("head", "vision", 3, 24, admitted=False), "QuotaReserved", f"{message}, 8 more needed"
    )
    state(head, workload("behind", "vision", 3, 4, admitted=False))
    answer = why("behind")
    assert (
        "its queue is StrictFIFO, so nothing is tried before head, which does not start\n      Kueue has not tried it"
        in answer
    )
    assert "at its next attempt" not in answer
    stack.write_text(text.replace("StrictFIFO", "BestEffortFIFO"), encoding="utf-8")
    assert "StrictFIFO" not in why("behind")


def test_an_inactive_queue_says_why_it_is() -> None:
    held = with_condition(
        workload("a", "vision", 3, 8, admitted=False), "QuotaReserved", "ClusterQueue vision-train is inactive"
    )
    condition = {"type": "Active", "status": "False", "message": "Can't admit new workloads: is stopped."}
    queue = {"kind": "ClusterQueue", "metadata": {"name": "vision-train"}, "status": {"conditions": [condition]}}
    state(held, {"apiVersion": "kueue.x-k8s.io/v1beta2", **queue, "spec": {}})
    answer = why("a")
    assert (
        "What is in the way\n  its queue is held (stopPolicy)\n      Kueue: Can't admit new workloads: is stopped."
        in answer
    )
    state(held)
    assert "its queue is held, or something that it refers to is missing" in why("a")
