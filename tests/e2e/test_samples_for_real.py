"""Published samples on a real Kueue: what `berth lint` admits is admitted, and what it refuses is not.

It needs a Kueue with the integrations of `tests/berth/lint/samples_stack.yaml`, and CRDs of the kinds; a kind without a
CRD is left out. No operator is needed: Kueue admits an object whether or not a controller makes pods of it. KWOK
simulates the nodes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.evaluate import evaluate_config
from berth.jobs.files import read_documents
from berth.jobs.kinds import kinds
from berth.lint.findings import Finding, lint_documents
from berth.lint.fleet import LintContext
from berth.plan.fleet import FleetPlan
from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, Failed, output

SAMPLES = ROOT / "tests" / "vendored" / "samples"
STACK = ROOT / "tests" / "berth" / "lint" / "samples_stack.yaml"
QUEUEING = (
    "ClusterQueue",
    "LocalQueue",
    "Namespace",
    "PriorityClass",
    "ResourceFlavor",
    "Topology",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
WORKLOADS = "workloads.kueue.x-k8s.io"
OF_NODES = frozenset({"no-shape", "no-nodes"})
"""Codes of pods that Kueue admits and no node runs: Kueue counts quota, not the size of nodes."""
SECONDS = 10.0
"""How long a workload may take that is never admitted."""


def fleet() -> FleetPlan:
    """The fleet that the samples are linted against."""
    config = yaml.safe_load(STACK.read_text(encoding="utf-8"))["config"]
    plan = evaluate_config("samples", config["berth:fleet"], ROOT).fleet_plan
    assert plan is not None
    return plan


@pytest.fixture
def queues(cluster: Cluster, tmp_path: Path) -> Iterator[Cluster]:
    """The cluster with the queues of the samples' fleet, which has every integration, and its nodes.

    A flavor with a topology admits nothing without nodes.
    """
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    (tmp_path / "Pulumi.samples.yaml").write_text(STACK.read_text(encoding="utf-8"), encoding="utf-8")
    rendered = list(yaml.safe_load_all(output([*BERTH, "render", "samples"], tmp_path)))
    text = yaml.safe_dump_all([each for each in rendered if each and each["kind"] in QUEUEING])
    text += f"---\n{output([*BERTH, 'render', 'samples', '--nodes'], tmp_path)}"
    cluster.kubectl("apply", "-f", "-", given=text)
    cluster.kubectl("wait", "--for=condition=Ready", "nodes", "-l", "berth.dev/simulated=true", "--timeout=60s")
    yield cluster
    cluster.kubectl("delete", "-f", "-", "--ignore-not-found", given=text)


def served_kinds(cluster: Cluster) -> frozenset[str]:
    """The kinds of jobs that the cluster has, without CronJob, whose first job is created later."""
    words = [line.split() for line in cluster.kubectl("api-resources", "--no-headers").splitlines()]
    served = {(each[-3].rpartition("/")[0], each[-1]) for each in words}
    return frozenset(kind for kind, row in kinds().items() if (row.group, kind) in served) - {"CronJob"}


def samples(served: frozenset[str]) -> Iterator[tuple[str, str, list[Finding]]]:
    """Name, text and findings of each file whose objects the cluster has, and whose verdict is not open."""
    context = LintContext(fleet())
    for file in sorted(SAMPLES.rglob("*.yaml")):
        documents, _ = read_documents(file, file.name)
        findings = list(lint_documents(documents, context))
        found = [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]
        jobs = [_defaulted(each) for each in found if each["kind"] in served or each["kind"] == "ResourceClaimTemplate"]
        judged = [each for each in findings if each.faults or each.admission]
        if judged and len(judged) == len(findings) and {each.kind for each in findings} <= served:
            yield file.relative_to(SAMPLES).as_posix(), yaml.safe_dump_all(jobs), findings


def _defaulted(job: dict[str, Any]) -> dict[str, Any]:
    """A job with the default that the webhook of its controller sets, which does not run here."""
    if job["kind"] == "LeaderWorkerSet":
        job["spec"].setdefault("rolloutStrategy", {"type": "RollingUpdate"})
    return job


def admitted(cluster: Cluster) -> list[bool]:
    """For each workload in the cluster, whether it is admitted."""
    return [
        any(each["type"] == "Admitted" and each["status"] == "True" for each in item["status"].get("conditions", ()))
        for item in cluster.get(WORKLOADS, "-A")["items"]
        if "status" in item
    ]


def submit(cluster: Cluster, text: str) -> tuple[bool, str]:
    """Create the objects; return whether all of their workloads are admitted, and what refused them."""
    try:
        cluster.kubectl("create", "-f", "-", given=text)
    except Failed as failed:
        return False, str(failed)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and not ((now := admitted(cluster)) and all(now)):
        time.sleep(0.25)
    return bool(now := admitted(cluster)) and all(now), f"admitted: {now}"


def remove(cluster: Cluster, served: frozenset[str]) -> None:
    """Delete every job, pod and workload of the namespaces of the samples."""
    plurals = [f"{kind.lower()}{'es' if kind.endswith('s') else 's'}" for kind in sorted(served)]

    def left() -> list[Any]:
        for namespace in ("default", "kueue-test"):
            for each in (",".join(plurals), "pods", WORKLOADS, "resourceclaimtemplates", "pvc"):
                options = ("--force", "--grace-period=0") if each == "pods" else ()
                cluster.kubectl(
                    "delete", each, "-n", namespace, "--all", "--wait=false", "--ignore-not-found", *options
                )
            for pod in cluster.get("pods", "-n", namespace)["items"]:  # Kueue keeps pods of a group by a finalizer
                release = ("-p", '{"metadata": {"finalizers": null}}', "--type=merge")
                cluster.kubectl("patch", "pod", pod["metadata"]["name"], "-n", namespace, *release)
        return [*cluster.get(WORKLOADS, "-A")["items"], *cluster.get("pods", "-A")["items"]]

    until("the sample to be gone", left, lambda items: not items)


def test_kueue_agrees_with_lint_on_every_published_sample(queues: Cluster) -> None:
    served = served_kinds(queues)
    compared: dict[str, str] = {}
    disagreements: list[str] = []
    for name, text, findings in samples(served):
        codes = {fault.code for each in findings for fault in each.faults}
        can, why = submit(queues, text)
        if any(each.code == "not-all-fit" for finding in findings for each in finding.problems):
            can = any(admitted(queues))  # lint says that some of its workloads wait
        remove(queues, served)
        if codes and codes <= OF_NODES:
            continue
        compared[name] = ", ".join(sorted({each.kind for each in findings}))
        if can == bool(codes):
            disagreements.append(f"{name}: lint says {sorted(codes) or 'can be admitted'}; Kueue: {why}")
    print("\n".join(f"{name}: {kind}" for name, kind in compared.items()))
    assert disagreements == []
    assert len(compared) >= 60
