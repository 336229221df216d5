"""The controllers: what is installed, and Kueue's Configuration from the stack file to the chart's values."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from berth.manifests.kueue import cluster_queue
from berth.plan.configuration import JOB_FRAMEWORKS
from berth.plan.fleet import FleetPlan
from tests import small_fleets as small

ALL: dict[str, Any] = {
    "waitForPodsReady": {
        "timeout": "45m",
        "recoveryTimeout": "10m",
        "blockAdmission": True,
        "requeuingStrategy": {
            "timestamp": "Creation",
            "backoffLimitCount": 5,
            "backoffBaseSeconds": 30,
            "backoffMaxSeconds": 600,
        },
    },
    "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
    "admissionFairSharing": {
        "usageHalfLifeTime": "12h",
        "usageSamplingInterval": "1m",
        "resourceWeights": {"cpu": 0, "google.com/tpu": 2.5},
    },
    "resources": {
        "excludeResourcePrefixes": ["networking.gke.io", "ephemeral-storage"],
        "transformations": [
            {
                "input": "nvidia.com/mig-1g.10gb",
                "strategy": "Replace",
                "multiplyBy": "nvidia.com/gpu",
                "outputs": {"example.com/gpu-memory": "10Gi", "cpu": "500m", "memory": "2Gi", "nvidia.com/gpu": 1},
            }
        ],
        "deviceClassMappings": [{"name": "example.com/gpu", "deviceClassNames": ["gpu.example.com"]}],
    },
    "integrations": {
        "frameworks": ["jobset.x-k8s.io/jobset", "batch/job"],
        "externalFrameworks": ["Workflow.v1alpha1.argoproj.io"],
        "labelKeysToCopy": ["team"],
    },
    "manageJobsWithoutQueueName": False,
    "managedJobsNamespaceSelector": {
        "matchLabels": {"queued": "true"},
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kueue-system"]}
        ],
    },
    "objectRetentionPolicies": {"workloads": {"afterFinished": "7d", "afterDeactivatedByKueue": "0s"}},
    "metrics": {
        "enableClusterQueueResources": False,
        "localQueueMetrics": {"localQueueSelector": {"matchLabels": {"shown": "true"}}},
        "customLabels": [
            {"name": "model", "sourceKind": "Workload", "sourceLabelKey": "model", "trackedValues": ["bert"]}
        ],
    },
    "featureGates": {"PriorityBoost": True},
}


def with_kueue(kueue: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """The small fleet with this `kueue`, and with values at dotted paths (`__` is a dot)."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return small.fleet_with({"kueue": kueue or {}, **dotted})


def values(plan: FleetPlan) -> dict[str, Any]:
    (chart,) = (chart for chart in plan.charts if chart.name == "kueue")
    return cast("dict[str, Any]", chart.values)


