"""Objects that collect metrics and raise alerts in a cluster, as plain dicts.

PodMonitoring and ClusterRules belong to Managed Prometheus (monitoring.googleapis.com/v1); ServiceMonitor, PodMonitor
and PrometheusRule to the operator (monitoring.coreos.com/v1). Kueue serves its metrics over HTTPS with its own
certificate and requires the token of an account with permission to read them (Kueue docs, "Prometheus").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from berth.manifests.grafana import grafana_dashboard_json
from berth.names import berth_labels
from berth.plan.kueue import KUEUE_NAMESPACE
from berth.plan.monitoring import PROMETHEUS_NAMESPACE, AlertPlan, BackendPlan, MonitoringPlan

Manifest = dict[str, object]

MANAGED_API: Final = "monitoring.googleapis.com/v1"
OPERATOR_API: Final = "monitoring.coreos.com/v1"
RBAC_API: Final = "rbac.authorization.k8s.io/v1"

READER: Final = "berth-kueue-metrics"
"""Name of the account whose token reads Kueue's metrics, and of its objects."""
_COLLECTORS = tuple(
    {"kind": "ServiceAccount", "name": "collector", "namespace": namespace}
    for namespace in ("gke-gmp-system", "gmp-system")
)
"""Accounts of Managed Prometheus's collectors on Autopilot and on Standard (GKE docs: managed collection)."""
_PROMETHEUS = "kube-prometheus-stack-prometheus"
"""Account of the chart's Prometheus, for a release named like the chart."""
_CONTROLLER = {"matchLabels": {"control-plane": "controller-manager"}}
_METRICS_PORT = 8443
_INTERVAL = "30s"
_EXPORTERS: Final[dict[str, tuple[str, str, dict[str, str], dict[str, object]]]] = {
    "gpu": (
        "berth-dcgm",
        "gke-managed-system",
        {"app.kubernetes.io/name": "gke-managed-dcgm-exporter"},
        {"port": "metrics"},
    ),
    "tpu": ("berth-tpu", "kube-system", {"k8s-app": "tpu-device-plugin"}, {"portNumber": 2112}),
}
"""Exporters that GKE runs: name of the monitor, namespace, labels of the pods, port."""


def monitoring_manifests(plan: MonitoringPlan, stack: str) -> Iterator[Manifest]:
    """Yield all objects of a cluster, in the order to apply them."""
    if plan.managed is not None:
        yield from managed_prometheus(plan.managed)
    readers: list[dict[str, str]] = []
    if plan.managed is not None:
        readers.append({"kind": "ServiceAccount", "name": READER, "namespace": KUEUE_NAMESPACE})
    if plan.in_cluster is not None:
        readers.append({"kind": "ServiceAccount", "name": _PROMETHEUS, "namespace": PROMETHEUS_NAMESPACE})
    yield reader_binding(*readers)
    if plan.in_cluster is not None:
        yield from operator_prometheus(plan.in_cluster, plan.collects, stack)


def managed_prometheus(plan: BackendPlan) -> Iterator[Manifest]:
    """Yield what Managed Prometheus needs: account, token, access to it, PodMonitoring of Kueue, recording rules."""
    namespace = KUEUE_NAMESPACE
    yield _object("v1", "ServiceAccount", READER, namespace)
    yield reader_token_secret()
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [READER], "verbs": ["get", "list", "watch"]}
    yield _object(RBAC_API, "Role", READER, namespace) | {"rules": [rule]}
    yield _object(RBAC_API, "RoleBinding", READER, namespace) | {
        "roleRef": _role("Role", READER),
        "subjects": [*_COLLECTORS],
    }
    endpoint = {
        "port": _METRICS_PORT,
        "path": "/metrics",
        "scheme": "https",
        "interval": _INTERVAL,
        "tls": {"insecureSkipVerify": True},
        "authorization": {"type": "Bearer", "credentials": {"secret": {"name": READER, "key": "token"}}},
    }
    spec = {"selector": _CONTROLLER, "endpoints": [endpoint]}
    yield _object(MANAGED_API, "PodMonitoring", "berth-kueue", namespace) | {"spec": spec}
    if plan.recordings:
        yield _object(MANAGED_API, "ClusterRules", "berth", None) | {"spec": {"groups": [recording_group(plan)]}}


