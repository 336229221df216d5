"""The component package with a real engine: its schema, and SDKs for other languages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.project import ENVIRONMENT, copied, output
from tests.stack_files import ROOT

pytestmark = pytest.mark.skipif(shutil.which("pulumi") is None, reason="no `pulumi` on PATH")


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

        # This command installs the package's requirements into an environment of its own; a preview would not.
        self.schema = json.loads(self.pulumi("package", "get-schema", str(self.path)))

    def pulumi(self, *arguments: str) -> str:
        """What a command of Pulumi prints, in the folder of the program."""
        return output(["pulumi", *arguments], self.program, self.environment)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Package]:
    yield Package(tmp_path_factory.mktemp("package"))


def test_the_schema_is_valid(package: Package) -> None:
    own = json.loads((ROOT / "packages" / "berth" / "schema.json").read_text(encoding="utf-8"))
    assert package.schema["resources"].keys() == own["resources"].keys()
    assert package.schema["types"].keys() == own["types"].keys()


@pytest.mark.parametrize(("language", "file"), [("nodejs", "fleet.ts"), ("python", "pulumi_berth/fleet.py")])
def test_sdks_are_generated(package: Package, language: str, file: str) -> None:
    schema = str(ROOT / "packages" / "berth" / "schema.json")
    package.pulumi("package", "gen-sdk", schema, "--language", language, "--out", "sdk")
    assert "nodeServiceAccount" in (package.program / "sdk" / language / file).read_text(encoding="utf-8")
