"""Workload policies: how accelerators of several nodes are wired to each other."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.node_pool import workload_policy
from berth.plan.capacity import WorkloadPolicyPlan

from ..options import resource_options


class WorkloadPolicy(pulumi.ComponentResource):
    """A Compute Engine resource policy with a workload policy, to which the placement of node pools refers.

    Owns the policy; does not own the pools, which share it if their topology is equal. They use the name output, so
    that they are created after it and deleted before it (Google refuses to delete a policy in use).
    """

    def __init__(
        self,
        name: str,
        plan: WorkloadPolicyPlan,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:WorkloadPolicy", name, None, opts)
        made = workload_policy(plan)
        policy = gcp.compute.ResourcePolicy(
            f"{name}-policy", **made.arguments, opts=resource_options(made, self, depends_on)
        )
        self.policy_name: pulumi.Output[str] = policy.name
        self.register_outputs({"policyName": self.policy_name})
