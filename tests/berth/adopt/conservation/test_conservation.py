"""Nothing that exists is replaced, created again or lost by an adoption, whatever made the cluster."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.berth.adopt.conservation.further_variations import FURTHER
from tests.berth.adopt.conservation.losses import losses
from tests.berth.adopt.conservation.rare_variations import RARE
from tests.berth.adopt.conservation.variations import VARIATIONS, Answers, answers_of, random_fleet, texts_of
from tests.small_fleets import fleet_of_pools

ZONE = {"zone": "us-central1-a"}
BY_ZONE = "projects/acme-ml-dev/zones/us-central1-a/reservations/held"


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_a_random_cluster_with_random_variations_loses_nothing(seed: int) -> None:
    """tests/bench/adoption.py runs more of them."""
    assert losses(seed, variation=1) == (losses(seed, variation=1)[0], [])


@pytest.mark.parametrize(("seed", "variation"), [(61, 3), (132, 1), (170, 2), (170, 7), (355, 11)])
def test_pools_whose_labels_tell_only_some_of_them_apart_share_a_flavor(seed: int, variation: int) -> None:
    """A pool without a label is selected by flavors of pools with it, which may be told apart from each other."""
    assert losses(seed, variation)[1] == []


@pytest.mark.parametrize("name", [*VARIATIONS, *FURTHER, *RARE])
def test_a_variation_changes_answers(name: str) -> None:
    """So that the property above has something to find."""
    changed = 0
    for seed in range(12):
        answers = answers_of(random_fleet(random.Random(seed)))
        before = json.dumps(answers)
        {**VARIATIONS, **FURTHER, **RARE}[name](random.Random(seed), answers)
        changed += json.dumps(answers) != before
    assert changed >= 2


# --- through the command ----------------------------------------------------------------------------------------------


def _adopt(folder: Path, answers: Answers, *words: str) -> Any:
    for name, text in texts_of(answers).items():
        (folder / name).write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["adopt", "test", *sorted(answers), *words])


def _reserved_by_path() -> Answers:
    """Return the answers of a pool that names a reservation by a path with its zone, which Berth would not write."""
    held = {"machineType": "g2-standard-24", "count": 4, "existing": True, "name": "held", **ZONE}
    pool = {"machineType": "g2-standard-24", "nodes": 4, "capacity": {"reservation": "l4"}, **ZONE}
    answers = answers_of(fleet_of_pools({"l4": pool}, reservations={"l4": held}))
    (node_pool,) = [each for each in answers["node-pools.json"] if each["name"] == "l4"]
    node_pool["config"]["reservationAffinity"]["values"] = [
        "projects/acme-ml-dev/zones/us-central1-a/reservations/held"
    ]
    return answers


def test_a_replacement_is_a_fault_and_nothing_is_written_unless_it_is_accepted_by_name(folder: Path) -> None:
    result = _adopt(folder, _reserved_by_path())
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.splitlines() == [
        "node pool l4: the first `pulumi up` would delete it and create it again, because reservation "
        f"[{BY_ZONE}] → [held]; remove it from the answers to keep it as it is, or write --accept 'node pool l4'"
    ]
    assert not list(folder.glob("*test*"))
    assert _adopt(folder, _reserved_by_path(), "--accept", "node pool other").exit_code == 3
    accepted = _adopt(folder, _reserved_by_path(), "--accept", "node pool l4")
    assert accepted.exit_code == 0, accepted.stderr
    assert f"  node pool l4: reservation [{BY_ZONE}] → [held] (REPLACES it)" in accepted.stdout.splitlines()
    assert (folder / "Pulumi.test.yaml").exists()


def test_a_reservation_that_node_pools_name_with_the_project_keeps_this_spelling(folder: Path) -> None:
    answers = _reserved_by_path()
    (node_pool,) = [each for each in answers["node-pools.json"] if each["name"] == "l4"]
    node_pool["config"]["reservationAffinity"]["values"] = ["projects/acme-ml-dev/reservations/held"]
    result = _adopt(folder, answers)
    assert result.exit_code == 0, result.stderr
    assert "project: acme-ml-dev\n" in (folder / "Pulumi.test.yaml").read_text(encoding="utf-8").partition("held")[2]
    assert "node pool l4" not in result.stdout


def test_changes_are_printed_before_the_files_are_written(folder: Path) -> None:
    answers = _reserved_by_path()
    (folder / "Pulumi.test.yaml").write_text("mine", encoding="utf-8")
    result = _adopt(folder, answers, "--accept", "node pool l4")
    assert result.exit_code == 1
    assert "node pool l4: reservation" in result.stdout
    assert "Pulumi.test.yaml exists" in result.stderr


def test_zones_scaling_labels_and_taints_that_change_are_listed(folder: Path) -> None:
    """Fields that Python reads as a whole are compared like all others."""
    pool = {"machineType": "g2-standard-24", "nodes": {"max": 4}, **ZONE}
    answers = answers_of(fleet_of_pools({"l4": pool}))
    (node_pool,) = [each for each in answers["node-pools.json"] if each["name"] == "l4"]
    node_pool["autoscaling"] = {"enabled": True, "maxNodeCount": 4, "locationPolicy": "BALANCED"}
    node_pool["config"]["labels"] = {"cloud.google.com/own": "1"}
    result = _adopt(folder, answers)
    assert result.exit_code == 0, result.stderr
    assert [line.strip() for line in result.stdout.splitlines() if line.startswith("  node pool l4")] == [
        "node pool l4: autoscaling.maxNodeCount 4 → –",
        "node pool l4: autoscaling.locationPolicy BALANCED → ANY",
        "node pool l4: autoscaling.totalMaxNodeCount – → 4",
        "node pool l4: labels[cloud.google.com/own] 1 → –",
    ]


def test_slices_with_a_gap_are_one_pool_with_a_list(folder: Path) -> None:
    pool = {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": 3, "zone": "us-central1-b"}
    answers = answers_of(fleet_of_pools({"v6e": pool}))
    gone = [each for each in answers["node-pools.json"] if each["name"] == "v6e-4x4-2"]
    answers["node-pools.json"].remove(*gone)
    result = _adopt(folder, answers)
    assert result.exit_code == 0, result.stderr
    assert "slices: [1, 3]" in (folder / "Pulumi.test.yaml").read_text(encoding="utf-8")
    imported = json.loads((folder / "test.google.import.json").read_text(encoding="utf-8"))["resources"]
    assert {each["logicalName"] for each in imported if each["type"].endswith(":NodePool") and "id" in each} >= {
        "v6e-1-pool",
        "v6e-3-pool",
    }
    assert "node pool" not in result.stdout.partition("created by")[2]
