"""A project's own program runs as the language host would run it, and fails in words."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from berth.engine import SECRET, Preview, ProgramError, run_program
from tests.stack_files import ROOT, fleet_values

MAIN = """
import json, pathlib, sys
import pulumi
import hands
fleet = pulumi.Config("berth").require_object("fleet")
for name in fleet["names"]:
    hands.Fleet(name)
pulumi.export("where", [pathlib.Path.cwd().name, pathlib.Path(sys.path[0]).name, __name__])
pulumi.export("fleet", fleet)
"""
HANDS = """
import pulumi
made = []
class Fleet(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("berth:gke:Fleet", name)
        made.append(name)
        self.register_outputs({"made": len(made)})
"""


def project(root: Path, main: str = MAIN, **modules: str) -> Path:
    """Return a project folder with a program in it."""
    root.mkdir(exist_ok=True)
    (root / "Pulumi.yaml").write_text("name: quay\nruntime: python\n")
    for name, text in {"__main__": main, **modules}.items():
        (root / f"{name}.py").write_text(text)
    return root


def names(result: Preview) -> list[str]:
    return [one.name for one in result.resources if one.type == "berth:gke:Fleet"]


def failure(root: Path) -> str:
    with pytest.raises(ProgramError) as caught:
        run_program(root, "dev", {})
    return str(caught.value)


def test_a_program_gets_its_fleet_its_folder_and_its_name(tmp_path: Path) -> None:
    root = project(tmp_path / "one", hands=HANDS)
    preview = run_program(root, "dev", {"names": ["b", "a"], "1": {"z": 1, "y": True}})
    assert (preview.project, preview.stack, names(preview)) == ("quay", "dev", ["b", "a"])
    assert preview.exports["where"] == ["one", "one", "__main__"]
    assert preview.exports["fleet"] == {"names": ["b", "a"], "1": {"z": 1, "y": True}}


def test_mappings_arrive_with_sorted_keys_as_from_the_engine(tmp_path: Path) -> None:
    """Else a program that leans on their order would look right offline only."""
    main = "import pulumi\npulumi.export('keys', list(pulumi.Config('berth').require_object('fleet')['pools']))\n"
    preview = run_program(project(tmp_path, main), "dev", {"pools": {"b": 1, "a": 2}})
    assert preview.exports["keys"] == ["a", "b"]


def test_the_other_keys_of_the_stack_file_arrive_as_the_engine_encodes_them(tmp_path: Path) -> None:
    main = """
import pulumi
config = pulumi.Config("gcp")
pulumi.export("all", [config.get("a"), config.get_bool("b"), config.get_int("c"), config.get_object("d")])
pulumi.export("own", pulumi.Config().get("plain"))
pulumi.export("secret", pulumi.Config("berth").get_secret("token"))
"""
    config = {
        "gcp:a": "x",
        "gcp:b": True,
        "gcp:c": 3,
        "gcp:d": {"e": [1]},
        "plain": "p",
        "berth:token": {"secure": "v1:"},
    }
    exports = run_program(project(tmp_path, main), "dev", {}, config).exports
    assert exports == {"all": ["x", True, 3, {"e": [1]}], "own": "p", "secret": SECRET}


def test_default_providers_are_refused_where_the_stack_file_refuses_them(tmp_path: Path) -> None:
    main = """
import pulumi
class Thing(pulumi.CustomResource):
    def __init__(self, name):
        super().__init__("cloud:index:Thing", name)
Thing("y")
"""
    root = project(tmp_path, main)
    with pytest.raises(ProgramError, match=r"^__main__.py:6: default provider for 'cloud' disabled"):
        run_program(root, "dev", {}, {"pulumi:disable-default-providers": ["*"]})


def test_every_run_starts_with_fresh_modules_of_its_own_folder(tmp_path: Path) -> None:
    one = project(tmp_path / "one", hands=HANDS)
    other = project(tmp_path / "other", hands=HANDS.replace('Fleet", name)', 'Fleet", name + "-other")'))
    fleet = {"names": ["a"]}
    assert run_program(one, "dev", fleet) == run_program(one, "dev", fleet)
    assert names(run_program(other, "dev", fleet)) == ["a-other"]
    assert names(run_program(one, "prod", fleet)) == ["a"]


def test_modules_path_and_folder_are_as_before(tmp_path: Path) -> None:
    root = project(tmp_path, hands=HANDS, stacks="mine = True\n", main="import stacks, hands\nassert stacks.mine\n")
    before = set(sys.modules), list(sys.path), os.getcwd(), sys.argv, sys.modules.get("stacks"), sys.stdout
    run_program(root, "dev", {})
    assert (set(sys.modules), list(sys.path), os.getcwd(), sys.argv, sys.modules.get("stacks"), sys.stdout) == before


def test_the_current_project_uses_the_loaded_modules() -> None:
    """And on the config that it is given, though another was judged before: no plan is handed over."""
    before = sys.modules["berth.evaluate"]
    assert run_program(ROOT, "local", fleet_values("local")).resources
    with pytest.raises(ProgramError, match="stack 'local' has faults"):
        run_program(ROOT, "local", {**fleet_values("local"), "pools": {}})
    assert sys.modules["berth.evaluate"] is before


def test_an_error_in_a_module_has_its_location_and_no_traceback(tmp_path: Path) -> None:
    root = project(tmp_path, "import hands\nhands.build()\n", hands="def build():\n    raise KeyError('x')\n")
    assert failure(root) == "hands.py:2: KeyError: 'x'"


def test_an_error_that_is_its_own_cause_is_printed_once(tmp_path: Path) -> None:
    """The SDK raises the error of a provider's function from itself."""
    loop = "error = OSError('nobody answers')\nerror.__cause__ = error\nraise error\n"
    assert failure(project(tmp_path, loop)) == "__main__.py:3: OSError: nobody answers"
    function = "import pulumi\npulumi.runtime.invoke('cloud:index:look', {}).value\n"
    assert "needs the provider, which is not available offline" in failure(project(tmp_path, function))


def test_waiting_for_outputs_is_linear_in_the_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK looks at every task that is not done whenever one is; nothing may be left to it then."""
    looked_at: list[int] = []
    wait = asyncio.wait

    def counted(tasks: Any, **arguments: Any) -> Any:
        looked_at.append(len(tasks))
        return wait(tasks, **arguments)

    monkeypatch.setattr(asyncio, "wait", counted)
    main = """
import pulumi
class Thing(pulumi.CustomResource):
    def __init__(self, name, value):
        super().__init__("cloud:index:Thing", name, {"value": value})
before = "none"
for n in range(150):
    before = Thing(f"t{n}", before).urn.apply(lambda urn: urn)
"""
    assert len(run_program(project(tmp_path, main), "dev", {}).resources) == 152  # with the stack and a provider
    assert sum(looked_at) < 152 * 5


def test_a_program_may_await_a_timer(tmp_path: Path) -> None:
    main = """
import asyncio
import pulumi
async def later(value):
    await asyncio.sleep(0.05)
    return value + 1
pulumi.export("late", pulumi.Output.from_input(1).apply(later))
"""
    assert run_program(project(tmp_path, main), "dev", {}).exports == {"late": 2}


def test_an_error_has_its_traceback_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_TRACEBACK", "1")
    output = failure(project(tmp_path, "1 / 0\n")).splitlines()
    assert output[0] == "__main__.py:1: ZeroDivisionError: division by zero"
    assert output[1] == "Traceback (most recent call last):"


def test_an_error_in_an_apply_names_the_line_of_the_apply(tmp_path: Path) -> None:
    """However many resources wait for it: asyncio keeps a traceback for the first of them only."""
    main = """
import pulumi
class Thing(pulumi.CustomResource):
    def __init__(self, name, value):
        super().__init__("cloud:index:Thing", name, {"value": value})
wrong = pulumi.Output.from_input({"a": 1}).apply(
    lambda value: value["b"]
)
things = [Thing(f"t{n}", wrong) for n in range(5)]
pulumi.export("wrong", wrong)
"""
    assert failure(project(tmp_path, main)) == "__main__.py:7: KeyError: 'b'"


def test_an_error_in_a_library_names_the_calling_line(tmp_path: Path) -> None:
    packages = tmp_path / ".venv" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "installed.py").write_text("def fail():\n    raise ValueError('deep')\n")
    main = f"import sys\nsys.path.append({str(packages)!r})\nimport installed\ninstalled.fail()\n"
    assert failure(project(tmp_path, main)) == "__main__.py:4: ValueError: deep"


def test_a_syntax_error_of_the_program_is_reported_with_its_line(tmp_path: Path) -> None:
    assert (
        failure(project(tmp_path, "import hands\n", hands="\n\ndef (\n")) == "hands.py:3: SyntaxError: invalid syntax"
    )


def test_a_missing_module_is_reported_at_its_import(tmp_path: Path) -> None:
    assert failure(project(tmp_path, "\nimport nowhere\n")) == (
        "__main__.py:2: ModuleNotFoundError: No module named 'nowhere'"
    )


def test_a_clear_error_is_unchanged(tmp_path: Path) -> None:
    main = "import pulumi\nraise pulumi.RunError('Pulumi.dev.yaml:3: no such pool')\n"
    assert failure(project(tmp_path, main)) == "Pulumi.dev.yaml:3: no such pool"


@pytest.mark.parametrize(
    ("code", "output"),
    [("3", "the program ended with exit status 3"), ("'no fleet'", "no fleet")],
    ids=["status", "words"],
)
def test_a_program_that_exits_with_1_has_failed(tmp_path: Path, code: str, output: str) -> None:
    assert failure(project(tmp_path, f"import sys\nsys.exit({code})\n")) == output


def test_a_program_that_exits_with_0_has_not_failed(tmp_path: Path) -> None:
    main = "import sys, pulumi\npulumi.ComponentResource('berth:gke:Fleet', 'a')\nsys.exit()\n"
    assert names(run_program(project(tmp_path, main), "dev", {})) == ["a"]


def test_a_run_is_independent_of_an_earlier_failure(tmp_path: Path) -> None:
    wrong = project(tmp_path / "wrong", "import hands\nhands.Fleet('a')\n1 / 0\n", hands=HANDS)
    failure(wrong)
    assert names(run_program(project(tmp_path / "right", hands=HANDS), "dev", {"names": ["b"]})) == ["b"]


@pytest.mark.parametrize(("text", "output"), [(None, "no such file"), ("runtime: python\n", "'name' is missing")])
def test_a_folder_that_is_no_project_is_refused(tmp_path: Path, text: str | None, output: str) -> None:
    if text:
        (tmp_path / "Pulumi.yaml").write_text(text)
    assert failure(tmp_path).startswith(f"{tmp_path / 'Pulumi.yaml'}: {output}")


def test_a_team_defined_in_a_file_and_in_a_config_is_one_clear_sentence() -> None:
    """A program has only the values of its configuration, without their lines."""
    values = fleet_values("dev")
    assert values["teamFiles"]
    with pytest.raises(ProgramError, match=r"is defined twice, first in the stack file; keep one \[duplicate-team\]"):
        run_program(ROOT, "dev", values)
