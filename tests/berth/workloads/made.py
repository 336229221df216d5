"""Workloads as the command makes them, for tests."""

from __future__ import annotations

from typing import Any

from berth.cli.workload import generate as workload
from berth.cli.workload.generate import WorkloadResult
from tests.stack_files import evaluation


def answer(stack: str, team: str, queue: str, **options: Any) -> WorkloadResult:
    """What `berth workload` answers."""
    return workload.generate_workload(evaluation(stack), team, queue, options)


def objects(stack: str, team: str, queue: str, **options: Any) -> list[dict[str, Any]]:
    """Return the objects of a workload without problems, besides those of held queues, operators and host networks."""
    result, expected = answer(stack, team, queue, **options), ("held", "node-identity", "operator-unknown")
    assert [problem.line() for problem in result.problems if problem.code not in expected] == []
    return [dict(each) for each in result.objects]


def one(stack: str, team: str, queue: str, **options: Any) -> dict[str, Any]:
    """Return its only object, or the last one."""
    return objects(stack, team, queue, **options)[-1]


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of the pods of a JobSet's first job, of a Job, or of a PyTorchJob's master."""
    spec = manifest["spec"]
    if "replicatedJobs" in spec:
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    if "pytorchReplicaSpecs" in spec:
        spec = spec["pytorchReplicaSpecs"]["Master"]
    return spec["template"]["spec"]
