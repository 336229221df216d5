"""The component package in a copy of the project, and a program that uses it, with a real engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.real_preview import replayed
from tests.e2e.support.comparison import Real
from tests.e2e.support.project import ENVIRONMENT, copied, output
from tests.stack_files import ROOT

PROGRAM = "training"
_PAGE = ROOT / "docs" / "components.md"
_OF_THE_PROGRAM = ("pulumi:pulumi:Stack", "pulumi:providers:berth", "berth:index:Fleet")
"""Resources that a program with a Fleet has besides those of a stack file."""


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

    def pulumi(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """What a command of Pulumi prints, in the folder of the program."""
        return output(["pulumi", *arguments], self.program, {**self.environment, **(environment or {})})

    def write(self, resources: Mapping[str, Any], outputs: Mapping[str, Any] | None = None) -> None:
        """Write a YAML program that uses this copy of the package."""
        program = {"name": PROGRAM, "runtime": "yaml", "packages": {"berth": str(self.path)}, "resources": resources}
        text = yaml.safe_dump({**program, "outputs": dict(outputs or {})}, sort_keys=False)
        (self.program / "Pulumi.yaml").write_text(text, encoding="utf-8")

    def outputs(self) -> Any:
        """Return the outputs of the selected stack."""
        return json.loads(self.pulumi("stack", "output", "--json"))

    def previewed(self, stack: str) -> Real:
        """What the engine previews for a new stack of the program that is written."""
        self.pulumi("stack", "init", stack, "--non-interactive")
        log = self.program / f"{stack}.json"
        command = ["preview", "--json", "--non-interactive", "--stack", stack]
        steps = json.loads(self.pulumi(*command, environment={"PULUMI_DEBUG_GRPC": str(log)}))["steps"]
        sent, urns_agree = replayed(log, PROGRAM, stack)
        return Real(sent, {step["urn"]: step["newState"] for step in steps}, urns_agree)


def documented_program() -> dict[str, Any]:
    """Return the resources of the YAML program in docs/components.md."""
    text = _PAGE.read_text(encoding="utf-8").partition("### YAML\n\n```yaml\n")[2].partition("```")[0]
    return yaml.safe_load(text)["resources"]


def as_of_a_stack_file(real: Real, stack: str, fleet: str, project: str) -> Real:
    """Return what the engine has below a Fleet, with the URNs that it would have at the root of a stack's program."""
    return Real(
        {each["urn"]: each for each in _renamed(real.sent.values(), stack, fleet, project)},
        {each["urn"]: each for each in _renamed(real.held.values(), stack, fleet, project)},
        real.urns_agree,
    )


def own_resources(resources: Any) -> list[dict[str, Any]]:
    """Return the resources without those that every program, or every one with a Fleet, has."""
    return [each for each in resources if each["type"] not in _OF_THE_PROGRAM]


def _renamed(resources: Any, stack: str, fleet: str, project: str) -> Iterator[dict[str, Any]]:
    """Yield the resources without the Fleet as their parent and as the start of their names."""
    root = f"urn:pulumi:{fleet}::{project}::"
    for each in own_resources(resources):
        text = json.dumps(each).replace(f"urn:pulumi:{stack}::{PROGRAM}::", root)
        text = text.replace(f'"{root}berth:index:Fleet::{fleet}"', f'"{root}pulumi:pulumi:Stack::{project}-{fleet}"')
        result = json.loads(text.replace("berth:index:Fleet$", "").replace(f"::{fleet}-", "::"))
        if "name" in result:
            result["name"] = result["name"].removeprefix(f"{fleet}-")
        yield result
