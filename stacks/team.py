"""Composition of a team's own stack: files and workloads, on the cluster of its platform's stack."""

from __future__ import annotations

from typing import Any

import pulumi

from berth import outputs
from berth.plan.team_stack import TeamStackPlan
from components.workloads.files import Files
from components.workloads.workload import Workload
from stacks import kubeconfigs
from stacks.scope import Scope


def build_team_stack(plan: TeamStackPlan) -> dict[str, Any]:
    """Register everything in the plan at the root of the program, and return what the stack exports."""
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{plan.platform}"
    platform = pulumi.StackReference("platform", stack)
    # Of an existing cluster the platform may export none: the client finds its own, and the context in it.
    kubeconfig = (
        platform.get_output(outputs.KUBECONFIG_OUTPUT)
        if plan.context
        else kubeconfigs.exported_kubeconfig(platform, stack)
    )
    namespace = compose_team_stack(plan, Scope(kubeconfig=kubeconfig), platform.get_output(outputs.FLEET_OUTPUT))
    return {"team": {"name": plan.team, "namespace": namespace, "workloads": sorted(plan.workloads)}}


def compose_team_stack(
    plan: TeamStackPlan, scope: Scope, platform_output: pulumi.Output[Any] | None
) -> pulumi.Output[str]:
    """Register everything in the plan, below the parent of the scope if it has one; return the live namespace.

    `platform_output` is the output `fleet` of the platform: nothing is created until it agrees with the plan. With None
    nothing is compared.
    """
    provider = scope.existing_cluster_provider(plan.cluster_identifier, plan.context)

    def require_agreement(live: object) -> str:
        if disagreement := outputs.output_mismatch(live, plan):
            raise pulumi.RunError(disagreement)
        return plan.namespace

    namespace = (
        pulumi.Output.from_input(plan.namespace)
        if platform_output is None
        else platform_output.apply(require_agreement)
    )
    opts = scope.options(provider)
    files = Files(f"{scope.prefix}files", plan, namespace=namespace, opts=opts)
    for key, workload in plan.workloads.items():
        Workload(f"{scope.prefix}{key}", workload, namespace=namespace, served_by=files.objects, opts=opts)
    return namespace
