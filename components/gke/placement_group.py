"""Machines close to each other, for node pools that GKE makes."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from components.plan.capacity import PlacementGroupPlan


class PlacementGroup(pulumi.ComponentResource):
    """A Compute Engine resource policy with a group placement.

    Owns the policy; does not own the machines in it, nor the ComputeClasses and workloads that name it. Pools of our
    own need none: COMPACT alone has GKE make one for each.
    """

    def __init__(
        self,
        name: str,
        plan: PlacementGroupPlan,
        *,
        gcp_provider: gcp.Provider,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:PlacementGroup", name, None, opts)
        policy = gcp.compute.ResourcePolicy(
            f"{name}-policy",
            name=plan.name,
            region=plan.region,
            group_placement_policy=gcp.compute.ResourcePolicyGroupPlacementPolicyArgs(
                collocation="COLLOCATED", max_distance=plan.max_distance
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                provider=gcp_provider,
                delete_before_replace=True,  # the name is fixed
                depends_on=[*depends_on],
            ),
        )
        self.policy_name: pulumi.Output[str] = policy.name
        self.register_outputs({"policyName": self.policy_name})
