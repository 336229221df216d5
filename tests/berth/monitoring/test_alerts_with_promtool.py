"""Alerts, recording rules and panels under promtool's unit tests: given series, and what follows from them."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.manifests.monitoring import rule_groups
from berth.monitoring.dashboards import alert_keys
from berth.monitoring.metrics import IN_CLUSTER, MANAGED, find_metric
from berth.plan.monitoring import AlertPlan, BackendPlan
from tests.small_fleets import fleet_with, run_planner

CASES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "alert_cases.yaml").read_text(encoding="utf-8")
)
BACKENDS = (MANAGED, IN_CLUSTER)
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not on PATH")


@cache
def planned(backend: str) -> BackendPlan:
    """A fleet with GPUs and TPU slices, so that every alert of the backend exists."""
    plan = run_planner(fleet_with({"monitoring": {"backends": [backend]}})).plan
    assert plan.monitoring is not None
    (found,) = plan.monitoring.backends
    return found


def named_alert(backend: str, key: str) -> AlertPlan | None:
    return next((alert for alert in planned(backend).alerts if alert.key == key), None)


def cluster_of(backend: str) -> str:
    (cluster,) = set(re.findall(r'cluster="([^"]+)"', "".join(alert.query for alert in planned(backend).alerts)))
    return cluster


def as_sent(series: str, backend: str) -> str:
    """A series with the labels that its source adds: the cluster, the monitored resource, and Kueue's leader."""
    name, _, written = series.partition("{")
    labels = dict(re.findall(r'(\w+)="([^"]*)"', written))
    metric = find_metric(name)
    for label, how, value in re.findall(r'(\w+)(!?=)"([^"]*)"', ",".join(metric.selector)):
        labels.setdefault(label, "leader" if how == "!=" else value)
    if backend == MANAGED and metric.cluster is not None:
        labels.setdefault(metric.cluster, cluster_of(MANAGED))
    written = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{name}{{{written}}}"


def run_promtool(folder: Path, rules: Any, tests: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    suite = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (folder / "tests.yaml").write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")
    command = ["promtool", "test", "rules", str(folder / "tests.yaml")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def expected(alert: AlertPlan, labels: dict[str, str]) -> dict[str, Any]:
    """The alert as Prometheus sends it, worked out from the plan's parts."""
    series = ", ".join(f"{label} {labels[label]}" for label in alert.by)
    return {
        "exp_labels": {"severity": alert.severity, **labels},
        "exp_annotations": {
            "summary": f"{alert.title}: {series}" if series else alert.title,
            "description": f"{alert.meaning} {alert.remedy}",
        },
    }


def suite(alert: AlertPlan, backend: str) -> list[dict[str, Any]]:
    name = "Berth" + alert.key.title().replace("-", "")
    # absent() returns the labels that its selector names by equality
    extra = {"cluster": cluster_of(MANAGED)} if alert.key == "kueue-silent" and backend == MANAGED else {}
    return [
        {
            "name": f"{alert.key}: {case['why']}",
            "interval": "1m",
            "input_series": [{"series": as_sent(s, backend), "values": values} for s, values in case["series"].items()],
            "alert_rule_test": [
                {
                    "eval_time": case["at"],
                    "alertname": name,
                    "exp_alerts": [expected(alert, {**labels, **extra}) for labels in case["fires"]],
                }
            ],
        }
        for case in CASES[alert.key]
    ]


def test_every_alert_has_series_that_fire_it_and_series_that_do_not() -> None:
    assert set(CASES) == set(alert_keys())
    for key, cases in CASES.items():
        assert {bool(case["fires"]) for case in cases} == {True, False}, key
        assert named_alert(MANAGED, key) is not None, "the fleet of these tests has every alert"


@needs_promtool
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("key", sorted(CASES))
def test_an_alert_fires_with_its_series_and_with_no_others(key: str, backend: str, tmp_path: Path) -> None:
    alert = named_alert(backend, key)
    if alert is None:
        pytest.skip(f"{backend} has no samples for it")
    done = run_promtool(tmp_path, rule_groups(planned(backend)), suite(alert, backend))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_notices_an_alert_that_does_not_fire(tmp_path: Path) -> None:
    """The check of the check: the rules with a threshold that nothing reaches fail the same cases."""
    alert = named_alert(MANAGED, "inadmissible")
    assert alert is not None
    rules = yaml.safe_dump(rule_groups(planned(MANAGED))).replace('status="inadmissible"', 'status="nothing"')
    done = run_promtool(tmp_path, yaml.safe_load(rules), suite(alert, MANAGED))
    assert done.returncode != 0
    assert "BerthInadmissible" in done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("backend", BACKENDS)
def test_recording_rules_divide_loans_by_idle_quota(backend: str, tmp_path: Path) -> None:
    """Figures by hand: speech borrows 3 of v5e above its 16, and vision, with 6 of 8 idle, lends all of them."""
    labels = 'flavor="v5e",resource="google.com/tpu"'
    values = {
        f'kueue_cluster_queue_nominal_quota{{cluster_queue="vision-train",{labels}}}': "8x30",
        f'kueue_cluster_queue_resource_usage{{cluster_queue="vision-train",{labels}}}': "2x30",
        f'kueue_cluster_queue_nominal_quota{{cluster_queue="speech-train",{labels}}}': "16x30",
        f'kueue_cluster_queue_resource_usage{{cluster_queue="speech-train",{labels}}}': "19x30",
    }
    wanted = {
        "vision": {"used": 2, "guaranteed": 8, "borrowed": 0, "idle": 6, "lent": 3},
        "speech": {"used": 19, "guaranteed": 16, "borrowed": 3, "idle": 0, "lent": 0},
    }
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": as_sent(s, backend), "values": v} for s, v in values.items()],
            "promql_expr_test": [
                {
                    "expr": f'berth:team:{figure}{{team="{team}"}}',
                    "eval_time": "10m",
                    "exp_samples": [{"labels": f'berth:team:{figure}{{team="{team}",{labels}}}', "value": value}],
                }
                for team, figures in wanted.items()
                for figure, value in figures.items()
            ],
        }
    ]
    rules = rule_groups(planned(backend))
    if backend == MANAGED:  # Managed Prometheus adds the cluster to what its rules record
        for rule in rules["groups"][0]["rules"]:  # type: ignore[index]
            rule["expr"] = re.sub(r'(berth:[a-z_:]+)\{cluster="[^"]*",?', r"\1{", rule["expr"])
    done = run_promtool(tmp_path, rules, tests)
    assert done.returncode == 0, done.stdout + done.stderr


