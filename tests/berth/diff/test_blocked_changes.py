"""Changes in place that are blocked, and those that must be loud: what they say, and what allows them."""

from __future__ import annotations

from typing import Any

import pytest

from berth.backends.interface import check_preview, compare
from berth.diff.changes import Changes
from berth.diff.document import allowed_lines, guarded_lines
from berth.diff.guard.preview_file import read_preview
from berth.diff.headline import headline
from tests.small_fleets import REMOVED, fleet_with, plan

RANGE = {"cluster.network": {"podCidrBlock": "10.99.0.0/16"}}


def change(changes: dict[str, Any]) -> Changes:
    """What a change of the small fleet means."""
    return compare(plan(fleet_with()), plan(fleet_with(changes)))


@pytest.mark.parametrize(
    ("changes", "key", "output"),
    [
        ({"protect": False}, "protect", "the protection of everything in this stack would be switched off"),
        ({"cluster.deletionProtection": False}, "cluster", "the deletion protection of cluster would be switched off"),
        (RANGE, "network", "network: this update will fail, because Google Cloud refuses to change podRange"),
    ],
)
def test_a_change_in_place_is_blocked_until_it_is_allowed_by_name(
    changes: dict[str, Any], key: str, output: str
) -> None:
    result = change(changes)
    (guarded,) = result.blocked
    assert guarded.key == key
    ((first, remedy),) = guarded_lines(result)
    assert first.startswith(output)
    assert f'allowChange: {{{key}: "<why>"}}' in remedy
    allowed = change({**changes, "allowChange": {key: "a sandbox"}})
    assert (allowed.blocked, allowed.idle) == ((), ())
    assert next(allowed_lines(allowed)).endswith(": a sandbox")


def test_protection_that_was_already_off_is_not_a_change() -> None:
    old = plan(fleet_with({"protect": False}))
    assert compare(old, plan(fleet_with({"protect": False, "labels": {"a": "b"}}))).losses == ()


@pytest.mark.parametrize(
    ("changes", "output"),
    [
        ({"allowChange": {"network": "new"}}, "1 unused allowance"),
        ({"allowReplacement": {"v5e": "new"}}, "pool v5e: protect true → false; 1 unused allowance"),
        (
            {"teams.vision.queues.train.preemption": {"reclaimWithinCohort": "Never"}},
            "vision can no longer reclaim its guarantee of v5e (queue vision-train)",
        ),
        (
            {"priorities.high.value": 5},
            "order of priorities: high > low → low > high; PriorityClass high is REPLACED",
        ),
        (
            {"kueue": {"existing": True}},
            "controller kueue keeps running, but is no longer managed; "
            "webhook firewall: allows.ports [8082, 9443] → [9443]",
        ),
        ({"protect": False}, "protection is switched off; 1 blocked"),
        (RANGE, "the update of network will fail; 1 blocked"),
    ],
)
def test_dangerous_changes_are_in_the_headline(changes: dict[str, Any], output: str) -> None:
    assert headline(change(changes)) == f"test: {output}"


# --- in the real engine's preview -------------------------------------------------------------------------------------

CLUSTER = "urn:pulumi:dev::berth::berth:gke:Cluster$gcp:container/cluster:Cluster::cluster-cluster"


def step(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return a preview in which the cluster is changed in place."""
    return {"steps": [{"op": "update", "urn": CLUSTER, "oldState": before, "newState": after}]}


@pytest.mark.parametrize(
    ("before", "after", "changes", "output"),
    [
        ({"protect": True}, {"inputs": {}}, {"protect": False}, [("protect", "unprotect")]),
        ({"protect": True}, {"inputs": {}}, {"protect": False, "allowChange": {"protect": "sandbox"}}, []),
        ({}, {}, {"protect": False}, []),
        (
            {"inputs": {"deletionProtection": True}},
            {"inputs": {"deletionProtection": False}},
            {"cluster.deletionProtection": False},
            [("cluster", "unprotect")],
        ),
        (
            {"inputs": {"deletionProtection": True}},
            {"inputs": {"deletionProtection": False}},
            {"cluster.deletionProtection": False, "allowChange": {"cluster": "sandbox"}},
            [],
        ),
    ],
)
def test_a_preview_that_switches_protection_off_is_blocked(
    before: dict[str, Any], after: dict[str, Any], changes: dict[str, Any], output: list[tuple[str, str]]
) -> None:
    judged = check_preview(read_preview(step(before, after)), plan(fleet_with(changes)))
    assert [(loss.key, loss.action) for loss in judged.blocked] == output


# --- a guarantee that goes to nobody ----------------------------------------------------------------------------------

VISION, SPEECH = (f"teams.{team}.queues.train.flavors" for team in ("vision", "speech"))


def of(guaranteed: object) -> list[dict[str, object]]:
    """The flavors of a queue."""
    return [{"pool": "v5e", "guaranteed": guaranteed, "borrow": "1 slice"}]


@pytest.mark.parametrize(
    ("changes", "blocked"),
    [
        ({VISION: of(0)}, ["queue vision-train would stay without any guarantee (v5e 8 → 0)"]),
        ({VISION: of(0), SPEECH: of("2 slices")}, ["queue vision-train would stay without any guarantee (v5e 8 → 0)"]),
        ({VISION: of(0), SPEECH: of("3 slices")}, []),
        ({VISION: of(0), "teams.vision.queues.train.stopPolicy": "HoldAndDrain"}, []),
        ({VISION: of(0), "allowChange": {"clusterQueues.vision-train": "it only borrows now"}}, []),
        ({SPEECH: of("1 slice")}, []),
    ],
)
def test_a_queue_that_stays_keeps_a_guarantee_or_gives_it_to_another(
    changes: dict[str, Any], blocked: list[str]
) -> None:
    """A guarantee that moves, and one that becomes smaller, is told and blocks nothing."""
    result = change(changes)
    assert [first for first, _ in guarded_lines(result)] == blocked
    assert ("without any guarantee" in headline(result)) == bool(result.losses)


def test_the_remedy_of_a_lost_guarantee_is_a_key_of_the_stack_file() -> None:
    ((_, remedy),) = guarded_lines(change({VISION: of(0)}))
    assert 'allowChange: {clusterQueues.vision-train: "<why>"}' in remedy
    assert "drain the queue" in remedy


@pytest.mark.parametrize(
    ("drained", "blocked"),
    [
        ((), ["vision-train", "vision-urgent", "Namespace vision"]),
        (("train",), ["vision-urgent", "Namespace vision"]),
        (("train", "urgent"), []),
    ],
)
def test_a_namespace_may_go_when_all_of_its_queues_are_drained(drained: tuple[str, ...], blocked: list[str]) -> None:
    old = fleet_with({f"teams.vision.queues.{queue}.stopPolicy": "HoldAndDrain" for queue in drained})
    changes = compare(plan(old), plan(fleet_with({"teams.vision": REMOVED}, base=old)))
    assert [each.name for each in changes.blocked] == blocked
