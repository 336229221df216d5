"""The ports of controllers that the control plane calls, and the firewall rule that lets it."""

from __future__ import annotations

from berth.names import MAX_COMPUTE_NAME, shorten
from berth.plan.gke import WebhookFirewallPlan
from berth.planner.cluster.vpc import NETWORK_PATH
from berth.planner.context import PlanningContext

_KUEUE_PORTS = (8082, 9443)
"""Kueue's API of pending workloads, and its webhooks (chart of Kueue 0.19.2: visibility service, webhook service)."""
_JOBSET_PORTS = (9443,)
"""JobSet's webhooks (chart of JobSet 0.12.0)."""


def webhook_firewall_plan(context: PlanningContext, cluster: str) -> WebhookFirewallPlan | None:
    """The rule for a control plane with a range of its own; None where GKE needs none, or nothing is called.

    In a VPC that somebody else made the rule is a note. GKE's own rule for such a control plane has ports 443 and 10250
    (GKE docs: firewall rules of private clusters).
    """
    spec = context.spec.cluster
    ports = _called_ports(context)
    if not spec.private_nodes or not ports:
        return None
    source_range = spec.control_plane.cidr_block
    if spec.network.existing is not None:
        shown = ", ".join(map(str, ports))
        context.problems.note(
            "webhook-firewall",
            (*NETWORK_PATH, "existing"),
            f"'{spec.network.existing}' needs a firewall rule that lets {source_range} reach TCP {shown} of the "
            "nodes; without it calls to the webhooks of Kueue and JobSet time out",
        )
        return None
    return WebhookFirewallPlan(
        name=shorten(f"{cluster}-webhooks", MAX_COMPUTE_NAME), source_range=source_range, ports=ports
    )


def report_called_ports(context: PlanningContext) -> None:
    """Note the firewall rule that an existing GKE cluster needs for the controllers that Berth installs in it."""
    spec, ports = context.spec.cluster, _called_ports(context)
    if spec.existing is None or spec.mode != "standard" or not spec.private_nodes or not ports:
        return
    context.problems.note(
        "webhook-firewall",
        ("cluster", "existing"),
        f"'{spec.existing.name}' needs a firewall rule that lets its control plane reach TCP "
        f"{', '.join(map(str, ports))} of the nodes, if gcloud container clusters describe shows a "
        "privateClusterConfig.masterIpv4CidrBlock; without it calls to the webhooks of Kueue and JobSet time out",
    )


def _called_ports(context: PlanningContext) -> tuple[int, ...]:
    """The ports of the controllers that Berth installs."""
    kueue = () if context.spec.kueue.existing else _KUEUE_PORTS
    jobset = () if context.spec.jobset.existing else _JOBSET_PORTS
    return tuple(sorted({*kueue, *jobset}))
