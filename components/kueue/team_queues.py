"""Cluster queues and the teams' doors to them. Does not own the namespaces the doors stand in, nor the flavors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from berth.manifests.kueue import cluster_queue, local_queue
from berth.plan.kueue import ClusterQueuePlan
from components.kubernetes import KubernetesObject, cluster_options


class TeamQueues(pulumi.ComponentResource):
    """Every ClusterQueue of a cluster with its LocalQueues, each named after its queue, with a worker's `prefix`.

    One component holds them all: a component is a resource too, and one for each queue would be a third of what queues
    cost. `namespaces` maps a namespace's name to the Namespace's own output, which makes a local queue wait for it; one
    that is not in it exists already. `flavors` and `checks` are objects by name: Kueue lets none go that a queue names,
    and the engine deletes in the order of waiting, so a queue waits for its own. Local queues come after it and go
    before it.
    """

    def __init__(
        self,
        name: str,
        plan: Sequence[ClusterQueuePlan],
        *,
        prefix: str = "",
        provider: pulumi.ProviderResource,
        namespaces: Mapping[str, pulumi.Input[str]] | None = None,
        flavors: Mapping[str, pulumi.Resource] | None = None,
        checks: Mapping[str, pulumi.Resource] | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:TeamQueues", name, None, opts)
        for each in plan:
            references = [flavors[f.flavor] for f in each.flavors if flavors and f.flavor in flavors]
            references += [checks[c.name] for c in each.admission_checks if checks and c.name in checks]
            options = cluster_options(self, provider=provider, cluster=cluster, served_by=[*served_by, *references])
            queue_options = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(protect=each.protect))
            queue = KubernetesObject(f"{prefix}{each.name}-cluster-queue", cluster_queue(each), opts=queue_options)
            local_queue_options = cluster_options(self, provider=provider, cluster=cluster, served_by=[queue])
            for local_queue_plan in each.local_queues:
                live = {
                    "metadata": {
                        "namespace": (namespaces or {}).get(local_queue_plan.namespace, local_queue_plan.namespace)
                    }
                }
                # The word in between keeps `a` in namespace `b-c` apart from `a-b` in `c`.
                resource_name = f"{prefix}{each.name}-local-queue/{local_queue_plan.namespace}/{local_queue_plan.name}"
                KubernetesObject(resource_name, local_queue(local_queue_plan), live=live, opts=local_queue_options)
        self.register_outputs({"clusterQueues": [each.name for each in plan]})
