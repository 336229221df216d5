"""The GKE cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import ClusterPlan
from components.gke import addons, auto_provisioning, control_plane, maintenance
from components.gke.kubeconfig import kubeconfig

_REPORTED_ORDER = (
    *("SYSTEM_COMPONENTS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER", "STORAGE", "HPA", "POD", "DAEMONSET"),
    *("DEPLOYMENT", "STATEFULSET", "CADVISOR", "KUBELET", "DCGM", "JOBSET"),
)
"""Monitoring components in the order in which GKE returns them. The provider compares lists: another order would be a
change in every preview after a refresh (hashicorp/terraform-provider-google#28688)."""

_LOGGING = ("SYSTEM_COMPONENTS", "WORKLOADS")
"""Logging components of every cluster."""

_INITIAL_POOL: Final = ("initialNodeCount", "nodeConfig")
"""Describe only the initial pool, which is removed: GKE reports other values afterwards, and the provider would replace
the cluster to undo that."""
_NOT_SENT_WITHOUT_IP: Final = ("privateClusterConfig.enablePrivateEndpoint",)
"""The provider does not send it while IP endpoints are off, so a different answer of GKE would be a change forever
(`expandControlPlaneEndpointsConfig` in hashicorp/terraform-provider-google-beta 7.45)."""


class Cluster(pulumi.ComponentResource):
    """A regional GKE cluster, Standard or Autopilot, as in its plan.

    Owns the cluster with its control plane, add-ons and node defaults. Does not own its network, its nodes' service
    account or node pools: the initial pool that GKE requires is removed at once. `kubeconfig` contains no credentials.
    `manager_address` is that of a MultiKueue manager's NAT, for a plan with `manager_access`.
    """

    def __init__(
        self,
        name: str,
        plan: ClusterPlan,
        *,
        network: pulumi.Input[str],
        subnetwork: pulumi.Input[str],
        node_service_account: pulumi.Input[str],
        manager_address: pulumi.Input[str] | None = None,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Cluster", name, None, opts)
        arguments = _common(plan, network, subnetwork)
        arguments.master_authorized_networks_config = control_plane.authorized_networks(
            plan.control_plane, manager_address if plan.control_plane.manager_access else None
        )
        if plan.mode == "autopilot":
            _autopilot(arguments, plan, node_service_account)
        else:
            _standard(arguments, plan, node_service_account)
        self.resource = gcp.container.Cluster(f"{name}-cluster", arguments, opts=self._options(plan, depends_on))
        self.cluster_name: pulumi.Output[str] = self.resource.name
        self.location: pulumi.Output[str] = self.resource.location
        self.endpoint: pulumi.Output[str] = self.resource.endpoint
        self.kubeconfig: pulumi.Output[str] = self._kubeconfig(use_dns=plan.control_plane.dns_endpoint is True)
        self.register_outputs({"clusterName": self.cluster_name, "endpoint": self.endpoint})

    def _options(self, plan: ClusterPlan, depends_on: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=self,
            protect=plan.protect,
            delete_before_replace=True,  # the name is fixed
            ignore_changes=[*_INITIAL_POOL, *([] if plan.control_plane.ip_endpoint else _NOT_SENT_WITHOUT_IP)],
            depends_on=[*depends_on],
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


def _common(plan: ClusterPlan, network: pulumi.Input[str], subnetwork: pulumi.Input[str]) -> gcp.container.ClusterArgs:
    return gcp.container.ClusterArgs(
        name=plan.name,
        project=plan.project,
        location=plan.location,
        node_locations=sorted(plan.zones) or None,
        release_channel=gcp.container.ClusterReleaseChannelArgs(channel=plan.release_channel),
        min_master_version=plan.version,
        network=network,
        subnetwork=subnetwork,
        networking_mode="VPC_NATIVE",
        ip_allocation_policy=gcp.container.ClusterIpAllocationPolicyArgs(
            cluster_secondary_range_name=plan.network.pod_range_name,
            services_secondary_range_name=plan.network.service_range_name,
        ),
        private_cluster_config=control_plane.private_cluster(plan.control_plane),
        control_plane_endpoints_config=control_plane.endpoints(plan.control_plane),
        maintenance_policy=maintenance.policy(plan.maintenance),
        monitoring_config=_monitoring(plan),
        logging_config=gcp.container.ClusterLoggingConfigArgs(enable_components=[*_LOGGING]),
        gateway_api_config=gcp.container.ClusterGatewayApiConfigArgs(
            channel="CHANNEL_STANDARD" if plan.gateway_api else "CHANNEL_DISABLED"
        ),
        security_posture_config=gcp.container.ClusterSecurityPostureConfigArgs(mode="BASIC"),
        fleet=None if plan.fleet_project is None else gcp.container.ClusterFleetArgs(project=plan.fleet_project),
        enable_multi_networking=plan.multi_networking or None,
        confidential_nodes=_confidential(plan),
        cost_management_config=_cost_management(plan),
        authenticator_groups_config=_groups(plan),
        secret_manager_config=_secret_manager(plan),
        deletion_protection=plan.deletion_protection,
        resource_labels=dict(sorted(plan.labels.items())),
    )


def _standard(arguments: gcp.container.ClusterArgs, plan: ClusterPlan, service_account: pulumi.Input[str]) -> None:
    """Set what a Standard cluster needs and Autopilot implies."""
    arguments.initial_node_count = 1
    arguments.remove_default_node_pool = True
    # Otherwise the initial pool would use the project's default service account, which many projects disable.
    arguments.node_config = gcp.container.ClusterNodeConfigArgs(
        machine_type=plan.first_machine_type,
        service_account=service_account,
        oauth_scopes=[auto_provisioning.SCOPE],
        shielded_instance_config=gcp.container.ClusterNodeConfigShieldedInstanceConfigArgs(
            enable_secure_boot=True, enable_integrity_monitoring=True
        ),
    )
    arguments.datapath_provider = f"{plan.datapath.upper()}_DATAPATH"
    arguments.workload_identity_config = gcp.container.ClusterWorkloadIdentityConfigArgs(
        workload_pool=plan.workload_pool
    )
    arguments.enable_shielded_nodes = None if plan.shielded_nodes else False
    arguments.addons_config = addons.standard_addons(plan)
    arguments.node_pool_defaults = _node_defaults(plan)
    arguments.cluster_autoscaling = auto_provisioning.standard_autoscaling(plan, service_account)


def _autopilot(arguments: gcp.container.ClusterArgs, plan: ClusterPlan, service_account: pulumi.Input[str]) -> None:
    """Set what an Autopilot cluster needs; its data plane, workload identity and node security must not be set."""
    arguments.enable_autopilot = True
    arguments.addons_config = addons.autopilot_addons(plan)
    arguments.cluster_autoscaling = auto_provisioning.autopilot_autoscaling(plan, service_account)


def _monitoring(plan: ClusterPlan) -> gcp.container.ClusterMonitoringConfigArgs:
    return gcp.container.ClusterMonitoringConfigArgs(
        enable_components=sorted(plan.monitoring_components, key=_REPORTED_ORDER.index),
        managed_prometheus=gcp.container.ClusterMonitoringConfigManagedPrometheusArgs(enabled=True),
    )


def _confidential(plan: ClusterPlan) -> gcp.container.ClusterConfidentialNodesArgs | None:
    if plan.confidential_nodes is None:
        return None
    return gcp.container.ClusterConfidentialNodesArgs(enabled=True, confidential_instance_type=plan.confidential_nodes)


def _cost_management(plan: ClusterPlan) -> gcp.container.ClusterCostManagementConfigArgs | None:
    if plan.cost_management is None:
        return None
    return gcp.container.ClusterCostManagementConfigArgs(enabled=plan.cost_management)


def _groups(plan: ClusterPlan) -> gcp.container.ClusterAuthenticatorGroupsConfigArgs | None:
    """Return Google Groups for RBAC, without which Kubernetes does not know the groups of a person."""
    if plan.security_group is None:
        return None
    return gcp.container.ClusterAuthenticatorGroupsConfigArgs(security_group=plan.security_group)


def _secret_manager(plan: ClusterPlan) -> gcp.container.ClusterSecretManagerConfigArgs | None:
    return gcp.container.ClusterSecretManagerConfigArgs(enabled=True) if plan.secret_manager else None


def _node_defaults(plan: ClusterPlan) -> gcp.container.ClusterNodePoolDefaultsArgs:
    streaming = gcp.container.ClusterNodePoolDefaultsNodeConfigDefaultsGcfsConfigArgs(enabled=plan.image_streaming)
    return gcp.container.ClusterNodePoolDefaultsArgs(
        node_config_defaults=gcp.container.ClusterNodePoolDefaultsNodeConfigDefaultsArgs(gcfs_config=streaming)
    )
