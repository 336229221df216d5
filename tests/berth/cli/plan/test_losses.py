"""`berth plan --lose`: figures are counted by hand from the stack files, and every wrong loss is one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.overview.loss_text import what_follows
from berth.overview.losses import losses_of
from tests.small_fleets import fleet_of_pools, plan
from tests.stack_files import ALL_STACKS, every_stack
from tests.stack_files import plan as plan_of


def lost(stack: str, *losses: str) -> dict[str, Any]:
    """The JSON of the verb."""
    options = [word for loss in losses for word in ("--lose", loss)]
    done = CliRunner().invoke(app, ["plan", str(ALL_STACKS[stack]), *options, "--json"])
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def verdicts(answer: dict[str, Any], flavor: str) -> dict[str, str]:
    return {each["owner"]: each["verdict"] for each in answer["guarantees"] if each["flavor"] == flavor}


def test_one_slice_of_three() -> None:
    """Three slices of eight chips, each guaranteed to a queue: two remain, and nobody says whose is gone."""
    answer = lost("dev", "slice=v5e")
    assert answer["lost"] == [{"pool": "v5e", "nodes": 2, "slices": 1, "accelerators": 8}]
    (flavor,) = answer["flavors"]
    assert [flavor[key] for key in ("before", "after", "guaranteed", "missing", "spare")] == [24, 16, 24, 8, 0]
    assert set(verdicts(answer, "v5e").values()) == {"may break"}


def test_two_nodes_are_in_two_slices_at_worst() -> None:
    """A queue that is guaranteed eight chips keeps them only if a slice is left."""
    answer = lost("dev", "2 nodes of v5e")
    assert answer["lost"] == [{"pool": "v5e", "nodes": 2, "slices": 2, "accelerators": 16}]
    assert answer["flavors"][0]["after"] == 8
    assert set(verdicts(lost("dev", "3 slices of v5e"), "v5e").values()) == {"breaks"}


def test_losses_add_up_in_one_option_or_in_several() -> None:
    together, apart = (
        lost("gb200", "2 nodes of gb200-a, 1 node of gb200-b"),
        lost("gb200", "1 node of gb200-a", "1 node of gb200-a", "1 node of gb200-b"),
    )
    assert together == apart
    assert together["flavors"][0]["after"] == 144 - 3 * 4


def test_a_zone_has_its_share_of_a_pool_in_several() -> None:
    """The on-demand pool of dev has 12 nodes of two L4 in three zones: four nodes, eight GPUs."""
    answer = lost("dev", "zone=us-central1-a")
    of_pool = {each["pool"]: (each["nodes"], each["accelerators"]) for each in answer["lost"]}
    assert of_pool["l4-on-demand"] == (4, 8)
    assert verdicts(answer, "l4-reserved") == {"speech-serve": "breaks", "vision-urgent": "breaks"}


def test_spare_machines_keep_every_guarantee() -> None:
    """Four nodes of two L4, of which six are guaranteed: one node is spare."""
    value = fleet_of_pools({"l4": {"machineType": "g2-standard-24", "nodes": 4, "zone": "us-central1-b"}})
    value["teams"]["vision"]["queues"]["l4"]["flavors"][0]["guaranteed"] = 6
    fleet = plan(value)
    (one,), (two,) = (losses_of(fleet, [f"{number} nodes of l4"]).flavors for number in (1, 2))
    assert (one.spare, one.missing, two.spare, two.missing) == (0, 0, 0, 2)
    assert [each.verdict for each in losses_of(fleet, ["1 node of l4"]).guarantees] == ["holds"]
    assert [each.verdict for each in losses_of(fleet, ["2 nodes of l4"]).guarantees] == ["breaks"]


def test_pools_whose_zones_gke_chooses_are_unknown() -> None:
    fleet = plan_of("dev")
    pools = [replace(each, zones=()) if each.name == "l4-spot" else each for each in fleet.pools]
    answer = losses_of(replace(fleet, pools=tuple(pools)), ["zone=us-central1-a"])
    assert answer.unknown == ("l4-spot",)
    assert "l4-spot" not in [each.flavor.name for each in answer.flavors]


@pytest.mark.parametrize(("stack", "phrase"), [("dev", "counts quota, not nodes"), ("gb200", "to a free one")])
def test_what_kueue_does_depends_on_the_topology(stack: str, phrase: str) -> None:
    pool = plan_of(stack).pools[0].name
    assert any(phrase in line for line in lost(stack, f"1 node of {pool}")["then"])


@every_stack
def test_losing_everything_leaves_nothing(stack: str) -> None:
    """Every pool that can have nodes: no flavor has a machine, and every guarantee on it breaks."""
    pools = [pool.name for pool in plan_of(stack).pools if pool.nodes.max]
    answer = lost(stack, *(f"pool={name}" for name in pools))
    assert {each["after"] for each in answer["flavors"]} == {0}
    assert {each["verdict"] for each in answer["guarantees"]} == {"breaks"}


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("2 nodes of v5", "no pool 'v5'; did you mean 'v5e'?"),
        ("slice=l4-spot", "pool 'l4-spot' has no slices; write '1 node of l4-spot'"),
        ("0 nodes of v5e", "'0 nodes of v5e' loses nothing; write 1 or more"),
        ("7 nodes of v5e", "'7 nodes of v5e' are more than it can have; write at most 6"),
        ("4 slices of v5e", "'4 slices of v5e' are more than it can have; write at most 3"),
        ("zone=us-central1-z", "no pool has nodes in zone 'us-central1-z'; write one of 'us-central1-a'"),
        ("reservation=l5", "no pool has machines of reservation 'l5'; write one of 'l4'"),
        ("worker=east", "no pool has machines of worker 'east'"),
        ("1 sub-block of l4-spot", "pool 'l4-spot' has no slices; write '1 node of l4-spot'"),
        ("zone=", "'zone=' is no loss; write "),
        ("half of v5e", "'half of v5e' is no loss; write "),
        ("-1 nodes of v5e", "'-1 nodes of v5e' is no loss; write "),
        ("", "'' is no loss; write "),
        ("2 nodes of v5e,, slice=v5e", "'' is no loss; write "),
    ],
)
def test_a_wrong_loss_is_one_line(loss: str, message: str) -> None:
    done = CliRunner().invoke(app, ["plan", str(ALL_STACKS["dev"]), "--lose", loss])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: --lose: {message}") or done.stderr.startswith(f"--lose: {message}"), (
        done.stderr
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("stack", "loss", "said"), [("ironwood", "2 slices of ironwood", 0), ("hpc", "10 nodes of h4d", 1)]
)
def test_borrowers_pay_only_where_somebody_can_borrow(stack: str, loss: str, said: int) -> None:
    """No queue of ironwood may borrow, so nobody's jobs are in the way of a guarantee, and the cohort says so."""
    path = str(ALL_STACKS[stack])
    answer = CliRunner().invoke(app, ["plan", path, "--lose", loss]).stdout
    assert answer.count("from borrowers, who pay first") == said
    assert CliRunner().invoke(app, ["plan", path]).stdout.count(": none of them can borrow") == 1 - said


