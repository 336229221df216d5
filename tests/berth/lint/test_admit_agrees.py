"""`berth admit` and `berth lint` have the same verdict, in the same words, on every manifest of the tests of lint.

`newcomers.txt` has further manifests, each with the lines of lint, on stacks of every kind.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
from collections import Counter

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.jobs.kinds import kinds
from berth.yaml_loader import LOADER
from tests.berth.bad_input.cases import parsed
from tests.problem_lines import without_total
from tests.stack_files import ROOT

HERE = pathlib.Path(__file__).parent
TABLE = HERE / "newcomers.txt"
SAMPLES = ROOT / "tests" / "vendored" / "samples"
AUTOPILOT = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {mode: autopilot}
    pools:
      v5e: {machineType: ct5lp-hightpu-4t, topology: 2x2, slices: 2}
      l4: {machineType: g2-standard-24, nodes: {max: 4}}
    priorities: {low: {value: 10, default: true}}
    teams:
      vision:
        queues:
          one-host: {flavors: [{pool: v5e, guaranteed: all}]}
          gpu: {flavors: [{pool: l4, guaranteed: all}]}
"""
_EDITED = {"stack": "base", "kinds_stack": "kinds"}
_TABLES = {"broken": "stack", "warned": "stack", "kinds": "kinds_stack"}
_FAULT = re.compile(r"(?!(.*: )?warning: ).* \[[a-z0-9-]+\]")


def _stacks() -> dict[str, str]:
    """Return each stack file by its stack's name."""

    def example(name: str) -> str:
        return (ROOT / "stacks" / "examples" / f"{name}.yaml").read_text(encoding="utf-8")

    own = {name: (HERE / f"{name}.yaml").read_text(encoding="utf-8") for name in (*_EDITED, "samples_stack", "place")}
    return {
        **own,
        "lab": own["kinds_stack"],
        "samples": own["samples_stack"],
        "auto": AUTOPILOT,
        "dws": example("dws").replace("maxRunDuration: 7d", "maxRunDuration: 2d"),
        "cpu-batch": example("cpu-batch"),
        "multikueue": example("multikueue"),
    }


STACKS = _stacks()


def _newcomers() -> dict[str, tuple[str, str, list[str]]]:
    """Return title → stack, manifest and the lines of lint."""
    blocks = re.split(r"(?m)^== ", TABLE.read_text(encoding="utf-8"))[1:]
    cases: dict[str, tuple[str, str, list[str]]] = {}
    for title, *body in (block.rstrip("\n").split("\n") for block in blocks):
        lines = [line[2:] for line in body if line.startswith("! ")]
        text = "\n".join(line for line in body if not line.startswith("! ")) + "\n"
        cases[title] = title.partition(":")[0], text, lines
    return cases


NEWCOMERS = _newcomers()


def _cases() -> dict[str, tuple[str, str]]:
    """Return every manifest of the tests of lint: title → stack and text."""
    cases = {title: (stack, text) for title, (stack, text, _) in NEWCOMERS.items()}
    bases = {
        stack: {file.stem: file.read_text(encoding="utf-8") for file in (HERE / folder).glob("*.yaml")}
        for stack, folder in _EDITED.items()
    }
    cases |= {f"{stack}: {name}": (stack, text) for stack in bases for name, text in bases[stack].items()}
    for table, stack in _TABLES.items():
        for case in parsed((HERE / f"{table}.txt").read_text(encoding="utf-8")):
            text = bases[stack][case.claim.partition(":")[0]]
            for old, new in case.edits:
                text = text.replace(old, new)
            cases[f"{table}: {case.claim}"] = stack, text
    for file in sorted(SAMPLES.rglob("*.yaml")):
        title = f"sample: {file.relative_to(SAMPLES)}"
        cases[title] = "samples", file.read_text(encoding="utf-8")
    return cases


CASES = _cases()


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    shutil.copytree(ROOT / "stacks" / "teams", tmp_path / "stacks" / "teams")
    for stack, text in STACKS.items():
        (tmp_path / f"Pulumi.{stack}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(verb: str, *words: str) -> tuple[int, list[str]]:
    """Return the exit status and the printed lines."""
    result = CliRunner().invoke(app, [verb, *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, without_total(result.stderr + result.stdout).splitlines()


def faults(lines: list[str]) -> list[str]:
    """Return the lines that are faults."""
    return sorted(line for line in lines if _FAULT.fullmatch(line))


@pytest.mark.parametrize("title", CASES)
def test_the_result_and_the_messages_are_equal(folder: pathlib.Path, title: str) -> None:
    stack, text = CASES[title]
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    code, lines = run("lint", stack, "job.yaml")
    admit_code, admit_lines = run("admit", stack, "job.yaml")
    assert (admit_code, faults(admit_lines)) == (code, faults(lines))
    assert bool(faults(lines)) == (code == 1)


@pytest.mark.parametrize("title", NEWCOMERS)
def test_every_common_mistake_has_a_clear_fault(folder: pathlib.Path, title: str) -> None:
    """`BERTH_GOLDEN=write` writes the lines into the table."""
    stack, text, expected = NEWCOMERS[title]
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    code, lines = run("lint", stack, "job.yaml")
    if os.environ.get("BERTH_GOLDEN") == "write":
        old, new = (f"{text}{''.join(f'! {line}' + chr(10) for line in each)}" for each in (expected, lines))
        table = TABLE.read_text(encoding="utf-8")
        TABLE.write_text(table.replace(f"== {title}\n{old}", f"== {title}\n{new}"), encoding="utf-8")
    assert (code, lines) == (1, expected)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 300
    assert len(NEWCOMERS) >= 110
    assert sum(title.startswith(("place: ", "multikueue: ")) for title in NEWCOMERS) >= 70


def _top_level_kinds(text: str) -> set[str]:
    """Return the kinds of the objects of a manifest; none of a template."""
    try:
        documents = [each for each in yaml.load_all(text, LOADER) if isinstance(each, dict)]
    except yaml.YAMLError:
        return set()
    return {str(each.get("kind")) for each in documents}


def test_every_kind_has_at_least_three_broken_manifests() -> None:
    broken = [
        text for title, (_, text) in CASES.items() if title in NEWCOMERS or title.startswith(("broken:", "kinds:"))
    ]
    counts = Counter(kind for text in broken for kind in _top_level_kinds(text))
    assert {kind: counts[kind] for kind in (*kinds(), "ProvisioningRequest") if counts[kind] < 3} == {}
