"""`make down`: what is asked of the engine and of the cluster, and in which order."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest

from tests.stack_files import ROOT
from tests.targets import replace_in_stack, run_make, write_script

QUEUES = "language-batch language-train speech-serve speech-train vision-train vision-urgent"
FILE = "build/drained/Pulumi.dev.yaml"
OUTPUTS = json.dumps({"kubeconfig": "apiVersion: v1", "fleet": {"version": 2}})


@pytest.fixture
def tools(project: pathlib.Path) -> pathlib.Path:
    """Tools that write down what they are asked; the stack has a kubeconfig."""
    for name in ("pulumi", "kubectl", "helm"):
        words = '"${@//\\/*tmp.*/KUBECONFIG}"'
        write_script(project / "bin" / name, f"echo {name} {words} >> asked; [ \"$1\" != stack ] || echo '{OUTPUTS}'")
    replace_in_stack(project, "    project: acme-ml-dev\n", "    project: acme-ml-dev\n    protect: false\n")
    return project


def calls(project: pathlib.Path) -> list[str]:
    return (project / "asked").read_text(encoding="utf-8").splitlines()


def test_queues_run_empty_before_anything_is_destroyed(tools: pathlib.Path) -> None:
    done = run_make(tools, "down", STACK="dev")
    assert (done.returncode, done.stderr) == (0, "")
    assert calls(tools) == [
        "pulumi stack output --json --show-secrets --stack dev",
        f"pulumi up --stack dev --config-file {FILE}",
        "kubectl --kubeconfig KUBECONFIG wait --for=jsonpath={.status.reservingWorkloads}=0 --timeout 30m clusterqueue "
        + QUEUES,
        f"pulumi destroy --stack dev --config-file {FILE}",
    ]
    assert "state: drained" in (tools / FILE).read_text(encoding="utf-8")


def test_controllers_are_removed_last_and_only_on_request(tools: pathlib.Path) -> None:
    run_make(tools, "down", STACK="dev", UNINSTALL="kueue jobset", WAIT="5s")
    assert "--timeout 5s" in calls(tools)[2]
    assert calls(tools)[4:] == [
        "helm uninstall kueue --namespace kueue-system --kubeconfig KUBECONFIG",
        "helm uninstall jobset --namespace jobset-system --kubeconfig KUBECONFIG",
    ]


def test_a_queue_that_stays_busy_stops_the_target(tools: pathlib.Path) -> None:
    write_script(tools / "bin" / "kubectl", "exit 1")
    assert run_make(tools, "down", STACK="dev").returncode != 0
    assert calls(tools)[-1].startswith("pulumi up")


def test_a_stack_without_a_cluster_is_not_created_first(tools: pathlib.Path) -> None:
    write_script(tools / "bin" / "pulumi", 'echo pulumi "$@" >> asked; [ "$1" != stack ] || echo "{}"')
    assert run_make(tools, "down", STACK="dev").returncode == 0
    assert [line.split()[1] for line in calls(tools)] == ["stack", "destroy"]


@pytest.mark.parametrize("pulumi", ["exit 1", "echo broken", "echo '[1]'", "true"])
def test_unreadable_outputs_stop_the_program(tools: pathlib.Path, pulumi: str) -> None:
    """A wrong passphrase, a backend that does not answer: nothing is destroyed that was not drained."""
    write_script(tools / "bin" / "pulumi", f'echo pulumi "$@" >> asked; {pulumi}')
    done = run_make(tools, "down", STACK="dev")
    assert done.returncode != 0
    assert (
        "the outputs of stack 'dev' cannot be read, so its queues cannot be drained: nothing was changed" in done.stderr
    )
    assert [line.split()[1] for line in calls(tools)] == ["stack"]


def test_a_deleted_queue_counts_as_empty(tools: pathlib.Path) -> None:
    """One that a `pulumi destroy` was waiting for is deleted by Kueue as soon as it is drained."""
    kubectl = (
        'echo kubectl "$@" >> asked; case "$*" in *" get "*) echo clusterqueue.kueue.x-k8s.io/vision-train;; '
        '*language-batch*) echo "language-batch not found" >&2; exit 1;; esac'
    )
    write_script(tools / "bin" / "kubectl", kubectl)
    assert run_make(tools, "down", STACK="dev").returncode == 0
    assert [line.rpartition(" clusterqueue ")[2] for line in calls(tools)[2:5]] == [
        QUEUES,
        f"{QUEUES} --ignore-not-found -o name",
        "vision-train",
    ]
    assert calls(tools)[5].startswith("pulumi destroy")


def test_a_protected_stack_is_not_destroyed(tools: pathlib.Path) -> None:
    replace_in_stack(tools, "    protect: false\n", "")
    done = run_make(tools, "down", STACK="dev")
    assert "write allowDeletion: {cluster: <why>, reservations.l4: <why>," in done.stderr
    assert "Error 3" in done.stderr
    assert not (tools / "asked").exists()


def test_an_existing_cluster_is_drained_by_its_context(tools: pathlib.Path) -> None:
    """Its stack exports no kubeconfig; only the client's default one reaches it."""
    shutil.copy(ROOT / "Pulumi.local.yaml", tools / "Pulumi.local.yaml")
    outputs = json.dumps({"fleet": {"version": 2}})
    write_script(tools / "bin" / "pulumi", f'echo pulumi "$@" >> asked; [ "$1" != stack ] || echo \'{outputs}\'')
    done = run_make(tools, "down", STACK="local")
    assert (done.returncode, done.stderr) == (0, "")
    assert calls(tools)[2] == (
        "kubectl --context kind-berth wait --for=jsonpath={.status.reservingWorkloads}=0 --timeout 30m clusterqueue "
        "language-batch language-train vision-train vision-urgent"
    )
