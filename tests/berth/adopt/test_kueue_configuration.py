"""Kueue's own Configuration becomes keys of `kueue`; settings without a key are listed."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from berth.adopt.api_objects import ApiObject, InvalidInventory
from berth.adopt.inventory import ClusterInventory, read_inventory
from berth.adopt.kubernetes.kueue_configuration import configuration_changes
from berth.adopt.teams import local_queue_weights
from berth.cli.adopt.answer import adopt_inventory
from tests.gke_answers import files
from tests.stack_files import plan

FILE = "controller_manager_config.yaml"
CHART = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: ":8443"}
webhook: {port: 9443}
leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}
controller:
  groupKindConcurrency:
    {Job.batch: 5, Pod: 5, Workload.kueue.x-k8s.io: 10, LocalQueue.kueue.x-k8s.io: 5, ClusterQueue.kueue.x-k8s.io: 5,
     ResourceFlavor.kueue.x-k8s.io: 1}
clientConnection: {qps: 300, burst: 500}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}
"""
"""The default of Kueue's chart (0.19.2), with fewer frameworks."""


def inventory(text: str | None) -> ClusterInventory:
    """Return the example `dev`, whose Kueue has this Configuration; without ConfigMap if it is None."""
    answers = files(plan("dev"))
    objects = json.loads(answers["objects.json"])
    if text is None:
        objects["items"] = [each for each in objects["items"] if each["kind"] != "ConfigMap"]
    for each in objects["items"]:
        if each["kind"] == "ConfigMap":
            each["data"] = {FILE: text}
    return read_inventory({**answers, "objects.json": json.dumps(objects)})


def adopted(text: str | None) -> tuple[dict[str, Any], list[str]]:
    """Return the section `kueue`, and the lines about the first update."""
    here = inventory(text)
    _, fleet, evaluation = adopt_inventory(here, "dev")
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    section = {key: value for key, value in fleet.fleet["kueue"].items() if key != "version"}
    return section, [left.line() for left in configuration_changes(here, evaluation.fleet_plan)]


def test_the_default_of_the_chart_is_kept_as_far_as_a_stack_file_can() -> None:
    section, lines = adopted(CHART)
    assert section == {
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]},
        "manageJobsWithoutQueueName": False,
        "metrics": {"enableClusterQueueResources": False},
    }
    assert [line.partition(" – ")[0] for line in lines] == [
        "kueue: its Configuration: integrations.frameworks [batch/job, jobset.x-k8s.io/jobset] → [batch/job, "
        "deployment, jobset.x-k8s.io/jobset, leaderworkerset.x-k8s.io/leaderworkerset, pod, statefulset]",
        "kueue: its Configuration: waitForPodsReady",
        "kueue: its Configuration: managedJobsNamespaceSelector",
        "kueue: its Configuration: resources",
        "kueue: its Configuration: featureGates",
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"waitForPodsReady": {"timeout": "1h30m"}}, {"timeout": "90m"}),
        ({"waitForPodsReady": {"timeout": "60m", "blockAdmission": True}}, {"timeout": "1h", "blockAdmission": True}),
        ({"waitForPodsReady": {"enable": True, "timeout": "36h0m0s"}}, {"timeout": "36h"}),
        ({"fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]}}, None),
        (
            {"admissionFairSharing": {"usageHalfLifeTime": "168h", "usageSamplingInterval": "300s"}},
            {"usageHalfLifeTime": "7d", "usageSamplingInterval": "5m"},
        ),
        ({"objectRetentionPolicies": {"workloads": {"afterFinished": "24h"}}}, {"workloads": {"afterFinished": "1d"}}),
        ({"resources": {"excludeResourcePrefixes": ["example.com/"]}}, None),
        ({"managedJobsNamespaceSelector": {"matchLabels": {"team": "ml"}}}, None),
    ],
)
def test_a_setting_that_differs_becomes_a_key_and_stays(change: dict[str, Any], expected: object) -> None:
    (section,) = change
    text = yaml.safe_dump({**yaml.safe_load(CHART), **change})
    keys, lines = adopted(text)
    assert keys[section] == (change[section] if expected is None else expected)
    assert [line for line in lines if section in line] == []


