"""Services in namespaces with and without serving: what `berth lint` and `berth admit` make of the same manifests."""

from __future__ import annotations

import pathlib

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.problem_lines import without_codes

STACK = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    operators: [leaderworkerset]
    cluster: {controlPlane: {publicEndpoint: false}, zones: [us-central1-a]}
    pools:
      l4: {machineType: g2-standard-24, nodes: 6}
    teams:
      chat:
        namespaces: [{name: web}, {name: chat, serving: true}]
        queues: {online: {flavors: [{pool: l4, guaranteed: 6}]}}
      vision:
        queues: {train: {flavors: [{pool: l4, guaranteed: 6}]}}
"""
LABELS = ", labels: {kueue.x-k8s.io/queue-name: QUEUE}"
GPU = "resources: {requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}"
CPU = "resources: {requests: {cpu: 1, memory: 1Gi}}"
KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "Pod": "v1",
}
_OFF = (
    "Kueue does not manage {kind} objects in namespace '{namespace}': its pods would start outside all quota, or be "
    "refused if they use accelerators; "
)


def manifest(kind: str, namespace: str, queue: str | None, resources: str) -> str:
    """A service of one pod."""
    labels = LABELS.replace("QUEUE", queue) if queue else ""
    pod = f"{{containers: [{{name: main, image: i, {resources}}}]}}"
    template = f"{{metadata: {{labels: {{app: a}}}}, spec: {pod}}}"
    spec = {
        "Deployment": f"{{selector: {{matchLabels: {{app: a}}}}, template: {template}}}",
        "StatefulSet": f"{{serviceName: a, selector: {{matchLabels: {{app: a}}}}, template: {template}}}",
        "LeaderWorkerSet": f"{{leaderWorkerTemplate: {{size: 1, workerTemplate: {template}}}}}",
        "Pod": pod,
    }[kind]
    metadata = f"{{name: a, namespace: {namespace}{labels}}}"
    return f"apiVersion: {KINDS[kind]}\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (tmp_path / "Pulumi.lab.yaml").write_text(STACK)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(verb: str, text: str) -> tuple[int, list[str]]:
    """The exit code and the lines of a verb for one manifest."""
    pathlib.Path("a.yaml").write_text(text)
    done = CliRunner().invoke(app, [verb, "lab", "a.yaml"])
    return done.exit_code, without_codes(done.stderr + done.stdout).splitlines()


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_with_a_queue_is_admitted_where_serving_is_on(kind: str) -> None:
    code, lines = run("lint", manifest(kind, "chat", "online", GPU))
    assert (code, lines) == (0, [f"a.yaml:1: {kind}/a: chat/online can admit it, 1 L4 of l4"])
    code, lines = run("admit", manifest(kind, "chat", "online", GPU))
    assert code == 0
    assert any("admitted" in line for line in lines), lines


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("namespace", "queue"), [("vision", "train"), ("web", "online")])
def test_it_is_a_fault_where_serving_is_off(kind: str, namespace: str, queue: str) -> None:
    remedy = "write a Job" if kind == "Pod" else "write serving: true for the namespace in the platform's stack file"
    message = f"{_OFF.format(kind=kind, namespace=namespace)}{remedy}, or use 'chat'"
    assert run("lint", manifest(kind, namespace, queue, GPU)) == (1, [f"a.yaml:1: {kind}/a: {message}"])
    assert run("admit", manifest(kind, namespace, queue, GPU)) == (1, [f"a.yaml:1: {kind}/a: {message}"])


@pytest.mark.parametrize("kind", KINDS)
def test_accelerators_without_a_queue_are_a_fault_everywhere(kind: str) -> None:
    off = _OFF.format(kind=kind, namespace="vision")
    for verb in ("lint", "admit"):
        code, lines = run(verb, manifest(kind, "vision", None, GPU))
        assert code == 1
        assert off in lines[0]
    code, lines = run("lint", manifest(kind, "chat", None, GPU))
    assert (code, lines) == (
        1,
        [
            f"a.yaml:3:11: {kind}/a: names no queue: Kueue would gate its pods forever; write the label "
            "kueue.x-k8s.io/queue-name: online"
        ],
    )


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "LeaderWorkerSet"])
def test_a_service_without_accelerators_and_queue_runs_without_serving_and_is_held_with_it(kind: str) -> None:
    code, lines = run("lint", manifest(kind, "web", None, CPU))
    assert (code, lines) == (
        0,
        [f"a.yaml:3:11: warning: {kind}/a: names no queue: its pods start at once, outside all quota"],
    )
    assert run("lint", manifest(kind, "chat", None, CPU))[0] == 1


def test_pods_of_an_unknown_kind_are_queued_one_by_one_where_serving_is_on() -> None:
    pods = f"{{metadata: {{labels: {{kueue.x-k8s.io/queue-name: QUEUE}}}}, spec: {{containers: [{{name: a, {CPU}}}]}}}}"
    text = f"apiVersion: a.example/v1\nkind: Flow\nmetadata: {{name: a, namespace: SPACE}}\nspec: {{pods: {pods}}}\n"
    code, lines = run("lint", text.replace("QUEUE", "online").replace("SPACE", "chat"))
    assert (code, "its pods are queued one by one in 'online'" in lines[0]) == (0, True), lines
    code, lines = run("lint", text.replace("QUEUE", "train").replace("SPACE", "vision"))
    assert (code, "Kueue does not manage pods in namespace 'vision'" in lines[0]) == (1, True), lines


@pytest.mark.parametrize(("replicas", "held"), [(150, None), (290, None), (300, None), (301, 300), (900, 300)])
def test_replicas_are_counted_in_all_flavors_however_many_there_are(replicas: int, held: int | None) -> None:
    machines = "{machineType: g2-standard-4, nodes: 156}"
    text = STACK.replace(
        "l4: {machineType: g2-standard-24, nodes: 6}", f"l4: {machines}\n      spot: {machines[:-1]}, capacity: spot}}"
    )
    flavors = "{pool: l4, guaranteed: 150}, {pool: spot, guaranteed: 150}"
    pathlib.Path("Pulumi.lab.yaml").write_text(text.replace("{pool: l4, guaranteed: 6}", flavors, 1))
    service = manifest("Deployment", "chat", "online", GPU).replace("{selector", f"{{replicas: {replicas}, selector")
    code, lines = run("lint", service)
    warned = [line for line in lines if "at a time" in line]
    expected = f"chat/online can hold {held} of its {replicas} workloads at a time; the others stay pending"
    assert code == 0, lines
    assert warned == ([f"a.yaml:1: warning: Deployment/a: {expected}"] if held is not None else [])
