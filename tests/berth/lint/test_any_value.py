"""Every value of the sound manifests replaced by every kind of wrong one: an answer each time, never a traceback."""

from __future__ import annotations

import copy
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from berth.diagnostics import Problems
from berth.evaluate import evaluate_stack
from berth.jobs.files import ManifestDocument
from berth.jobs.pod_groups import PodGroups
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.simulator.arrivals import read_arrivals
from berth.yaml_loader import LOADER

HERE = pathlib.Path(__file__).parent
FILES = [*(HERE / "base").glob("*.yaml"), *(HERE / "kinds").glob("*.yaml")]
BASES = {file.stem: list(yaml.load_all(file.read_text(), LOADER)) for file in sorted(FILES)}
WRONG: list[Any] = [None, "", "x", -1, 0, 10**30, 1.5, True, [], [None], [[]], {}, {"a": None}, {"name": 1}]
GONE = object()


@pytest.fixture(scope="module")
def fleet() -> LintContext:
    plan = evaluate_stack(str(HERE / "stack.yaml"), HERE).fleet_plan
    assert plan is not None
    return LintContext(plan)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield every place in a value, the value itself first."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[key], (*path, key))


def changed(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """Return the value with another at a path, or without it."""
    if not path:
        return None if new is GONE else new
    result = copy.deepcopy(value)
    inside = result
    for step in path[:-1]:
        inside = inside[step]
    if new is GONE:
        del inside[path[-1]]
    else:
        inside[path[-1]] = new
    return result


def has_faults_in_admit(documents: list[ManifestDocument], fleet: LintContext) -> bool:
    """Return whether reading the jobs for a simulation reports a fault."""
    problems = Problems()
    groups = PodGroups(documents)
    for document in documents:
        list(read_arrivals(document.root_value(problems), fleet.simulated, groups))
    return problems.has_faults()


@pytest.mark.parametrize("base", BASES)
def test_no_manifest_causes_a_traceback(base: str, fleet: LintContext) -> None:
    """What is not sound says why, also to `berth admit`; what is sound says what it takes, or is no job at all."""
    answered = 0
    for index, document in enumerate(BASES[base]):
        for path in paths(document):
            for new in [*WRONG, GONE]:
                values = list(BASES[base])
                values[index] = changed(document, path, new)
                documents = [ManifestDocument("a.yaml", value) for value in values]
                findings = list(lint_documents(documents, fleet))
                is_faulty = any(finding.faults for finding in findings)
                assert is_faulty or not has_faults_in_admit(documents, fleet), (path, new)
                answered += len(findings)
                assert all(each.admission or each.problems for each in findings), (path, new)
                assert all(problem.message for each in findings for problem in each.problems)
    assert answered
