"""How the fleet is watched: the dashboards and alerts that say something about it, for the backend it has."""

from __future__ import annotations

from collections.abc import Sequence

from berth.diagnostics import near_miss, shown
from berth.monitoring.dashboards import Threshold, Watched, alert_keys, alerts, dashboards, has_limit
from berth.monitoring.metrics import IN_CLUSTER, MANAGED
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import ChartPlan, ClusterQueuePlan, FlavorPlan
from berth.plan.monitoring import MonitoringPlan
from berth.plan.teams import TeamPlan
from berth.planner.cluster.controllers import KUEUE
from berth.planner.cluster.gke import cluster_name
from berth.planner.context import Draft

PROMETHEUS = ("88.4.0", "oci://ghcr.io/prometheus-community/charts/kube-prometheus-stack", "monitoring")
"""Release, chart and namespace of the operator's Prometheus with its Grafana."""
NAME = "kube-prometheus-stack"
_TPU, _GPU = "google.com/tpu", "nvidia.com/gpu"


def monitoring(
    draft: Draft,
    pools: Sequence[PoolPlan],
    flavors: Sequence[FlavorPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
) -> MonitoringPlan | None:
    """What is watched of the fleet; None where nothing is."""
    spec, backend = draft.spec.monitoring, _backend(draft)
    thresholds = _thresholds(draft)
    if backend == "none":
        return None
    own = backend == IN_CLUSTER
    features = _features(pools, queues)
    watched = Watched(
        cluster=cluster_name(draft),
        backend=backend,
        features=features,
        settings=frozenset({"queueResources"} if draft.spec.kueue.metrics.enable_cluster_queue_resources else ()),
    )
    return MonitoringPlan(
        backend=backend,
        dashboards=dashboards(watched, flavors, queues, teams) if spec.dashboards else (),
        alerts=alerts(watched, thresholds) if spec.alerts is not None else (),
        channels=tuple(sorted(set(spec.notification_channels))),
        kueue_namespace=KUEUE[2],
        namespace=PROMETHEUS[2],
        charts=(_chart(draft),) if own else (),
        collects_gpus=own and "gpu" in features,
    )


def _features(pools: Sequence[PoolPlan], queues: Sequence[ClusterQueuePlan]) -> frozenset[str]:
    found = {"gpu": any(p.resource == _GPU for p in pools), "tpu": any(p.resource == _TPU for p in pools)}
    found["multi-host"] = any((p.hosts_per_slice or 1) > 1 for p in pools)
    found["queued"] = any(queue.admission_checks for queue in queues)
    return frozenset(name for name, there in found.items() if there)


def _thresholds(draft: Draft) -> dict[str, Threshold]:
    known = alert_keys()
    found: dict[str, Threshold] = {}
    for key, spec in sorted((draft.spec.monitoring.alerts or {}).items()):
        path = ("monitoring", "alerts", key)
        if key not in known:
            hint = near_miss(key, known) or f"; one of {', '.join(known)}"
            draft.problems.fault("unknown-reference", path, f"no alert '{shown(key)}'{hint}")
        elif spec.limit is not None and not has_limit(key):
            message = f"'{spec.limit:g}': this alert has no limit, it fires when something is absent; leave limit out"
            draft.problems.fault("bad-value", (*path, "limit"), message)
        else:
            found[key] = Threshold(spec.enabled, spec.limit, spec.lasts)
    return found


def _backend(draft: Draft) -> str:
    """The backend, which what is written has to fit; an existing cluster has none unless it is written."""
    spec = draft.spec.monitoring
    backend = "none" if draft.existing and "backend" not in spec.model_fields_set else spec.backend
    if spec.notification_channels and backend != MANAGED:
        remedy = "leave them out" if draft.existing else "leave them out, or write managed"
        message = f"channels are Cloud Monitoring's, and the backend is {backend}; {remedy}"
        draft.problems.fault("wrong-backend", ("monitoring", "notificationChannels"), message)
    if backend != IN_CLUSTER and (spec.prometheus.version or spec.prometheus.chart):
        message = f"the backend is {backend}, which installs no Prometheus; leave it out, or write in-cluster"
        draft.problems.fault("wrong-backend", ("monitoring", "prometheus"), message)
    return backend


def _chart(draft: Draft) -> ChartPlan:
    """The operator's chart. Its Grafana makes itself a password and keeps it in a secret: it is said to none here."""
    spec, (version, chart, namespace) = draft.spec.monitoring.prometheus, PROMETHEUS
    everything = {
        "serviceMonitorSelectorNilUsesHelmValues": False,
        "podMonitorSelectorNilUsesHelmValues": False,
        "ruleSelectorNilUsesHelmValues": False,
    }
    return ChartPlan(
        name=NAME,
        chart=spec.chart or chart,
        version=spec.version or version,
        namespace=namespace,
        values={
            "grafana": {"adminPassword": "", "sidecar": {"dashboards": {"label": "grafana_dashboard"}}},
            "prometheus": {"prometheusSpec": everything},
        },
    )
