"""docs/faults.md and `berth explain` have every code that the source reports.

Causes and remedies are rows of faults.yaml. The examples are cases of bad input, which are run.
"""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.explain import explanation_text
from berth.diagnostics import Problem
from berth.diagnostics.explanations import EXAMPLES, Explanation, explanations
from berth.evaluate import evaluate_stack
from berth.yaml_loader import LOADER
from tests.berth.bad_input import cases
from tests.berth.bad_input.test_bad_input import ROOT, SOURCES, written_codes

PAGE = ROOT / "docs" / "faults.md"
CHECKED = {code: each for code, each in explanations().items() if each.of == "check"}

HEAD = """\
# Faults, warnings and notes

Every code that Berth prints in brackets, with its cause, what to do, and an example: an edit of a sound stack file
(`-`, `+`) and the line that is then printed (`!`). `berth explain CODE` prints the same in a terminal. `berth check
--format json` has the code as `code`, and an annotation of `--format github` has it as its title. `make golden` writes
this page from `berth/diagnostics/faults.yaml` and the cases of bad input.

"""
JOBS = """\
## Jobs, scenarios, team stacks and policies

Codes of other verbs than `berth check`.

| code | verb | cause | what to do |
| --- | --- | --- | --- |
"""


def _of_check() -> set[str]:
    """Codes of `berth check`; it reads no JSON, though the loader has a reader for other verbs."""
    return written_codes(*SOURCES, "rules") - {"bad-json"}


def _all() -> set[str]:
    """Every code that a package or module prints; policies have their own codes."""
    places = (place.name for place in (ROOT / "berth").iterdir() if place.is_dir() or place.suffix == ".py")
    return written_codes(*places) - {""}


def page(examples: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page as the table and the examples make it."""
    entries = (_entry(each, examples[code]) for code, each in CHECKED.items())
    jobs = (f"{_anchor(code)} | {e.of} | {e.cause} | {e.remedy} |\n" for code, e in explanations().items() if _other(e))
    return f"{HEAD}{''.join(entries)}{JOBS}{''.join(jobs)}"


def _other(each: Explanation) -> bool:
    return each.code not in CHECKED


def _anchor(code: str) -> str:
    return f'| <a id="{code}"></a>`{code}`'


def _entry(each: Explanation, example: Mapping[str, str]) -> str:
    severity = "" if example["severity"] == "fault" else f"*{example['severity'].capitalize()}.* "
    lines = f"{example.get('edit', '')}! {example['line']}\n"
    return f"### {each.code}\n\n{severity}{each.cause} {each.remedy}\n\n```diff\n{lines}```\n\n"


def examples(folder: pathlib.Path) -> dict[str, dict[str, str]]:
    """Return the example of each code of `berth check`, from its case, which is run in `folder`."""
    made: dict[str, dict[str, str]] = {}
    for code, each in CHECKED.items():
        edit, problem = _example(code, each.case, folder)
        made[code] = {"severity": problem.severity.value, **({"edit": edit} if edit else {}), "line": problem.line()}
    return made


def _example(code: str, name: str, folder: pathlib.Path) -> tuple[str, Problem]:
    """Return what is edited, if anything, and the first problem of this code that it leads to."""
    edits, stack = "", "bad"
    if name in cases.EDITS:
        case = cases.EDITS[name]
        cases.write(folder, cases.edited(case))
        edits = "".join(_diff(old, new) for old, new in case.edits)
    elif name in cases.WHOLE:
        (folder / "Pulumi.bad.yaml").write_bytes(cases.WHOLE[name][0])
    else:
        stack = name
    problems = [problem for problem in evaluate_stack(stack, folder).problems if problem.code == code]
    assert problems, f"the case '{name}' does not lead to {code}: name another in faults.yaml"
    return edits, problems[0]


def _diff(old: str, new: str) -> str:
    """The lines of an edit, without what they are indented by in common."""
    lines = [*(("-", line) for line in old.split("\n")), *(("+", line) for line in new.split("\n"))]
    written = [(sign, line) for sign, line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for _, line in written), default=0)
    return "".join(f"{sign} {line[margin:]}\n" for sign, line in written)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, so that a difference can be read."""


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _represent_text)


