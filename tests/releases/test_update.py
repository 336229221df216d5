"""A stack that the previous release deployed is updated by this one without a replacement or deletion.

The folders hold, per release, the values of every stack file of that release and what its program registered for them
(record.py). The oldest release here is the oldest from which an update is promised.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from berth.engine import RecordedResource
from tests.berth.diff.edits.engine_changes import DELETED, REPLACED, engine_changes
from tests.berth.diff.edits.one_key import registered

FILES = sorted(Path(__file__).parent.glob("*/*.json.gz"))
RECORDINGS = {f"{file.parent.name}/{file.name.removesuffix('.json.gz')}": file for file in FILES}
Resources = Mapping[str, RecordedResource]


def recording(release: str) -> tuple[dict[str, Any], dict[str, RecordedResource]]:
    """The values of a stack file, and the resources by URN, that a release registered for them."""
    content = json.loads(gzip.decompress(RECORDINGS[release].read_bytes()))
    defaults = {"inputs": {}, "parent": None, "custom": False}
    resources = [convert(defaults | each, RecordedResource) for each in content["resources"]]
    return content["values"], {each.urn: each for each in resources}


def lost(before: Resources, after: Resources) -> dict[str, str]:
    """URN → replaced or deleted, of every resource that an update would not keep; an alias keeps one."""
    former = {alias: urn for urn, each in after.items() for alias in each.aliases if alias in before}
    renamed = {former.get(urn, urn): each for urn, each in before.items()}
    return {urn: what for urn, what in engine_changes(renamed, after).items() if what in (REPLACED, DELETED)}


@pytest.mark.parametrize("release", list(RECORDINGS))
def test_an_update_from_the_previous_release_keeps_every_resource(release: str) -> None:
    values, before = recording(release)
    after = registered(release.partition("/")[2], values)
    assert lost(before, after) == {}


def test_a_lost_or_replaced_resource_is_noticed() -> None:
    """A resource under another name is deleted, and one with another immutable input is replaced."""
    values, before = recording("0.1.0/dev")
    after = registered("dev", values | {"cluster": {**values["cluster"], "name": "another"}})
    assert REPLACED in lost(before, after).values()
    pool = next(urn for urn in before if urn.endswith("v5e-1-pool"))
    moved = {urn.replace("v5e-1-pool", "v5e-first-pool"): each for urn, each in before.items()}
    assert lost(before, moved) == {pool: DELETED}


def test_the_recordings_hold_every_stack_of_their_release() -> None:
    assert len([name for name in RECORDINGS if name.startswith("0.1.0/")]) == 19
    assert all(len(recording(name)[1]) > 3 for name in RECORDINGS)
