"""A stack that the previous release deployed is updated by this one without a replacement or deletion.

The folders hold, per release, the values of every stack file of that release, also of those that set every field, and
what its program registered for them, and what the components of its package registered (record.py). The oldest release
here is the oldest from which an update is promised.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from berth.engine import RecordedResource
from tests.berth.diff.edits.engine_changes import DELETED, REPLACED, engine_changes
from tests.releases.record import registered_part, registered_stack
from tests.stack_files import ROOT

FOLDER = Path(__file__).parent
RECORDINGS = {
    str(file.relative_to(FOLDER)).removesuffix(".json.gz"): file for file in sorted(FOLDER.rglob("*.json.gz"))
}
PARTS = [name for name in RECORDINGS if "/package/" in name]
STACKS = [name for name in RECORDINGS if name not in PARTS]
SINCE = {"berth:gke:Checkpointing"}
"""Components that no release has yet."""
Resources = Mapping[str, RecordedResource]


def recording(release: str) -> tuple[dict[str, Any], dict[str, RecordedResource]]:
    """What was given, and the resources by URN that a release registered for it."""
    content = json.loads(gzip.decompress(RECORDINGS[release].read_bytes()))
    defaults = {"inputs": {}, "parent": None, "custom": False}
    resources = [convert(defaults | each, RecordedResource) for each in content["resources"]]
    return content, {each.urn: each for each in resources}


def lost(before: Resources, after: Resources) -> dict[str, str]:
    """URN → replaced or deleted, of every resource that an update would not keep; an alias keeps one."""
    former = {alias: urn for urn, each in after.items() for alias in each.aliases if alias in before}
    renamed = {former.get(urn, urn): each for urn, each in before.items()}
    return {urn: what for urn, what in engine_changes(renamed, after).items() if what in (REPLACED, DELETED)}


@pytest.mark.parametrize("release", STACKS)
def test_an_update_from_the_previous_release_keeps_every_resource(release: str) -> None:
    given, before = recording(release)
    after = registered_stack(release.partition("/")[2], given["values"])
    assert lost(before, after) == {}


@pytest.mark.parametrize("release", PARTS)
def test_a_component_of_the_package_keeps_every_resource(release: str) -> None:
    given, before = recording(release)
    assert lost(before, registered_part(given["kind"], given["args"])) == {}


def test_a_lost_or_replaced_resource_is_noticed() -> None:
    """A resource under another name is deleted, and one with another immutable input is replaced."""
    given, before = recording("0.1.0/dev")
    values = given["values"]
    after = registered_stack("dev", values | {"cluster": {**values["cluster"], "name": "another"}})
    assert REPLACED in lost(before, after).values()
    pool = next(urn for urn in before if urn.endswith("v5e-1-pool"))
    moved = {urn.replace("v5e-1-pool", "v5e-first-pool"): each for urn, each in before.items()}
    assert lost(before, moved) == {pool: DELETED}


def test_the_recordings_hold_every_stack_and_component_of_their_release() -> None:
    assert (len(STACKS), len(PARTS)) == (29, 15)
    recorded = {each.type for name in RECORDINGS for each in recording(name)[1].values()}
    sources = [*(ROOT / "components").rglob("*.py"), *(ROOT / "packages").rglob("*.py")]
    made = {name for file in sources for name in re.findall(r'"(berth:\w+:\w+)"', file.read_text(encoding="utf-8"))}
    assert made - recorded == SINCE
    assert all(len(recording(name)[1]) > 2 for name in RECORDINGS)
