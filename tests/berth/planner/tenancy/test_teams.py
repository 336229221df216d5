"""Teams: their namespaces, who their pods are in Google Cloud, and what they are guaranteed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.small_fleets import REMOVED, faults, fleet_with, message, plan, team

NUMBER = "123456789012"
ROLE = "roles/artifactregistry.reader"
IDENTITY = "teams.vision.identity"


# --- namespaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name", "owned"),
    [
        (REMOVED, "vision", True),
        ("eyes", "eyes", True),
        ({"name": "eyes"}, "eyes", True),
        ({"existing": True}, "vision", False),
        ({"name": "eyes", "existing": True}, "eyes", False),
    ],
)
def test_a_team_has_one_namespace_of_its_name_by_default(written: Any, name: str, owned: bool) -> None:
    change = {} if written is REMOVED else {"teams.vision.namespace": written}
    result = team(plan(fleet_with(change)), "vision")
    assert [(n.name, n.owned) for n in result.namespaces] == [(name, owned)]
    assert {door.namespace for door in result.local_queues} == {name}


def test_two_teams_do_not_share_a_namespace() -> None:
    """Kueue tells teams apart by namespace: shared, each could use the other's queue."""
    fleet = fleet_with({"teams.vision.namespace": "speech"})
    assert "duplicate-namespace teams.vision.namespace" in faults(fleet)


@pytest.mark.parametrize("name", ["kube-system", "kube-public", "kueue-system", "jobset-system", "gmp-system"])
def test_a_team_namespace_is_not_one_that_kueue_excludes(name: str) -> None:
    fleet = fleet_with({"teams.vision.namespace": {"name": name, "existing": True}})
    assert faults(fleet) == ["bad-namespace teams.vision.namespace"]


# --- identity ---------------------------------------------------------------------------------------------------------


def test_pods_run_as_an_account_named_after_the_team() -> None:
    result = team(plan(fleet_with()), "vision").identity
    assert result is not None
    assert (result.service_account, result.impersonates, result.roles) == ("vision", None, ())


def test_an_existing_namespace_uses_its_own_account_by_default() -> None:
    existing = {"teams.vision.namespace": {"existing": True}}
    assert team(plan(fleet_with(existing)), "vision").identity is None
    result = team(plan(fleet_with({**existing, IDENTITY: {"serviceAccount": "pods"}})), "vision").identity
    assert result is not None
    assert result.service_account == "pods"


def test_roles_are_granted_to_the_pods_themselves_by_the_projects_number() -> None:
    """Workload identity federation names the project by number; the subject is namespace and account."""
    fleet = fleet_with({"projectNumber": NUMBER, IDENTITY: {"roles": [ROLE, ROLE, "roles/logging.logWriter"]}})
    result = team(plan(fleet), "vision").identity
    assert result is not None
    assert result.members == (
        f"principal://iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/"
        "acme-ml-dev.svc.id.goog/subject/ns/vision/sa/vision",
    )
    assert (result.roles, result.impersonates) == ((ROLE, "roles/logging.logWriter"), None)


def test_a_direct_grant_without_the_projects_number_is_a_fault() -> None:
    fleet = fleet_with({IDENTITY: {"roles": [ROLE]}})
    assert faults(fleet) == ["missing-project-number teams.vision.identity.roles"]
    assert "write projectNumber" in message(fleet, "missing-project-number")


def test_roles_are_granted_to_the_google_account_that_pods_impersonate() -> None:
    """No project number is needed then; the annotation is complete (systems.md, E.2, fault 2)."""
    fleet = fleet_with({IDENTITY: {"impersonate": "wi-vision", "roles": [ROLE]}, "teams.vision.namespace": "eyes"})
    result = team(plan(fleet), "vision").identity
    assert result is not None
    assert result.impersonates is not None
    assert result.impersonates.email == "wi-vision@acme-ml-dev.iam.gserviceaccount.com"
    assert (result.members, result.roles) == (("serviceAccount:acme-ml-dev.svc.id.goog[eyes/vision]",), (ROLE,))


# --- what a team has --------------------------------------------------------------------------------------------------


def test_a_team_without_queues_has_only_a_namespace() -> None:
    result = team(plan(fleet_with({"teams.new": {}})), "new")
    assert (result.namespace, result.local_queues, result.guaranteed, result.ceiling) == ("new", (), {}, {})


def test_a_guarantee_adds_up_over_the_queues_of_a_team() -> None:
    two = {"teams.speech.queues.train.flavors.0.guaranteed": "1 slice",
           "teams.vision.queues.more": {"flavors": [{"pool": "v5e", "guaranteed": "1 slice"}]}}  # fmt: skip
    fleet_plan = plan(fleet_with(two))
    assert team(fleet_plan, "vision").guaranteed == {"l4": 4, "v5e": 16}
    assert team(fleet_plan, "speech").guaranteed == {"l4": 4, "v5e": 8}


def test_a_ceiling_is_the_guarantee_and_what_the_cohort_lends_within_the_limit() -> None:
    borrows = {"teams.vision.queues.train.flavors.0.borrow": "2 slices"}
    assert team(plan(fleet_with(borrows)), "vision").ceiling["v5e"] == 24
    kept = {**borrows, "teams.vision.queues.train.flavors.0.borrow": "1 slice",
            "teams.speech.queues.train.flavors.0.lend": "1 slice"}  # fmt: skip
    assert team(plan(fleet_with(kept)), "vision").ceiling["v5e"] == 16


def test_teams_come_by_name_with_their_own_label() -> None:
    fleet_plan = plan(fleet_with()).teams
    assert [(t.name, t.labels["berth.dev/team"]) for t in fleet_plan] == [("speech", "speech"), ("vision", "vision")]


def test_a_ceiling_never_exceeds_the_machines() -> None:
    """Where promises are accepted twice, Kueue would allow more than ever runs; the figure people read is what runs."""
    fleet = fleet_with({
        "pools.l4.nodes": 2,
        "flavors": {"l4": {"oversubscription": 2, "reason": "nights"}},
        "teams.vision.queues.urgent.flavors.0.borrow": 4,
    })  # fmt: skip
    fleet_plan = plan(fleet)
    assert team(fleet_plan, "vision").ceiling["l4"] == 4 == 2 * 2
