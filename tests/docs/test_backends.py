"""docs/backends.md holds the table of `berth/rules/backends.yaml`, and every loss in it can happen."""

from __future__ import annotations

import typing

from berth.planner.ack.losses import ack_losses
from berth.planner.backend_losses import kueue_losses
from berth.rules.backends import DISPLAY_NAMES, concepts, concepts_by_loss
from berth.spec.ack import AckFleetSpec
from berth.spec.base import BackendLoss
from berth.spec.parse import parse_as, parse_fleet
from tests.berth.planner.ack.test_elastic_quotas import fleet
from tests.small_fleets import fleet_with
from tests.stack_files import ROOT


def test_the_page_holds_the_table() -> None:
    page = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
    lines = ["| concept | Kueue on GKE | ACK One fleet | not supported by |", "| --- | --- | --- | --- |"]
    for row in concepts():
        refused = f"{DISPLAY_NAMES[row.refused_on]} refuses {row.refused}" if row.refused_on else ""
        lost = f"{DISPLAY_NAMES[row.lost_on]}: `{row.loss}`" if row.lost_on else refused
        lines.append(f"| {row.concept} | {row.kueue} | {row.ack} | {lost} |")
    assert "\n".join(lines) in page


def test_a_row_has_both_schedulers_and_the_reason_of_a_loss() -> None:
    for row in concepts():
        assert row.concept and row.kueue and row.ack
        assert (row.loss is None) == (row.lost_on is None) == (row.because == "")
        assert (row.refused is None) == (row.refused_on is None)
        assert row.loss is None or row.refused is None


def test_only_losses_of_the_table_can_be_accepted() -> None:
    assert set(typing.get_args(BackendLoss)) == concepts_by_loss().keys()


def test_every_loss_of_the_table_happens_in_some_example() -> None:
    """A loss without a row would be documented and never reported."""
    queue = {
        "flavors": [{"flavor": "a100", "guaranteed": 8}, {"flavor": "b", "guaranteed": 1}],
        "queueingStrategy": "StrictFIFO",
        "fairShareWeight": 2,
        "priority": "high",
        "preemption": {
            "withinClusterQueue": "Never",
            "reclaimWithinCohort": "LowerPriority",
            "borrowWithinCohort": {"policy": "LowerPriority"},
        },
    }
    team = {
        "state": "held",
        "groups": ["vision@acme.example"],
        "identity": {},
        "podSecurity": "baseline",
        "networkPolicy": {},
        "defaultRequests": {},
        "queues": {"train": queue},
    }
    value = fleet(teams={"vision": team})
    value["ack"]["clusters"]["one"]["nodePools"]["b"] = {"instanceType": "ecs.gn7e-c16g1.32xlarge", "nodes": 1}
    there, here = (
        parse_as(AckFleetSpec, value).spec,
        parse_fleet(fleet_with({"teams.vision.queues.train.maxJobs": 4})).spec,
    )
    assert there is not None and here is not None
    assert {each.loss for each in ack_losses(there)} == {row.loss for row in concepts() if row.lost_on == "ack"}
    assert {each.loss for each in kueue_losses(here)} == {row.loss for row in concepts() if row.lost_on == "kueue"}
