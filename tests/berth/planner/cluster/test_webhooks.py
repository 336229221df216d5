"""The firewall rule of webhooks: its ports, and which clusters need none."""

from __future__ import annotations

from typing import Any

import pytest

from berth.plan.gke import WebhookFirewallPlan
from tests.small_fleets import fleet_with, own_cluster, plan, problems
from tests.stack_files import fleet_values

EXISTING = {
    "existing": "shared",
    "project": "net-host",
    "subnetwork": "gke",
    "podRangeName": "pods",
    "serviceRangeName": "services",
}


def rule(changes: dict[str, Any]) -> WebhookFirewallPlan | None:
    """The rule of the small fleet with changes."""
    return own_cluster(plan(fleet_with(changes))).webhook_firewall


def test_the_control_plane_reaches_the_ports_of_both_controllers() -> None:
    assert rule({}) == WebhookFirewallPlan(name="test-webhooks", source_range="172.16.0.32/28", ports=(8082, 9443))


@pytest.mark.parametrize(
    ("existing", "ports"), [(("kueue",), (9443,)), (("jobset",), (8082, 9443)), (("kueue", "jobset"), None)]
)
def test_only_controllers_that_berth_installs_have_ports(
    existing: tuple[str, ...], ports: tuple[int, ...] | None
) -> None:
    result = rule({f"{name}.existing": True for name in existing})
    assert (result.ports if result else None) == ports


def test_a_control_plane_without_a_range_of_its_own_needs_no_rule() -> None:
    assert rule({"cluster.privateNodes": False, "cluster.controlPlane": {}}) is None


def test_in_an_existing_vpc_the_firewall_rule_is_a_note_with_its_values() -> None:
    changes = {"cluster.network": EXISTING}
    assert rule(changes) is None
    (note,) = (problem for problem in problems(fleet_with(changes)) if problem.code == "webhook-firewall")
    assert (note.severity, note.path) == ("note", ("cluster", "network", "existing"))
    assert "172.16.0.32/28 reach TCP 8082, 9443" in note.message


@pytest.mark.parametrize(
    ("more", "ports"),
    [
        ({"kueue": {"existing": False}, "jobset": {"existing": False}}, "8082, 9443"),
        ({"jobset": {"existing": False}}, "9443"),
        ({}, None),
        ({"kueue": {"existing": False}, "cluster.privateNodes": False}, None),
    ],
)
def test_the_owner_of_an_existing_cluster_gets_the_ports(more: dict[str, object], ports: str | None) -> None:
    """Only of controllers that Berth installs, and of private nodes; nothing is created in the VPC."""
    notes = [
        each.message
        for each in problems(fleet_with(more, base=fleet_values("existing-gke")))
        if each.code == "webhook-firewall"
    ]
    expected = (
        f"'research' needs a firewall rule that lets its control plane reach TCP {ports} of the nodes, if gcloud "
        "container clusters describe shows a privateClusterConfig.masterIpv4CidrBlock; without it calls to the "
        "webhooks of Kueue and JobSet time out"
    )
    assert notes == ([] if ports is None else [expected])
