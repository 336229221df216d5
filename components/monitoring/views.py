"""Dashboards and alert policies of Cloud Monitoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.monitoring import alert_policy, dashboard
from berth.parts.views import plan_views
from berth.plan.monitoring import BackendPlan

from ..arguments.views import ViewsArgs
from ..options import resource_options


class Views(pulumi.ComponentResource):
    """Dashboards and alert policies, of arguments or of the plan of a fleet, which has its name, project and labels.

    Does not own the notification channels that they refer to.
    """

    def __init__(
        self,
        name: str,
        args: ViewsArgs | BackendPlan,
        *,
        stack: str = "",
        project: str = "",
        labels: Mapping[str, str] | None = None,
        channels: pulumi.Input[Sequence[pulumi.Input[str]]] = (),
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:monitoring:Views", name, None, opts)
        args = ViewsArgs.of(args, name)
        plan: BackendPlan
        if isinstance(args, ViewsArgs):
            given, part = args.planned(self, name, plan_views)
            plan, labels = part.managed, part.labels
            stack, project = given.plain["cluster"], given.plain["project"]
            channels = given.live.get("notificationChannels", ())
        else:
            plan = args
        for each in plan.dashboards:
            made = dashboard(each, stack=stack, project=project)
            gcp.monitoring.Dashboard(
                f"{name}-{each.key}-dashboard", **made.arguments, opts=resource_options(made, self, depends_on)
            )
        for alert in plan.alerts:
            made = alert_policy(alert, stack=stack, project=project, labels=labels or {}, channels=())
            arguments = {**made.arguments, "notification_channels": channels}
            gcp.monitoring.AlertPolicy(
                f"{name}-{alert.key}-alert", **arguments, opts=resource_options(made, self, depends_on)
            )
        self.register_outputs(
            {"dashboards": [each.key for each in plan.dashboards], "alerts": [each.key for each in plan.alerts]}
        )
