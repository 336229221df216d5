"""When a manager's NAT has a reserved address, and which workers authorize it."""

from __future__ import annotations

from typing import Any

import pytest

from berth.plan.gke import ClusterPlan
from tests.small_fleets import own_cluster, own_network, plan, problems

OFFICE = {"authorizedNetworks": [{"name": "office", "cidrBlock": "203.0.113.0/24"}]}


def fleet(*, manager: dict[str, Any] | None = None, workers: dict[str, Any]) -> dict[str, Any]:
    """A manager and workers with two L4 nodes each, by name with the control plane of each."""
    return {
        "project": "acme-ml-dev",
        "region": "us-central1",
        "cluster": {"name": "acme", "controlPlane": OFFICE, **(manager or {})},
        "workers": {
            name: {
                "cluster": {"controlPlane": control_plane},
                "pools": {"l4": {"machineType": "g2-standard-24", "nodes": {"max": 2}}},
            }
            for name, control_plane in workers.items()
        },
        "teams": {"vision": {"queues": {"train": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}}}},
    }


def access(value: dict[str, Any]) -> tuple[str | None, list[str]]:
    """The name of the manager's reserved address, and the workers that authorize it."""
    fleet_plan = plan(value)
    clusters = {worker.name: worker.plan.cluster for worker in fleet_plan.workers}
    return own_network(own_cluster(fleet_plan)).nat_address, [
        name
        for name, cluster in clusters.items()
        if isinstance(cluster, ClusterPlan) and cluster.control_plane.manager_access
    ]


def test_workers_that_list_networks_authorize_the_reserved_address() -> None:
    assert access(fleet(workers={"a": OFFICE, "b": {}, "c": OFFICE})) == ("acme-nat", ["a", "c"])


@pytest.mark.parametrize("control_plane", [{}, {"publicEndpoint": False, **OFFICE}])
def test_nothing_is_reserved_where_no_worker_could_authorize_it(control_plane: dict[str, Any]) -> None:
    """An open endpoint admits every address, a private one none from outside."""
    assert access(fleet(workers={"a": control_plane})) == (None, [])


@pytest.mark.parametrize("manager", [{"network": {"nat": False}}, {"privateNodes": False}])
def test_an_address_that_berth_cannot_reserve_is_a_note(manager: dict[str, Any]) -> None:
    value = fleet(manager=manager, workers={"a": OFFICE, "b": {}})
    assert access(value) == (None, [])
    (note,) = (problem for problem in problems(value) if problem.code == "manager-address")
    assert note.path == ("workers", "a", "cluster", "controlPlane", "authorizedNetworks")


def test_a_fleet_of_one_cluster_reserves_nothing() -> None:
    value = fleet(workers={})
    value["pools"] = {"l4": {"machineType": "g2-standard-24", "nodes": {"max": 2}}}
    del value["workers"]
    assert access(value) == (None, [])
