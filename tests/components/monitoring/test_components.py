"""Collection and views: what they ask for, what belongs to what, and that no token is plain."""

from __future__ import annotations

import json
from typing import Any, cast

import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
import pytest

from berth.manifests.monitoring import monitoring_manifests, rule_groups
from berth.plan.monitoring import (
    AlertPlan,
    BackendPlan,
    DashboardPlan,
    MonitoringPlan,
    PanelPlan,
    RecordingPlan,
    SectionPlan,
)
from components.monitoring.collection import Collection
from components.monitoring.views import Views
from tests.engine import PROJECT, Run, both_modes, broken_rules, run, using

ALERT = AlertPlan(
    key="slice-unavailable",
    title="A TPU slice is not available",
    query="min by (node_pool_name) (up) < 1",
    seconds=600,
    severity="critical",
    meaning="Not all hosts are up.",
    remedy="Look.",
    by=("node_pool_name",),
)
PANEL = PanelPlan(title="Used", unit="1", queries={"used {{pod}}": "up", "{{pod}}": "up"}, stacked=True, limit=4)
BOARD = DashboardPlan(key="queues", title="Queues", sections=(SectionPlan(title="Use", panels=(PANEL,) * 4),))
RULE = RecordingPlan(name="berth:queue:info", query="vector(1)", labels={"cluster_queue": "a"})
GOOGLE = BackendPlan(name="managed", dashboards=(BOARD,), alerts=(ALERT,), recordings=(RULE,))
CLUSTER = BackendPlan(name="in-cluster", dashboards=(BOARD,), alerts=(ALERT,), recordings=(RULE,))
MANAGED = MonitoringPlan(managed=GOOGLE, channels=("projects/p/c/1",))
OWN = MonitoringPlan(in_cluster=CLUSTER, collects=("gpu", "tpu"))
BOTH = MonitoringPlan(managed=GOOGLE, in_cluster=CLUSTER, channels=("projects/p/c/1",), collects=("gpu",))


def made(plan: MonitoringPlan, preview: bool = False) -> Run:
    def build() -> None:
        google = gcp.Provider("google", project=PROJECT)
        provider = kubernetes.Provider("kubernetes", kubeconfig="{}")
        if plan.managed is not None:
            Views(
                "views",
                plan.managed,
                stack="dev",
                project=PROJECT,
                labels={"fleet": "dev"},
                channels=plan.channels,
                opts=using(google),
            )
        Collection("collection", plan, stack="dev", opts=using(provider))

    return run(build, preview)


def objects(plan: MonitoringPlan) -> dict[str, Any]:
    """Kind to manifest."""
    return {cast("str", each["kind"]): each for each in monitoring_manifests(plan, "dev")}


@both_modes
@pytest.mark.parametrize("plan", [MANAGED, OWN, BOTH], ids=["managed", "in-cluster", "both"])
def test_monitoring_keeps_the_rules_of_every_component(plan: MonitoringPlan, preview: bool) -> None:
    assert broken_rules(made(plan, preview)) == []


def test_an_alert_has_a_meaning_and_a_severity() -> None:
    policy = made(MANAGED).only_resource("AlertPolicy").inputs
    (condition,) = cast("Any", policy["conditions"])
    request = condition["conditionPrometheusQueryLanguage"]
    assert (request["query"], request["duration"]) == (ALERT.query, "600s")
    assert request["disableMetricValidation"] is True, "Kueue has sent nothing yet when the alert is made"
    assert policy["documentation"] == {"content": "Not all hosts are up.\n\nLook.", "mimeType": "text/markdown"}
    assert policy["notificationChannels"] == ["projects/p/c/1"]
    assert (policy["severity"], policy["displayName"]) == ("CRITICAL", "dev: A TPU slice is not available")


def test_the_token_that_reads_kueues_metrics_is_a_secret_of_the_state() -> None:
    secret = made(MANAGED).only_resource("Secret")
    assert secret.inputs["type"] == "kubernetes.io/service-account-token"
    assert "data" not in secret.inputs
    assert set(secret.additional_secret_outputs) == {"data", "stringData"}


def test_the_collector_may_read_that_token_and_no_other_secret() -> None:
    result = objects(MANAGED)
    (rule,) = result["Role"]["rules"]
    assert (rule["resources"], rule["resourceNames"]) == (["secrets"], [result["Secret"]["metadata"]["name"]])
    assert result["RoleBinding"]["subjects"] == [
        {"kind": "ServiceAccount", "name": "collector", "namespace": "gke-gmp-system"},
        {"kind": "ServiceAccount", "name": "collector", "namespace": "gmp-system"},
    ]
    (endpoint,) = result["PodMonitoring"]["spec"]["endpoints"]
    credentials = endpoint["authorization"]["credentials"]["secret"]
    assert credentials == {"name": result["Secret"]["metadata"]["name"], "key": "token"}
    assert (endpoint["port"], endpoint["scheme"]) == (8443, "https"), "the port's name differs between releases"


def test_the_reader_has_only_kueues_own_role() -> None:
    for plan, who in ((MANAGED, "berth-kueue-metrics"), (OWN, "kube-prometheus-stack-prometheus")):
        binding = objects(plan)["ClusterRoleBinding"]
        assert binding["roleRef"]["name"] == "kueue-metrics-reader"
        assert [subject["name"] for subject in binding["subjects"]] == [who]


def test_the_in_cluster_prometheus_gets_targets_rules_and_dashboards() -> None:
    found = objects(OWN)
    assert set(found) == {"ClusterRoleBinding", "ServiceMonitor", "PodMonitor", "PrometheusRule", "ConfigMap"}
    assert found["ConfigMap"]["metadata"]["labels"]["grafana_dashboard"] == "1"
    recordings, alerts = cast("Any", rule_groups(CLUSTER))["groups"]
    assert recordings["rules"] == [
        {"record": "berth:queue:info", "expr": "vector(1)", "labels": {"cluster_queue": "a"}}
    ]
    (rule,) = alerts["rules"]
    assert rule["alert"] == "BerthSliceUnavailable"
    assert rule["for"] == "600s"
    assert rule["annotations"]["summary"] == "A TPU slice is not available: node_pool_name {{ $labels.node_pool_name }}"


def test_managed_prometheus_evaluates_the_same_recording_rules() -> None:
    rules, own = objects(MANAGED)["ClusterRules"], objects(OWN)["PrometheusRule"]
    assert rules["spec"]["groups"][0] == own["spec"]["groups"][0]
    assert rules["apiVersion"] == "monitoring.googleapis.com/v1"


def test_exporters_keep_the_labels_of_their_workloads() -> None:
    monitors = [each for each in monitoring_manifests(OWN, "dev") if each["kind"] == "PodMonitor"]
    endpoints = [each["spec"]["podMetricsEndpoints"][0] for each in cast("Any", monitors)]
    assert [endpoint["honorLabels"] for endpoint in endpoints] == [True, True]
    assert endpoints[1]["portNumber"] == 2112


def test_the_legend_has_words_and_the_chart_its_labels() -> None:

    text = made(MANAGED).only_resource("Dashboard").inputs["dashboardJson"]
    tiles = json.loads(cast("str", text))["mosaicLayout"]["tiles"]
    chart = tiles[1]["widget"]["xyChart"]
    assert [data.get("legendTemplate") for data in chart["dataSets"]] == ["used", None]
    assert chart["thresholds"] == [{"targetAxis": "Y1", "value": 4}]
