"""What each project needs once, whatever the clusters in it, and what a manager's settings are for workers."""

from __future__ import annotations

from typing import Any

from berth.plan.fleet import FleetPlan
from tests.berth.planner.multikueue.test_manager_address import fleet
from tests.small_fleets import plan


def managed() -> FleetPlan:
    """A manager with two workers in its project and two in another one."""
    value: dict[str, Any] = fleet(workers={name: {} for name in ("a", "b", "c", "d")})
    for name in ("c", "d"):
        value["workers"][name] |= {"project": "acme-other", "projectNumber": "123456789013"}
    identity = {"roles": ["roles/storage.objectViewer"]}
    value["teams"]["vision"] |= {"groups": ["vision@acme.example"], "identity": identity}
    return plan({**value, "projectNumber": "123456789012", "kueue": {"multiKueue": {"workerLostTimeout": "30m"}}})


def test_apis_and_permissions_are_given_once_in_a_project() -> None:
    manager = managed()
    clusters = [manager, *(worker.plan for worker in manager.workers)]
    assert [bool(each.services) for each in clusters] == [True, False, False, True, False]
    assert [each.access is not None and each.access.in_project for each in clusters] == [
        True,
        False,
        False,
        True,
        False,
    ]
    granted = [[team.identity is not None and team.identity.granted for team in each.teams] for each in clusters]
    assert granted == [[True], [False], [False], [True], [False]]


def test_how_jobs_are_sent_is_a_setting_of_the_manager() -> None:
    manager = managed()
    assert manager.kueue is not None
    assert manager.kueue.multikueue is not None
    assert [worker.plan.kueue and worker.plan.kueue.multikueue for worker in manager.workers] == [None] * 4