@pytest.mark.parametrize(
    ("stack", "words", "same"),
    [
        ("ironwood", "1 sub-block of ironwood", "1 slice of ironwood"),
        ("ironwood", "sub-block=ironwood", "slice=ironwood"),
        ("ironwood", "a host of ironwood", "1 node of ironwood"),
        ("ironwood", "machine=ironwood", "1 node of ironwood"),
        ("ironwood", "reservation=ironwood", "pool=ironwood"),
        ("ironwood", "reservation=ironwood-all", "pool=ironwood"),
        ("gb200", "domain=gb200-b", "pool=gb200-b"),
        ("dev", "2 HOSTS of v5e", "2 nodes of v5e"),
    ],
)
def test_a_loss_is_said_in_the_words_of_its_machines(stack: str, words: str, same: str) -> None:
    assert lost(stack, words) == lost(stack, same)


def test_a_worker_is_lost_with_all_its_pools() -> None:
    answer = lost("multikueue", "worker=east")
    assert {each["pool"].partition("/")[0] for each in answer["lost"]} == {"east"}
    assert len(answer["lost"]) == len([each for each in plan_of("multikueue").pools if each.worker == "east"])


def test_spare_machines_take_the_pods_of_lost_ones() -> None:
    value = fleet_of_pools({"l4": {"machineType": "g2-standard-24", "nodes": 4, "zone": "us-central1-b", "spares": 1}})
    value["teams"]["vision"]["queues"]["l4"]["flavors"][0]["guaranteed"] = "all"
    fleet = plan(value)
    said = "l4: 2 of 2 L4 that are kept spare take the place of lost ones: pods start there at once."
    assert said in list(what_follows(fleet, losses_of(fleet, ["1 host of l4"])))
    assert said in list(what_follows(fleet, losses_of(fleet, ["2 hosts of l4"])))
