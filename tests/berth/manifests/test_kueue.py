"""Manifests say what the plan says, in the one way that the API server says it back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
import yaml
from msgspec.structs import replace

from berth import names
from berth.manifests import fleet as manifests
from berth.manifests import kueue
from berth.plan.admission_checks import (
    AdmissionCheckPlan,
    MultiKueueClusterPlan,
    MultiKueueConfigPlan,
    ProvisioningConfigPlan,
)
from berth.plan.kueue import CohortPlan
from berth.plan.node_settings import Toleration
from tests.components.kueue import plans


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


def test_a_cluster_queue_matches_its_plan() -> None:
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


def test_resources_are_in_the_order_of_the_covered_resources() -> None:
    """Kueue's webhook refuses any other order."""
    for group in spec(kueue.cluster_queue(plans.queue()))["resourceGroups"]:
        assert {tuple(each["name"] for each in flavor["resources"]) for flavor in group["flavors"]} == {
            tuple(group["coveredResources"])
        }


def test_flavors_are_in_order_of_preference() -> None:
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
    full = replace(plans.full_queue(), preemption=plans.NO_PREEMPTION)
    for made in (kueue.cluster_queue(queue), kueue.cluster_queue(full), kueue.cohort(plans.full_cohort())):
        assert not [value for value in scalars(made) if isinstance(value, int | float)]


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


def test_a_shared_cluster_queue_has_no_team_and_its_local_queues_have_one() -> None:
    shared = plans.queue(teams=("vision", "speech"), namespaces=None)
    assert metadata(kueue.cluster_queue(shared))["labels"] == names.berth_labels()
    assert [metadata(kueue.local_queue(door))["labels"]["berth.dev/team"] for door in shared.local_queues] == [
        "vision",
        "speech",
    ]


def test_a_local_queue_is_in_its_teams_namespace() -> None:
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


def test_a_flavor_has_its_topology() -> None:
    plan = replace(
        plans.flavor(tolerated=False),
        topology="gke",
    )
    assert spec(kueue.resource_flavor(plan)) == {
        "nodeLabels": {"cloud.google.com/gke-tpu-topology": "2x4"},
        "topologyName": "gke",
    }


def test_a_toleration_of_any_effect_names_none() -> None:
    """An empty effect comes back absent."""
    anything = Toleration(key="", operator="Exists", effect="")
    assert kueue.toleration(anything) == {"operator": "Exists"}


def test_the_levels_of_a_topology_go_from_the_widest_to_the_host() -> None:
    assert spec(kueue.topology(plans.TOPOLOGY)) == {
        "levels": [{"nodeLabel": "cloud.google.com/gce-topology-block"}, {"nodeLabel": "kubernetes.io/hostname"}]
    }


def test_a_flavor_of_any_node_has_an_empty_spec() -> None:
    """The API server drops empty maps, which would show as a change."""
    assert spec(kueue.resource_flavor(plans.flavor(labels={}, tolerated=False))) == {}


@pytest.mark.parametrize(("parent", "expected"), [(None, {}), ("research", {"parentName": "research"})])
def test_a_cohort_names_its_parent_and_a_root_has_none(parent: str | None, expected: dict[str, str]) -> None:
    assert spec(kueue.cohort(CohortPlan(name="labs", parent=parent))) == expected


def test_a_cohort_has_quotas_of_its_own_and_a_share() -> None:
    assert spec(kueue.cohort(plans.full_cohort())) == {
        "parentName": "research",
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory", "google.com/tpu"],
                "flavors": [
                    {
                        "name": "v5e",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "12", "borrowingLimit": "24", "lendingLimit": "36"},
                            {
                                "name": "memory",
                                "nominalQuota": "24Gi",
                                "borrowingLimit": "48Gi",
                                "lendingLimit": "72Gi",
                            },
                            {
                                "name": "google.com/tpu",
                                "nominalQuota": "8",
                                "borrowingLimit": "16",
                                "lendingLimit": "24",
                            },
                        ],
                    }
                ],
            }
        ],
        "fairSharing": {"weight": "2"},
    }


def test_a_root_cohort_has_no_limits() -> None:
    """Kueue rejects them: a root has no parent to borrow from."""
    root = replace(plans.full_cohort(), parent=None)
    assert "Limit" not in json.dumps(kueue.cohort(root))


def test_a_queue_has_its_admission_checks_and_its_strategy() -> None:
    """Checks are in the strategy's list: Kueue silently drops the list of older versions, and the check never runs."""
    made = spec(kueue.cluster_queue(plans.full_queue()))
    assert made["admissionChecksStrategy"] == {
        "admissionChecks": [{"name": "dws-prov", "onFlavors": ["v5e", "v5e-spot"]}, {"name": "budget"}]
    }
    assert "admissionChecks" not in made
    assert made["admissionScope"] == {"admissionMode": "UsageBasedAdmissionFairSharing"}
    assert (made["stopPolicy"], made["fairSharing"]) == ("HoldAndDrain", {"weight": "500m"})
    assert made["flavorFungibility"]["preference"] == "PreemptionOverBorrowing"


def test_a_local_queue_has_its_weight() -> None:
    door = plans.door("vision", "vision-train")
    assert "fairSharing" not in spec(kueue.local_queue(door))
    assert spec(kueue.local_queue(replace(door, fair_share_weight=0.5)))["fairSharing"] == {"weight": "500m"}


