"""The jobs of the walks, as their files are, on a real Kueue and scheduler, in the order of the walk.

The objects are those of `berth render`, the nodes those of `berth render --nodes`. A test takes the place of GKE's
autoscaler: it makes the nodes of queued and compact jobs and answers ProvisioningRequests.

What cannot run here: Autopilot itself (its JobSets are checked by `berth lint` on the page), ACK and its kube-queue,
TFJob (its operator), Pods in a queue of the source of DWS (the integration is off unless a stack switches it on), and
whatever programs do: pods are simulated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, berth, output
from tests.e2e.support.walks import (
    BATCH_SECONDS,
    POOL,
    Autoscaler,
    bash_blocks,
    deployed,
    expect,
    finish,
    pods,
    run,
    run_on_nodes,
    states,
    submit,
)

TEAMS = "abcd"


@pytest.fixture
def multislice(cluster: Cluster) -> Iterator[Cluster]:
    with deployed(cluster, "multislice"):
        autoscaler = Autoscaler(cluster, "multislice")
        for pool in ("nodepool1", "nodepool2", "nodepool3"):
            autoscaler.add(pool)
        yield cluster


def test_multislice_runs_three_slices_alone_and_then_one_and_two_together(multislice: Cluster) -> None:
    submit(multislice, "multislice/3slice", "multislice/1slice", "multislice/2slice")
    three = {"multislice_1slice": "waits", "multislice_2slice": "waits"}
    expect(multislice, multislice_3slice="admitted", **three)
    assert run_on_nodes(multislice, "multislice-3slice", 6) == ["nodepool1", "nodepool2", "nodepool3"]
    expect(multislice, multislice_3slice="admitted", **three)
    finish(multislice, lambda job: job == "multislice-3slice")
    expect(multislice, multislice_3slice="finished", multislice_1slice="admitted", multislice_2slice="admitted")
    one = run_on_nodes(multislice, "multislice-1slice", 2)
    two = run_on_nodes(multislice, "multislice-2slice", 4)
    assert (len(one), len(two), len({*one, *two})) == (1, 2, 3)


def test_multislice_of_low_priority_makes_room(multislice: Cluster) -> None:
    submit(multislice, "multislice/low-priority")
    expect(multislice, low_priority="admitted")
    run_on_nodes(multislice, "low-priority", 2)
    submit(multislice, "multislice/3slice")
    expect(multislice, low_priority="waits", multislice_3slice="admitted")
    run_on_nodes(multislice, "multislice-3slice", 6)
    finish(multislice, lambda job: job == "multislice-3slice")
    expect(multislice, low_priority="admitted", multislice_3slice="finished")
    run_on_nodes(multislice, "low-priority", 2)


def test_hotswap_alone_takes_the_slices_of_a_patient_jobset(cluster: Cluster, tmp_path: Path) -> None:
    """Use case 2: the urgent JobSet has no queue, and its pods preempt on a cluster with no free slice."""
    document = yaml.safe_load((ROOT / "stacks" / "examples" / "hotswap.yaml").read_text(encoding="utf-8"))
    document["config"]["berth:fleet"]["kueue"] = {"manageJobsWithoutQueueName": False}
    stack = tmp_path / "hotswap.yaml"
    stack.write_text(yaml.safe_dump(document), encoding="utf-8")
    with deployed(cluster, str(stack)):
        autoscaler = Autoscaler(cluster, str(stack))
        for pool in sorted({each["metadata"]["labels"][POOL] for each in autoscaler.nodes})[:2]:
            autoscaler.add(pool)
        submit(cluster, "hotswap/low")
        expect(cluster, low_jax_trillium="admitted")
        slices = run_on_nodes(cluster, "low-jax-trillium", 8)
        urgent = yaml.safe_load((ROOT / "stacks" / "jobs" / "hotswap" / "alone.yaml").read_text(encoding="utf-8"))
        pod = urgent["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        pod["tolerations"] = [{"key": "google.com/tpu", "operator": "Exists"}]  # GKE's API server adds it to such pods
        cluster.kubectl("create", "-f", "-", given=yaml.safe_dump(urgent))
        assert run_on_nodes(cluster, "high-jax-trillium", 8) == slices
        expect(cluster, low_jax_trillium="admitted")  # Kueue's admission does not change


def test_the_swap_of_the_laptop_page(cluster: Cluster) -> None:
    """The commands of the page, after what installs a cluster on a laptop."""
    with deployed(cluster, "stacks/scenarios/hotswap-laptop.stack.yaml"):
        autoscaler = Autoscaler(cluster, "stacks/scenarios/hotswap-laptop.stack.yaml")
        for pool in sorted({each["metadata"]["labels"][POOL] for each in autoscaler.nodes}):
            autoscaler.add(pool)
        jobs, fail, _, repair = bash_blocks("hotswap-laptop")[2:6]
        run(jobs)
        before = {name: run_on_nodes(cluster, f"{name}-jax-trillium", 8) for name in ("high", "low")}
        shown = run(f"{fail}echo lost=$POOL")
        lost = shown.rpartition("lost=")[2].strip()
        assert lost in before["high"]
        swapped = run_on_nodes(cluster, "high-jax-trillium", 8)
        assert lost not in swapped
        assert set(swapped) & set(before["low"])
        (kept,) = run_on_nodes(cluster, "low-jax-trillium", 4)
        assert kept not in swapped
        until("one pod to wait", lambda: len(pods(cluster, "low-jax-trillium")), lambda count: count == 5)
        expect(cluster, high_jax_trillium="admitted", low_jax_trillium="admitted")
        run(repair, POOL=lost)
        assert run_on_nodes(cluster, "low-jax-trillium", 8) == sorted({lost, kept})
        assert run_on_nodes(cluster, "high-jax-trillium", 8) == swapped


def test_dws_starts_jobs_when_their_machines_exist(cluster: Cluster) -> None:
    with deployed(cluster, "dws"):
        autoscaler = Autoscaler(cluster, "dws")
        submit(cluster, "dws/job")
        expect(cluster, sample_job="reserved")
        (request,) = until("a request", autoscaler.requests, lambda found: len(found) == 1)
        assert request["spec"]["parameters"] == {"maxRunDurationSeconds": "600"}
        cluster.answer(request, "Accepted")
        expect(cluster, sample_job="reserved")
        assert pods(cluster, "sample-job") == []
        autoscaler.add("dws", 1)
        cluster.answer(request, "Accepted", "Provisioned")
        expect(cluster, sample_job="admitted")
        assert run_on_nodes(cluster, "sample-job", 1) == ["dws"]
        finish(cluster, lambda job: job == "sample-job")
        autoscaler.remove("dws")

        words = ("workload", "dws", "batch", "dws", "--kind", "jobset", "--pods", "2", "--gpus", "2", "--name", "set")
        cluster.kubectl("create", "-f", "-", given=output([*BERTH, *words], ROOT))
        expect(cluster, sample_job="finished", set="reserved")
        (later,) = until("its request", lambda: _other(autoscaler, request), lambda found: len(found) == 1)
        autoscaler.add("dws", 2)
        cluster.answer(later, "Accepted", "Provisioned")
        assert run_on_nodes(cluster, "set", 2) == ["dws"]


def _other(autoscaler: Autoscaler, request: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in autoscaler.requests() if each["metadata"]["name"] != request["metadata"]["name"]]


def test_dws_without_kueue_runs_on_the_machines_of_its_request(cluster: Cluster) -> None:
    with deployed(cluster, "dws"):
        autoscaler = Autoscaler(cluster, "dws")
        submit(cluster, "provisioning-request/job")
        try:
            (request,) = autoscaler.requests()
            waiting = until("its pods", lambda: pods(cluster, "sample-request"), bool)
            assert {pod["status"]["phase"] for pod in waiting} == {"Pending"}
            assert states(cluster) == {}
            autoscaler.add("dws", len(waiting))
            cluster.answer(request, "Accepted", "Provisioned")
            assert run_on_nodes(cluster, "sample-request", len(waiting)) == ["dws"]
        finally:
            cluster.kubectl("delete", "-f", str(ROOT / "stacks/jobs/provisioning-request/job.yaml"))


def phases() -> dict[str, tuple[list[str], int]]:
    """Return the table of the batch platform's walk: moment → pending / admitted by group, and nodes."""
    text = (ROOT / "docs" / "walks" / "batch-platform.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (\d+ / \d+) \| (\d+ / \d+) \| (\d+ / \d+) \| (\d+) \|$", text, flags=re.M)
    return {row[0]: (list(row[1:4]), int(row[4])) for row in rows}


