"""Broken scenarios and manifests: every line that `berth admit` prints for each."""

from __future__ import annotations

import os
import pathlib
import re
import shutil

import pytest

from berth.cli.admit import simulate
from berth.cli.admit.cases import answer_cases
from tests.problem_lines import line_without_code

HERE = pathlib.Path(__file__).parent
ENTRY = re.compile(r"^== (.*)\n((?:(?!== ).*\n)*)", re.MULTILINE)


def entries() -> dict[str, tuple[str, list[str]]]:
    """Title → the file's text, and the lines that are printed (they begin with `! `)."""
    values: dict[str, tuple[str, list[str]]] = {}
    for title, body in ENTRY.findall((HERE / "bad_input.txt").read_text(encoding="utf-8")):
        lines = body.rstrip("\n").split("\n")
        result = [line[2:] for line in lines if line.startswith("! ")]
        values[title] = "\n".join(line for line in lines if not line.startswith("! ")) + "\n", result
    return values


ENTRIES = entries()


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A project's folder, in which one stands, with a sound stack."""
    shutil.copy(HERE / "stack.yaml", tmp_path / "stack.yaml")
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complaints(folder: pathlib.Path, *arguments: str) -> list[str]:
    """The lines of the faults."""
    answer = simulate.simulate_arguments(list(arguments), [], folder)
    assert bool(answer.faults) == (answer.stories == ())
    return [line_without_code(problem) for problem in answer.faults]


def test_there_are_at_least_25() -> None:
    assert len(ENTRIES) >= 25


@pytest.mark.parametrize("title", ENTRIES)
def test_each_fault_is_one_line(folder: pathlib.Path, title: str) -> None:
    """All faults at once, each with its place, the wrong value and a remedy; no traceback, nothing of Python."""
    text, lines = ENTRIES[title]
    (folder / "bad.yaml").write_text(text, encoding="utf-8")
    result = complaints(folder, "stack.yaml", "bad.yaml")
    if os.environ.get("BERTH_BAD_INPUT"):
        print("\n".join(f"! {line}" for line in result))
    assert result == lines
    assert not re.search(r"Traceback|\b(None|True|False|dict|tuple|str)\b", "\n".join(result))


def test_a_file_or_folder_that_is_not_there_is_named(folder: pathlib.Path) -> None:
    (folder / "empty").mkdir()
    assert complaints(folder, "stack.yaml", "nowhere.yaml") == ["no file 'nowhere.yaml'"]
    assert complaints(folder, "nowhere.yaml") == ["no file 'nowhere.yaml'"]
    assert complaints(folder, "stack.yaml") == ["no jobs to simulate; write berth admit stack.yaml JOBS..."]
    assert complaints(folder, "stack.yaml", "empty") == [
        "empty: contains no YAML file and no JSON manifest; name a file or a folder with manifests"
    ]


def test_a_stack_must_be_named_on_the_command_line_or_by_one_scenario(folder: pathlib.Path) -> None:
    for name, stack in (("one", "stack.yaml"), ("two", "other.yaml"), ("none", None)):
        text = "steps: []\n" + (f"stack: {stack}\n" if stack else "")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    assert complaints(folder, "none.yaml") == ["'none.yaml' is not a stack; write berth admit STACK JOBS..."]
    assert complaints(folder) == ["a stack is missing; write berth admit STACK JOBS..."]
    assert complaints(folder, "one.yaml", "two.yaml") == [
        "two.yaml:2: stack: 'other.yaml' differs from 'stack.yaml' in another scenario; name the "
        "stack on the command line"
    ]
    assert complaints(folder, "nowhere", "one.yaml")[0].startswith("no stack 'nowhere' (Pulumi.nowhere.yaml)")


