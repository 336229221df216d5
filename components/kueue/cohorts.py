"""Kueue's cohorts. Queues refer to them by name, in any order of creation."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.kueue import cohort
from berth.plan.kueue import CohortPlan

from ..kubernetes import KubernetesObject, cluster_options


class Cohorts(pulumi.ComponentResource):
    """Every Cohort of the fleet. Kueue links children and parents once both exist."""

    def __init__(
        self,
        name: str,
        plan: Sequence[CohortPlan],
        *,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Cohorts", name, None, opts)
        options = cluster_options(self, cluster=cluster, served_by=served_by)
        for each in plan:
            KubernetesObject(f"{name}-{each.name}", cohort(each), opts=options)
        self.register_outputs({"cohorts": [each.name for each in plan]})
