"""The JSON Schema of a stack file: what editors complete and underline is what Berth accepts and refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from berth.spec.parse import parse_fleet
from berth.spec.schema import stack_schema
from berth.yaml_loader import LOADER
from tests.small_fleets import REMOVED, TRAIN, fleet_with
from tests.stack_files import FLEET_STACKS, ROOT, assert_golden, every_fleet

VALIDATOR = Draft202012Validator(stack_schema())


def accepted(fleet: Any) -> bool:
    """Whether the schema takes a fleet."""
    return VALIDATOR.is_valid({"config": {"berth:fleet": fleet}})


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(stack_schema())


def test_golden_schema() -> None:
    """docs/stack.schema.json is what `berth schema` prints; the first line of each stack file points editors at it."""
    assert_golden(json.dumps(stack_schema(), indent=2, ensure_ascii=False) + "\n", ROOT / "docs" / "stack.schema.json")


@every_fleet
def test_the_schema_accepts_every_stack_file(stack: str) -> None:
    file = yaml.load(FLEET_STACKS[stack].read_text(encoding="utf-8"), LOADER)
    assert [error.message for error in VALIDATOR.iter_errors(file)] == []


def test_a_stack_file_with_a_base_is_a_part_of_a_fleet() -> None:
    own = {"base": "shared.yaml", "pools": {"v5e": {"slices": 2}}, "teams": {"vision": {"queues": {"train": {}}}}}
    assert accepted(own)
    assert not accepted({**own, "pols": {}})
    assert not accepted({key: value for key, value in own.items() if key != "base"})


def test_the_schema_accepts_what_pulumi_itself_writes_into_the_file() -> None:
    file = {"secretsprovider": "gcpkms://x", "encryptedkey": "x", "environment": ["base"],
            "config": {"gcp:project": "p", "berth:fleet": fleet_with(), "berth:token": {"secure": "x"}}}  # fmt: skip
    assert VALIDATOR.is_valid(file)


BROKEN: dict[str, dict[str, Any]] = {
    "a misspelt key": {"pools.v5e.topolgy": "2x4"},
    "a key of the wrong place": {f"{TRAIN}.topology": "2x4"},
    "no project": {"project": REMOVED},
    "no machine type": {"pools.v5e.machineType": REMOVED},
    "a number for a name": {"cluster.name": 5},
    "an unquoted version": {"cluster.version": 1.34},
    "a topology in words": {"pools.v5e.topology": "two by four"},
    "a zone that is a region": {"pools.v5e.zone": "us-central1"},
    "an amount in words": {f"{TRAIN}.flavors.0.guaranteed": "some"},
    "a negative amount": {f"{TRAIN}.flavors.0.guaranteed": -8},
    "unlimited where only a limit may be": {f"{TRAIN}.flavors.0.lend": "unlimited"},
    "a mode that is none": {"cluster.mode": "serverless"},
    "a capacity that is none": {"pools.l4.capacity": "borrowed"},
    "flavors as a mapping": {f"{TRAIN}.flavors": {"v5e": 8}},
    "no flavors": {f"{TRAIN}.flavors": []},
    "an upper-case name of a team": {"teams.Vision": {}},
    "an effect of Google's spelling": {"pools.l4.taints": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}]},
    "cpu in words": {f"{TRAIN}.perAccelerator": {"cpu": "two"}},
    "cpu with a unit of memory": {f"{TRAIN}.perAccelerator": {"cpu": "2Gi"}},
    "memory without a unit that there is": {f"{TRAIN}.perAccelerator": {"memory": "5 gigabytes"}},
}


@pytest.mark.parametrize("why", list(BROKEN))
def test_the_schema_rejects_exactly_what_is_a_fault(why: str) -> None:
    """An editor that is content where the check is not, or the reverse, is worse than no schema."""
    fleet = fleet_with(BROKEN[why])
    assert (accepted(fleet), bool(parse_fleet(fleet).problems)) == (False, True)


SOUND: dict[str, dict[str, Any]] = {
    "as it is": {},
    "an entry with nothing behind it": {"cohorts.research": None},
    "a section with nothing behind it": {"flavors": None},
    "a namespace as a word": {"teams.vision.namespace": "eyes"},
    "a range": {"pools.l4.nodes": {"max": 24}},
    "a range with a floor": {"pools.l4.nodes": {"min": 1, "max": 24}},
    "a share": {f"{TRAIN}.flavors.0.guaranteed": "12.5%"},
    "slices": {f"{TRAIN}.flavors.0.borrow": "2 slices"},
    "unlimited": {f"{TRAIN}.flavors.0.borrow": "unlimited"},
    "a reservation": {"pools.l4.capacity": {"reservation": "x"}},
    "cpu and memory": {f"{TRAIN}.perAccelerator": {"cpu": "500m", "memory": "5Gi"}},
    "cores": {f"{TRAIN}.perAccelerator": {"cpu": 4}},
    "an accelerator with a limit": {
        "cluster.nodeAutoProvisioning": {"cpu": {"max": 9}, "memory": {"max": 9}, "accelerators": {"nvidia-l4": 8}}
    },
    "a factor with a fraction": {"flavors.v5e": {"oversubscription": 1.5, "reason": "so"}},
    "a label with a dot": {"pools.l4.labels": {"example.com/tier": "gold"}},
}


@pytest.mark.parametrize("why", list(SOUND))
def test_the_schema_accepts_exactly_what_parses(why: str) -> None:
    fleet = fleet_with(SOUND[why])
    assert ([p.message for p in parse_fleet(fleet).problems], accepted(fleet)) == ([], True)


def test_every_section_of_the_schema_has_a_description() -> None:
    """An editor shows it as the help of a key."""
    sections = {name: each for name, each in stack_schema()["$defs"].items() if each.get("type") == "object"}
    assert [name for name, each in sections.items() if not each.get("description")] == []