GPU = 'make="nvidia",model="l4",accelerator_id="0",node_name="a"'
PANEL_SERIES: dict[str, dict[str, str]] = {
    MANAGED: {
        'kubernetes_io:node_cpu_allocatable_cores{node_name="a"}': "8x119",
        'kubernetes_io:node_cpu_allocatable_cores{node_name="b"}': "8x119",
        'kubernetes_io:node_memory_allocatable_bytes{node_name="a"}': "200x119",
        'kubernetes_io:container_cpu_request_cores{namespace_name="team-a",pod_name="running"}': "4x119",
        'kubernetes_io:container_memory_request_bytes{namespace_name="team-a",pod_name="running"}': "30x119",
        'kubernetes_io:node_status_condition{node_name="a",condition="DiskPressure",status="True"}': "1x119",
        'kubernetes_io:node_status_condition{node_name="a",condition="DiskPressure",status="False"}': "0x119",
        'kubernetes_io:node_status_condition{node_name="a",condition="PIDPressure",status="True"}': "0x119",
        'kubernetes_io:node_status_condition{node_name="a",condition="PIDPressure",status="False"}': "1x119",
        'kubernetes_io:node_status_condition{node_name="a",condition="Ready",status="True"}': "1x119",
        f"kubernetes_io:node_accelerator_duty_cycle{{{GPU}}}": "100x29 0x89",
        f"kubernetes_io:node_accelerator_memory_used{{{GPU}}}": "10x59 30x59",
        f"kubernetes_io:node_accelerator_memory_total{{{GPU}}}": "40x119",
    },
    IN_CLUSTER: {
        **{f'kube_node_status_allocatable{{node="{node}",resource="cpu"}}': "8x119" for node in "ab"},
        **{f'kube_node_status_allocatable{{node="{node}",resource="memory"}}': "100x119" for node in "ab"},
        'kube_pod_container_resource_requests{namespace="team-a",pod="running",node="a",resource="cpu"}': "4x119",
        'kube_pod_container_resource_requests{namespace="team-a",pod="running",node="a",resource="memory"}': "30x119",
        'kube_pod_container_resource_requests{namespace="team-a",pod="ended",node="a",resource="cpu"}': "4x119",
        'kube_pod_container_resource_requests{namespace="team-a",pod="waiting",resource="cpu"}': "8x119",
        'kube_pod_status_phase{namespace="team-a",pod="running",phase="Running"}': "1x119",
        'kube_pod_status_phase{namespace="team-a",pod="ended",phase="Running"}': "0x119",
        'kube_pod_status_phase{namespace="team-a",pod="ended",phase="Succeeded"}': "1x119",
        'kube_pod_status_phase{namespace="team-a",pod="waiting",phase="Pending"}': "1x119",
        'kube_node_spec_unschedulable{node="a"}': "1x119",
        'kube_node_spec_unschedulable{node="b"}': "0x119",
        'kube_node_status_condition{node="a",condition="DiskPressure",status="true"}': "1x119",
        'kube_node_status_condition{node="b",condition="DiskPressure",status="true"}': "0x119",
        'kube_node_status_condition{node="b",condition="DiskPressure",status="false"}': "1x119",
        'kube_node_status_condition{node="a",condition="PIDPressure",status="true"}': "0x119",
        'kube_node_status_condition{node="a",condition="Ready",status="true"}': "1x119",
    },
}
PODS_OF_BOTH = {
    **{f'kube_pod_status_unschedulable{{namespace="team-a",pod="p{n}"}}': "1x119" for n in (1, 2)},
    'DCGM_FI_DEV_GPU_UTIL{Hostname="a",gpu="0",pod="first"}': "100x29 _x90",
    'DCGM_FI_DEV_GPU_UTIL{Hostname="a",gpu="0",pod="second"}': "_x30 0x89",
    'DCGM_FI_DEV_FB_USED{Hostname="a",gpu="0"}': "10x59 30x59",
    'DCGM_FI_DEV_FB_FREE{Hostname="a",gpu="0"}': "90x59 70x59",
}
"""Two hours, a sample a minute; two pods share the GPU one after the other, for 30 and for 90 minutes."""

