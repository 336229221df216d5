"""Manifests say what the plan says, in the one way that the API server says it back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any, cast

import pytest
import yaml

from components import manifests, names
from components.kueue import manifests as kueue
from components.plan.kueue import CohortPlan
from components.tenancy import manifests as tenancy
from tests.components import kueue_plans as plans


def spec(manifest: dict[str, object]) -> dict[str, Any]:
    return cast("dict[str, Any]", manifest["spec"])


def metadata(manifest: dict[str, object]) -> dict[str, Any]:
    return cast("dict[str, Any]", manifest["metadata"])


def scalars(value: object) -> Iterator[object]:
    """Every value in a manifest, leaves and branches."""
    yield value
    if isinstance(value, dict):
        for each in value.values():
            yield from scalars(each)
    elif isinstance(value, list):
        for each in value:
            yield from scalars(each)


def test_a_cluster_queue_says_what_its_plan_says() -> None:
    assert kueue.cluster_queue(plans.queue(when_can_preempt="MayStopSearch")) == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {
            "name": "vision-train",
            "labels": {"app.kubernetes.io/managed-by": "berth", "berth.dev/team": "vision"},
        },
        "spec": {
            "cohortName": "research",
            "queueingStrategy": "BestEffortFIFO",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "vision"}},
            "flavorFungibility": {"whenCanPreempt": "MayStopSearch"},
            "preemption": {
                "withinClusterQueue": "LowerPriority",
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
            },
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory", "google.com/tpu"],
                    "flavors": [
                        {
                            "name": "v5e",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "12", "borrowingLimit": "12"},
                                {"name": "memory", "nominalQuota": "24Gi", "borrowingLimit": "24Gi"},
                                {"name": "google.com/tpu", "nominalQuota": "8", "borrowingLimit": "8"},
                            ],
                        },
                        {
                            "name": "v5e-spot",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "0", "borrowingLimit": "24"},
                                {"name": "memory", "nominalQuota": "0", "borrowingLimit": "48Gi"},
                                {"name": "google.com/tpu", "nominalQuota": "0", "borrowingLimit": "16"},
                            ],
                        },
                    ],
                }
            ],
        },
    }


def test_resources_stand_in_the_order_of_the_covered_resources() -> None:
    """Kueue's webhook refuses any other order."""
    for group in spec(kueue.cluster_queue(plans.queue()))["resourceGroups"]:
        assert {tuple(each["name"] for each in flavor["resources"]) for flavor in group["flavors"]} == {
            tuple(group["coveredResources"])
        }


def test_flavors_stand_in_the_order_of_preference() -> None:
    group = spec(kueue.cluster_queue(plans.queue()))["resourceGroups"][0]
    assert [flavor["name"] for flavor in group["flavors"]] == ["v5e", "v5e-spot"]


def test_without_a_cohort_there_are_no_limits() -> None:
    """Kueue refuses a limit on a queue that cannot borrow."""
    alone = plans.queue(cohort=None, flavors=(plans.quotas("v5e", 8, borrow=8, lend=8),))
    text = json.dumps(kueue.cluster_queue(alone))
    assert "Limit" not in text
    assert "cohortName" not in text


def test_an_unlimited_borrower_has_no_borrowing_limit() -> None:
    queue = plans.queue(flavors=(plans.quotas("v5e", 8, borrow=None, lend=4),))
    resource = spec(kueue.cluster_queue(queue))["resourceGroups"][0]["flavors"][0]["resources"][2]
    assert resource == {"name": "google.com/tpu", "nominalQuota": "8", "lendingLimit": "4"}


def test_no_quota_is_a_number() -> None:
    """A number comes back as text, and shows as a change for ever."""
    queue = plans.queue(preemption=plans.NO_PREEMPTION)
    assert not [value for value in scalars(kueue.cluster_queue(queue)) if isinstance(value, int | float)]


def test_the_namespace_selector_is_always_there() -> None:
    """Absent, it would admit nothing."""
    assert spec(kueue.cluster_queue(plans.queue(namespaces=None)))["namespaceSelector"] == {}


def test_several_namespaces_are_named_in_order() -> None:
    selector = spec(kueue.cluster_queue(plans.queue(namespaces=("speech", "audio"))))["namespaceSelector"]
    assert selector == {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["audio", "speech"]},
        ]
    }


def test_no_namespaces_admits_none_rather_than_all() -> None:
    """A selector with an empty list of values is refused, and an empty selector is everybody."""
    selector = spec(kueue.cluster_queue(plans.queue(namespaces=())))["namespaceSelector"]
    assert selector == {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "DoesNotExist"}]}


def test_nothing_said_about_fungibility_leaves_it_to_kueue() -> None:
    assert "flavorFungibility" not in spec(kueue.cluster_queue(plans.queue()))


def test_a_shared_queue_belongs_to_no_team_but_its_doors_do() -> None:
    shared = plans.queue(teams=("vision", "speech"), namespaces=None)
    assert metadata(kueue.cluster_queue(shared))["labels"] == names.berth_labels()
    assert [metadata(kueue.local_queue(door))["labels"]["berth.dev/team"] for door in shared.local_queues] == [
        "vision",
        "speech",
    ]


