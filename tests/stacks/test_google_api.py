"""Everything that a stack creates in Google Cloud has the fields, enum values and names that Google's APIs describe."""

from __future__ import annotations

from typing import Any

import pytest

from berth.evaluate import evaluate_stack
from stacks.platform import build_platform
from tests.engine import run
from tests.google_api import provider_names, violations
from tests.stack_files import GKE_STACKS, ROOT, every_stack, resources

FULL_FLEETS = ROOT / "tests" / "berth" / "full_fleets"
"""Stack files that set nearly every key."""


@every_stack
def test_each_resource_matches_its_api_description(stack: str) -> None:
    google = [one for one in resources(stack, False) if one.type.startswith("gcp:")]
    assert {one.name: violation for one in google if (violation := violations(one.type, one.inputs))} == {}


@pytest.mark.parametrize("stack", ["confidential", "fairness", "manager", "platform", "settings"])
def test_each_resource_of_a_full_fleet_matches_its_api_description(stack: str) -> None:
    plan = evaluate_stack(f"Pulumi.{stack}.yaml", FULL_FLEETS).fleet_plan
    assert plan is not None
    google = [one for one in run(lambda: build_platform(plan)).resources if one.type.startswith("gcp:")]
    assert len(google) > 10
    assert {one.name: violation for one in google if (violation := violations(one.type, one.inputs))} == {}


def test_a_table_row_is_of_a_resource_that_some_stack_creates() -> None:
    """A row that nothing uses would be believed unseen."""
    created = {one.type for stack in GKE_STACKS for one in resources(stack, False)}
    assert {kind for kind in provider_names() if kind not in created} == set()


def _pool(**changes: Any) -> dict[str, Any]:
    return {"name": "l4", "cluster": "dev", "nodeConfig": {"machineType": "g2-standard-24"}, **changes}


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (_pool(), []),
        (_pool(nodeCounts=4), ["nodeCounts: unknown field"]),
        (_pool(nodeConfig={"machinetype": "g2-standard-24"}), ["nodeConfig.machinetype: unknown field"]),
        (_pool(nodeConfig={"diskSizeGb": "100 GB"}), ["nodeConfig.diskSizeGb: '100 GB' is not int32"]),
        (_pool(nodeConfig={"spot": "true"}), ["nodeConfig.spot: 'true' is not boolean"]),
        (_pool(nodeLocations="us-central1-a"), ["nodeLocations: not a list"]),
        (_pool(management=True), ["management: True is not an object"]),
        (
            _pool(autoscaling={"locationPolicy": "NEAREST"}),
            ["autoscaling.locationPolicy: 'NEAREST' is not one of LOCATION_POLICY_UNSPECIFIED, BALANCED, ANY"],
        ),
        (
            _pool(nodeConfig={"guestAccelerators": [{"kind": "nvidia-l4"}]}),
            ["nodeConfig.guestAccelerators.kind: unknown field"],
        ),
        (
            _pool(nodeConfig={"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}),
            [
                "nodeConfig.taints.effect: 'NoSchedule' is not one of EFFECT_UNSPECIFIED, NO_SCHEDULE, "
                "PREFER_NO_SCHEDULE, NO_EXECUTE"
            ],
        ),
    ],
)
def test_fields_outside_the_api_are_detected(inputs: dict[str, Any], expected: list[str]) -> None:
    """The test above can fail, at each depth and of each kind."""
    assert violations("gcp:container/nodePool:NodePool", inputs) == expected


def test_names_have_the_pattern_of_the_api() -> None:
    violation = violations("gcp:compute/network:Network", {"name": "Dev_Network"})
    assert violation == ["name: 'Dev_Network' does not match [a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"]


def test_a_written_dashboard_matches_the_api() -> None:
    violation = violations("gcp:monitoring/dashboard:Dashboard", {"dashboardJson": '{"displayName": 4, "mosaic": {}}'})
    assert violation == ["displayName: 4 is not string", "mosaic: unknown field"]
