"""The VPC of a cluster, if Berth creates it."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import NetworkPlan


class Network(pulumi.ComponentResource):
    """A VPC with one subnet for nodes, pods and services, and NAT if the plan has it.

    Owns these and nothing on them: the cluster, its firewall rules and the control plane's range are GKE's. `network`
    and `subnetwork` are their ids, `nat_address` the address that NAT uses, where the plan reserves one.
    """

    def __init__(
        self,
        name: str,
        plan: NetworkPlan,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Network", name, None, opts)
        vpc = gcp.compute.Network(
            f"{name}-vpc",
            name=plan.name,
            auto_create_subnetworks=False,
            routing_mode="GLOBAL",
            mtu=plan.mtu,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*depends_on]),
        )
        self.network: pulumi.Output[str] = vpc.id
        self.subnetwork: pulumi.Output[str] = self._subnetwork(name, plan).id
        self.nat_address: pulumi.Output[str] | None = None
        if plan.nat:
            self._nat(name, plan)
        self.register_outputs({"network": self.network, "subnetwork": self.subnetwork})

    def _subnetwork(self, name: str, plan: NetworkPlan) -> gcp.compute.Subnetwork:
        ranges = ((plan.pod_range_name, plan.pod_range), (plan.service_range_name, plan.service_range))
        return gcp.compute.Subnetwork(
            f"{name}-subnet",
            name=plan.name,
            region=plan.region,
            network=self.network,
            ip_cidr_range=plan.node_range,
            private_ip_google_access=True,
            secondary_ip_ranges=[
                gcp.compute.SubnetworkSecondaryIpRangeArgs(range_name=range_name, ip_cidr_range=cidr)
                for range_name, cidr in ranges
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _nat(self, name: str, plan: NetworkPlan) -> None:
        router = gcp.compute.Router(
            f"{name}-router",
            name=plan.name,
            region=plan.region,
            network=self.network,
            opts=pulumi.ResourceOptions(parent=self),
        )
        addresses = self._nat_addresses(name, plan)
        gcp.compute.RouterNat(
            f"{name}-nat",
            name=plan.name,
            region=plan.region,
            router=router.name,
            nat_ip_allocate_option="MANUAL_ONLY" if addresses else "AUTO_ONLY",
            nat_ips=addresses or None,
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            log_config=gcp.compute.RouterNatLogConfigArgs(enable=True, filter="ERRORS_ONLY"),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _nat_addresses(self, name: str, plan: NetworkPlan) -> list[pulumi.Output[str]]:
        """The reserved address of NAT, if any: it stays the same, so that others can authorize it."""
        if plan.nat_address is None:
            return []
        address = gcp.compute.Address(
            f"{name}-nat-address",
            name=plan.nat_address,
            region=plan.region,
            address_type="EXTERNAL",
            description="NAT of this network; MultiKueue workers authorize it",
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.nat_address = address.address
        return [address.self_link]
