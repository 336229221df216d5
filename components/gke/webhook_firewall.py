"""The firewall rule by which the control plane reaches webhooks on the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import WebhookFirewallPlan


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
        self.rule = gcp.compute.Firewall(
            f"{name}-rule",
            name=plan.name,
            network=network,
            direction="INGRESS",
            description="The control plane of the cluster reaches the webhooks of its controllers",
            source_ranges=[plan.source_range],
            target_service_accounts=[node_service_account],
            allows=[gcp.compute.FirewallAllowArgs(protocol="tcp", ports=[str(port) for port in sorted(plan.ports)])],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*depends_on]),
        )
        self.register_outputs({"rule": self.rule.name})
