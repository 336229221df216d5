"""Priorities, for the pod scheduler and for Kueue."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.kueue import priority_class, workload_priority_class
from berth.parts.queues import plan_priority_classes
from berth.plan.kueue import PriorityPlan

from ..arguments.priorities import PrioritiesArgs
from ..kubernetes import KubernetesObject, cluster_options


class Priorities(pulumi.ComponentResource):
    """A PriorityClass and a WorkloadPriorityClass with equal name and value for every priority.

    Only the latter depends on Kueue. A new value replaces the PriorityClass, which is immutable; running pods keep
    their value. A fleet passes the plans of its priorities in the place of arguments.
    """

    def __init__(
        self,
        name: str,
        args: PrioritiesArgs | Sequence[PriorityPlan],
        *,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Priorities", name, None, opts)
        args = PrioritiesArgs.of(args, name)
        if isinstance(args, PrioritiesArgs):
            _, part = args.planned(self, name, plan_priority_classes)
            plan = part.plan
        else:
            plan = args
        pod_options = cluster_options(self, cluster=cluster)
        kueue_options = cluster_options(self, cluster=cluster, served_by=served_by)
        for priority in plan:
            KubernetesObject(f"{name}-pod-{priority.name}", priority_class(priority), opts=pod_options)
            KubernetesObject(f"{name}-workload-{priority.name}", workload_priority_class(priority), opts=kueue_options)
        self.register_outputs({"priorities": {priority.name: priority.value for priority in plan}})
