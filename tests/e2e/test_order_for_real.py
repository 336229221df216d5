"""Coming and going on a real engine: broken off and run again, drained before it goes, a team's own stack."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, Failed, output
from tests.e2e.support.queueing import queueing_part
from tests.e2e.support.stack import Project
from tests.targets import run_make, write_script

LOCAL = ROOT / "Pulumi.local.yaml"
REFUSAL = "no local queues today"
REFUSES = f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: berth-e2e}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [kueue.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [localqueues]}}
  validations: [{{expression: "false", message: {REFUSAL}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: berth-e2e}}
spec: {{policyName: berth-e2e, validationActions: [Deny]}}
"""


def test_an_update_that_failed_half_way_is_run_again(cluster: Cluster, project: Project) -> None:
    """What the API server refuses stops the update; the next one makes what was left."""
    before = cluster.objects()
    stack = project.stack("local", queueing_part(LOCAL, cluster.context).text())
    policy = project.folder.parent / "policy.yaml"
    policy.write_text(REFUSES, encoding="utf-8")
    cluster.kubectl("create", "-f", str(policy))
    try:
        until("the policy to hold", lambda: _refused(cluster), lambda refused: refused)
        with pytest.raises(Failed, match=REFUSAL):
            stack.up()
    finally:
        cluster.kubectl("delete", "-f", str(policy))
    until("the policy to have gone", lambda: _refused(cluster), lambda refused: not refused)
    assert set(stack.up()) == {"created", "unchanged"}
    assert set(stack.preview()) == {"unchanged"}
    assert set(stack.refresh()) == {"unchanged"}
    stack.destroy()
    assert cluster.objects() == before


def _refused(cluster: Cluster) -> bool:
    """Return whether the policy refuses a local queue by now."""
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "spec": {"clusterQueue": "berth-e2e"}}
    text = yaml.safe_dump({**queue, "metadata": {"name": "berth-e2e", "namespace": "default"}})
    try:
        cluster.kubectl("create", "--dry-run=server", "-f", "-", given=text)
    except Failed as failed:
        if REFUSAL in str(failed):
            return True
        raise
    return False


def test_make_down_drains_first_and_leaves_the_controllers(cluster: Cluster, project: Project) -> None:
    """A job that holds quota is put back in line before its queue goes; Kueue and JobSet stay."""
    before = cluster.objects()
    stack = project.stack("local", queueing_part(LOCAL, cluster.context).text())
    stack.up()
    _submit(cluster, project)
    done = _make_down(project)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = [done.stdout.find(text) for text in ("Updating (local)", "condition met", "Destroying (local)")]
    assert -1 not in lines
    assert lines == sorted(lines)
    assert "clusterqueue.kueue.x-k8s.io/vision-train condition met" in done.stdout
    project.standing.remove(stack)
    until("everything to be gone", lambda: sorted(cluster.objects() ^ before), lambda left: not left)


def test_make_down_finishes_a_destroy_that_waits_for_a_queue_in_use(cluster: Cluster, project: Project) -> None:
    """What a plain `pulumi destroy` leaves: a queue that Kueue keeps until its job has given the quota back."""
    before = cluster.objects()
    stack = project.stack("local", queueing_part(LOCAL, cluster.context).text())
    stack.up()
    _submit(cluster, project)
    try:
        _break_off_destroy(cluster, project)
    except Failed:
        cluster.kubectl("delete", "jobsets", "--all", "-n", "vision")  # or the clearing up waits as well
        raise
    done = _make_down(project)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    project.standing.remove(stack)
    until("everything to be gone", lambda: sorted(cluster.objects() ^ before), lambda left: not left)


def _break_off_destroy(cluster: Cluster, project: Project) -> None:
    """`pulumi destroy`, until all but the queue in use is deleted, and then Ctrl-C twice."""
    words = ["pulumi", "destroy", "--yes", "--skip-preview", "--stack", "local", "--non-interactive"]
    environment = os.environ | project.environment
    with subprocess.Popen(words, cwd=project.folder, env=environment, stdout=subprocess.DEVNULL) as engine:
        try:
            until("the other queues to be gone", cluster.queues, lambda left: left == ["vision-train"])
            until("the engine to wait", lambda: cluster.get("localqueues", "-A")["items"], lambda left: not left)
        finally:
            for _ in range(2):
                engine.send_signal(signal.SIGINT)
                time.sleep(2)
    queue = cluster.get("clusterqueue", "vision-train")
    assert "deletionTimestamp" in queue["metadata"]


def _submit(cluster: Cluster, project: Project) -> None:
    """A job that holds quota of vision's queue."""
    job = project.folder.parent / "job.yaml"
    words = ("workload", "local", "vision", "train", "--slices", "1", "--name", "left")
    job.write_text(output([*BERTH, *words], project.folder), encoding="utf-8")
    cluster.kubectl("create", "-f", str(job))
    until("the job to hold quota", lambda: _reserving(cluster), lambda count: count == 1)


def _make_down(project: Project) -> subprocess.CompletedProcess[str]:
    write_script(
        project.folder / "bin" / "berth",
        f'exec {sys.executable} -c "from berth.cli import run_command; run_command()" "$@"',
    )
    confirmed = {**project.environment, "PULUMI_SKIP_CONFIRMATIONS": "true", "PYTHONPATH": str(project.folder)}
    return run_make(project.folder, "down", STACK="local", WAIT="60s", **confirmed)


def _reserving(cluster: Cluster) -> int:
    return cluster.get("clusterqueue", "vision-train").get("status", {}).get("reservingWorkloads", 0)


def test_a_team_deploys_a_stack_of_its_own(cluster: Cluster, project: Project) -> None:
    """On the outputs of its platform's stack; what waits for quota or machines does not hold up the update."""
    before = cluster.objects()
    part = queueing_part(ROOT / "stacks" / "examples" / "batch-platform.yaml", cluster.context)
    platform = project.stack("batch-platform", part.text())
    platform.up()
    team = project.stack("team-a", _of_team_a())
    made = team.up()
    assert set(made) == {"created"}
    jobs = cluster.get("jobs", "-n", "team-a")["items"]
    assert {each["metadata"]["name"] for each in jobs} == {"evaluation", "sweep"}
    result = until(
        "both jobs to be queued", lambda: cluster.get("workloads", "-n", "team-a")["items"], lambda seen: len(seen) == 2
    )
    assert {each["spec"]["queueName"] for each in result} == {"lq-team-a-hp", "lq-team-a-lp"}
    assert team.preview() == {"unchanged": made["created"]}
    assert set(team.refresh()) == {"unchanged"}
    team.destroy()
    platform.destroy()
    assert cluster.objects() == before


def _of_team_a() -> str:
    """Return the example without its secrets: an existing cluster's pods have no rights in Google Cloud."""
    whole = yaml.safe_load((ROOT / "stacks" / "examples" / "team-a.yaml").read_text(encoding="utf-8"))
    team = whole["config"]["berth:team"]
    team["platform"] = "batch-platform"
    del team["secrets"]
    for workload in team["workloads"].values():
        workload.pop("secrets", None)
    return yaml.safe_dump(whole)
