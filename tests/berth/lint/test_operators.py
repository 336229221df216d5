"""Jobs of a kind whose operator the stack file names, lacks, or says nothing about: lint and admit give one verdict."""

from __future__ import annotations

import json
import pathlib
from typing import get_args

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.jobs.kinds import kinds
from berth.plan.configuration import OPERATORS
from berth.planner.machines.dynamic_slicing import SLICE_CONTROLLER
from berth.spec.fleet import OperatorName
from berth.workloads.options import workload_kinds
from berth.yaml_loader import LOADER

HERE = pathlib.Path(__file__).parent
NEEDS = {name.lower(): row.operator for name, row in kinds().items() if row.operator}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_stack(folder: pathlib.Path, operators: list[str] | None) -> None:
    values = yaml.load((HERE / "kinds_stack.yaml").read_text(encoding="utf-8"), LOADER)
    del values["config"]["berth:fleet"]["operators"]
    if operators is not None:
        values["config"]["berth:fleet"]["operators"] = operators
    (folder / "Pulumi.lab.yaml").write_text(yaml.safe_dump(values))


def verdict(command: str, file: pathlib.Path, exit_code: int) -> tuple[str, list[str]]:
    done = CliRunner().invoke(app, [command, "lab", str(file), "--json"])
    assert done.exit_code == exit_code, done.output
    (job,) = json.loads(done.stdout)["objects" if command == "lint" else "jobs"]
    return job["verdict"], job["reasons"]


def test_one_table_has_the_operators() -> None:
    of_kinds = {row.operator for row in kinds().values() if row.operator}
    assert set(get_args(OperatorName)) == set(OPERATORS) == of_kinds | {SLICE_CONTROLLER}
    of_workloads = {kind: row.operator or None for kind, row in workload_kinds().items() if kind in NEEDS}
    assert of_workloads == {kind: NEEDS[kind] for kind in of_workloads}
    assert len(of_workloads) == 6


@pytest.mark.parametrize("kind", sorted(NEEDS.keys() & {file.stem for file in (HERE / "kinds").glob("*.yaml")}))
def test_a_kind_runs_only_with_its_operator(kind: str, folder: pathlib.Path) -> None:
    file = folder / f"{kind}.yaml"
    file.write_text((HERE / "kinds" / f"{kind}.yaml").read_text(encoding="utf-8"))
    name = NEEDS[kind]
    assert name is not None
    others = [each for each in OPERATORS if each != name]
    named = "unknown" if kind == "trainjob" else "runs"  # a TrainJob's runtime is not in the manifest
    for operators, expected, exit_code in ((None, "unknown", 0), (others, "never", 1), ([name], named, 0)):
        write_stack(folder, operators)
        said, reasons = verdict("lint", file, exit_code)
        assert said == expected, (operators, reasons)
        assert any(name in reason for reason in reasons) == (operators != [name])
        assert verdict("admit", file, exit_code) == (said, reasons)


def test_what_an_app_wrapper_wraps_needs_its_operator_too(folder: pathlib.Path) -> None:
    wrapped = yaml.load((HERE / "kinds" / "appwrapper.yaml").read_text(encoding="utf-8"), LOADER)
    inner = yaml.load((HERE / "kinds" / "raycluster.yaml").read_text(encoding="utf-8"), LOADER)
    del inner["metadata"]["labels"]
    del inner["spec"]["workerGroupSpecs"][0]["numOfHosts"]  # policy berth-wrappers refuses groups of several hosts
    wrapped["spec"]["components"] = [{"template": inner}]
    (folder / "job.yaml").write_text(yaml.safe_dump(wrapped))
    write_stack(folder, ["appwrapper"])
    said, reasons = verdict("lint", folder / "job.yaml", 1)
    assert (said, len(reasons)) == ("never", 1)
    assert "KubeRay operator" in reasons[0]
    write_stack(folder, ["appwrapper", "kuberay"])
    assert verdict("lint", folder / "job.yaml", 0) == ("runs", [])