@pytest.mark.parametrize("duration", ["1.5h", "soon"])
def test_a_duration_that_no_stack_file_can_have_is_written_as_it_is(duration: str) -> None:
    """The stack file's fault names it."""
    here = inventory(yaml.safe_dump({**yaml.safe_load(CHART), "waitForPodsReady": {"timeout": duration}}))
    _, fleet, evaluation = adopt_inventory(here, "dev")
    assert fleet.fleet["kueue"]["waitForPodsReady"] == {"timeout": duration}
    assert [fault.path for fault in evaluation.faults] == [("kueue", "waitForPodsReady", "timeout")]


def test_only_gates_that_no_other_key_turns_on_are_written() -> None:
    text = yaml.safe_dump({**yaml.safe_load(CHART), "featureGates": {"LocalQueueMetrics": True}})
    assert adopted(text)[0]["featureGates"] == {"LocalQueueMetrics": True}


def test_overridden_process_settings_are_listed() -> None:
    _, lines = adopted(CHART.replace("qps: 300", "qps: 50"))
    assert "kueue: its Configuration: clientConnection.qps 50 → 300" in lines


def test_without_the_answer_berths_own_configuration_is_announced() -> None:
    assert adopted(None) == (
        {},
        [
            "kueue: its Configuration is in no answer: the first `pulumi up` sets Berth's (docs/adopt.md: kueue.json)",
        ],
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "ConfigMap kueue-system/kueue-manager-config: controller_manager_config.yaml is not YAML"),
        ("just text", "controller_manager_config.yaml is not an object; fix it in the cluster"),
    ],
)
def test_an_unreadable_configuration_is_rejected(text: str, message: str) -> None:
    with pytest.raises(InvalidInventory, match=message):
        adopt_inventory(inventory(text), "dev")


def test_a_config_map_without_the_file_is_refused() -> None:
    here = inventory(CHART)
    for each in here.objects_of_kind("ConfigMap"):
        each["data"].clear()  # type: ignore[attr-defined]
    with pytest.raises(InvalidInventory, match=r"has no controller_manager_config\.yaml; give the answer of kubectl"):
        adopt_inventory(here, "dev")


def test_weights_of_resources_stay() -> None:
    """Pulumi takes 0.0 for text, so it is written as 0."""
    sharing = {"resourceWeights": {"cpu": 0.5, "memory": 0.0, "nvidia.com/gpu": 2.0}, "usageHalfLifeTime": "1h"}
    keys, _ = adopted(yaml.safe_dump({**yaml.safe_load(CHART), "admissionFairSharing": sharing}))
    assert keys["admissionFairSharing"]["resourceWeights"] == sharing["resourceWeights"]


def door(namespace: str, weight: str | None = None) -> ApiObject:
    """Return a local queue in a namespace."""
    spec = {"clusterQueue": "q", **({} if weight is None else {"fairSharing": {"weight": weight}})}
    return {"metadata": {"name": "train", "namespace": namespace}, "spec": spec}


def test_weights_of_local_queues_are_those_of_a_team_or_of_its_namespaces() -> None:
    """Of a team if all of its local queues have it; 1 is Kueue's own and left out, and 0 is a weight."""
    doors: list[ApiObject] = [door("a", "2"), door("a-dev", "2"), door("b"), door("c", "500m"), door("c-dev", "0")]
    teams = {"a": "a", "a-dev": "a", "b": "b", "c": "c", "c-dev": "c"}
    assert local_queue_weights(doors, teams) == {"localQueueWeights": {"a": 2, "c": 0.5, "c-dev": 0}}
    assert local_queue_weights([door("b")], teams) == {}


@pytest.mark.parametrize(
    ("own", "other", "weights"),
    [("2", None, {"a": 2, "a-dev": 1}), (None, "2", {"a-dev": 2}), ("2", "3", {"a": 2, "a-dev": 3})],
)
def test_a_weight_of_the_namespace_named_as_its_team_is_no_weight_of_the_others(
    own: str | None, other: str | None, weights: dict[str, float]
) -> None:
    """In the stack file the name stands for the team, and so for every namespace that has no weight itself."""
    assert local_queue_weights([door("a", own), door("a-dev", other)], {"a": "a", "a-dev": "a"}) == {
        "localQueueWeights": weights
    }
