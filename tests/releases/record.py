"""Records what the program registers for every stack of the repository, as the next release's update test needs it.

Run at a release, from the top of the checkout: `python -m tests.releases.record VERSION`.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from berth.engine import RecordedResource
from tests.berth.diff.edits.one_key import base_values, registered
from tests.stack_files import ALL_STACKS

FOLDER = Path(__file__).parent
KEPT = (
    *("urn", "type", "name", "parent", "custom", "provider", "protect", "inputs", "aliases", "deleted_with"),
    *("replace_on_changes", "ignore_changes", "retain_on_delete", "property_dependencies"),
)
"""Fields of a recorded resource that decide what the next update does with it."""


def slim(resource: RecordedResource) -> dict[str, Any]:
    """The kept fields that are set."""
    return {name: value for name in KEPT if (value := getattr(resource, name)) not in (None, (), {}, False)}


def record(version: str) -> None:
    """Write one file for each stack: the values below `berth:fleet`, and the resources."""
    folder = FOLDER / version
    folder.mkdir(exist_ok=True)
    for stack in ALL_STACKS:
        values = base_values(stack)
        content = {"values": values, "resources": [slim(each) for each in registered(stack, values).values()]}
        text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        (folder / f"{stack}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    record(sys.argv[1])
