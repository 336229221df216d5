"""Pods that name an additional network: one pod has that network card of a node, and only where nodes have it."""

from __future__ import annotations

import pathlib

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

JOB = (ROOT / "stacks" / "jobs" / "mpi" / "job.yaml").read_text(encoding="utf-8")
ANNOTATION = next(line for line in JOB.splitlines() if line.strip().startswith("networking.gke.io/interfaces: "))
SMALL = (("cpu: '189'", "cpu: '40'"), ("1445757Mi", "100Gi"))


def verdict(folder: pathlib.Path, *edits: tuple[str, str], stack: str = "hpc") -> tuple[int, str]:
    """Exit status and output of lint for the job of the example with these edits."""
    text = JOB
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["lint", str(ROOT / f"stacks/examples/{stack}.yaml"), str(folder / "job.yaml")])
    return result.exit_code, result.stdout


@pytest.mark.parametrize(
    ("edits", "status", "part"),
    [
        ((), 0, "weather/forecast can admit it, 1512500m cores of h4d"),
        ((*SMALL, ("replicas: 8", "replicas: 16")), 0, "can admit it, 640500m cores"),
        (
            (*SMALL, ("replicas: 8", "replicas: 17")),
            1,
            "16 of its 17 pods fit on the 16 nodes of flavor 'h4d' beside the job's other pods: a node of "
            "h4d-highmem-192-lssd has the network falcon-a-0 for 1; write at most 16 pods, or remove the network",
        ),
        (
            (("falcon-a-0", "rdma-0"),),
            1,
            "its pods ask for the network 'rdma-0', which nodes of h4d-highmem-192-lssd do not have; they have "
            "'falcon-a-0'; write those",
        ),
        (
            ((ANNOTATION.strip(), "networking.gke.io/interfaces: eth1"),),
            1,
            "'eth1' is not a list of interfaces in JSON",
        ),
        (
            ((ANNOTATION.strip(), 'networking.gke.io/interfaces: \'[{"network": "falcon-a-0"}]\''),),
            1,
            "is not a list of interfaces in JSON",
        ),
        (
            ((f"{ANNOTATION}\n", ""),),
            0,
            "its pods name no network for RDMA, so they reach each other only over the node's first network; write the "
            "annotation networking.gke.io/interfaces with falcon-a-0",
        ),
        (((f"{ANNOTATION}\n", ""), ("replicas: 8", "replicas: 1")), 0, "can admit it, 189500m cores"),
        ((("- IPC_LOCK", "- SYS_ADMIN"),), 1, "pods with the capability SYS_ADMIN are refused"),
    ],
)
def test_the_networks_of_pods(
    tmp_path: pathlib.Path, edits: tuple[tuple[str, str], ...], status: int, part: str
) -> None:
    found = verdict(tmp_path, *edits)
    assert found[0] == status, found[1]
    assert part in found[1]


def test_a_single_pod_needs_no_network(tmp_path: pathlib.Path) -> None:
    assert "no-interface" not in verdict(tmp_path, (f"{ANNOTATION}\n", ""), ("replicas: 8", "replicas: 1"))[1]


def test_the_networks_of_gpus_are_devices_too(tmp_path: pathlib.Path) -> None:
    """A fleet that only connects to its cluster does not know the networks, and says so."""
    interfaces = '[{"interfaceName": "eth0", "network": "default"}, {"interfaceName": "eth1", "network": "NAME"}]'
    job = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: llm, labels: {kueue.x-k8s.io/queue-name: train}}
spec:
  suspend: true
  parallelism: 5
  completions: 5
  template:
    metadata: {annotations: {networking.gke.io/interfaces: 'LIST'}}
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "a:1", resources: {limits: {nvidia.com/gpu: 1}}}
"""
    path, stack = tmp_path / "job.yaml", str(ROOT / "stacks/examples/gpu-rdma.yaml")
    for name, part in (("rdma-b-0", "has the network rdma-b-0 for 1"), ("rdma-0", "do not have; they have 'gvnic-b'")):
        path.write_text(job.replace("LIST", interfaces.replace("NAME", name)), encoding="utf-8")
        assert part in CliRunner().invoke(app, ["lint", stack, str(path)]).stdout