def test_omitted_queue_settings_use_kueues_defaults() -> None:
    values = {"queueingStrategy", "namespaceSelector", "preemption", "resourceGroups", "cohortName"}
    assert set(spec(kueue.cluster_queue(plans.queue()))) == values


def test_a_local_queue_can_be_stopped_alone() -> None:
    (door,) = plans.full_queue().local_queues
    assert spec(kueue.local_queue(door)) == {
        "clusterQueue": "vision-train",
        "stopPolicy": "Hold",
    }


def test_queued_capacity_has_3_attempts_and_covers_only_accelerators() -> None:
    """The defaults of the Dynamic Workload Scheduler: a workload without accelerators passes the check at once."""
    plan = ProvisioningConfigPlan(name="dws-config", managed_resources=("nvidia.com/gpu",))
    assert spec(kueue.provisioning_request_config(plan)) == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "retryStrategy": {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
        "managedResources": ["nvidia.com/gpu"],
    }


def test_a_provisioning_config_has_every_field() -> None:
    made = spec(kueue.provisioning_request_config(plans.DWS_CONFIG))
    assert made["parameters"] == {"tpu-topology": "4x4"}
    metadata = cast("dict[str, Any]", kueue.provisioning_request_config(plans.DWS_CONFIG)["metadata"])
    assert metadata["annotations"] == {"berth.dev/max-run-duration-seconds": "86400"}
    assert made["podSetMergePolicy"] == "IdenticalWorkloadSchedulingRequirements"


def test_a_check_names_its_controller_and_its_config() -> None:
    assert spec(kueue.admission_check(plans.DWS)) == {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "dws-config"},
    }
    own = AdmissionCheckPlan(name="budget", controller="acme.com/budget")
    assert spec(kueue.admission_check(own)) == {"controllerName": "acme.com/budget"}


def test_another_cluster_is_reached_by_a_secret_or_a_profile() -> None:
    assert spec(kueue.multikueue_config(MultiKueueConfigPlan(name="c", clusters=("b", "a")))) == {
        "clusters": ["b", "a"]
    }
    by_secret, by_profile = (
        MultiKueueClusterPlan(name="c", kubeconfig="far"),
        MultiKueueClusterPlan(name="c", profile="p"),
    )
    assert spec(kueue.multikueue_cluster(by_secret)) == {
        "clusterSource": {"kubeConfig": {"location": "far", "locationType": "Secret"}}
    }
    assert spec(kueue.multikueue_cluster(by_profile)) == {"clusterSource": {"clusterProfileRef": {"name": "p"}}}


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
def test_the_priority_class_decides_whether_pods_are_preempted(preempts: bool, policy: str) -> None:
    assert kueue.priority_class(plans.priority(preempts=preempts))["preemptionPolicy"] == policy


def test_manifests_come_in_the_order_in_which_they_may_be_applied() -> None:
    kinds = [str(manifest["kind"]) for manifest in manifests.all_manifests(plans.fleet())]
    assert list(dict.fromkeys(kinds)) == [
        "Namespace",
        "ResourceQuota",
        "LimitRange",
        "NetworkPolicy",
        "ServiceAccount",
        "SecretProviderClass",
        "RoleBinding",
        "PriorityClass",
        "WorkloadPriorityClass",
        "ResourceFlavor",
        "Cohort",
        "ClusterQueue",
        "LocalQueue",
    ]
    assert [kinds.count(kind) for kind in dict.fromkeys(kinds)] == [2] * 13


def test_referenced_objects_come_first() -> None:
    kinds = [str(manifest["kind"]) for manifest in manifests.all_manifests(plans.full_fleet())]
    assert list(dict.fromkeys(kinds)) == [
        "PriorityClass",
        "WorkloadPriorityClass",
        "Topology",
        "ResourceFlavor",
        "ProvisioningRequestConfig",
        "AdmissionCheck",
        "Cohort",
        "ClusterQueue",
        "LocalQueue",
    ]


def test_an_existing_namespace_is_not_rendered() -> None:
    fleet = plans.fleet(())
    teams = (plans.team("vision", owns_namespace=False),)
    kinds = [manifest["kind"] for manifest in manifests.all_manifests(replace(fleet, teams=teams))]
    assert "Namespace" not in kinds
    assert "ServiceAccount" in kinds


def test_every_manifest_says_that_berth_keeps_it() -> None:
    for manifest in (*manifests.all_manifests(plans.fleet()), *manifests.all_manifests(plans.full_fleet())):
        assert metadata(manifest)["labels"]["app.kubernetes.io/managed-by"] == "berth"


def test_manifests_share_no_part_so_yaml_needs_no_anchors() -> None:
    for fleet in (plans.fleet(), plans.full_fleet()):
        assert "&id" not in yaml.safe_dump_all(manifests.all_manifests(fleet), sort_keys=False)


def test_no_manifest_holds_an_empty_text_or_null() -> None:
    """Both come back absent."""
    for manifest in (*manifests.all_manifests(plans.fleet()), *manifests.all_manifests(plans.full_fleet())):
        assert not [value for value in scalars(manifest) if value is None or value == ""]


def test_a_thousand_teams_are_rendered_completely() -> None:
    fleet = plans.fleet(f"team-{number}" for number in range(1000))
    assert sum(1 for _ in manifests.all_manifests(fleet)) == 9008