DCGM_LABELS = '{Hostname="a", gpu="0"}'
GPU_LABELS = f'{{{GPU},cluster_name="{{cluster}}",monitored_resource="k8s_node"}}'
FIGURES: dict[str, dict[str, dict[str, float]]] = {
    "Unschedulable pods by namespace": {"{{namespace}}": {'{namespace="team-a"}': 2}},
    "Cordoned nodes": {"cordoned": {"{}": 1}},
    "Nodes under disk, memory or PID pressure": {
        "{{condition}}": {'{condition="DiskPressure"}': 1, '{condition="PIDPressure"}': 0}
    },
    "CPU and memory requested, of allocatable": {"CPU": {"{}": 25}, "memory": {"{}": 15}},
    "Idlest GPUs, average of 24 hours": {"{{node_name}} {{accelerator_id}}": {GPU_LABELS: 25}},
    "Fullest GPUs, average of 24 hours": {"{{node_name}} {{accelerator_id}}": {GPU_LABELS: 50}},
    "Most memory used, average of 24 hours": {"{{node_name}} {{accelerator_id}}": {GPU_LABELS: 20}},
    "Idlest GPUs, average of 24 hours (DCGM)": {"{{Hostname}} {{gpu}}": {DCGM_LABELS: 25}},
    "Fullest GPUs, average of 24 hours (DCGM)": {"{{Hostname}} {{gpu}}": {DCGM_LABELS: 20}},
    "Most framebuffer used, average of 24 hours (DCGM)": {"{{Hostname}} {{gpu}}": {DCGM_LABELS: 20}},
}
"""By hand: 4 of 16 CPUs, 30 of 200 bytes; 30 minutes at 100 % of 120; 60 minutes with 10 and 60 with 30."""


def panel_tests(backend: str) -> list[dict[str, Any]]:
    """The series of both and of a backend, and the figures that each of its panels with figures shows of them."""
    shown = {
        panel.title: panel.queries
        for board in planned(backend).dashboards
        for section in board.sections
        for panel in section.panels
    }
    series = {**PANEL_SERIES[backend], **PODS_OF_BOTH}
    return [
        {
            "interval": "1m",
            "input_series": [{"series": as_sent(each, backend), "values": values} for each, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": shown[title][legend],
                    "eval_time": "119m",
                    "exp_samples": [
                        {"labels": labels.replace("{cluster}", cluster_of(MANAGED)), "value": value}
                        for labels, value in samples.items()
                    ],
                }
                for title, queries in FIGURES.items()
                if title in shown
                for legend, samples in queries.items()
            ],
        }
    ]


def test_every_panel_with_figures_is_shown_by_the_backends_that_have_its_metrics() -> None:
    """11 queries: without GKE's metric of cordoned nodes, and in the cluster without the three of its GPUs."""
    counts = {backend: len(panel_tests(backend)[0]["promql_expr_test"]) for backend in BACKENDS}
    assert counts == {MANAGED: 10, IN_CLUSTER: 8}


@needs_promtool
@pytest.mark.parametrize("backend", BACKENDS)
def test_panels_show_the_figures_that_follow_from_the_series(backend: str, tmp_path: Path) -> None:
    done = run_promtool(tmp_path, {"groups": []}, panel_tests(backend))
    assert done.returncode == 0, done.stdout + done.stderr
