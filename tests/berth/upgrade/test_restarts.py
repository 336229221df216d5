"""What a changed GKE version recreates: the pools, their order, and the accelerators that are away at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.diff.compare import compare_fleets
from berth.diff.document import changes_document
from berth.document.text import render_text
from berth.upgrade.restarts import Restart, restarts_of
from tests.small_fleets import fleet_with, plan, pool

FLEX: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": {"max": 2}, "zone": "us-central1-a"}


def restarts(before: dict[str, Any], after: dict[str, Any]) -> list[Restart]:
    """What restarts between the small fleet with some keys and with others."""
    base = {"cluster.version": "1.35"}
    return [*restarts_of(*(plan(fleet_with({**base, **changes})) for changes in (before, after)))]


def test_nothing_restarts_without_another_version() -> None:
    assert restarts({}, {"pools.l4.diskSizeGb": 200}) == []


def test_gke_upgrades_one_slice_after_the_other_and_an_update_all_at_once() -> None:
    """3 slices of 8 chips on 2 hosts."""
    (l4, v5e) = restarts({"cluster.version": "1.34"}, {})
    assert (l4.pool, l4.away, l4.now) == ("l4", 0, False)
    assert (v5e.pool, v5e.away, v5e.total, v5e.now) == ("v5e", 24 // 3, 24, False)
    assert "outside freeze (until 2027-01-10T00:00:00Z)" in v5e.when
    by_update = restarts({"pools.v5e.version": "1.34"}, {"pools.v5e.version": "1.35"})
    assert [(each.pool, each.away, each.now) for each in by_update] == [("v5e", 24, True)]


def test_what_this_update_restarts_comes_first() -> None:
    found = restarts({"cluster.version": "1.34", "pools.v5e.version": "1.34"}, {"pools.v5e.version": "1.35"})
    assert [(each.pool, each.now) for each in found] == [("v5e", True), ("l4", False)]


def test_a_pool_that_keeps_its_version_does_not_restart() -> None:
    kept = {"pools.v5e.version": "1.34"}
    assert [each.pool for each in restarts({**kept, "cluster.version": "1.34"}, kept)] == ["l4"]


@pytest.mark.parametrize(
    ("keys", "away"),
    [
        ({}, 0),
        ({"pools.l4.surge": {"maxUnavailable": 3}}, 3 * 2),
        ({"pools.l4.surge": {"maxSurge": 2, "maxUnavailable": 1}}, 1 * 2),
        ({"pools.l4.surge": {"maxUnavailable": 20}}, 4 * 2),
        ({"pools.l4.blueGreen": {"batchNodeCount": 2}}, 0),
    ],
)
def test_as_many_are_away_as_an_upgrade_drains_before_it_replaces(keys: dict[str, Any], away: int) -> None:
    """4 nodes of 2 L4."""
    (l4, _) = restarts({**keys, "cluster.version": "1.34"}, keys)
    assert (l4.away, l4.total, l4.nodes) == (away, 8, 4)


def test_guarantees_are_those_of_the_queues() -> None:
    (l4, v5e) = restarts({"cluster.version": "1.34"}, {})
    assert v5e.guaranteed == {"vision-train": 8, "speech-train": 16}
    assert l4.guaranteed == {"vision-urgent": 4, "speech-serve": 4}


def test_the_diff_lists_them_in_order() -> None:
    old, new = (plan(fleet_with({"cluster.version": version})) for version in ("1.34", "1.35"))
    text = render_text(changes_document(compare_fleets(old, new)))
    assert "Restarts, in this order" in text
    assert "2. v5e, by GKE after the control plane, at any time outside freeze (until 2027-01-10T00:00:00Z)" in text
    assert "at most 8 of 24 v5e chips are away at a time" in " ".join(text.split())
    assert "speech-train 16 and vision-train 8" in " ".join(text.split())
    assert pool(new, "v5e").accelerators.max == 24


def upgraded(stack: str, moved: str) -> tuple[str, list[dict[str, Any]]]:
    """Text and JSON of `berth upgrade` for a move of GKE: the restarts of both."""
    text, values = (
        CliRunner().invoke(app, ["upgrade", stack, "--gke", moved, "--format", kind]).stdout
        for kind in ("text", "json")
    )
    return " ".join(text.split()), json.loads(values)["restarts"]


def test_the_verb_lists_what_gke_restarts_with_the_queues_that_lose() -> None:
    """A domain as a whole, compact nodes without spare ones, and flex-start nodes not at all."""
    text, found = upgraded("stacks/examples/gb200.yaml", "1.34..1.35")
    assert [(each["pool"], each["away"], each["total"]) for each in found] == [("gb200-a", 72, 72), ("gb200-b", 72, 72)]
    assert found[0]["guaranteed"] == {"llm-train": 72, "vision-train": 72}
    assert "Restarts, in this order 1. gb200-a, by GKE after the control plane" in text
    _, found = upgraded("stacks/examples/hpc.yaml", "1.34..1.35")
    assert [(each["pool"], each["away"]) for each in found] == [("c4d", 0), ("h4d", 190), ("h4d-flex", 0)]
    assert "nodes that run stay" in found[2]["how"]


def test_the_verb_names_the_cluster_of_a_worker_and_nothing_for_a_downgrade() -> None:
    _, found = upgraded("stacks/examples/multikueue.yaml", "1.34..1.35")
    assert {each["pool"].partition("/")[0] for each in found} == {"central", "east"}
    assert upgraded("stacks/examples/gb200.yaml", "1.35..1.34")[1] == []


def test_a_node_pool_of_another_tool_restarts_as_nobody_here_knows() -> None:
    before, after = ({"pools.l4.adopted": True, "pools.l4.version": minor} for minor in ("1.34", "1.35"))
    (l4,) = restarts(before, after)
    assert (l4.pool, l4.now, l4.away) == ("l4", True, l4.total)
    assert "upgrade settings that their creation chose" in l4.how
    assert restarts({"pools.l4.adopted": True, "cluster.version": "1.34", "pools.v5e.adopted": True}, before) != [l4]
