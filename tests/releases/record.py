"""Records what a release registers, as the next release's update test needs it.

That is what the program registers for every stack of the repository, and for the fleets that together set every field
of a plan, and what every component of the package registers (parts.yaml).

Run at a release, from the top of the checkout: `python -m tests.releases.record VERSION`.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from berth.engine import RecordedResource
from berth.yaml_loader import load_table
from tests.berth.diff.edits.one_key import base_values, registered
from tests.packages.test_components import component
from tests.stack_files import ALL_STACKS, ROOT

FOLDER = Path(__file__).parent
OF_TEAMS = ("Pulumi.team.yaml", "Pulumi.kubeconfig-team.yaml")
FULL_FLEETS = {
    f"full-{file.name.split('.')[1]}": file
    for file in sorted((ROOT / "tests" / "berth" / "full_fleets").glob("Pulumi.*.yaml"))
    if file.name not in (*OF_TEAMS, "Pulumi.existing.yaml")
}
"""The fleets that set every field, but for the one whose kubeconfig is a secret of its config."""
KEPT = (
    *("urn", "type", "name", "parent", "custom", "provider", "protect", "inputs", "aliases", "deleted_with"),
    *("replace_on_changes", "ignore_changes", "retain_on_delete", "property_dependencies"),
)
"""Fields of a recorded resource that decide what the next update does with it."""


def slim(resource: RecordedResource) -> dict[str, Any]:
    """The kept fields that are set."""
    return {name: value for name in KEPT if (value := getattr(resource, name)) not in (None, (), {}, False)}


def registered_stack(stack: str, values: dict[str, Any]) -> dict[str, RecordedResource]:
    """What the program registers for a stack of the repository, or for one of the fleets that set every field."""
    with mock.patch.dict(ALL_STACKS, FULL_FLEETS):
        return registered(stack, values)


def registered_part(kind: str, arguments: dict[str, Any]) -> dict[str, RecordedResource]:
    """What a component of the package registers."""
    return {each.urn: each for each in component(kind, arguments, preview=False).resources}


def record(version: str) -> None:
    """Write one file for each stack (the values below `berth:fleet`, and the resources) and for each component."""
    (FOLDER / version / "package").mkdir(parents=True, exist_ok=True)
    for stack in (*ALL_STACKS, *FULL_FLEETS):
        with mock.patch.dict(ALL_STACKS, FULL_FLEETS):
            values = base_values(stack)
        _write(f"{version}/{stack}", {"values": values}, registered_stack(stack, values))
    for name, part in load_table(FOLDER / "parts.yaml").items():
        _write(f"{version}/package/{name}", part, registered_part(part["kind"], part["args"]))


def _write(name: str, content: dict[str, Any], resources: dict[str, RecordedResource]) -> None:
    whole = {**content, "resources": [slim(each) for each in resources.values()]}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()
    (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    record(sys.argv[1])
