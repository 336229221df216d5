"""Fields of a node pool and of a cluster that forced a replacement or became other ones: kept by a key, or a line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from berth.adopt.first_update import AnsweredChange, google_changes, would_replace
from berth.adopt.inventory import ClusterInventory, read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.google.fleet import google_resources
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind
from tests.gke_answers import files
from tests.small_fleets import fleet_of_pools, plan

POOL = {"machineType": "g2-standard-24", "nodes": 2, "zone": "us-central1-a", "acceptZone": True}
ANSWERS = {name: json.loads(text) for name, text in files(plan(fleet_of_pools({"l4": POOL})), noise=True).items()}
BATCHES = {"batchNodeCount": 2, "batchSoakDuration": "90s"}


def _adopted(file: str, path: str, value: object) -> tuple[ClusterInventory, dict[str, Any], FleetPlan]:
    """Adopt the cluster after a field of node pool `l4`, or of the cluster, got another value."""
    answers = json.loads(json.dumps(ANSWERS))
    target = answers[file] if file == "cluster.json" else next(e for e in answers[file] if e["name"] == "l4")
    *steps, last = path.split(".")
    for step in steps:
        target = target.setdefault(step, {})
    target[last] = value
    inventory = read_inventory({name: json.dumps(each) for name, each in answers.items()})
    _, adopted, evaluation = adopt_inventory(inventory, "test")
    assert [fault.line() for fault in evaluation.faults] == []
    assert isinstance(evaluation.fleet_plan, FleetPlan)
    return inventory, adopted.fleet["pools"]["l4"], evaluation.fleet_plan


def _lines(inventory: ClusterInventory, fleet: FleetPlan) -> list[str]:
    return [each.text if isinstance(each, AnsweredChange) else each.reason for each in google_changes(inventory, fleet)]


KEYS: dict[str, tuple[str, object, dict[str, Any]]] = {
    "blue-green upgrades": (
        "upgradeSettings",
        {
            "strategy": "BLUE_GREEN",
            "blueGreenSettings": {"nodePoolSoakDuration": "1800s", "standardRolloutPolicy": BATCHES},
        },
        {"blueGreen": {"batchNodeCount": 2, "batchSoakDuration": "90s", "nodePoolSoakDuration": "30m"}},
    ),
    "blue-green upgrades as GKE makes them": (
        "upgradeSettings",
        {"strategy": "BLUE_GREEN", "blueGreenSettings": {"standardRolloutPolicy": {"batchNodeCount": 1}}},
        {"blueGreen": {}},
    ),
    "no upgrades": (
        "maintenancePolicy",
        {"exclusionUntilEndOfSupport": {"enabled": True, "startTime": "2026-05-01T08:00:00Z"}},
        {"exclusionUntilEndOfSupport": True},
    ),
    "upgrades again": ("maintenancePolicy", {"exclusionUntilEndOfSupport": {}}, {}),
}


@pytest.mark.parametrize("claim", KEYS)
def test_a_setting_of_upgrades_becomes_a_key(claim: str) -> None:
    path, value, keys = KEYS[claim]
    inventory, entry, fleet = _adopted("node-pools.json", path, value)
    read = {key: each for key, each in entry.items() if key in ("adopted", "blueGreen", "exclusionUntilEndOfSupport")}
    assert read == keys
    assert _lines(inventory, fleet) == []


ADOPTED: dict[str, tuple[str, object, str]] = {
    "batches by share": (
        "upgradeSettings",
        {"strategy": "BLUE_GREEN", "blueGreenSettings": {"standardRolloutPolicy": {"batchPercentage": 0.5}}},
        "upgradeSettings",
    ),
    "batches of the autoscaler": (
        "upgradeSettings",
        {"strategy": "BLUE_GREEN", "blueGreenSettings": {"autoscaledRolloutPolicy": {}}},
        "upgradeSettings",
    ),
    "preemptible": ("config.preemptible", True, "nodeConfig.preemptible"),
    "a sole tenant": ("config.soleTenantConfig", {"minNodeCpus": 3}, "nodeConfig.soleTenantConfig"),
    "a node group": ("config.nodeGroup", "rack-7", "nodeConfig.nodeGroup"),
    "fast sockets": ("config.fastSocket", {"enabled": True}, "nodeConfig.fastSocket"),
    "a key of local disks": (
        "config.localSsdEncryptionMode",
        "EPHEMERAL_KEY_ENCRYPTION",
        "nodeConfig.localSsdEncryptionMode",
    ),
}


@pytest.mark.parametrize("claim", ADOPTED)
def test_a_setting_of_creation_without_a_key_is_kept(claim: str) -> None:
    """The provider would replace the pool, or recreate its nodes, to remove it."""
    path, value, ignored = ADOPTED[claim]
    inventory, entry, fleet = _adopted("node-pools.json", path, value)
    assert entry.get("adopted") is True
    assert _lines(inventory, fleet) == []
    (made,) = (each for each in google_resources(fleet) if each.key == "l4" and each.kind == ResourceKind.NODE_POOL)
    (registration,) = made.registrations().values()
    assert ignored in registration.ignore_changes


@pytest.mark.parametrize("path", ["description", "enableKubernetesAlpha"])
def test_a_cluster_keeps_what_its_creation_chose(path: str) -> None:
    inventory, _, fleet = _adopted("cluster.json", path, "by hand")
    assert _lines(inventory, fleet) == [f"{path} is by hand, which a stack file cannot express"]
    (made,) = (each for each in google_resources(fleet) if each.kind == ResourceKind.CLUSTER)
    (registration,) = made.registrations().values()
    assert path in registration.ignore_changes


def test_what_no_key_keeps_and_the_provider_removes_is_a_replacement() -> None:
    features = {"enableNestedVirtualization": True}
    inventory, _, fleet = _adopted("node-pools.json", "config.advancedMachineFeatures", features)
    (line,) = would_replace(inventory, fleet, ())
    assert "node pool l4: the first `pulumi up` would delete it" in line
    assert "enableNestedVirtualization true → –" in line
    assert list(would_replace(inventory, fleet, ("node pool l4",))) == []


@pytest.mark.parametrize("path", ["config.metadata.startup-script", "config.localSsdCount"])
def test_what_the_provider_keeps_is_no_replacement(path: str) -> None:
    inventory, entry, fleet = _adopted("node-pools.json", path, "1")
    assert "adopted" not in entry
    assert _lines(inventory, fleet) == [f"{path} is 1, which a stack file cannot express"]
