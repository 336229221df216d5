"""The firewall rule by which the control plane reaches webhooks on the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.network import webhook_firewall
from berth.plan.gke import WebhookFirewallPlan

from ..options import resource_options


class WebhookFirewall(pulumi.ComponentResource):
    """Lets the control plane's range reach ports of the nodes, which are selected by their service account.

    Owns the rule; does not own GKE's own rules for the cluster. Controllers with webhooks wait for `rule`.
    """

    def __init__(
        self,
        name: str,
        plan: WebhookFirewallPlan,
        *,
        network: pulumi.Input[str],
        node_service_account: pulumi.Input[str],
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:WebhookFirewall", name, None, opts)
        made = webhook_firewall(plan, network=network, node_service_account=node_service_account)
        self.rule = gcp.compute.Firewall(
            f"{name}-rule", **made.arguments, opts=resource_options(made, self, depends_on)
        )
        self.register_outputs({"rule": self.rule.name})
