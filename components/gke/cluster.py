"""The GKE cluster."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.cluster import cluster
from berth.parts.cluster import plan_cluster
from berth.plan.gke import ClusterPlan, NetworkPlan

from ..arguments.cluster import ClusterArgs
from ..gke.kubeconfig import kubeconfig
from ..options import resource_options


class Cluster(pulumi.ComponentResource):
    """A regional GKE cluster, Standard or Autopilot, as its arguments say.

    Owns the cluster with its control plane, add-ons and node defaults. Does not own its network, its nodes' service
    account or node pools: the initial pool that GKE requires is removed at once. `kubeconfig` contains no credentials.

    A fleet passes its plan instead of arguments, and beside it what other resources of the program know.
    `manager_address` is that of a MultiKueue manager's NAT, for a plan with `manager_access`.
    """

    def __init__(
        self,
        name: str,
        args: ClusterArgs | ClusterPlan,
        *,
        network: pulumi.Input[str] | None = None,
        subnetwork: pulumi.Input[str] | None = None,
        node_service_account: pulumi.Input[str] | None = None,
        manager_address: pulumi.Input[str] | None = None,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Cluster", name, None, opts)
        args = ClusterArgs.of(args, name)
        boot_disk_key: pulumi.Input[str] | None = None
        plan, ranges = (args, None) if isinstance(args, ClusterPlan) else self._planned(name, args)
        if isinstance(args, ClusterArgs):
            live = args.given(name).live
            network, subnetwork, node_service_account = (
                live[key] for key in ("network", "subnetwork", "nodeServiceAccount")
            )
            boot_disk_key = live.get("bootDiskKmsKey")
        made = cluster(
            plan,
            network=network,
            subnetwork=subnetwork,
            node_service_account=node_service_account,
            manager_range=None if manager_address is None else pulumi.Output.concat(manager_address, "/32"),
            range_names=ranges,
            boot_disk_key=boot_disk_key,
        )
        self.resource = gcp.container.Cluster(
            f"{name}-cluster", **made.arguments, opts=resource_options(made, self, depends_on)
        )
        self.cluster_name: pulumi.Output[str] = self.resource.name
        self.location: pulumi.Output[str] = self.resource.location
        self.endpoint: pulumi.Output[str] = self.resource.endpoint
        self.kubeconfig: pulumi.Output[str] = self._kubeconfig(use_dns=plan.control_plane.dns_endpoint is True)
        self.register_outputs({"clusterName": self.cluster_name, "endpoint": self.endpoint})

    def _planned(self, name: str, args: ClusterArgs) -> tuple[ClusterPlan, tuple[str, str]]:
        """Return the plan of the arguments, and the names of the subnet's ranges for pods and services."""
        given = args.given(name)
        settings = {key: each for key, each in given.plain.items() if key not in ("podRangeName", "serviceRangeName")}
        part = plan_cluster(name, settings, given.problems)
        args.check(self, name, part.problems)
        return part.plan, (
            given.plain.get("podRangeName", NetworkPlan.pod_range_name),
            given.plain.get("serviceRangeName", NetworkPlan.service_range_name),
        )

    def _kubeconfig(self, use_dns: bool) -> pulumi.Output[str]:
        # Without a public endpoint, GKE's `endpoint` is the private one, so this works for both.
        authority = self.resource.master_auth.apply(lambda auth: auth.cluster_ca_certificate)
        if use_dns:  # its certificate is publicly trusted
            return pulumi.Output.all(name=self.cluster_name, endpoint=self._dns_endpoint()).apply(
                lambda values: kubeconfig(**values)
            )
        return pulumi.Output.all(name=self.cluster_name, endpoint=self.endpoint, ca_certificate=authority).apply(
            lambda values: kubeconfig(**values)
        )

    def _dns_endpoint(self) -> pulumi.Output[str]:
        """Return the DNS name of the control plane, which GKE adds to a block of the arguments.

        In a first preview the block may come back without the name. Combining it with `endpoint`, which is unknown
        then, makes the result unknown too.
        """
        dns = self.resource.control_plane_endpoints_config.apply(lambda config: config.dns_endpoint_config)
        return pulumi.Output.all(
            dns.apply(lambda endpoint_config: endpoint_config and endpoint_config.endpoint), self.endpoint
        ).apply(lambda values: str(values[0]))
