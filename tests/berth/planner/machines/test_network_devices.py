"""What follows from `networking: dranet`: mapping, quotas, templates of claims. Figures are counted by hand here."""

from __future__ import annotations

from typing import Any

import pytest

from berth import catalog
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from tests.small_fleets import fleet_of_pools, plan

NICS = {
    "a3-ultragpu-8g": (8, 1),
    "a4-highgpu-8g": (8, 1),
    "a4x-highgpu-4g": (4, 1),
    "a4x-maxgpu-4g-metal": (8, 1),
    "ct6e-standard-1t": (0, 1),
    "ct6e-standard-4t": (0, 2),
    "ct6e-standard-8t": (0, 4),
    "tpu7x-standard-4t": (0, 2),
}
"""Interfaces with RDMA, and others, of a node (GKE's autoscaler 7d25050, machinetypes/dranet.go, read 2026-11-25)."""
B200: dict[str, Any] = {"machineType": "a4-highgpu-8g", "nodes": 4, "zone": "us-central1-b", "capacity": "spot"}
V6E: dict[str, Any] = {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": 3, "zone": "us-central1-b"}
DRANET = {"networking": "dranet"}


def fleet(**rest: Any) -> FleetPlan:
    return plan(fleet_of_pools({"b200": B200 | DRANET, "v6e": V6E | DRANET}, **rest))


def quota(made: FleetPlan, queue: str, resource: str) -> int:
    (found,) = [
        each.nominal
        for plan_ in made.cluster_queues
        if plan_.name == queue
        for entry in plan_.flavors
        for each in entry.quotas
        if each.resource == resource
    ]
    return found


@pytest.mark.parametrize("machine", NICS)
def test_the_devices_of_a_machine_are_those_of_the_autoscaler(machine: str) -> None:
    devices = catalog.machines()[machine].network_devices
    assert devices is not None
    assert (devices.rdma, devices.other) == NICS[machine]


def test_a_queue_covers_the_devices_of_its_nodes() -> None:
    """Four nodes of eight interfaces with RDMA; three slices of four hosts with two interfaces each; 90 pods a node."""
    made = fleet()
    assert quota(made, "vision-b200", "mrdma.google.com/devices") == 4 * 8
    assert quota(made, "vision-v6e", "netdev.google.com/devices") == 3 * 4 * 2
    assert (quota(made, "vision-b200", "pods"), quota(made, "vision-v6e", "pods")) == (4 * 90, 3 * 4 * 90)
    assert [each.covered_resources for each in made.cluster_queues] == [
        ("cpu", "memory", "mrdma.google.com/devices", "nvidia.com/gpu", "pods"),
        ("cpu", "memory", "google.com/tpu", "netdev.google.com/devices", "pods"),
    ]


def test_kueue_counts_each_class_as_the_covered_resource() -> None:
    made = fleet()
    assert made.kueue is not None
    assert {each.name: each.device_classes for each in made.kueue.device_mappings} == {
        "mrdma.google.com/devices": ("mrdma.google.com",),
        "netdev.google.com/devices": ("netdev.google.com",),
    }


def test_a_mapping_of_the_stack_file_names_the_resource() -> None:
    mapping = {"name": "example.com/nics", "deviceClassNames": ["mrdma.google.com"]}
    made = fleet(kueue={"resources": {"deviceClassMappings": [mapping]}})
    assert quota(made, "vision-b200", "example.com/nics") == 32
    assert made.kueue is not None
    assert [each.name for each in made.kueue.device_mappings] == ["example.com/nics", "netdev.google.com/devices"]


def test_the_namespace_has_a_template_for_a_node_and_one_for_an_accelerator() -> None:
    templates = [each for each in all_manifests(fleet()) if each["kind"] == "ResourceClaimTemplate"]
    claimed: dict[str, Any] = {
        str(each["metadata"]["name"]): each["spec"]["spec"]["devices"]["requests"][0]["exactly"]  # type: ignore[index]
        for each in templates
    }
    assert {name: (each["deviceClassName"], each["count"]) for name, each in claimed.items()} == {
        "mrdma-8": ("mrdma.google.com", 8),
        "mrdma-1": ("mrdma.google.com", 1),
        "netdev-2": ("netdev.google.com", 2),
    }
    assert {each["allocationMode"] for each in claimed.values()} == {"ExactCount"}  # Kueue 0.19 admits no claim of all


@pytest.mark.parametrize(
    "made",
    [
        lambda: plan(fleet_of_pools({"b200": B200, "v6e": V6E})),
        lambda: fleet(kueue={"existing": True}),
        lambda: fleet(kueue={"version": "0.17.3"}),
    ],
    ids=["no DRANET", "a Kueue that somebody else configures", "a Kueue that does not count claims"],
)
def test_a_fleet_without_counted_devices_has_nothing_of_them(made: Any) -> None:
    result = made()
    assert all(each.devices is None for each in result.flavors)
    assert all(not each.claim_templates for each in result.teams)
    assert all("devices" not in name for queue in result.cluster_queues for name in queue.covered_resources)
