"""What a team's own stack is made of: its files and its workloads, on a cluster that its platform's stack made."""

from __future__ import annotations

from typing import Any

import pulumi

from berth import outputs
from berth.plan.team_stack import TeamStackPlan
from components.kubernetes import cluster_provider
from components.workloads.files import Files
from components.workloads.workload import Workload
from stacks import kubeconfigs


def build(plan: TeamStackPlan) -> dict[str, Any]:
    """Register everything in the plan, and return what the stack exports."""
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{plan.platform}"
    platform = pulumi.StackReference("platform", stack)
    provider = cluster_provider(
        "kubernetes",
        # Of an existing cluster the platform may export none: the client finds its own, and the context in it.
        kubeconfig=platform.get_output(outputs.KUBECONFIG_OUTPUT)
        if plan.context
        else kubeconfigs.exported_kubeconfig(platform, stack),
        context=plan.context,
        cluster_identifier=plan.cluster_identifier,
    )

    def require_agreement(live: object) -> str:
        if disagreement := outputs.output_mismatch(live, plan):
            raise pulumi.RunError(disagreement)
        return plan.namespace

    namespace = platform.get_output(outputs.FLEET_OUTPUT).apply(require_agreement)
    opts = pulumi.ResourceOptions(providers=[provider])
    files = Files("files", plan, namespace=namespace, opts=opts)
    for key, workload in plan.workloads.items():
        Workload(key, workload, namespace=namespace, served_by=files.objects, opts=opts)
    return {"team": {"name": plan.team, "namespace": namespace, "workloads": sorted(plan.workloads)}}