def listing(cluster: Cluster) -> dict[str, list[str]]:
    """Team → pending / admitted of its queues, as `kubectl get clusterqueues -o wide` has them."""
    status = {each["metadata"]["name"]: each.get("status", {}) for each in cluster.get("clusterqueues")["items"]}
    return {
        team: [
            f"{status[name].get('pendingWorkloads', 0)} / {status[name].get('admittedWorkloads', 0)}"
            for name in (f"cq-team-{team}-{group}" for group in ("hp", "lp", "compact"))
        ]
        for team in TEAMS
    }


def used_nodes(cluster: Cluster) -> int:
    """Six system nodes, four reserved ones, and each other node with a running pod: GKE keeps no more."""
    pool_of = {each["metadata"]["name"]: each["metadata"]["labels"][POOL] for each in cluster.get("nodes")["items"]}
    running = cluster.get("pods", "-A", "--field-selector", "status.phase=Running")["items"]
    pools = Counter(pool_of[name] for name in {pod["spec"]["nodeName"] for pod in running})
    return 6 + 4 + sum(count for pool, count in pools.items() if pool != "reserved-np")


def submit_group(cluster: Cluster, group: str, admitted: int) -> None:
    """Submit what `stacks/jobs/mnist/submit.sh GROUP` submits, in its order; one process writes all manifests.

    Each round waits until the one before is as the walk has it, with at most so many jobs admitted of each team: a job
    that still preempts holds up its queue, and a neighbour would borrow meanwhile what it comes to next.
    """
    column = ("hp", "lp", "compact").index({"low": "lp", "high": "hp", "jobset": "lp"}.get(group, group))
    folder = ROOT / "stacks" / "jobs" / "mnist"
    script = (folder / "submit.sh").read_text(encoding="utf-8")
    options = re.search(rf"^    {group}\) echo (.+) ;;$", script, flags=re.M)
    assert options is not None
    for number in range(4):
        for team in TEAMS:
            words = f"workload batch-platform team-{team} {options[1]} --pods 2 --name {group}-{number}".split()
            manifest = berth(*words, "--template", str(folder / "template.yaml"), folder=ROOT)
            cluster.kubectl("apply", "-f", "-", given=manifest)
        runs = min(number + 1, admitted)
        expected = f"{number + 1 - runs} / {runs}"
        until(
            f"{group}-{number}",
            lambda: {queues[column] for queues in listing(cluster).values()},
            lambda seen, wanted=expected: seen == {wanted},
            BATCH_SECONDS,
        )


