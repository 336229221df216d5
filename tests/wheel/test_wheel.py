"""The wheel of this repository, built and used where there is no checkout: the components, and the command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.support.project import ENVIRONMENT, output
from tests.stack_files import ROOT

PAGE = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
RUN = """
import json, sys
from pathlib import Path
import berth, berth_components
from berth.engine import record_program
code = compile(Path("program.py").read_text(encoding="utf-8"), "program.py", "exec")
outputs = {"cluster": "theirs", "location": "us-central1", "nodeServiceAccount": "nodes@acme.iam.gserviceaccount.com"}
recorded = record_program(
    lambda: exec(code, {"__name__": "__main__"}),
    project="mine",
    stack="dev",
    config={},
    references={"acme/platform/prod": (outputs, [])},
)
resources = [[each.type, each.name, each.parent, each.inputs, each.dependencies] for each in recorded.resources]
places = [each.__path__[0] for each in (berth, berth_components)]
json.dump({"resources": resources, "exports": recorded.exports, "places": places}, sys.stdout, default=repr)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what it contains: an old build in the checkout would get into it."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in ("berth", "components"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "setup.py", "LICENSE"):
        shutil.copy(ROOT / file, source)
    run_pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(built), str(source), cwd=built)
    (file,) = built.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has the wheel installed; its requirements are those of this environment."""
    target = tmp_path_factory.mktemp("installed")
    run_pip("install", "--no-deps", "--no-index", "--no-compile", "--target", str(target), str(wheel), cwd=target)
    return target


def run_pip(*words: str, cwd: Path) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def python(installed: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python without the environment's own `berth`: its .pth files, which lead to the checkout, are not read."""
    path = os.pathsep.join([str(installed), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]])
    command = [sys.executable, "-S", *words]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def program(containing: str) -> str:
    """The program on docs/components.md that contains a text."""
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if containing in each]
    return code


def recorded(installed: Path, folder: Path, code: str) -> dict[str, Any]:
    """What a program registers, run outside the checkout on the in-process engine, which the wheel has."""
    (folder / "program.py").write_text(code, encoding="utf-8")
    done = python(installed, "-c", RUN, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    made: dict[str, Any] = json.loads(done.stdout)
    assert made["places"] == [str(installed / "berth"), str(installed / "berth_components")]
    return made


def test_the_wheel_has_two_packages_and_the_command(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"berth", "berth_components"}
    entry_points = next(name for name in names if name.endswith("entry_points.txt"))
    assert "berth = berth.__main__:main" in zipfile.ZipFile(wheel).read(entry_points).decode()
    data = {file.relative_to(ROOT).as_posix() for file in (ROOT / "berth").rglob("*.yaml")}
    assert data - set(names) == set()


def test_a_program_of_25_lines_makes_a_pool_of_slices_in_a_cluster_of_others(installed: Path, tmp_path: Path) -> None:
    code = program("StackReference")
    assert len(code.splitlines()) <= 25
    made = recorded(installed, tmp_path, code)
    by_name = {name: (kind, parent, inputs) for kind, name, parent, inputs, _ in made["resources"]}
    assert [name for name, (kind, *_) in by_name.items() if kind.startswith("gcp:")] == [
        "held-request",
        "v5e-1-pool",
        "v5e-2-pool",
        "v5e-3-pool",
    ]
    pool_urn = next(parent for name, (_, parent, _) in by_name.items() if name == "v5e-1-pool")
    assert pool_urn.endswith("::berth:gke:NodePool::v5e")
    _, _, inputs = by_name["v5e-3-pool"]
    assert (inputs["cluster"], inputs["location"]) == ("theirs", "us-central1")
    assert (inputs["name"], inputs["nodeCount"], inputs["nodeLocations"]) == ("v5e-2x4-3", 2, ["us-central1-a"])
    assert inputs["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "2x4"}
    affinity = inputs["nodeConfig"]["reservationAffinity"]
    assert affinity["consumeReservationType"] == "SPECIFIC_RESERVATION"
    dependencies = next(each[4] for each in made["resources"] if each[1] == "v5e-3-pool")
    assert any(urn.endswith("::held-request") for urn in dependencies)
    assert made["exports"]["nodeLabels"]["cloud.google.com/gke-tpu-topology"] == "2x4"


@pytest.mark.skipif(
    shutil.which("pulumi") is None, reason="no `pulumi` on PATH: the programs below run on the in-process engine only"
)
def test_the_program_of_25_lines_previews_the_same_on_the_real_engine(installed: Path, tmp_path: Path) -> None:
    """A file backend calls its organization `organization`; the owner's outputs come from a stack of that name."""
    outputs = {
        "cluster": "theirs",
        "location": "us-central1",
        "nodeServiceAccount": "nodes@acme.iam.gserviceaccount.com",
    }
    code = program("StackReference")
    exports = "".join(f"pulumi.export({key!r}, {value!r})\n" for key, value in outputs.items())
    (tmp_path / "backend").mkdir()
    environment = {
        **ENVIRONMENT,
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'backend'}",
        "PYTHONPATH": str(installed),
    }

    def pulumi(project: str, stack: str, text: str, *words: str) -> str:
        folder = tmp_path / project
        folder.mkdir()
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        (folder / "Pulumi.yaml").write_text(json.dumps({"name": project, "runtime": runtime}), encoding="utf-8")
        (folder / "__main__.py").write_text(text, encoding="utf-8")
        output(["pulumi", "stack", "init", stack, "--non-interactive"], folder, environment)
        return output(["pulumi", *words, "--non-interactive"], folder, environment)

    pulumi("platform", "prod", f"import pulumi\n{exports}", "up", "--yes", "--skip-preview")
    theirs = code.replace("acme/platform/prod", "organization/platform/prod")
    document = json.loads(pulumi("mine", "dev", theirs, "preview", "--json"))
    steps = {step["urn"]: step["newState"] for step in document["steps"]}
    ours = {each[1]: each[3] for each in recorded(installed, tmp_path, code)["resources"] if each[0].startswith("gcp:")}
    names = {urn.rpartition("::")[2]: urn for urn in steps}
    for name, inputs in ours.items():
        assert holds(steps[names[name]]["inputs"], inputs), name
        assert steps[names[name]]["protect"]
    assert len(ours) == 4


def holds(real: Any, ours: Any) -> bool:
    """Whether the engine has all of these inputs; the provider adds defaults, and nothing in lists."""
    if isinstance(ours, dict):
        return all(key in real and holds(real[key], value) for key, value in ours.items())
    if isinstance(ours, list):
        return len(real) == len(ours) and all(map(holds, real, ours))
    return real == ours


def test_a_program_with_a_cluster_and_queues_runs_too(installed: Path, tmp_path: Path) -> None:
    made = recorded(installed, tmp_path, program("TeamQueues("))
    kinds = {kind for kind, *_ in made["resources"]}
    assert {"berth:gke:Cluster", "berth:gke:NodePool", "berth:kueue:Flavors", "berth:kueue:TeamQueues"} <= kinds


def test_the_installed_command_checks_a_stack_file(installed: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "stacks" / "examples" / "multislice.yaml", tmp_path / "Pulumi.mine.yaml")
    done = python(installed, "-m", "berth", "check", "Pulumi.mine.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(ROOT) not in done.stdout + done.stderr