def test_the_faults_of_a_stack_have_the_usual_format(folder: pathlib.Path) -> None:
    text = (folder / "stack.yaml").read_text(encoding="utf-8").replace("topology: 2x4", "topology: 2x5")
    (folder / "broken.yaml").write_text(text, encoding="utf-8")
    (folder / "change.yaml").write_text("steps:\n- change: broken.yaml\n", encoding="utf-8")
    for arguments in (("broken.yaml", "change.yaml"), ("stack.yaml", "change.yaml")):
        (line,) = complaints(folder, *arguments)
        assert line.startswith("broken.yaml:11: pools.v5e.topology: '2x5'")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "{",
            "live.json: is not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
        ),
        ('{"kind": "Node"}', "live.json: kind: 'Node' is not one of Workload, ClusterQueue"),
        ('{"items": {}}', "live.json: items: a mapping is not a list of objects"),
    ],
)
def test_files_not_printed_by_kubectl_are_rejected(folder: pathlib.Path, text: str, line: str) -> None:
    (folder / "live.json").write_text(text, encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml"], [folder / "live.json"], folder)
    assert [
        line_without_code(problem).removesuffix("; write it with kubectl get … -o json") for problem in result.faults
    ] == [line]
    missing = simulate.simulate_arguments(["stack.yaml"], [folder / "nowhere.json"], folder)
    assert [line_without_code(problem) for problem in missing.faults] == ["no file 'nowhere.json'"]


CASE = """- case: a
  clusterQueues:
  - {name: q, flavors: [f], quotas: [{flavor: f, resource: gpu, nominal: 4}]}
  steps:
  - submit: {name: j, queue: q, pods: 1, requests: {gpu: 1}}
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "- case: a",
            "- kase: a",
            "[0].kase: unknown key 'kase'; write one of case, clusterQueues, steps, cohorts, fairSharing, "
            "admissionFairSharing, topology, nodes, kueue, settled; did you mean 'case'?",
        ),
        ("- case: a", "- case: a\n  topology: [rack]", "[0]: has only one of topology and nodes; write both"),
        (
            "- case: a",
            "- case: a\n  topology: [rack]\n  nodes: [{labels: {rack: a}, allocatable: {gpu: four}}]",
            "[0].nodes[0].allocatable.gpu: 'four' is not a whole number from 0",
        ),
        (
            "requests: {gpu: 1}}",
            "requests: {gpu: 1}, topology: {sliceSize: 0}}",
            "[0].steps[0].submit.topology.sliceSize: '0' is not a whole number of pods from 1",
        ),
        (
            "requests: {gpu: 1}}",
            "requests: {gpu: 1}, topology: {unconstrained: maybe}}",
            "[0].steps[0].submit.topology.unconstrained: 'maybe' is not true",
        ),
        ("nominal: 4", "nominal: four", "[0].clusterQueues[0].quotas[0].nominal: 'four' is not a whole number from 0"),
        (
            "flavors: [f]",
            "flavors: f",
            "[0].clusterQueues[0].flavors: 'f' is not a list of flavors, in order of preference",
        ),
        (
            "name: q,",
            "name: q, strategy: FIFO,",
            "[0].clusterQueues[0].strategy: 'FIFO' is not one of StrictFIFO, BestEffortFIFO",
        ),
        ("queue: q", "queue: p", "[0].steps[0].submit.queue: 'p' is not one of q"),
        ("pods: 1", "pods: 0", "[0].steps[0].submit.pods: '0' is not a whole number of pods from 1"),
        ("submit: {name: j", "finish: {name: j", "[0].steps[0].finish: a mapping is not a job's name"),
        (
            "requests: {gpu: 1}}",
            "requests: {gpu: 1}}\n  - finish: k",
            "[0].steps[1].finish: no unfinished job 'k'; submit it in an earlier step",
        ),
        ("- case: a", "[[[" * 30, "is not YAML: nested more than 64 levels deep; remove brackets or levels"),
    ],
)
def test_a_file_of_cases_that_has_another_form_is_refused(
    tmp_path: pathlib.Path, old: str, new: str, line: str
) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(CASE.replace(old, new), encoding="utf-8")
    _, _, problems = answer_cases(file)
    assert line_without_code(problems[0]) == f"{file}: {line}"
    file.write_text(CASE, encoding="utf-8")
    assert answer_cases(file)[2] == ()
