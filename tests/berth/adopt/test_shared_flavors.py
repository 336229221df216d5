"""One ResourceFlavor over machines that one flavor of a stack file cannot have: nothing is lost, and each is told."""

from __future__ import annotations

from typing import Any

import pytest

from berth.adopt.inventory import read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.plan.fleet import FleetPlan
from tests.berth.adopt.conservation.variations import Answers, answers_of, texts_of
from tests.small_fleets import fleet_of_pools

ZONE = {"zone": "us-central1-a"}
GPUS: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": {"max": 4}, **ZONE}
TPUS: dict[str, Any] = {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": {"max": 2}, **ZONE}
_HELD = {"count": 16, "existing": True, "name": "held", "acceptZone": True, **ZONE}


def _one_flavor_for_all(answers: Answers) -> None:
    """Leave one flavor, which selects by accelerator and topology alone, and the queue of one pool."""
    items: list[dict[str, Any]] = answers["objects.json"]["items"]
    first, *others = [each for each in items if each["kind"] == "ResourceFlavor"]
    labels = first["spec"]["nodeLabels"]
    first["metadata"]["name"] = "one"
    first["spec"]["nodeLabels"] = {key: labels[key] for key in labels if "accelerator" in key or "topology" in key}
    of_others = [each for each in items if each["kind"].endswith("Queue") and "other" in each["metadata"]["name"]]
    for each in (*others, *of_others):
        items.remove(each)
    for each in items:
        if each["kind"] == "ClusterQueue":
            each["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "one"


@pytest.mark.parametrize("pool", [GPUS, TPUS], ids=["gpus", "tpus"])
@pytest.mark.parametrize("capacity", ["spot", "flex-start", {"reservation": "r"}], ids=str)
def test_each_kind_of_machines_gets_a_flavor(pool: dict[str, Any], capacity: object) -> None:
    rest = {"reservations": {"r": {"machineType": pool["machineType"], **_HELD}}} if isinstance(capacity, dict) else {}
    answers = answers_of(fleet_of_pools({"mine": pool, "other": {**pool, "capacity": capacity}}, **rest))
    _one_flavor_for_all(answers)
    inventory = read_inventory(texts_of(answers))
    _, adopted, evaluation = adopt_inventory(inventory, "test")
    assert [fault.line() for fault in evaluation.faults] == []
    fleet = evaluation.fleet_plan
    assert isinstance(fleet, FleetPlan)
    assert {each.name for each in fleet.own_pools} == {"mine", "other"}
    assert {each.name for each in fleet.flavors} == {"one", "other"}
    assert {each.name for own in fleet.own_pools for each in own.node_pools} == {
        each["name"] for each in answers["node-pools.json"]
    } - {"system"}
    (told,) = [each for each in adopted.not_adopted if each.subject == "pool other"]
    assert told.reason == (
        "flavor 'one' selects its nodes and others, and a flavor of Berth has one accelerator, one topology and one "
        "capacity; Berth makes flavor 'other' for it, which no queue has a quota of"
    )
