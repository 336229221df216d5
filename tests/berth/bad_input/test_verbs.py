"""Bad input of other kinds than a stack file, each with every line that answers it: policies, and what stacks point at.

The cases are in `verbs/*.txt`. With BERTH_GOLDEN=write the answers (`!`) are written; read the difference.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
from collections.abc import Callable
from typing import Final

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.berth.bad_input.cases import write

HERE: Final = pathlib.Path(__file__).parent / "verbs"
FLEET: Final = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {controlPlane: {publicEndpoint: false}}
    pools: {l4: {machineType: g2-standard-24, nodes: {max: 2}, zone: us-central1-a}}
    teams: {vision: {queues: {train: {flavors: [{pool: l4, guaranteed: all}]}}}}
"""


def blocks(table: str) -> dict[str, str]:
    """Return the body of each case by its title."""
    text = (HERE / f"{table}.txt").read_text(encoding="utf-8")
    parts = [block.partition("\n") for block in re.split(r"(?m)^== ", text)[1:]]
    assert len({title for title, *_ in parts}) == len(parts)
    return {title: body for title, _, body in parts}


def files(body: str, first: str) -> dict[str, list[str]]:
    """Return the lines of a case that begin with `-` or `+`, by file: those of `first` stand before any `=== NAME`."""
    lines: dict[str, list[str]] = {}
    name = first
    for line in body.splitlines():
        if line.startswith("=== "):
            name = line.removeprefix("=== ")
        elif line[:1] in ("-", "+"):
            lines.setdefault(name, []).append(line)
    return lines


def expect(table: str, title: str, answer: Callable[[], list[str]]) -> None:
    """Compare the answer of a case with its lines that begin with `!`, or write these."""
    body = blocks(table)[title]
    printed = answer()
    if os.environ.get("BERTH_GOLDEN") == "write":
        file = HERE / f"{table}.txt"
        kept = [line for line in body.rstrip().split("\n") if not line.startswith("!")]
        new = "\n".join([*kept, *(f"! {line}".rstrip() for line in printed)])
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(f"== {title}\n{body.rstrip()}", f"== {title}\n{new}"), encoding="utf-8")
        return
    assert printed == [line[2:] for line in body.splitlines() if line.startswith("!")]


@pytest.mark.parametrize("title", blocks("policies"))
def test_golden_policies_of_each_kind(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, title: str) -> None:
    write(tmp_path, {"Pulumi.bad.yaml": FLEET})
    for name, lines in files(blocks("policies")[title], "").items():
        file = tmp_path / "rules" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line[2:]}\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def answer() -> list[str]:
        done = CliRunner().invoke(app, ["check", "bad", "--policy", "rules"])
        lines = done.stdout.splitlines()
        assert done.exit_code == any(": error: " in line for line in lines)
        assert done.stderr == ""
        return lines

    expect("policies", title, answer)


@pytest.mark.parametrize("title", blocks("identity"))
def test_golden_what_a_stack_points_at(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, title: str) -> None:
    stack = title.partition(":")[0]
    folder = HERE / "identity"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    texts = {name: text for name, text in texts.items() if name in (f"Pulumi.{stack}.yaml", "Pulumi.dev.yaml")}
    write(tmp_path, texts)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@a", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    for name, lines in files(blocks("identity")[title], f"Pulumi.{stack}.yaml").items():
        for edit in re.findall(r"(?:^-.*\n)+(?:^\+.*\n)+", "".join(f"{line}\n" for line in lines), re.MULTILINE):
            old, new = ("\n".join(line[2:] for line in edit.splitlines() if line[0] == sign) for sign in "-+")
            assert texts[name].count(old) == 1, f"not found once: {old}"
            texts[name] = texts[name].replace(old, new)
    write(tmp_path, texts)
    monkeypatch.chdir(tmp_path)

    def answer() -> list[str]:
        done = CliRunner().invoke(app, ["diff", stack, "--since", "HEAD"])
        assert done.stderr == ""
        headline, *rest = done.stdout.splitlines()
        assert done.exit_code == (3 if headline.endswith("blocked") else 0), done.stdout
        sections = re.split(r"\n\n", "\n".join(rest).strip())
        told = [each for each in sections if each.startswith(("Blocked", "Allowed"))]
        return [headline, *(line for each in told for line in each.splitlines()[1:])]

    expect("identity", title, answer)
