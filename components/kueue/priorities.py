"""Priorities, for the pod scheduler and for Kueue."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.kueue import priority_class, workload_priority_class
from berth.plan.kueue import PriorityPlan

from ..kubernetes import KubernetesObject, cluster_options


class Priorities(pulumi.ComponentResource):
    """A PriorityClass and a WorkloadPriorityClass with equal name and value for every priority.

    Only the latter depends on Kueue. A new value replaces the PriorityClass, which is immutable; running pods keep
    their value.
    """

    def __init__(
        self,
        name: str,
        plan: Sequence[PriorityPlan],
        *,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Priorities", name, None, opts)
        pod_options = cluster_options(self, cluster=cluster)
        kueue_options = cluster_options(self, cluster=cluster, served_by=served_by)
        for priority in plan:
            KubernetesObject(f"{name}-pod-{priority.name}", priority_class(priority), opts=pod_options)
            KubernetesObject(f"{name}-workload-{priority.name}", workload_priority_class(priority), opts=kueue_options)
        self.register_outputs({"priorities": {priority.name: priority.value for priority in plan}})
