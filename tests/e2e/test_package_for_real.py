"""The component package with a real engine: its schema, SDKs, and a YAML program that is previewed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.engine import run as run_offline
from packages.berth.provider import COMPONENTS
from tests.e2e.project import ENVIRONMENT, copied, output
from tests.stack_files import ROOT

pytestmark = pytest.mark.skipif(shutil.which("pulumi") is None, reason="no `pulumi` on PATH")

ARGUMENTS: dict[str, Any] = {
    "project": "acme-ml-dev",
    "region": "us-central1",
    "pools": {"v5e": {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 2, "zone": "us-central1-a"}},
    "teams": {"vision": {"queues": {"train": {"flavors": [{"pool": "v5e", "guaranteed": "2 slices"}]}}}},
}


class Package:
    """The package in a copy of the project, and a folder for programs that use it, with a backend of its own."""

    def __init__(self, folder: Path) -> None:
        self.path, self.program = copied(ROOT, folder) / "packages" / "berth", folder / "program"
        self.program.mkdir()
        (folder / "backend").mkdir()
        self.environment = {
            **ENVIRONMENT,
            "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",  # the providers are on PATH
        }

    def pulumi(self, *arguments: str) -> str:
        """What a command of Pulumi prints, in the folder of the program."""
        return output(["pulumi", *arguments], self.program, self.environment)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Package]:
    yield Package(tmp_path_factory.mktemp("package"))


def test_the_schema_is_valid(package: Package) -> None:
    """The first command also installs the package's requirements into an environment of its own."""
    schema = json.loads(package.pulumi("package", "get-schema", str(package.path)))
    own = json.loads((ROOT / "packages" / "berth" / "schema.json").read_text(encoding="utf-8"))
    assert schema["resources"].keys() == own["resources"].keys()
    assert schema["types"].keys() == own["types"].keys()


@pytest.mark.parametrize(("language", "file"), [("nodejs", "fleet.ts"), ("python", "pulumi_berth/fleet.py")])
def test_sdks_are_generated(package: Package, language: str, file: str) -> None:
    schema = str(ROOT / "packages" / "berth" / "schema.json")
    package.pulumi("package", "gen-sdk", schema, "--language", language, "--out", "sdk")
    assert "nodeServiceAccount" in (package.program / "sdk" / language / file).read_text(encoding="utf-8")


def test_a_yaml_program_previews_what_the_in_process_engine_registers(package: Package) -> None:
    program = {
        "name": "mine",
        "runtime": "yaml",
        "packages": {"berth": str(package.path)},
        "resources": {"lab": {"type": "berth:Fleet", "properties": ARGUMENTS}},
    }
    (package.program / "Pulumi.yaml").write_text(yaml.safe_dump(program), encoding="utf-8")
    package.pulumi("stack", "init", "dev", "--non-interactive")
    previewed = json.loads(package.pulumi("preview", "--json", "--non-interactive", "--stack", "dev"))
    real = {step["urn"] for step in previewed["steps"] if "::pulumi:providers:berth::" not in step["urn"]}

    def build() -> None:
        COMPONENTS["berth:index:Fleet"]("lab", ARGUMENTS, None)

    offline = run_offline(build, project="mine", stack="dev", config={})
    assert real == {each.urn for each in offline.resources}
