"""Fleets without a quota tree, and resource reservation in the schedulers of members."""

from __future__ import annotations

from typing import Any

import pytest

from berth.diagnostics import Problem
from berth.manifests.ack import ack_manifests
from berth.planner.ack.fleet import AckPlanningResult, plan_ack
from berth.spec.ack import AckFleetSpec
from berth.spec.parse import parse_as
from berth.validation.ack import validate_ack
from tests.berth.planner.ack.test_elastic_quotas import fleet

TEAMS: dict[str, Any] = {"vision": {"namespaces": [{"name": "vision"}, {"name": "lab"}]}, "speech": {}}


def planned(teams: dict[str, Any] | None = None, member: dict[str, Any] | None = None, **one: Any) -> AckPlanningResult:
    """The plan of a fleet whose `ack.fleet` is `one`, with keys of its `member`."""
    value = fleet(teams=TEAMS if teams is None else teams)
    value["ack"]["fleet"] = one
    value["ack"]["clusters"]["one"] |= member or {}
    result = plan_ack("test", parse_as(AckFleetSpec, value))
    assert result is not None
    return result


def of_code(result: AckPlanningResult, code: str) -> list[Problem]:
    return [each for each in result.problems if each.code == code]


def test_each_namespace_gets_a_policy_that_places_gangs_and_suspends_nothing() -> None:
    """The variant "gang only" of the ACK One guide: no ElasticQuotaTree, no `suspension`."""
    result = planned(quotaTree=False)
    manifests: list[Any] = list(ack_manifests(result.plan))
    policies = {m["metadata"]["namespace"]: m["spec"] for m in manifests if m["kind"] == "PropagationPolicy"}
    assert sorted(policies) == ["lab", "speech", "vision"]
    for spec in policies.values():
        assert spec["placement"]["replicaScheduling"]["customSchedulingType"] == "Gang"
        assert "suspension" not in spec
    assert "ElasticQuotaTree" not in {m["kind"] for m in manifests}
    assert {m["metadata"]["name"] for m in manifests if m["kind"] == "Namespace"} == {"lab", "speech", "vision"}


def test_nothing_is_guaranteed_and_every_team_may_use_every_gpu() -> None:
    result = planned(quotaTree=False)
    capacity = {flavor.name: flavor.capacity.max for flavor in result.plan.flavors}
    assert capacity
    assert [(dict(team.guaranteed), dict(team.ceiling)) for team in result.plan.teams] == 2 * [({}, capacity)]
    assert validate_ack(result) == (), "no warning of idle capacity, or of teams without queues"
    assert {each.severity for each in result.problems} <= {"note"}


def test_a_fleet_with_a_quota_tree_and_no_queues_is_warned() -> None:
    """Quotas are switched off by a key, not by leaving them out: a forgotten section must not free all quotas."""
    result = planned()
    assert result.plan.quotas is not None
    assert {each.code for each in validate_ack(result)} == {"unpromised", "team-without-queue"}


def test_two_types_of_gpu_need_no_accepted_loss_without_quotas() -> None:
    value = fleet(teams=TEAMS)
    value["ack"]["instanceTypes"]["ecs.gn7i-c32g1.8xlarge"] = {"gpu": "A10", "gpus": 1, "cpu": 32, "memory": "188Gi"}
    value["ack"]["clusters"]["one"]["nodePools"]["a10"] = {"instanceType": "ecs.gn7i-c32g1.8xlarge", "nodes": 1}
    for has_tree, codes in ((True, ["not-expressible"]), (False, [])):
        value["ack"]["fleet"] = {"quotaTree": has_tree}
        result = plan_ack("test", parse_as(AckFleetSpec, value))
        assert result is not None
        assert [each.code for each in result.problems if each.severity == "fault"] == codes


@pytest.mark.parametrize(
    ("member", "reserves", "notes"),
    [
        ({}, True, 0),
        ({"version": "1.28"}, True, 0),
        ({"version": "1.34.1-aliyun.1"}, True, 0),
        ({"version": "1.26"}, False, 1),
        ({"version": "1.26", "enableReservation": False}, False, 0),
        ({"enableReservation": False}, False, 0),
        ({"enableReservation": True}, True, 0),
    ],
)
def test_a_new_member_reserves_nodes_if_its_version_can(member: dict[str, Any], reserves: bool, notes: int) -> None:
    result = planned(member=member)
    assert [each.reservation for each in result.plan.members] == [reserves]
    assert len(of_code(result, "no-reservation")) == notes


def test_an_old_member_without_reservation_is_noted_with_its_version() -> None:
    (note,) = of_code(planned(member={"version": "1.26"}), "no-reservation")
    assert note.path == ("ack", "clusters", "one", "version")
    assert note.message == (
        "'1.26' is older than 1.28, so Kube Scheduler reserves nothing for the fleet, which may send the member a gang "
        "that its free nodes cannot hold; write a later version"
    )


def test_the_operator_of_an_existing_member_reads_what_to_do_if_jobs_are_gangs() -> None:
    value = fleet(teams=TEAMS)
    member = value["ack"]["clusters"]["one"]
    value["ack"]["clusters"]["one"] = {"existing": "c0123456789ab", "nodePools": member["nodePools"]}
    for gang, count in ((True, 1), (False, 0)):
        value["ack"]["fleet"] = {"propagation": {"gang": gang}}
        result = plan_ack("test", parse_as(AckFleetSpec, value))
        assert result is not None
        notes = of_code(result, "no-reservation")
        assert len(notes) == count
        assert [each.reservation for each in result.plan.members] == [False]
        assert all("has enableReservation, set under Add-ons of the cluster" in each.message for each in notes)
