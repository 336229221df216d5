"""Manifests of 11 MB, of 5,000 documents and with 10,000 labels: bounded time, and the same answers."""

from __future__ import annotations

import pathlib
import time
from collections import Counter

import pytest
import yaml

from berth.evaluate import evaluate_config
from berth.jobs.files import read_documents
from berth.lint.findings import Verdict, lint_documents
from berth.lint.fleet import LintContext

STACK = pathlib.Path(__file__).with_name("place.yaml")
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: a{number}, namespace: geo, labels: {{kueue.x-k8s.io/queue-name: l4}}}}
spec:
  template:
    metadata: {{labels: {{{labels}}}, annotations: {{{notes}}}}}
    spec:
      restartPolicy: Never
      nodeSelector: {{{selector}}}
      containers: [{{name: a, image: busybox, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]
"""


@pytest.fixture(scope="module")
def context() -> LintContext:
    plan = evaluate_config("place", yaml.safe_load(STACK.read_text())["config"]["berth:fleet"], STACK.parent).fleet_plan
    assert plan is not None
    return LintContext(plan)


def job(number: int = 0, labels: str = "", notes: str = "", selector: str = "", gpus: int = 1) -> str:
    return JOB.format(number=number, labels=labels, notes=notes, selector=selector, gpus=gpus)


def verdicts(folder: pathlib.Path, context: LintContext, text: str, seconds: float) -> Counter[str]:
    """Return how many objects have each verdict; fail if the answer takes more CPU time."""
    (folder / "jobs.yaml").write_text(text, encoding="utf-8")
    start = time.process_time()
    documents, problems = read_documents(folder / "jobs.yaml", "jobs.yaml")
    assert problems == []
    found = Counter(str(each.verdict) for each in lint_documents(documents, context))
    assert time.process_time() - start < seconds
    return found


def test_5000_documents(tmp_path: pathlib.Path, context: LintContext) -> None:
    text = "---\n".join(job(number, gpus=1 + number % 2 * 2) for number in range(5000))
    assert verdicts(tmp_path, context, text, 60) == {Verdict.RUNS: 2500, Verdict.NEVER: 2500}


def test_10000_labels_and_selectors(tmp_path: pathlib.Path, context: LintContext) -> None:
    labels = ", ".join(f"k{number}: v" for number in range(10_000))
    assert verdicts(tmp_path, context, job(labels=labels), 20) == {Verdict.RUNS: 1}
    selector = ", ".join(f"k{number}.cloud.google.com/x: v" for number in range(10_000))
    assert verdicts(tmp_path, context, job(selector=selector), 20) == {Verdict.NEVER: 1}


def test_11_megabytes(tmp_path: pathlib.Path, context: LintContext) -> None:
    note = "x" * 100_000
    text = "---\n".join(job(number, notes=f"note: {note}") for number in range(110))
    assert len(text) > 11_000_000
    assert verdicts(tmp_path, context, text, 20) == {Verdict.RUNS: 110}


def test_more_values_than_can_be_read_in_time_are_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "jobs.yaml").write_text("a: [" + "x, " * 3_700_000 + "x]\n", encoding="utf-8")
    start = time.process_time()
    _, (problem,) = read_documents(tmp_path / "jobs.yaml", "jobs.yaml")
    assert problem.line() == ("jobs.yaml: error: is not YAML: it has more than 1,000,000 values; split it [bad-yaml]")
    assert time.process_time() - start < 60
