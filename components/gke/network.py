"""The VPC of a cluster, if Berth creates it."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.network import nat, nat_address, router, subnetwork, vpc
from berth.parts.cluster import plan_network
from berth.plan.gke import NetworkPlan

from ..arguments.network import NetworkArgs
from ..options import resource_options


class Network(pulumi.ComponentResource):
    """A VPC with one subnet for nodes, pods and services, and NAT unless its arguments have none.

    Owns these and nothing on them: the cluster, its firewall rules and the control plane's range are GKE's. `network`
    and `subnetwork` are their ids, `nat_address` the address that NAT uses, where the plan reserves one. A fleet passes
    its plan instead of arguments.
    """

    def __init__(
        self,
        name: str,
        args: NetworkArgs | NetworkPlan,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Network", name, None, opts)
        args = NetworkArgs.of(args, name)
        plan = args if isinstance(args, NetworkPlan) else self._planned(name, args)
        vpc_made = vpc(plan)
        created = gcp.compute.Network(
            f"{name}-vpc", **vpc_made.arguments, opts=resource_options(vpc_made, self, depends_on)
        )
        self.network: pulumi.Output[str] = created.id
        subnet = subnetwork(plan, self.network)
        self.subnetwork: pulumi.Output[str] = gcp.compute.Subnetwork(
            f"{name}-subnet", **subnet.arguments, opts=resource_options(subnet, self)
        ).id
        self.nat_address: pulumi.Output[str] | None = None
        if plan.nat:
            self._nat(name, plan)
        self.register_outputs({"network": self.network, "subnetwork": self.subnetwork})

    def _planned(self, name: str, args: NetworkArgs) -> NetworkPlan:
        _, part = args.planned(self, name, plan_network)
        assert part.plan is not None
        return part.plan

    def _nat(self, name: str, plan: NetworkPlan) -> None:
        made = router(plan, self.network)
        nat_router = gcp.compute.Router(f"{name}-router", **made.arguments, opts=resource_options(made, self))
        addresses: list[pulumi.Output[str]] = []
        if (reserved := nat_address(plan)) is not None:
            address = gcp.compute.Address(
                f"{name}-nat-address", **reserved.arguments, opts=resource_options(reserved, self)
            )
            self.nat_address = address.address
            addresses = [address.self_link]
        made = nat(plan, nat_router.name, addresses)
        gcp.compute.RouterNat(f"{name}-nat", **made.arguments, opts=resource_options(made, self))