def test_a_local_queue_is_a_door_in_its_teams_namespace() -> None:
    manifest = kueue.local_queue(plans.door("vision", "vision-train"))
    assert (metadata(manifest)["namespace"], metadata(manifest)["name"]) == ("vision", "train")
    assert spec(manifest) == {"clusterQueue": "vision-train"}


def test_a_flavor_selects_nodes_and_tolerates_their_taints() -> None:
    assert spec(kueue.resource_flavor(plans.flavor())) == {
        "nodeLabels": {"cloud.google.com/gke-tpu-topology": "2x4"},
        "tolerations": [
            {"key": "google.com/tpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
            {"key": "berth.dev/pool", "operator": "Exists", "effect": "NoSchedule"},
        ],
    }


def test_a_flavor_of_any_node_has_an_empty_spec() -> None:
    """Empty maps come back absent, which would show as a change."""
    assert spec(kueue.resource_flavor(plans.flavor(labels={}, tolerated=False))) == {}


@pytest.mark.parametrize(("parent", "expected"), [(None, {}), ("research", {"parentName": "research"})])
def test_a_cohort_names_its_parent_and_a_root_has_none(parent: str | None, expected: dict[str, str]) -> None:
    assert spec(kueue.cohort(CohortPlan(name="labs", parent=parent))) == expected


def test_a_priority_has_one_value_in_both_its_forms() -> None:
    plan = plans.priority()
    assert kueue.workload_priority_class(plan)["value"] == kueue.priority_class(plan)["value"] == 20
    assert kueue.workload_priority_class(plan)["description"] == "urgent work"


def test_only_the_default_priority_says_that_it_is_one() -> None:
    """`globalDefault: false` comes back absent."""
    assert "globalDefault" not in kueue.priority_class(plans.priority())
    assert kueue.priority_class(plans.priority(default=True))["globalDefault"] is True
    assert "description" not in kueue.priority_class(plans.priority(default=True))


@pytest.mark.parametrize(("preempts", "policy"), [(True, "PreemptLowerPriority"), (False, "Never")])
def test_whether_pods_are_pushed_out_is_the_priority_classs_to_say(preempts: bool, policy: str) -> None:
    assert kueue.priority_class(plans.priority(preempts=preempts))["preemptionPolicy"] == policy


def test_a_teams_objects_carry_the_teams_labels() -> None:
    team = plans.team()
    assert team.identity is not None
    labels = {"app.kubernetes.io/managed-by": "berth", "berth.dev/team": "vision", "cost-centre": "a1"}
    assert metadata(tenancy.namespace(team)) == {"name": "vision", "labels": labels}
    assert metadata(tenancy.service_account(team, team.identity))["labels"] == labels


def test_a_service_account_names_the_google_account_with_its_project() -> None:
    """The source system's annotation lacked the project, and all four identities were broken by it."""
    team = plans.team()
    assert team.identity is not None
    assert metadata(tenancy.service_account(team, team.identity))["annotations"] == {
        "iam.gke.io/gcp-service-account": "wi-vision@acme-ml-dev.iam.gserviceaccount.com"
    }


def test_a_service_account_that_impersonates_nobody_is_not_annotated() -> None:
    team = plans.team(impersonates=False)
    assert team.identity is not None
    assert "annotations" not in metadata(tenancy.service_account(team, team.identity))


def test_manifests_come_in_the_order_in_which_they_may_be_applied() -> None:
    kinds = [str(manifest["kind"]) for manifest in manifests.all_manifests(plans.fleet())]
    assert list(dict.fromkeys(kinds)) == [
        "Namespace",
        "ServiceAccount",
        "PriorityClass",
        "WorkloadPriorityClass",
        "ResourceFlavor",
        "Cohort",
        "ClusterQueue",
        "LocalQueue",
    ]
    assert [kinds.count(kind) for kind in dict.fromkeys(kinds)] == [2] * 8


def test_a_namespace_somebody_else_owns_is_not_rendered() -> None:
    fleet = plans.fleet(())
    teams = (plans.team("vision", owns_namespace=False),)
    kinds = [manifest["kind"] for manifest in manifests.all_manifests(replace(fleet, teams=teams))]
    assert "Namespace" not in kinds
    assert "ServiceAccount" in kinds


def test_every_manifest_says_that_berth_keeps_it() -> None:
    for manifest in manifests.all_manifests(plans.fleet()):
        assert metadata(manifest)["labels"]["app.kubernetes.io/managed-by"] == "berth"


def test_manifests_share_no_part_so_yaml_needs_no_anchors() -> None:
    text = yaml.safe_dump_all(manifests.all_manifests(plans.fleet()), sort_keys=False)
    assert "&id" not in text


def test_no_manifest_holds_an_empty_text_or_null() -> None:
    """Both come back absent."""
    for manifest in manifests.all_manifests(plans.fleet()):
        assert not [value for value in scalars(manifest) if value is None or value == ""]


def test_a_thousand_teams_are_rendered_in_a_moment() -> None:
    fleet = plans.fleet(f"team-{number}" for number in range(1000))
    start = perf_counter()
    assert sum(1 for _ in manifests.all_manifests(fleet)) == 4008
    assert perf_counter() - start < 2
