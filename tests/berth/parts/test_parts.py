"""Parts of a fleet planned by themselves: what is not known stays open, and nothing stands in for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.diagnostics import Problem, Severity
from berth.names import to_camel, to_snake
from berth.parts.cluster import plan_cluster, plan_cluster_with_machines
from berth.parts.context import distinct_faults
from berth.parts.node_pool import NodePoolPart, plan_node_pool
from berth.parts.queues import plan_queues
from berth.parts.reservation import plan_reservation
from berth.parts.spelling import in_python, with_stack_file_keys
from berth.parts.team import plan_team
from berth.spec.fleet import FleetSpec
from berth.spec.machines.pools import PoolSpec
from berth.spec.schema import stack_schema

GPUS: Mapping[str, Any] = {"machineType": "g2-standard-24", "nodes": 4}


def faults(problems: tuple[Problem, ...]) -> list[str]:
    return [each.line_without_severity() for each in problems if each.severity == Severity.FAULT]


def pool(arguments: Mapping[str, Any], **known: Any) -> NodePoolPart:
    part = plan_node_pool("l4", arguments, **known)
    assert faults(part.problems) == []
    return part


@pytest.mark.parametrize(
    ("arguments", "known", "region"),
    [
        ({"zone": "us-central1-a"}, {}, "us-central1"),
        ({"zones": ["us-central1-a", "us-central1-b"]}, {}, "us-central1"),
        ({}, {"located": True, "location": "us-central1-a"}, "us-central1"),
        ({"zone": "us-central1-a"}, {"located": True, "location": "us-central1"}, "us-central1"),
        ({"zone": "us-central1-a"}, {"located": True}, "us-central1"),
        ({"zone": "us-central1-a", "region": "us-central1"}, {}, "us-central1"),
    ],
)
def test_the_region_follows_from_what_is_known(
    arguments: Mapping[str, Any], known: Mapping[str, Any], region: str
) -> None:
    assert pool({**GPUS, **arguments}, **known).region == region


def test_a_zone_outside_the_region_is_a_fault() -> None:
    part = plan_node_pool("l4", {**GPUS, "zone": "europe-west4-a"}, located=True, location="us-central1")
    assert [line.partition(":")[0] for line in faults(part.problems)] == ["zone"]


@pytest.mark.parametrize("name", [None, "held"])
def test_a_reservation_is_consumed_by_its_name_whatever_is_in_it(name: str | None) -> None:
    """More nodes than any reservation has: only its owner knows the count."""
    part = pool({**GPUS, "nodes": 1000, "zone": "us-central1-a"}, reserved=True, reservation=name)
    (plan,) = part.node_pools
    assert (plan.reservation, plan.affinity) == (name, None if name else "SPECIFIC_RESERVATION")
    assert part.node_labels.get("cloud.google.com/reservation-name") == name


def test_nothing_in_a_plan_is_invented() -> None:
    """All text of a plan is from the arguments, from tables, or derived from these."""
    part = pool({**GPUS, "zone": "us-central1-a"}, reserved=True)
    text = repr(part.node_pools)
    assert not any(word in text for word in ("unknown", "unused", "acme", "projects/"))


def test_the_warnings_are_those_of_the_part() -> None:
    """No queue, no maintenance window and no other pool is missing in a part that cannot have them."""
    parts = (
        pool({**GPUS, "zone": "us-central1-a"}),
        plan_reservation("held", {"project": "acme-ml", "zone": "us-central1-a", **GPUS, "count": 1, "nodes": None}),
        plan_team("vision", {}),
    )
    assert [each for part in parts for each in part.problems if each.severity == Severity.WARNING] == []
    cluster = {"project": "acme-ml", "region": "us-central1"}
    problems = plan_cluster_with_machines("lab", cluster).problems
    for found in (problems, plan_cluster("lab", cluster).problems):
        assert [each.code for each in found if each.severity == Severity.WARNING] == ["open-control-plane"]


def test_a_cohort_of_others_is_named_and_not_made() -> None:
    queues = {"train": {"flavors": [{"pool": "l4", "guaranteed": 8, "borrow": "unlimited"}]}}
    arguments = {"team": "vision", "cohort": "research", "pools": {"l4": GPUS}, "queues": queues}
    part = plan_queues("queues", arguments)
    assert faults(part.problems) == []
    assert [each.cohort for each in part.cluster_queues] == ["research"]


# --- faults and spelling ----------------------------------------------------------------------------------------------


def test_a_misspelt_argument_is_not_missing_too() -> None:
    unknown = Problem(Severity.FAULT, "unknown-key", ("machine_typ",), "unknown argument")
    missing = Problem(Severity.FAULT, "missing-key", ("machineType",), "is missing")
    other = Problem(Severity.FAULT, "missing-key", ("cluster",), "is missing")
    assert [*distinct_faults([unknown, missing, other, other], ["machineType", "cluster"])] == [unknown, other]


def test_every_key_of_the_stack_file_is_spelt_back() -> None:
    """`machineType` is machine_type in Python, and again machineType: else a fault would name another argument."""
    keys = {key for model in stack_schema()["$defs"].values() for key in model.get("properties", {})}
    assert len(keys) > 200
    assert {key for key in keys if to_camel(to_snake(key)) != key} == set()


def test_nested_keys_are_spelt_as_in_a_stack_file_and_names_stay_as_they_are() -> None:
    pools = {"my_pool": {"machine_type": "a", "labels": {"my_label": "b"}, "capacity": {"flex_start": {}}}}
    assert with_stack_file_keys((FleetSpec,), "pools", pools) == {
        "my_pool": {"machineType": "a", "labels": {"my_label": "b"}, "capacity": {"flexStart": {}}}
    }
    for written in (({"disk_image": "a_b"},), [{"disk_image": "a_b"}]):
        assert with_stack_file_keys((PoolSpec,), "secondary_boot_disks", written) == [{"diskImage": "a_b"}]


def test_messages_name_the_arguments_of_python() -> None:
    path = ("pools", "a", "machineType")
    (problem,) = in_python([Problem(Severity.FAULT, "x", path, "write machineType, or localSsd")], (FleetSpec,))
    assert problem.line_without_severity() == "pools.a.machine_type: write machine_type, or local_ssd [x]"
