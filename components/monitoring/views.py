"""Dashboards and alert policies of Cloud Monitoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_gcp as gcp

from berth.manifests.cloud_monitoring import managed_dashboard_json
from berth.plan.monitoring import AlertPlan, BackendPlan

_EVALUATION = "30s"
"""Evaluation interval of alerts: the minimum of Cloud Monitoring, and a divisor of every duration."""
_CLOSED_AFTER = "86400s"


class Views(pulumi.ComponentResource):
    """Dashboards and alert policies of the plan. Does not own the notification channels that they refer to.

    Cloud Monitoring does not know a metric before its first sample, so metric names are not validated.
    """

    def __init__(
        self,
        name: str,
        plan: BackendPlan,
        *,
        stack: str,
        project: str,
        labels: Mapping[str, str],
        channels: Sequence[str] = (),
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:monitoring:Views", name, None, opts)
        options = pulumi.ResourceOptions(parent=self, depends_on=list(depends_on) or None)
        for each in plan.dashboards:
            gcp.monitoring.Dashboard(
                f"{name}-{each.key}-dashboard",
                dashboard_json=managed_dashboard_json(each, stack),
                project=project,
                opts=options,
            )
        for alert in plan.alerts:
            _alert_policy(f"{name}-{alert.key}-alert", alert, channels, stack, project, labels, options)
        self.register_outputs(
            {
                "dashboards": [each.key for each in plan.dashboards],
                "alerts": [each.key for each in plan.alerts],
            }
        )


def _alert_policy(
    name: str,
    plan: AlertPlan,
    channels: Sequence[str],
    stack: str,
    project: str,
    labels: Mapping[str, str],
    options: pulumi.ResourceOptions,
) -> None:
    gcp.monitoring.AlertPolicy(
        name,
        display_name=f"{stack}: {plan.title}",
        project=project,
        combiner="OR",
        severity=plan.severity.upper(),
        conditions=[
            gcp.monitoring.AlertPolicyConditionArgs(
                display_name=plan.title,
                condition_prometheus_query_language=gcp.monitoring.AlertPolicyConditionConditionPrometheusQueryLanguageArgs(
                    query=plan.query,
                    duration=f"{plan.seconds}s",
                    evaluation_interval=_EVALUATION,
                    disable_metric_validation=True,
                ),
            )
        ],
        alert_strategy=gcp.monitoring.AlertPolicyAlertStrategyArgs(auto_close=_CLOSED_AFTER),
        documentation=gcp.monitoring.AlertPolicyDocumentationArgs(
            content=f"{plan.meaning}\n\n{plan.remedy}", mime_type="text/markdown"
        ),
        notification_channels=list(channels),
        user_labels={**labels, "alert": plan.key},
        opts=options,
    )
