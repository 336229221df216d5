"""Answers recorded after a real update (`tests/vendored/api-answers`): the converter of the tests, and adoption."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from berth.adopt.first_update import AnsweredChange, google_changes, lost_node_pools, would_replace
from berth.adopt.inventory import read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.plan.fleet import FleetPlan
from tests.gke_answers import files
from tests.stack_files import ROOT, plan

FLEETS = ("batch-platform", "dev", "dws", "flex-start", "gpu-rdma", "hotswap", "multislice")
REFUSED = {"h100-reserved", "h200"}
"""Node pools that the recording lacks: their reservations are of other projects, and were not there."""
KNOWN = {
    "selfLink": "the provider speaks v1beta1",
    "currentMasterVersion": "GKE's choice",
    "privateClusterConfig.enablePrivateEndpoint": "told by controlPlaneEndpointsConfig",
    "masterAuthorizedNetworksConfig": "told by controlPlaneEndpointsConfig",
    "upgradeSettings.strategy": "kept as sent; GKE says SHORT_LIVED of flex-start and queued nodes",
}
"""Fields that the recordings have otherwise than the converter, and why."""


@cache
def recorded() -> dict[str, dict[str, str]]:
    """The answers of each cluster by file."""
    answers: dict[str, dict[str, str]] = {}
    with tarfile.open(ROOT / "tests" / "vendored" / "api-answers" / "answers.tar.xz") as archive:
        for member in archive:
            folder, _, file = member.name.partition("/")
            content = archive.extractfile(member)
            assert content is not None
            answers.setdefault(folder, {})[file] = content.read().decode()
    return answers


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield the fields of the converter that a recorded answer has otherwise; an empty one may be absent."""
    if not ours and not theirs:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            yield from differences(value, theirs.get(key), f"{path}.{key}" if path else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        one, two = (sorted(each, key=lambda item: json.dumps(item, sort_keys=True)) for each in (ours, theirs))
        for before, after in zip(one, two, strict=True):
            yield from differences(before, after, path)
    elif ours != theirs and not (ours in ("0", 0) and theirs is None):
        yield f"{path}: {ours!r}, recorded {theirs!r}"


@pytest.mark.parametrize("stack", FLEETS)
@pytest.mark.parametrize("file", ["cluster.json", "node-pools.json", "reservations.json", "subnets.json"])
def test_the_converter_gives_what_was_recorded(stack: str, file: str) -> None:
    ours, theirs = (json.loads(each[file]) for each in (files(plan(stack)), recorded()[stack]))
    by_name = {each["name"]: each for each in ([theirs] if file == "cluster.json" else theirs)}
    for answer in [ours] if file == "cluster.json" else ours:
        if answer["name"] in REFUSED:
            continue
        found = [
            line
            for line in differences(answer, by_name.get(answer["name"], {}))
            if not any(line.startswith(f"{known}: ") for known in KNOWN)
        ]
        assert found == [], answer["name"]


@pytest.mark.parametrize("stack", FLEETS)
def test_an_adoption_of_what_was_recorded_changes_nothing(stack: str) -> None:
    inventory = read_inventory(recorded()[stack])
    _, adopted, evaluation = adopt_inventory(inventory, stack)
    assert evaluation.faults == ()
    fleet = evaluation.fleet_plan
    assert isinstance(fleet, FleetPlan)
    assert list(lost_node_pools(inventory, fleet, {each.subject for each in adopted.not_adopted})) == []
    assert list(would_replace(inventory, fleet, ())) == []
    texts = [
        each.text if isinstance(each, AnsweredChange) else each.reason for each in google_changes(inventory, fleet)
    ]
    assert [text for text in texts if "secret_manager" not in text] == [], (
        "no answer has the objects that mount secrets"
    )


def test_a_foreign_cluster_keeps_every_name() -> None:
    """A gap, slices from zero, a placement policy of others, and chips that two machine types share.

    With the real engine: the import of these seven was followed by a preview without a change of them, and the preview
    after the first update was empty.
    """
    inventory = read_inventory(recorded()["theirs"], keeps_cluster=True)
    _, _, evaluation = adopt_inventory(inventory, "theirs")
    assert evaluation.faults == ()
    fleet = evaluation.fleet_plan
    assert isinstance(fleet, FleetPlan)
    names = {each.name for pool in fleet.own_pools for each in pool.node_pools}
    assert names == {"v6e-4x4-1", "v6e-4x4-3", "demo-np-0", "demo-np-1", "iron", "chips-1", "chips-8"}
    assert list(google_changes(inventory, fleet)) == []
    assert list(would_replace(inventory, fleet, ())) == []


def test_a_fleet_of_berths_own_with_a_gap_comes_back_whole() -> None:
    """A gap, slices from zero, a policy of others and chips of a family, in a cluster that `pulumi up` made.

    With the real engine: of its 133 resources that are no components all but the two providers were imported, the
    preview replaced and created none of them, and the preview after the first update was empty.
    """
    inventory = read_inventory(recorded()["lab"])
    stack_file, _, evaluation = adopt_inventory(inventory, "lab")
    assert evaluation.faults == ()
    fleet = evaluation.fleet_plan
    assert isinstance(fleet, FleetPlan)
    names = {each.name for pool in fleet.own_pools for each in pool.node_pools}
    assert names >= {"v6e-4x4-1", "v6e-4x4-3", "demo-np-0", "demo-np-1", "iron", "chips-1", "chips-8"}
    assert names | {"system"} == {each["name"] for each in inventory.node_pools}
    assert "placementPolicy: their-policy" in stack_file
    assert list(google_changes(inventory, fleet)) == []
    assert list(would_replace(inventory, fleet, ())) == []


def test_a_reservation_of_another_region_stays_with_its_owner() -> None:
    """Google lists the reservations of the whole project: `machine-reservation` is batch-platform's."""
    inventory = read_inventory(recorded()["flex-start"])
    _, adopted, _ = adopt_inventory(inventory, "flex-start")
    left = [each.subject for each in adopted.not_adopted if "outside of the cluster's region" in each.reason]
    assert left == ["reservation machine-reservation"]
