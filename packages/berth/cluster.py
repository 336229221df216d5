"""A GKE cluster as one component, without machines for accelerators and without queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from berth.parts.cluster import plan_cluster_with_machines
from berth.plan.gke import ClusterPlan
from packages.berth.arguments import read_arguments, refuse, warn
from packages.berth.scopes import scope_below
from stacks.machines import create_machines


class Cluster(pulumi.ComponentResource):
    """A cluster with its VPC, its node service account, and a node pool for controllers."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("Cluster", args)
        part = plan_cluster_with_machines(name, arguments.plain, arguments.problems)
        refuse(arguments, name, part.problems)
        plan = part.plan
        assert isinstance(plan.cluster, ClusterPlan)
        super().__init__("berth:index:Cluster", name, None, opts)
        warn(self, part.problems)
        scope = scope_below(self, name, arguments)
        in_google_cloud = scope.options(scope.google_provider(plan.project, plan.region), project=plan.project)
        created = create_machines(plan, plan.cluster, scope.prefix, in_google_cloud, {})
        cluster = created.cluster
        self.outputs: Mapping[str, pulumi.Input[Any]] = {
            "name": cluster.cluster_name,
            "location": cluster.location,
            "endpoint": cluster.endpoint,
            "kubeconfig": pulumi.Output.secret(cluster.kubeconfig),
            "nodeServiceAccount": created.node_service_account,
        }
        self.register_outputs(dict(self.outputs))
