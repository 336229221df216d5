"""Dashboards and alert policies of Cloud Monitoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.manifests.cloud_monitoring import managed_dashboard_json
from berth.plan.monitoring import AlertPlan, DashboardPlan
from berth.registration import Registration

_EVALUATION = "30s"
"""Evaluation interval of alerts: the minimum of Cloud Monitoring, and a divisor of every duration."""
_CLOSED_AFTER = "86400s"


def dashboard(plan: DashboardPlan, *, stack: str, project: str) -> Registration:
    """Return a dashboard, whose content is JSON text."""
    return Registration(
        type="gcp:monitoring/dashboard:Dashboard",
        arguments={"dashboard_json": managed_dashboard_json(plan, stack), "project": project},
    )


def alert_policy(
    plan: AlertPlan, *, stack: str, project: str, labels: Mapping[str, str], channels: Sequence[str]
) -> Registration:
    """Return an alert policy that notifies `channels`; `labels` are those of everything in the fleet.

    Cloud Monitoring does not know a metric before its first sample, so metric names are not validated.
    """
    condition = {
        "query": plan.query,
        "duration": f"{plan.seconds}s",
        "evaluation_interval": _EVALUATION,
        "disable_metric_validation": True,
    }
    return Registration(
        type="gcp:monitoring/alertPolicy:AlertPolicy",
        arguments={
            "display_name": f"{stack}: {plan.title}",
            "project": project,
            "combiner": "OR",
            "severity": plan.severity.upper(),
            "conditions": [{"display_name": plan.title, "condition_prometheus_query_language": condition}],
            "alert_strategy": {"auto_close": _CLOSED_AFTER},
            "documentation": {"content": f"{plan.meaning}\n\n{plan.remedy}", "mime_type": "text/markdown"},
            "notification_channels": [*channels],
            "user_labels": {**labels, "alert": plan.key},
        },
    )
