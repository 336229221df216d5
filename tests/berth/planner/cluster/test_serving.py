"""Serving from the stack file to the objects: integrations, webhooks, people, policies, and nothing where it is off."""

from __future__ import annotations

from typing import Any

import pytest

from berth.manifests.fleet import all_manifests
from berth.manifests.serving.webhooks import webhook_patches, without_patch
from berth.plan.configuration import JOB_FRAMEWORKS, SERVING_FRAMEWORKS, ExpressionPlan
from berth.plan.fleet import FleetPlan
from tests import hostile
from tests.small_fleets import fleet_with, plan, problems

SERVING = {"teams.vision.namespaces": ["vision", {"name": "vision-web", "serving": True}]}
PEOPLE = {"teams.vision.groups": ["vision@acme.example"], "teams.speech.groups": ["speech@acme.example"]}


def objects(fleet: FleetPlan) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The objects of a fleet by kind, namespace and name."""
    values: list[Any] = list(all_manifests(fleet))
    return {(m["kind"], m["metadata"].get("namespace", ""), m["metadata"]["name"]): m for m in values}


def test_a_namespace_with_serving_adds_the_integrations_of_services() -> None:
    kueue = plan(fleet_with(SERVING)).kueue
    assert kueue is not None
    assert set(kueue.frameworks) == {*JOB_FRAMEWORKS, *SERVING_FRAMEWORKS}
    assert kueue.serving_namespaces == ("vision-web",)


def webhook_names(fleet: FleetPlan) -> list[str]:
    """The names of patched objects."""
    return [name for kind, _, name in objects(fleet) if kind.endswith("Patch")]


def test_without_serving_no_object_differs() -> None:
    """Also with the key written as false."""
    before = objects(plan(fleet_with()))
    assert objects(plan(fleet_with({"teams.vision.namespace": {"serving": False}}))) == before
    assert webhook_names(plan(fleet_with())) == []
    assert [name for kind, _, name in before if kind == "ValidatingAdmissionPolicy" and "serving" in name] == []


def test_serving_webhooks_are_called_only_in_serving_namespaces() -> None:
    """The names are those in Kueue's chart 0.19.2, charts/kueue/templates/webhook/manifests.yaml."""
    patches = {name.rpartition("-")[0]: patch for name, patch in webhook_patches(("b", "a"))}
    kinds = ("deployment", "leaderworkerset", "pod", "statefulset")
    for role, start in (("mutating", "m"), ("validating", "v")):
        manifest: Any = patches[f"{role}-serving"]
        assert manifest["metadata"] == {"name": f"kueue-{role}-webhook-configuration"}
        assert [each["name"] for each in manifest["webhooks"]] == [f"{start}{kind}.kb.io" for kind in kinds]
        for each in manifest["webhooks"]:
            (condition,) = each["matchConditions"]
            assert condition["expression"] == "request.namespace in ['a', 'b']"
        assert without_patch(manifest)["kind"] == manifest["kind"].removesuffix("Patch")


def test_other_namespaces_are_another_patch_with_another_condition() -> None:
    """The provider cannot compare the webhooks of a patch, so the program ignores their changes."""
    found = [dict(webhook_patches(names)) for names in (("a",), ("a", "b"))]
    assert found[0].keys().isdisjoint(found[1])
    assert dict(webhook_patches(("b", "a"))) == found[1]
    conditions = [
        {each["matchConditions"][0]["name"] for patch in some.values() for each in _webhooks(patch)} for some in found
    ]
    assert [len(names) for names in conditions] == [1, 1]
    assert conditions[0] != conditions[1]


def _webhooks(patch: Any) -> Any:
    return patch["webhooks"]


def test_jobs_are_managed_in_every_namespace_of_a_team_as_before() -> None:
    """The selector applies to the webhooks of all kinds, so it must not become narrower."""
    for changes in ({}, SERVING):
        kueue = plan(fleet_with(changes)).kueue
        assert kueue is not None
        assert kueue.managed_namespaces is not None
        assert kueue.managed_namespaces.expressions == (ExpressionPlan(key="berth.dev/team", operator="Exists"),)


def test_webhooks_cover_only_team_namespaces_if_unlabelled_jobs_are_not_managed() -> None:
    """Until the patch follows the chart, its selector is all that keeps the pods of the system out."""
    off = {"kueue": {"manageJobsWithoutQueueName": False}}
    assert getattr(plan(fleet_with(off)).kueue, "managed_namespaces", 0) is None
    assert getattr(plan(fleet_with(off | SERVING)).kueue, "managed_namespaces", None) is not None


def test_people_run_services_only_in_that_namespace() -> None:
    result = objects(plan(fleet_with(SERVING | PEOPLE)))
    assert [key[1] for key in result if key[0] == "RoleBinding" and key[2] == "berth-server"] == ["vision-web"]
    (role,) = (m for key, m in result.items() if key[2] == "berth-server" and key[0] == "ClusterRole")
    assert {(g, r) for rule in role["rules"] for g in rule["apiGroups"] for r in rule["resources"]} >= {
        ("apps", "deployments"),
        ("apps", "statefulsets/scale"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets"),
    }
    submitter = result["ClusterRole", "", "berth-submitter"]
    assert not any("leaderworkerset.x-k8s.io" in rule["apiGroups"] for rule in submitter["rules"])
    assert ("ClusterRole", "", "berth-server") not in objects(plan(fleet_with(PEOPLE)))


def test_no_person_may_write_pods_anywhere() -> None:
    """A pod of their own could have the annotation with which Kueue takes it for a part of a service."""
    for key, manifest in objects(hostile.fleet()).items():
        if key[0] == "ClusterRole" and key[2] in ("berth-submitter", "berth-server"):
            verbs = {v for rule in manifest["rules"] if "pods" in rule["resources"] for v in rule["verbs"]}
            assert not verbs & {"create", "update", "patch", "*"}


@pytest.mark.parametrize("existing", [True, False])
def test_an_existing_namespace_can_have_serving(existing: bool) -> None:
    namespace = {"name": "eyes", "existing": existing, "serving": True}
    fleet = plan(fleet_with({"teams.vision.namespace": namespace}))
    assert fleet.kueue is not None
    assert fleet.kueue.serving_namespaces == ("eyes",)
    assert fleet.policies is not None
    assert fleet.policies.serving == ("eyes",)
    shared = [name for kind, _, name in objects(fleet) if kind.endswith("Binding") and name == "berth-serving-shared"]
    assert len(shared) == existing


def test_an_existing_kueue_gets_a_note_and_no_patch() -> None:
    fleet = fleet_with(SERVING | {"kueue": {"existing": True}})
    (note,) = (each for each in problems(fleet) if each.code == "serving-existing-kueue")
    assert note.severity == "note"
    assert "'vision-web'" in note.message
    assert webhook_names(plan(fleet)) == []
    assert plan(fleet).policies is not None