def reader_token_secret() -> Manifest:
    """Return the Secret that Kubernetes fills with the reader's token."""
    manifest = _object("v1", "Secret", READER, KUEUE_NAMESPACE)
    manifest["metadata"] = {
        **_metadata(READER, KUEUE_NAMESPACE),
        "annotations": {"kubernetes.io/service-account.name": READER},
    }
    return manifest | {"type": "kubernetes.io/service-account-token"}


def reader_binding(*subjects: dict[str, str]) -> Manifest:
    """Return a binding that lets accounts read Kueue's metrics, with the role in Kueue's chart."""
    return _object(RBAC_API, "ClusterRoleBinding", READER) | {
        "roleRef": _role("ClusterRole", "kueue-metrics-reader"),
        "subjects": [*subjects],
    }


def operator_prometheus(plan: BackendPlan, collects: Sequence[str], stack: str) -> Iterator[Manifest]:
    """Yield the objects for an in-cluster Prometheus and Grafana: targets, rules, dashboards."""
    endpoint = {
        "port": "https",
        "path": "/metrics",
        "scheme": "https",
        "interval": _INTERVAL,
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": {"insecureSkipVerify": True},
    }
    kueue = {
        "selector": _CONTROLLER,
        "namespaceSelector": {"matchNames": [KUEUE_NAMESPACE]},
        "endpoints": [endpoint],
    }
    yield _object(OPERATOR_API, "ServiceMonitor", "berth-kueue", PROMETHEUS_NAMESPACE) | {"spec": kueue}
    for exporter in collects:
        yield _pod_monitor(*_EXPORTERS[exporter])
    if plan.alerts or plan.recordings:
        yield prometheus_rule(plan)
    for each in plan.dashboards:
        name = f"berth-{each.key}"
        manifest = _object("v1", "ConfigMap", name, PROMETHEUS_NAMESPACE)
        manifest["metadata"] = _metadata(name, PROMETHEUS_NAMESPACE, {"grafana_dashboard": "1"})
        yield manifest | {"data": {f"{name}.json": grafana_dashboard_json(each, stack)}}


def _pod_monitor(name: str, namespace: str, labels: dict[str, str], port: dict[str, object]) -> Manifest:
    """Return the collection of an exporter; labels of its own (namespace, pod) name the workload, and are kept."""
    spec = {
        "selector": {"matchLabels": labels},
        "namespaceSelector": {"matchNames": [namespace]},
        "podMetricsEndpoints": [{**port, "interval": _INTERVAL, "honorLabels": True}],
    }
    return _object(OPERATOR_API, "PodMonitor", name, PROMETHEUS_NAMESPACE) | {"spec": spec}


def prometheus_rule(plan: BackendPlan) -> Manifest:
    """Return the recording rules and alerts for the operator's Prometheus."""
    manifest = _object(OPERATOR_API, "PrometheusRule", "berth", PROMETHEUS_NAMESPACE)
    return manifest | {"spec": rule_groups(plan)}


def rule_groups(plan: BackendPlan) -> Manifest:
    """Return recording and alerting rules in the format of Prometheus rule files."""
    groups = [recording_group(plan)] if plan.recordings else []
    if plan.alerts:
        groups.append({"name": "berth", "rules": [_alerting_rule(alert) for alert in plan.alerts]})
    return {"groups": groups}


def recording_group(plan: BackendPlan) -> Manifest:
    """Return the recording rules as one group: a rule sees the results of the rules before it."""
    rules = [
        {"record": each.name, "expr": each.query} | ({"labels": dict(each.labels)} if each.labels else {})
        for each in plan.recordings
    ]
    return {"name": "berth-recordings", "interval": "60s", "rules": rules}


def _alerting_rule(plan: AlertPlan) -> Manifest:
    series = ", ".join(f"{label} {{{{ $labels.{label} }}}}" for label in plan.by)
    return {
        "alert": "Berth" + "".join(word.capitalize() for word in plan.key.split("-")),
        "expr": plan.query,
        "for": f"{plan.seconds}s",
        "labels": {"severity": plan.severity},
        "annotations": {
            "summary": f"{plan.title}: {series}" if series else plan.title,
            "description": f"{plan.meaning} {plan.remedy}",
        },
    }


def _role(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def _object(api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": _metadata(name, namespace)}


def _metadata(name: str, namespace: str | None, labels: dict[str, str] | None = None) -> Manifest:
    metadata: Manifest = {"name": name, "labels": {**berth_labels(), **(labels or {})}}
    return metadata if namespace is None else metadata | {"namespace": namespace}
