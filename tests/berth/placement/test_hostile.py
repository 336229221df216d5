"""Verdicts on manifests of every kind that were predicted from the sources of Kubernetes and Kueue (`hostile.yaml`)."""

from __future__ import annotations

import pathlib
from collections import Counter
from typing import Any

import pytest
import yaml

from berth.cli.admit import simulate
from berth.evaluate import evaluate_stack
from berth.jobs.files import ManifestDocument
from berth.lint.findings import combined_verdict, lint_documents
from berth.lint.fleet import LintContext
from berth.yaml_loader import load_yaml

TABLE: dict[str, Any] = load_yaml((pathlib.Path(__file__).parent / "hostile.yaml").read_text(encoding="utf-8"))
CASES: dict[str, dict[str, Any]] = {each["title"]: each for each in TABLE["cases"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("hostile")
    (made / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (made / "stack.yaml").write_text(TABLE["stack"], encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def context(folder: pathlib.Path) -> LintContext:
    plan = evaluate_stack(str(folder / "stack.yaml"), folder).fleet_plan
    assert plan is not None
    return LintContext(plan)


@pytest.mark.parametrize("title", CASES)
def test_lint_and_admit_say_what_follows_from_the_sources(
    title: str, context: LintContext, folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    documents = [ManifestDocument(f"{index}.yaml", each) for index, each in enumerate(CASES[title]["docs"])]
    findings = list(lint_documents(documents, context))
    assert combined_verdict(findings) == CASES[title]["verdict"], [
        each.message for f in findings for each in f.problems
    ]
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(CASES[title]["docs"]), encoding="utf-8")
    result = simulate.run_stacks([str(folder / "stack.yaml")], [str(tmp_path / "job.yaml")], [], folder)
    assert combined_verdict(each for _, each in result.findings) == CASES[title]["verdict"]


def test_the_predictions_came_true_on_a_real_cluster() -> None:
    """Of those that a cluster without operators can hold; what nobody can know from the manifest may go either way."""
    seen = [each for each in CASES.values() if "real" in each and each["verdict"] != "unknown"]
    assert [each["title"] for each in seen if (each["real"] == "runs") != (each["verdict"] == "runs")] == []
    assert len(seen) >= 70


def test_the_table_has_every_answer_and_kind() -> None:
    verdicts = Counter(each["verdict"] for each in CASES.values())
    assert min(verdicts[each] for each in ("runs", "never", "unknown")) >= 8
    assert len({each["docs"][0]["kind"] for each in CASES.values()}) >= 13
    assert len(CASES) >= 100