def fine_tune(cluster: Cluster, autoscaler: Autoscaler) -> None:
    """Run both jobs, which wait until all their machines exist."""
    submit(cluster, "fine-tuning/job", "fine-tuning-h100/job")
    jobs = ("finetune-gemma-2xa100", "finetune-gemma-8xh100")
    until("both to wait", lambda: {states(cluster).get(job) for job in jobs}, lambda seen: seen == {"reserved"})
    autoscaler.add("dws", 1)
    autoscaler.add("dws-h100", 1)
    for request in until("two requests", autoscaler.requests, lambda found: len(found) == 2):
        cluster.answer(request, "Accepted", "Provisioned")
    assert [run_on_nodes(cluster, job, 1) for job in jobs] == [["dws"], ["dws-h100"]]
    finish(cluster, lambda job: job in jobs)


def test_the_batch_platform_fills_as_its_table_says(cluster: Cluster) -> None:
    """Groups by the submit script, then fine-tuning; queues and nodes are those of the walk's table."""
    table = phases()

    def reached(moment: str) -> None:
        queues, nodes = table[moment]
        expected = (dict.fromkeys(TEAMS, queues), nodes)
        until(moment, lambda: (listing(cluster), used_nodes(cluster)), lambda seen: seen == expected, BATCH_SECONDS)
        print(f"batch-platform: {moment}: {queues} {nodes}")

    with deployed(cluster, "batch-platform"):
        autoscaler = Autoscaler(cluster, "batch-platform")
        for pool in ("reserved-np", "ondemand-np", "spot-np"):
            autoscaler.add(pool)
        reached("nothing submitted")
        submit_group(cluster, "low", 4)
        reached("low-priority jobs submitted")
        submit_group(cluster, "high", 2)
        reached("high-priority jobs submitted")
        submit_group(cluster, "compact", 1)
        autoscaler.place(0)
        reached("compact jobs submitted")
        finish(cluster, lambda job: job.startswith(("high-", "low-")))
        reached("high- and low-priority jobs finished")
        submit_group(cluster, "jobset", 4)
        reached("JobSets submitted")
        fine_tune(cluster, autoscaler)
        for number in range(4):
            finish(cluster, lambda job, ended=number: job == f"compact-{ended}")
            autoscaler.remove("compact")
            autoscaler.place(number + 1)
        finish(cluster, lambda job: job.startswith("jobset-"))
        reached("everything finished")
        run("stacks/jobs/mnist/remove.sh")
        kept = cluster.get("jobs,jobsets,services", "-A")["items"]
        names = {each["metadata"]["name"] for each in kept if each["metadata"]["namespace"].startswith("team-")}
        assert {name for name in names if not name.startswith("finetune-")} == set()