def written(kueue: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The Configuration that the chart gets."""
    return json.loads(values(small.plan(with_kueue(kueue, **changes)))["managerConfig"]["controllerManagerConfigYaml"])


def manager_memory(fleet: dict[str, Any]) -> str:
    return values(small.plan(fleet))["controllerManager"]["manager"]["resources"]["limits"]["memory"]


def test_every_kueue_key_reaches_the_configuration() -> None:
    """Compared with what Kueue's own documentation would have one write."""
    made, plain = written(ALL), written({})
    assert {key: value for key, value in made.items() if plain.get(key) != value} == {
        "waitForPodsReady": {
            "timeout": "2700s",
            "recoveryTimeout": "600s",
            "blockAdmission": True,
            "requeuingStrategy": {
                "timestamp": "Creation",
                "backoffLimitCount": 5,
                "backoffBaseSeconds": 30,
                "backoffMaxSeconds": 600,
            },
        },
        "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
        "admissionFairSharing": {
            "usageHalfLifeTime": "43200s",
            "usageSamplingInterval": "60s",
            "resourceWeights": {"cpu": 0, "google.com/tpu": 2.5},
        },
        "resources": {
            "excludeResourcePrefixes": ["ephemeral-storage", "networking.gke.io"],
            "transformations": [
                {
                    "input": "nvidia.com/mig-1g.10gb",
                    "strategy": "Replace",
                    "multiplyBy": "nvidia.com/gpu",
                    "outputs": {
                        "cpu": "500m",
                        "example.com/gpu-memory": "10737418240",
                        "memory": "2Gi",
                        "nvidia.com/gpu": "1",
                    },
                }
            ],
            "deviceClassMappings": [{"name": "example.com/gpu", "deviceClassNames": ["gpu.example.com"]}],
        },
        "integrations": {
            "frameworks": ["batch/job", "jobset.x-k8s.io/jobset"],
            "externalFrameworks": ["Workflow.v1alpha1.argoproj.io"],
            "labelKeysToCopy": ["team"],
        },
        "manageJobsWithoutQueueName": False,
        "managedJobsNamespaceSelector": ALL["managedJobsNamespaceSelector"],
        "objectRetentionPolicies": {"workloads": {"afterFinished": "604800s", "afterDeactivatedByKueue": "0s"}},
        "metrics": {
            "bindAddress": ":8443",
            "localQueueMetrics": {"enable": True, "localQueueSelector": {"matchLabels": {"shown": "true"}}},
            "customLabels": [
                {"name": "model", "sourceKind": "Workload", "sourceLabelKey": "model", "trackedValues": ["bert"]}
            ],
        },
        "featureGates": {"CustomMetricLabels": True, "PriorityBoost": True, "ReclaimablePods": False},
    }


# --- what is promised of the configuration ----------------------------------------------------------------------------


def test_wait_for_pods_ready_is_explicit_and_an_hour_by_default() -> None:
    """Kueue has it on in any case; its own half hour puts a large slice back while images are pulled."""
    assert written({})["waitForPodsReady"] == {"timeout": "3600s"}
    assert written({"waitForPodsReadyMinutes": 90})["waitForPodsReady"] == {"timeout": "5400s"}
    assert written({"waitForPodsReady": {"timeout": "90m"}})["waitForPodsReady"] == {"timeout": "5400s"}


def test_cpu_and_memory_are_covered_by_every_queue_while_undeclared_requests_block() -> None:
    """The commonest cause of jobs that are never admitted."""
    plan = small.plan(with_kueue())
    assert plan.kueue is not None
    assert plan.kueue.quota_check is None  # Kueue's BlockUndeclared
    assert all({"cpu", "memory"} <= {*queue.covered_resources} for queue in plan.cluster_queues)


def test_feature_gates_are_only_in_the_configuration() -> None:
    """Kueue refuses to start with some in the chart's own list too."""
    plan = small.plan(with_kueue(ALL))
    assert "featureGates" not in values(plan)["controllerManager"]
    assert written(_JOBS_ALONE).get("featureGates") is None


def test_the_helm_version_is_pinned() -> None:
    """Also where the stack file names none: a preview never depends on what was released since."""
    versions = {chart.name: chart.version for chart in small.plan(with_kueue()).charts}
    assert versions == {"jobset": "0.12.0", "kueue": "0.19.2"}
    assert {c.version for c in small.plan(with_kueue({"version": "0.18.1"})).charts} == {"0.12.0", "0.18.1"}


# --- what follows -----------------------------------------------------------------------------------------------------


_JOBS_ALONE: dict[str, Any] = {"integrations": {"frameworks": ["batch/job"]}}


@pytest.mark.parametrize("framework", ["jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob"])
def test_jobs_that_start_again_keep_the_quota_of_pods_that_ended(framework: str) -> None:
    of_framework = {"integrations": {"frameworks": ["batch/job", framework]}}
    assert written(of_framework)["featureGates"] == {"ReclaimablePods": False}
    assert written({**of_framework, "featureGates": {"ReclaimablePods": True}})["featureGates"] == {
        "ReclaimablePods": True
    }
    assert written({**of_framework, "version": "0.25.0"}).get("featureGates") is None  # no table has its gates


def test_a_gate_is_switched_on_by_what_needs_it() -> None:
    spark = {"integrations": {"frameworks": ["sparkoperator.k8s.io/sparkapplication"]}}
    assert written(spark)["featureGates"] == {"SparkApplicationIntegration": True}


@pytest.mark.parametrize(
    ("version", "derived"), [("0.16.0", None), ("0.19.0", True), ("0.20.0", True), ("0.25.0", None)]
)
def test_a_gate_is_derived_for_a_release_that_is_known_to_have_it(version: str, derived: bool | None) -> None:
    """SparkApplicationIntegration came with 0.17; no table has 0.25."""
    spark = {"version": version, "integrations": {"frameworks": ["sparkoperator.k8s.io/sparkapplication"]}}
    assert (written(spark).get("featureGates") or {}).get("SparkApplicationIntegration") == derived


def test_a_quota_check_replaces_excluded_prefixes() -> None:
    """Kueue takes one of them only, and the default would be the second."""
    assert written({"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}})["resources"] == {
        "quotaCheckStrategy": "IgnoreUndeclared"
    }


def test_fair_sharing_is_enabled_without_parameters() -> None:
    both = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    assert written({"fairSharing": None})["fairSharing"] == written({"fairSharing": {}})["fairSharing"] == both
    assert "fairSharing" not in written({})


def test_batch_jobs_are_queued_unless_others_are_named() -> None:
    assert written({"integrations": {"labelKeysToCopy": ["a"]}})["integrations"]["frameworks"] == [*JOB_FRAMEWORKS]


def test_kueues_size_depends_on_queues_and_nodes() -> None:
    """512 MiB, 2 MiB for each of 4 queues and 1.2 MiB for each node, doubled until it is enough."""
    assert manager_memory(with_kueue()) == "1Gi"
    many = with_kueue(
        pools__l4__nodes={"min": 4, "max": 2000},
        cluster__network={"nodeCidrBlock": "10.16.0.0/16", "podCidrBlock": "11.0.0.0/8"},
    )
    needed = 512 + 2 * 4 + 1.2 * (2000 + 3 * 2)
    assert 2048 < needed <= 4096
    assert manager_memory(many) == "4Gi"


def test_nothing_is_planned_for_a_kueue_of_somebody_elses() -> None:
    plan = small.plan(with_kueue({"existing": True}))
    assert plan.kueue is None
    assert [chart.name for chart in plan.charts] == ["jobset"]


def test_the_sharing_settings_of_a_queue_are_in_its_manifest() -> None:
    result: dict[str, Any] = {
        "fairShareWeight": 2,
        "stopPolicy": "Hold",
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
        "flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        },
    }
    fleet = with_kueue(ALL, **{f"{small.TRAIN}.{key}": value for key, value in result.items()})
    assert small.warnings(fleet) == ["memory-decides teams.vision.queues.train.admissionScope.admissionMode"]
    spec = cast("dict[str, Any]", cluster_queue(small.queue(small.plan(fleet), "vision-train"))["spec"])
    assert spec["fairSharing"] == {"weight": "2"}
    assert spec["stopPolicy"] == "Hold"
    assert spec["admissionScope"] == result["admissionScope"]
    assert spec["flavorFungibility"] == result["flavorFungibility"]
