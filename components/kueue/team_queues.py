"""Cluster queues and the local queues of teams. Does not own the namespaces of local queues, or the flavors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from berth.manifests.kueue import NAMESPACE_LABEL, cluster_queue, local_queue
from berth.parts.queues import plan_queues
from berth.plan.kueue import ClusterQueuePlan

from ..arguments.team_queues import TeamQueuesArgs
from ..kubernetes import KubernetesObject, cluster_options


class TeamQueues(pulumi.ComponentResource):
    """The ClusterQueues of a team, as its arguments say, with their LocalQueues.

    `cluster_queues` and `local_queues` are their names. A fleet passes the plans of all its queues instead: a component
    is a resource too, and one per queue would add a third to their cost. Names of resources start with `prefix`, by
    default the component's name and a dash. `namespaces` maps the name of a namespace to the Namespace's output, on
    which its local queues depend; other namespaces already exist. `namespace` is the one of all queues, whatever the
    plans call it: local queues are in it, and cluster queues admit from it. `flavors` and `checks` map name → object: a
    queue depends on those that it uses, because Kueue does not delete them before the queue. Local queues are created
    after their cluster queue and deleted before it.
    """

    def __init__(
        self,
        name: str,
        args: TeamQueuesArgs | Sequence[ClusterQueuePlan],
        *,
        prefix: str | None = None,
        namespaces: Mapping[str, pulumi.Input[str]] | None = None,
        namespace: pulumi.Input[str] | None = None,
        flavors: Mapping[str, pulumi.Resource] | None = None,
        checks: Mapping[str, pulumi.Resource] | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:TeamQueues", name, None, opts)
        args = TeamQueuesArgs.of(args, name)
        plan = self._planned(name, args) if isinstance(args, TeamQueuesArgs) else args
        self._cluster, self._namespaces = cluster, namespaces or {}
        self._namespace = args.given(name).live.get("namespace") if isinstance(args, TeamQueuesArgs) else namespace
        names = f"{name}-" if prefix is None else prefix
        for each in plan:
            references = [
                *((flavors or {}).get(entry.flavor) for entry in each.flavors),
                *((checks or {}).get(check.name) for check in each.admission_checks),
            ]
            known = [reference for reference in references if reference is not None]
            queue = self._cluster_queue(f"{names}{each.name}", each, [*served_by, *known])
            self._local_queues(f"{names}{each.name}", each, queue)
        self.cluster_queues = [each.name for each in plan]
        self.local_queues = sorted({local.name for each in plan for local in each.local_queues})
        self.register_outputs({"clusterQueues": [each.name for each in plan]})

    def _planned(self, name: str, args: TeamQueuesArgs) -> Sequence[ClusterQueuePlan]:
        _, part = args.planned(self, name, plan_queues)
        return part.cluster_queues

    def _cluster_queue(
        self, name: str, plan: ClusterQueuePlan, served_by: Sequence[pulumi.Resource]
    ) -> KubernetesObject:
        options = cluster_options(self, cluster=self._cluster, served_by=served_by)
        options.protect = plan.protect or None  # None is the protection of the component
        is_elsewhere = self._namespace is not None and plan.namespaces is not None
        selector = {"matchLabels": {NAMESPACE_LABEL: self._namespace}}
        live = {"spec": {"namespaceSelector": selector}} if is_elsewhere else None
        return KubernetesObject(f"{name}-cluster-queue", cluster_queue(plan), live=live, opts=options)

    def _local_queues(self, name: str, plan: ClusterQueuePlan, queue: KubernetesObject) -> None:
        options = cluster_options(self, cluster=self._cluster, served_by=[queue])
        for each in plan.local_queues:
            namespace = self._namespace
            if namespace is None:
                namespace = self._namespaces.get(each.namespace, each.namespace)
            live = {"metadata": {"namespace": namespace}}
            # The separator distinguishes `a` in namespace `b-c` from `a-b` in `c`.
            resource_name = f"{name}-local-queue/{each.namespace}/{each.name}"
            KubernetesObject(resource_name, local_queue(each), live=live, opts=options)
