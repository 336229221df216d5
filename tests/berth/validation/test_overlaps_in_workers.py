"""Reservations of workers whose pools overlap: the share of each worker is compared with its own machines."""

from __future__ import annotations

from typing import Any

import pytest

from berth.evaluate import evaluate_values


def slices(topology: str, most: int, reservation: str) -> dict[str, Any]:
    return {
        "machineType": "ct6e-standard-4t",
        "topology": topology,
        "slices": {"min": 0, "max": most},
        "zone": "us-east5-b",
        "capacity": {"reservation": reservation},
    }


def worker(chips: int, large: int, small: int, **reservation: str) -> dict[str, Any]:
    tpu = {"chips": chips, "machineType": "ct6e-standard-4t", "zone": "us-east5-b", "name": f"held-{chips}"}
    return {
        "region": "us-east5",
        "cluster": {"controlPlane": {"authorizedNetworks": [{"name": "office", "cidrBlock": "34.1.224.0/24"}]}},
        "reservations": {"tpu": {**tpu, **reservation}},
        "pools": {"large": slices("4x4", large, "tpu"), "small": slices("2x4", small, "tpu")},
    }


def overcommitted(large: int, small: int) -> list[str]:
    """The faults of a manager whose worker `central` has 32 chips for 64 in pools, and `west` 96 for 96."""
    workers = {"central": worker(32, 2, 4, acceptOverlap="shapes compete"), "west": worker(96, 4, 4)}
    guarantees = {"vision": ("large", large), "speech": ("small", small)}
    teams = {
        team: {"cohort": "all", "queues": {"train": {"flavors": [{"pool": pool, "guaranteed": chips}]}}}
        for team, (pool, chips) in guarantees.items()
    }
    fleet = {"project": "acme-ml-dev", "region": "us-central1", "cluster": {"controlPlane": {"publicEndpoint": False}}}
    found = evaluate_values("dev", {**fleet, "workers": workers, "cohorts": {"all": {}}, "teams": teams})
    return [each.text_with_code() for each in found.faults]


def test_guarantees_that_fit_on_all_workers_together_are_no_fault() -> None:
    """Central's shares are 16 of the 64 and 16 of the 32 chips: all of its 32."""
    assert overcommitted(64, 32) == []


@pytest.mark.parametrize(("large", "small", "shares"), [(80, 48, 32 + 24), (96, 64, 32 + 32)])
def test_the_shares_of_one_worker_above_its_reservation_are_a_fault_there(large: int, small: int, shares: int) -> None:
    assert overcommitted(large, small) == [
        "workers.central.reservations.tpu.acceptOverlap: flavors large and small guarantee "
        f"{shares} chips of reservation 'tpu', which has 32; guarantee less [overcommitted]"
    ]
