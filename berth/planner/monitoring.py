"""Plan monitoring: the dashboards and alerts that apply to the fleet, for its monitoring backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.diagnostics import did_you_mean, format_value, join_words
from berth.monitoring.dashboards import (
    AlertThreshold,
    MonitoredFleet,
    alert_keys,
    build_alerts,
    build_dashboards,
    build_recordings,
    has_limit,
    panel_values,
)
from berth.monitoring.metrics import IN_CLUSTER, MANAGED, price_constants, queue_constants
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import ChartPlan, ClusterQueuePlan, CohortPlan, FlavorPlan
from berth.plan.monitoring import PROMETHEUS_NAMESPACE, BackendPlan, MonitoringPlan
from berth.plan.teams import TeamPlan
from berth.planner.cluster.gke import cluster_name
from berth.planner.context import PlanningContext

PROMETHEUS_RELEASE = ("88.4.0", "oci://ghcr.io/prometheus-community/charts/kube-prometheus-stack", PROMETHEUS_NAMESPACE)
"""Release, chart and namespace of kube-prometheus-stack (Prometheus operator and Grafana)."""
PROMETHEUS_CHART = "kube-prometheus-stack"
_NODE_LABELS = ("cloud.google.com/gke-nodepool", "cloud.google.com/gke-tpu-topology")
_REQUESTS = {"group": "autoscaling.x-k8s.io", "version": "v1", "kind": "ProvisioningRequest"}
_REASONS_GATE = "UnadmittedWorkloadsObservability"
"""Feature gate of Kueue 0.19 (beta, off) that counts workloads by the reason why they wait."""
_TPU, _GPU = "google.com/tpu", "nvidia.com/gpu"


def monitoring(
    context: PlanningContext,
    pools: Sequence[PoolPlan],
    flavors: Sequence[FlavorPlan],
    cohorts: Sequence[CohortPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
) -> MonitoringPlan | None:
    """Return the monitoring of the fleet; None if it is off."""
    spec, backends = context.spec.monitoring, _backends(context)
    prices = _prices(context, flavors)
    thresholds = _alert_thresholds(context)
    if not backends:
        return None
    used = {
        "gpu": any(each.resource == _GPU for each in pools),
        "tpu": any(each.resource == _TPU for each in pools),
        "multi-host": any((each.hosts_per_slice or 1) > 1 for each in pools),
        "queued": any(each.admission_checks for each in queues),
        "prices": prices,
    }
    features = frozenset(name for name, is_used in used.items() if is_used)
    currency = spec.prices.currency if spec.prices is not None else ""
    values = panel_values(flavors, queues, teams, pools, currency)
    constants = (*queue_constants(queues, cohorts), *price_constants(prices, currency))

    def plan_backend(name: str) -> BackendPlan:
        fleet = MonitoredFleet(
            cluster=cluster_name(context), backend=name, features=features, settings=_settings(context, features)
        )
        return BackendPlan(
            name=name,
            dashboards=build_dashboards(fleet, values) if spec.dashboards else (),
            alerts=build_alerts(fleet, thresholds) if spec.alerts is not None else (),
            recordings=build_recordings(fleet, constants) if spec.dashboards else (),
        )

    in_cluster = IN_CLUSTER in backends
    return MonitoringPlan(
        managed=plan_backend(MANAGED) if MANAGED in backends else None,
        in_cluster=plan_backend(IN_CLUSTER) if in_cluster else None,
        channels=tuple(sorted(set(spec.notification_channels))),
        charts=(_prometheus_chart(context, features),) if in_cluster else (),
        collects=tuple(sorted(features & {"gpu", "tpu"})) if in_cluster else (),
    )


def _settings(context: PlanningContext, features: frozenset[str]) -> frozenset[str]:
    """Return the settings that metrics of the table need, as far as they are on."""
    kueue = context.spec.kueue
    settings = {"queueResources"} if kueue.metrics.enable_cluster_queue_resources else set[str]()
    if kueue.feature_gates.get(_REASONS_GATE):
        settings.add("unadmittedReasons")
    if "prices" in features and settings:
        settings.add("prices")
    return frozenset(settings)


def _prices(context: PlanningContext, flavors: Sequence[FlavorPlan]) -> Mapping[str, float]:
    """Return the prices of the stack file, and report those of unknown flavors."""
    spec, known = context.spec.monitoring.prices, [flavor.name for flavor in flavors]
    if spec is None:
        return {}
    for name in spec.hourly:
        if name not in known and not context.is_set_aside("flavors", name):
            listed = f"write one of {', '.join(sorted(known))}" if known else "there is none"
            hint = did_you_mean(name, known) or f"; {listed}"
            path = ("monitoring", "prices", "hourly", name)
            context.problems.fault("unknown-reference", path, f"no flavor '{format_value(name)}'{hint}")
    return {name: price for name, price in spec.hourly.items() if name in known}


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


def _backends(context: PlanningContext) -> frozenset[str]:
    """Return the backends, and report settings of others."""
    spec = context.spec.monitoring
    if spec.backend is not None and "backends" in spec.model_fields_set:
        context.problems.fault(
            "bad-value", ("monitoring", "backend"), f"'{spec.backend}' and backends are both written; remove backend"
        )
    backends = context.monitoring_backends
    shown = join_words(sorted(backends)) or "none"
    if any(context.is_set_aside("monitoring", key) for key in ("backend", "backends")):
        return backends
    if spec.notification_channels and MANAGED not in backends:
        remedy = "remove them" if context.only_connects else "remove them, or add managed to backends"
        message = f"channels need Cloud Monitoring, but the backend is {shown}; {remedy}"
        context.problems.fault("wrong-backend", ("monitoring", "notificationChannels"), message)
    if IN_CLUSTER not in backends and (spec.prometheus.version or spec.prometheus.chart):
        message = f"the backend {shown} installs no Prometheus; remove prometheus, or add in-cluster to backends"
        context.problems.fault("wrong-backend", ("monitoring", "prometheus"), message)
    return backends


def _prometheus_chart(context: PlanningContext, features: frozenset[str]) -> ChartPlan:
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
            "kube-state-metrics": _state_metrics("queued" in features),
        },
    )


def _state_metrics(queued: bool) -> dict[str, Any]:
    """Return values of kube-state-metrics: the node labels that panels use, and conditions of ProvisioningRequests."""
    values: dict[str, Any] = {"metricLabelsAllowlist": [f"nodes=[{','.join(_NODE_LABELS)}]"]}
    if queued:
        rule = {"apiGroups": [_REQUESTS["group"]], "resources": ["provisioningrequests"], "verbs": ["list", "watch"]}
        values["rbac"] = {"extraRules": [rule]}
        values["customResourceState"] = {"enabled": True, "config": provisioning_states()}
    return values


def provisioning_states() -> dict[str, Any]:
    """Return kube-state-metrics' configuration of `kube_provisioningrequest_condition`: 1 where a condition is true."""
    condition = {
        "path": ["status", "conditions"],
        "labelsFromPath": {"condition": ["type"]},
        "valueFrom": ["status"],
    }
    resource = {
        "groupVersionKind": dict(_REQUESTS),
        "metricNamePrefix": "kube_provisioningrequest",
        "labelsFromPath": {"namespace": ["metadata", "namespace"], "name": ["metadata", "name"]},
        "metrics": [
            {
                "name": "condition",
                "help": "Conditions of a ProvisioningRequest: 1 if true, 0 if false.",
                "each": {"type": "Gauge", "gauge": condition},
            }
        ],
    }
    return {"kind": "CustomResourceStateMetrics", "spec": {"resources": [resource]}}