def _dumped(made: Mapping[str, Any]) -> str:
    head = "# The example of each code, as `berth explain` and docs/faults.md show it. Written by `make golden`.\n"
    return head + yaml.dump(made, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10_000)


def test_golden_faults_page_and_examples(tmp_path: pathlib.Path) -> None:
    """`make golden` rewrites both."""
    cases.stacks(tmp_path)
    made = examples(tmp_path)
    if os.environ.get("BERTH_GOLDEN") == "write":
        EXAMPLES.write_text(_dumped(made), encoding="utf-8")
        PAGE.write_text(page(made), encoding="utf-8")
    assert EXAMPLES.read_text(encoding="utf-8") == _dumped(made), "run `make golden`, and read the difference"
    assert PAGE.read_text(encoding="utf-8") == page(made), "run `make golden`, and read the difference"


def test_every_edit_of_an_example_changes_something() -> None:
    """What is removed and what is written differ in more than spaces."""
    for code, each in CHECKED.items():
        edit = each.example.edit if each.example else ""
        removed, written = ([line[1:].split() for line in edit.splitlines() if line[0] == sign] for sign in "-+")
        assert not edit or removed != written, code


def test_every_code_has_a_row_and_every_row_a_code() -> None:
    assert CHECKED.keys() == _of_check(), "write its row in faults.yaml"
    assert explanations().keys() - CHECKED.keys() == _all() - _of_check(), "write its row"


def test_table_keys_are_unique() -> None:
    """PyYAML takes the last one without a word: a merged row would get the text of another."""
    tables = sorted((ROOT / "berth").rglob("*.yaml"))
    assert [
        f"{file.name}: {key}" for file in tables for key in _doubled_keys(yaml.compose(file.read_text(), LOADER))
    ] == []


def _doubled_keys(node: yaml.Node | None) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        yield from {str(key) for key in keys if keys.count(key) > 1}
    inner = node.value if isinstance(node, yaml.CollectionNode) else []
    for each in inner:
        for part in each if isinstance(each, tuple) else (each,):
            yield from _doubled_keys(part)


def test_every_code_is_once_on_the_page() -> None:
    matches = re.findall(r'(?m)^### (.+)$|<a id="(.+?)">', PAGE.read_text(encoding="utf-8"))
    anchors = [heading or anchor for heading, anchor in matches]
    assert sorted(anchors) == sorted(_all())


def test_explain_prints_cause_remedy_and_example() -> None:
    result = CliRunner().invoke(app, ["explain", "[overcommitted]"])
    each = explanations()["overcommitted"]
    assert (result.exit_code, result.stdout) == (0, f"{explanation_text(each)}\n")
    words = " ".join(result.stdout.split())
    assert each.example is not None and each.example.edit and each.example.line.endswith("[overcommitted]")
    assert all(" ".join(part.split()) in words for part in (each.cause, each.remedy, each.example.line))


@pytest.mark.parametrize("code", explanations())
def test_every_code_can_be_explained(code: str) -> None:
    each = explanations()[code]
    paragraphs = explanation_text(each).split("\n\n")
    assert paragraphs[0].startswith(f"{code}: ") and len(paragraphs) == (4 if each.example else 3)


def test_explain_suggests_a_code_and_lists_all_without_one() -> None:
    wrong = CliRunner().invoke(app, ["explain", "overcomitted", "zzz"])
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.splitlines() == [
        "no code 'overcomitted'; did you mean 'overcommitted'?",
        "no code 'zzz'; berth explain lists every code",
    ]
    listed = CliRunner().invoke(app, ["explain"]).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(explanations())
