"""Node pools of a Standard cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_gcp as gcp

from berth import catalog
from berth.google.node_pool import node_pool, workload_policy
from berth.parts.node_pool import NodePoolPart, plan_node_pool
from berth.plan.gke import NodePoolPlan

from ..arguments.base import GivenArguments
from ..arguments.node_pool import NodePoolArgs
from ..options import resource_options


class NodePool(pulumi.ComponentResource):
    """The node pools of a pool as its arguments say: one, or one for each slice of several hosts.

    Owns the node pools and their placement policy. Does not own their reservation or networks, which are deleted after
    them, or the number of nodes if it is autoscaled. `pool_names` are the names in GKE, `pool_name` the first of them
    (None without slices), `node_labels` those by which a ResourceFlavor selects the nodes.

    A fleet passes the plan of one node pool instead of arguments. What it knows of the cluster, and live names of
    resources of the same program (`reservation`, `placement_policy`, and `interfaces` as network and subnetwork in the
    plan's order), come beside it.
    """

    def __init__(
        self,
        name: str,
        args: NodePoolArgs | NodePoolPlan,
        *,
        cluster: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        service_account: pulumi.Input[str] | None = None,
        reservation: pulumi.Input[str] | None = None,
        placement_policy: pulumi.Input[str] | None = None,
        boot_disk_key: pulumi.Input[str] | None = None,
        interfaces: Sequence[tuple[pulumi.Input[str], pulumi.Input[str]]] = (),
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:NodePool", name, None, opts)
        args = NodePoolArgs.of(args, name)
        pools: Mapping[str, NodePoolPlan] = {"pool": args} if isinstance(args, NodePoolPlan) else {}
        in_project: Mapping[str, Any] = {}
        self.node_labels: Mapping[str, pulumi.Input[str]] = {}
        if isinstance(args, NodePoolArgs):
            given = args.given(name)
            part = planned_node_pool(name, given)
            args.check(self, name, part.problems)
            cluster, reservation = given.live["cluster"], given.live.get("reservation")
            location, service_account = given.live.get("location", part.region), given.live.get("nodeServiceAccount")
            in_project = {"project": given.live["project"]} if "project" in given.live else {}
            boot_disk_key = given.live.get("bootDiskKmsKey")
            pools = {f"{each.key}-pool".removeprefix(f"{part.key}-"): each for each in part.node_pools}
            for policy in part.policies:
                made = workload_policy(policy)
                placement_policy = gcp.compute.ResourcePolicy(
                    f"{name}-policy", **made.arguments, **in_project, opts=resource_options(made, self, depends_on)
                ).name
            self.node_labels = live_labels(part, reservation)
        names: list[pulumi.Output[str]] = []
        for role, plan in pools.items():
            made = node_pool(
                plan,
                cluster=cluster,
                location=location,
                service_account=service_account,
                reservation=reservation,
                placement_policy=placement_policy,
                interfaces=interfaces,
                boot_disk_key=boot_disk_key,
            )
            pool = gcp.container.NodePool(
                f"{name}-{role}", **made.arguments, **in_project, opts=resource_options(made, self, depends_on)
            )
            names.append(pool.name)
        self.pool_names: Sequence[pulumi.Output[str]] = names
        self.pool_name: pulumi.Output[str] | None = names[0] if names else None
        self.register_outputs({"poolName": self.pool_name})


def planned_node_pool(name: str, given: GivenArguments) -> NodePoolPart:
    """Plan a pool as its arguments say; what is an output stays open."""
    return plan_node_pool(
        name,
        given.plain,
        given.problems,
        located="location" in given.live,
        location=given.known("location"),
        reserved="reservation" in given.live,
        reservation=given.known("reservation"),
    )


def live_labels(part: NodePoolPart, reservation: pulumi.Input[str] | None) -> Mapping[str, pulumi.Input[str]]:
    """Return the labels by which a flavor selects the nodes, with the live name of their reservation."""
    return (
        part.node_labels
        if reservation is None
        else {**part.node_labels, catalog.labels().reservation_name: reservation}
    )
