"""A pool of accelerator machines in any GKE cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from berth.plan.gke import NodePoolPlan
from components.gke.node_pool import NodePool as GkeNodePool
from components.gke.node_pool import live_labels, planned_node_pool
from components.gke.workload_policy import WorkloadPolicy
from packages.berth.arguments import read_arguments, refuse, warn
from packages.berth.scopes import scope_below


class NodePool(pulumi.ComponentResource):
    """TPU slices or GPU nodes of one kind: a node pool, or one for each slice of several hosts."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("NodePool", args)
        part = planned_node_pool(name, arguments.given)
        refuse(arguments, name, part.problems)
        super().__init__("berth:index:NodePool", name, None, opts)
        warn(self, part.problems)
        scope, project = scope_below(self, name, arguments), arguments.plain.get("project")
        opts_of_parts = scope.options(scope.google_provider(project, part.region), project=project)
        policies = {
            each.name: WorkloadPolicy(f"{name}-{each.key}", each, opts=opts_of_parts).policy_name
            for each in part.policies
        }

        def create(each: NodePoolPlan) -> pulumi.Output[str]:
            return GkeNodePool(
                f"{name}-{each.key}",
                each,
                cluster=arguments.live["cluster"],
                location=arguments.live.get("location", part.region),
                service_account=arguments.live.get("nodeServiceAccount"),
                reservation=arguments.live.get("reservation"),
                placement_policy=policies.get(each.placement.policy or "") if each.placement else None,
                boot_disk_key=arguments.live.get("bootDiskKmsKey"),
                opts=opts_of_parts,
            ).pool_names[0]

        self.outputs: Mapping[str, pulumi.Input[Any]] = {
            "nodePools": [create(each) for each in part.node_pools],
            "nodeLabels": live_labels(part, arguments.live.get("reservation")),
        }
        self.register_outputs(dict(self.outputs))
