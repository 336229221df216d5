"""`berth diff` says what `berth upgrade` says where a version changes, and is silent where none does."""

from __future__ import annotations

from typing import Any

import pytest

from berth.cli.diff.as_json import changes_as_json
from berth.diff.changes import Changes
from berth.diff.compare import compare_fleets
from berth.diff.document import changes_document
from berth.diff.headline import headline
from berth.diff.kinds import ChangeKind
from berth.document.text import render_text
from berth.upgrade.as_json import upgrade_as_json
from berth.upgrade.document import upgrade_headline
from tests import small_fleets as small

L4: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": 2, "zone": small.ZONE}


def changes_between(old: dict[str, Any], new: dict[str, Any]) -> Changes:
    plans = [small.run_planner(small.fleet_with(each)).plan for each in (old, new)]
    return compare_fleets(*plans)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "0.19.2",
            "0.20.0",
            "Kueue is upgraded from 0.19.2 to 0.20.0; of 10 required actions 3 may apply and 7 do not",
        ),
        ("0.19.2", "0.16.0", "Kueue is DOWNGRADED from 0.19.2 to 0.16.0"),
        ("0.19.1", "0.19.2", "Kueue is upgraded from 0.19.1 to 0.19.2"),
        ("0.19.2", "0.25.0", "what it changes is UNKNOWN"),
    ],
)
def test_a_changed_version_is_in_the_headline(old: str, new: str, says: str) -> None:
    changes = changes_between({"kueue.version": old}, {"kueue.version": new})
    assert changes.upgrade is not None
    assert upgrade_headline(changes.upgrade) in headline(changes)
    assert says in headline(changes)
    assert changes_as_json(changes, "a", "b")["upgrade"] == upgrade_as_json(changes.upgrade)


def test_each_component_that_moves_is_named() -> None:
    old = {"kueue.version": "0.19.1", "jobset.version": "0.11.1", "cluster.version": "1.34"}
    new = {"kueue.version": "0.19.2", "jobset.version": "0.12.0", "cluster.version": "1.35"}
    said = headline(changes_between(old, new))
    assert [said.index(each) for each in ("GKE is upgraded", "JobSet is upgraded", "Kueue is upgraded")] == sorted(
        said.index(each) for each in ("GKE is upgraded", "JobSet is upgraded", "Kueue is upgraded")
    )


def test_a_stack_without_a_changed_version_says_nothing_of_versions() -> None:
    changes = changes_between({}, {"teams.vision.queues.urgent.flavors.0.guaranteed": 2})
    assert changes.upgrade is None
    assert "upgrade" not in changes_as_json(changes, "a", "b")
    assert "Versions:" not in render_text(changes_document(changes))


def test_what_breaks_is_told_in_its_own_part() -> None:
    pods = {
        "kueue.resources": {
            "transformations": [{"input": "nvidia.com/gpu", "strategy": "Retain", "outputs": {"pods": 1}}]
        }
    }
    changes = changes_between({**pods, "kueue.version": "0.19.2"}, {**pods, "kueue.version": "0.20.0"})
    shown = render_text(changes_document(changes))
    assert "1 cause BREAKS what runs" in shown
    assert shown.index("Versions: what breaks") < shown.index("#13989") < shown.index("Versions: what may apply")


@pytest.mark.parametrize(
    ("release", "what"),
    [("0.19.2", ChangeKind.REPLACED), ("0.19.14", ChangeKind.REPLACED), ("0.20.0", ChangeKind.UPDATED)],
)
@pytest.mark.parametrize("before", ["0.19.2", "0.20.1"])
def test_labels_of_a_flavor_with_a_topology_change_in_place_from_0_20_on(
    before: str, release: str, what: ChangeKind
) -> None:
    """What serves the flavor after the change counts: Kueue is upgraded before its objects change."""
    pool = {"machineType": "a3-ultragpu-8g", "nodes": 2, "zone": "us-central1-b", "topologyAware": True}
    old = {"kueue.version": before, "pools.h200": {**pool, "capacity": "spot"}}
    new = {"kueue.version": release, "pools.h200": {**pool, "capacity": "spot", "nodeLabels": {"use": "batch"}}}
    (flavor,) = [each for each in changes_between(old, new).objects if each.kind == "ResourceFlavor"]
    assert flavor.what == what
    assert flavor.because == (("spec.nodeLabels",) if what == ChangeKind.REPLACED else ())


WORKERS: dict[str, Any] = {
    "pools": small.REMOVED,
    "cohorts": small.REMOVED,
    "teams": {"vision": {"queues": {"train": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}}}},
    "workers": {
        name: {"cluster": {"name": name}, "pools": {"l4": {**L4, "nodeSystemConfig": {"cgroupMode": "v1"}}}}
        for name in ("west", "east")
    },
}
"""A manager and two workers whose nodes still have cgroup v1."""


@pytest.mark.parametrize("where", ["cluster", "workers.west.cluster", "workers.east.cluster"])
def test_a_version_of_each_cluster_is_told_in_the_same_words(where: str) -> None:
    """What concerns a worker's pools concerns no other cluster."""
    name = {"cluster": "the manager"}.get(where, f"worker {where.split('.')[1] if '.' in where else ''}")
    up, down = (
        changes_between({**WORKERS, f"{where}.version": old}, {**WORKERS, f"{where}.version": new})
        for old, new in (("1.34", "1.35"), ("1.35", "1.34"))
    )
    assert f"GKE of {name} is upgraded from 1.34 to 1.35" in headline(up)
    assert up.upgrade is not None
    assert up.upgrade.breaks == (where != "cluster")
    assert f"GKE of {name} is DOWNGRADED from 1.35 to 1.34; 1 cause BREAKS what runs" in headline(down)
    restarted = {each.pool for each in up.restarts}
    assert restarted == (set() if where == "cluster" else {f"{where.split('.')[1]}/l4"})
    assert changes_as_json(up, "a", "b")["upgrade"]["moves"][0]["worker"] == (
        None if where == "cluster" else where.split(".")[1]
    )
