"""Plan monitoring: the dashboards and alerts that apply to the fleet, for its monitoring backend."""

from __future__ import annotations

from collections.abc import Sequence

from berth.diagnostics import did_you_mean, format_value
from berth.monitoring.dashboards import (
    AlertThreshold,
    MonitoredFleet,
    alert_keys,
    build_alerts,
    build_dashboards,
    has_limit,
)
from berth.monitoring.metrics import IN_CLUSTER, MANAGED
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import ChartPlan, ClusterQueuePlan, FlavorPlan
from berth.plan.monitoring import PROMETHEUS_NAMESPACE, MonitoringPlan
from berth.plan.teams import TeamPlan
from berth.planner.cluster.gke import cluster_name
from berth.planner.context import PlanningContext

PROMETHEUS_RELEASE = ("88.4.0", "oci://ghcr.io/prometheus-community/charts/kube-prometheus-stack", PROMETHEUS_NAMESPACE)
"""Release, chart and namespace of kube-prometheus-stack (Prometheus operator and Grafana)."""
PROMETHEUS_CHART = "kube-prometheus-stack"
_TPU, _GPU = "google.com/tpu", "nvidia.com/gpu"


def monitoring(
    context: PlanningContext,
    pools: Sequence[PoolPlan],
    flavors: Sequence[FlavorPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
) -> MonitoringPlan | None:
    """Return the monitoring of the fleet; None if it is off."""
    spec, backend = context.spec.monitoring, _backend(context)
    thresholds = _alert_thresholds(context)
    if backend == "none":
        return None
    in_cluster = backend == IN_CLUSTER
    features = _features(pools, queues)
    watched = MonitoredFleet(
        cluster=cluster_name(context),
        backend=backend,
        features=features,
        settings=frozenset({"queueResources"} if context.spec.kueue.metrics.enable_cluster_queue_resources else ()),
    )
    return MonitoringPlan(
        backend=backend,
        dashboards=build_dashboards(watched, flavors, queues, teams) if spec.dashboards else (),
        alerts=build_alerts(watched, thresholds) if spec.alerts is not None else (),
        channels=tuple(sorted(set(spec.notification_channels))),
        charts=(_prometheus_chart(context),) if in_cluster else (),
        collects_gpus=in_cluster and "gpu" in features,
    )


def _features(pools: Sequence[PoolPlan], queues: Sequence[ClusterQueuePlan]) -> frozenset[str]:
    used = {"gpu": any(p.resource == _GPU for p in pools), "tpu": any(p.resource == _TPU for p in pools)}
    used["multi-host"] = any((p.hosts_per_slice or 1) > 1 for p in pools)
    used["queued"] = any(queue.admission_checks for queue in queues)
    return frozenset(name for name, is_used in used.items() if is_used)


def _alert_thresholds(context: PlanningContext) -> dict[str, AlertThreshold]:
    known_keys = alert_keys()
    thresholds: dict[str, AlertThreshold] = {}
    for key, spec in sorted((context.spec.monitoring.alerts or {}).items()):
        path = ("monitoring", "alerts", key)
        if key not in known_keys:
            hint = did_you_mean(key, known_keys) or f"; write one of {', '.join(known_keys)}"
            context.problems.fault("unknown-reference", path, f"no alert '{format_value(key)}'{hint}")
        elif spec.limit is not None and not has_limit(key):
            message = f"'{spec.limit:g}' has no effect, because this alert fires if a metric is absent; remove limit"
            context.problems.fault("bad-value", (*path, "limit"), message)
        else:
            thresholds[key] = AlertThreshold(spec.enabled, spec.limit, spec.lasts)
    return thresholds


def _backend(context: PlanningContext) -> str:
    """Return the backend and report settings of another; an existing cluster has none unless it is written."""
    spec = context.spec.monitoring
    backend = "none" if context.only_connects and "backend" not in spec.model_fields_set else spec.backend
    if spec.notification_channels and backend != MANAGED:
        remedy = "remove them" if context.only_connects else "remove them, or write managed"
        message = f"channels need Cloud Monitoring, but the backend is {backend}; {remedy}"
        context.problems.fault("wrong-backend", ("monitoring", "notificationChannels"), message)
    if backend != IN_CLUSTER and (spec.prometheus.version or spec.prometheus.chart):
        message = f"the backend {backend} installs no Prometheus; remove prometheus, or write backend: in-cluster"
        context.problems.fault("wrong-backend", ("monitoring", "prometheus"), message)
    return backend


def _prometheus_chart(context: PlanningContext) -> ChartPlan:
    """Return the chart. Its Grafana generates its own password into a Secret, which Berth never sees."""
    spec, (version, chart, namespace) = context.spec.monitoring.prometheus, PROMETHEUS_RELEASE
    all_monitors = {
        "serviceMonitorSelectorNilUsesHelmValues": False,
        "podMonitorSelectorNilUsesHelmValues": False,
        "ruleSelectorNilUsesHelmValues": False,
    }
    return ChartPlan(
        name=PROMETHEUS_CHART,
        chart=spec.chart or chart,
        version=spec.version or version,
        namespace=namespace,
        values={
            "grafana": {"adminPassword": "", "sidecar": {"dashboards": {"label": "grafana_dashboard"}}},
            "prometheus": {"prometheusSpec": all_monitors},
        },
    )
