"""Names, kinds and labels of metrics against the lists that their sources publish (tests/vendored/metrics)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berth.monitoring.metrics import Metric, metrics_by_name, monitoring_table
from tests.stack_files import ROOT

LISTS = ROOT / "tests" / "vendored" / "metrics"
KUEUE = "kueue-0.19.2"
DCGM = "dcgm-exporter-4.5.3-4.8.2"
STATE = "kube-state-metrics-2.20.0"


def rows(name: str) -> dict[str, list[str]]:
    """Name to the other columns of a list."""
    lines = (LISTS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {first: rest for first, *rest in cells}


def of_source(*sources: str) -> Iterator[tuple[str, Metric]]:
    """The metrics of the table that come from these sources."""
    for name, row in monitoring_table("metrics")["metrics"].items():
        if row["from"] in sources:
            yield name, metrics_by_name()[name]


def labels_of(name: str) -> set[str]:
    """The labels that the table gives a metric itself, without those of its source."""
    return set(monitoring_table("metrics")["metrics"][name].get("labels", ()))


def google() -> dict[str, tuple[str, str, set[str]]]:
    """Metrics of Google by their PromQL name: resource, kind, labels."""
    spelled: dict[str, tuple[str, str, set[str]]] = {}
    for kind_of_metric, (resource, kind, labels, _) in rows("gke-system").items():
        domain, _, path = kind_of_metric.partition("/")
        promql = f"{domain.replace('.', '_')}:{path.replace('/', '_')}"
        if domain == "prometheus.googleapis.com":
            promql = path.split("/")[0]
        spelled[promql] = resource, kind, set(labels.split(",")) - {""}
    return spelled


def test_metrics_of_kueue_are_those_of_its_release() -> None:
    published = rows(KUEUE)
    for name, metric in of_source("kueue"):
        kind, labels = published[name]
        assert metric.kind == kind
        assert labels_of(name) <= set(labels.split(",")), name


def test_metrics_of_gpus_are_published_by_the_exporter_or_collected_by_gke() -> None:
    published, by_gke = rows(DCGM), google()
    for name, metric in of_source("dcgm"):
        kind, switch = published.get(name, ["", ""])
        assert switch == "default" or name in by_gke, f"{name} is off by default, and GKE does not collect it"
        assert metric.kind == (kind or by_gke[name][1])


def test_metrics_of_kube_state_metrics_are_those_of_its_release() -> None:
    published = rows(STATE)
    for name, metric in of_source("kube-state-metrics", "pod-state"):
        kind, labels = published[name]
        assert metric.kind == kind
        converted = {"label_NODE_LABEL"} & set(labels.split(","))
        unknown = labels_of(name) - set(labels.split(","))
        assert all(label.startswith("label_") for label in unknown) and (converted or not unknown), name


def test_metrics_of_tpus_in_the_cluster_are_those_that_the_plugin_was_seen_to_send() -> None:
    published = rows("tpu-device-plugin")
    for name, metric in of_source("tpu-device-plugin"):
        assert [metric.kind, *published[name][1:]] == published[name]
        assert metric.labels <= set(published[name][1].split(","))


@pytest.mark.parametrize(
    ("source", "resource"),
    [
        ("node", "k8s_node"),
        ("node-pool", "k8s_node_pool"),
        ("container", "k8s_container"),
        ("entity", "k8s_entity"),
        ("quota", "compute.googleapis.com/Location"),
        ("jobset", "prometheus_target"),
        ("pod-state", "prometheus_target"),
    ],
)
def test_metrics_of_google_have_the_published_resource_kind_and_labels(source: str, resource: str) -> None:
    published = google()
    checked = 0
    for name, metric in of_source(source):
        assert published[name][:2] == (resource, f"sampled-{metric.kind}" if metric.sampled else metric.kind), name
        assert labels_of(name) <= published[name][2], name
        checked += 1
    assert checked


def test_every_source_of_the_table_is_compared() -> None:
    compared = {"kueue", "dcgm", "kube-state-metrics", "tpu-device-plugin", "node", "node-pool", "container", "entity"}
    own = {"berth", "custom-resource-state"}
    assert set(monitoring_table("metrics")["sources"]) == compared | {"quota", "jobset", "pod-state"} | own
    recorded = {row["record"] for row in monitoring_table("recordings")}
    constants = {"berth:queue:info", "berth:accelerator:price_per_hour"}
    assert {name for name, _ in of_source("berth")} == recorded | constants
