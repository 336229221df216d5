"""Dashboards and alert policies of Cloud Monitoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.monitoring import alert_policy, dashboard
from berth.plan.monitoring import BackendPlan

from ..options import resource_options


class Views(pulumi.ComponentResource):
    """Dashboards and alert policies of the plan. Does not own the notification channels that they refer to."""

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
        for each in plan.dashboards:
            made = dashboard(each, stack=stack, project=project)
            gcp.monitoring.Dashboard(
                f"{name}-{each.key}-dashboard", **made.arguments, opts=resource_options(made, self, depends_on)
            )
        for alert in plan.alerts:
            made = alert_policy(alert, stack=stack, project=project, labels=labels, channels=channels)
            gcp.monitoring.AlertPolicy(
                f"{name}-{alert.key}-alert", **made.arguments, opts=resource_options(made, self, depends_on)
            )
        self.register_outputs(
            {
                "dashboards": [each.key for each in plan.dashboards],
                "alerts": [each.key for each in plan.alerts],
            }
        )
