"""The GKE cluster itself."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from components.gke import auto_provisioning
from components.gke.kubeconfig import kubeconfig
from components.plan.gke import ClusterPlan, ControlPlanePlan, MaintenanceExclusion, MaintenancePlan

_REPORTED_ORDER = (
    *("SYSTEM_COMPONENTS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER", "STORAGE", "HPA", "POD", "DAEMONSET"),
    *("DEPLOYMENT", "STATEFULSET", "CADVISOR", "KUBELET", "DCGM", "JOBSET"),
)
"""The order in which GKE gives monitoring components back. To the provider it is a list: another order would show as a
change in every preview after a refresh (hashicorp/terraform-provider-google#28688)."""


class Cluster(pulumi.ComponentResource):
    """A regional GKE cluster, Standard or Autopilot, that is exactly what its plan says.

    Owns the cluster with its control plane, add-ons and node defaults. Does not own its network, its nodes' identity or
    any node pool: the one that GKE insists on at creation is removed at once. `kubeconfig` holds no credentials.
    """

    def __init__(
        self,
        name: str,
        plan: ClusterPlan,
        *,
        network: pulumi.Input[str],
        subnetwork: pulumi.Input[str],
        node_service_account: pulumi.Input[str],
        gcp_provider: gcp.Provider,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Cluster", name, None, opts)
        arguments = _common(plan, network, subnetwork)
        if plan.mode == "autopilot":
            _autopilot(arguments, node_service_account)
        else:
            _standard(arguments, plan, node_service_account)
        self.resource = gcp.container.Cluster(
            f"{name}-cluster", arguments, opts=self._options(plan, gcp_provider, depends_on)
        )
        self.cluster_name: pulumi.Output[str] = self.resource.name
        self.location: pulumi.Output[str] = self.resource.location
        self.endpoint: pulumi.Output[str] = self.resource.endpoint
        self.kubeconfig: pulumi.Output[str] = self._kubeconfig()
        self.register_outputs({"clusterName": self.cluster_name, "endpoint": self.endpoint})

    def _options(
        self, plan: ClusterPlan, provider: gcp.Provider, depends_on: Sequence[pulumi.Resource]
    ) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=self,
            provider=provider,
            protect=plan.protect,
            delete_before_replace=True,  # the name is fixed
            # Both describe only the pool that is removed at creation. GKE reports other values afterwards, and the
            # provider would replace the cluster to mend that.
            ignore_changes=["initialNodeCount", "nodeConfig"],
            depends_on=[*depends_on],
        )

    def _kubeconfig(self) -> pulumi.Output[str]:
        # Without a public endpoint GKE's `endpoint` is the private one, so this serves both.
        authority = self.resource.master_auth.apply(lambda auth: auth.cluster_ca_certificate)
        return pulumi.Output.all(name=self.cluster_name, endpoint=self.endpoint, ca_certificate=authority).apply(
            lambda known: kubeconfig(**known)
        )


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
        private_cluster_config=_private(plan.control_plane),
        master_authorized_networks_config=_authorized(plan.control_plane),
        maintenance_policy=None if plan.maintenance is None else _maintenance(plan.maintenance),
        monitoring_config=_monitoring(plan),
        logging_config=gcp.container.ClusterLoggingConfigArgs(enable_components=list(plan.logging_components)),
        gateway_api_config=gcp.container.ClusterGatewayApiConfigArgs(
            channel="CHANNEL_STANDARD" if plan.gateway_api else "CHANNEL_DISABLED"
        ),
        security_posture_config=gcp.container.ClusterSecurityPostureConfigArgs(mode="BASIC"),
        deletion_protection=plan.deletion_protection,
        resource_labels=dict(sorted(plan.labels.items())),
    )


def _standard(arguments: gcp.container.ClusterArgs, plan: ClusterPlan, account: pulumi.Input[str]) -> None:
    """What has to be said of a Standard cluster and is implied by Autopilot."""
    arguments.initial_node_count = 1
    arguments.remove_default_node_pool = True
    # Else the first pool would run as the project's default account, which many projects have switched off.
    arguments.node_config = gcp.container.ClusterNodeConfigArgs(
        service_account=account,
        oauth_scopes=[auto_provisioning.SCOPE],
        shielded_instance_config=gcp.container.ClusterNodeConfigShieldedInstanceConfigArgs(
            enable_secure_boot=True, enable_integrity_monitoring=True
        ),
    )
    arguments.datapath_provider = "ADVANCED_DATAPATH"
    arguments.workload_identity_config = gcp.container.ClusterWorkloadIdentityConfigArgs(
        workload_pool=plan.workload_pool
    )
    arguments.addons_config = _addons(plan)
    arguments.node_pool_defaults = _node_defaults(plan)
    if plan.auto_provisioning is not None:
        arguments.cluster_autoscaling = auto_provisioning.standard(plan.auto_provisioning, account)


def _autopilot(arguments: gcp.container.ClusterArgs, account: pulumi.Input[str]) -> None:
    """Autopilot brings its own data plane, workload identity, drivers and image streaming: none of them may be said."""
    arguments.enable_autopilot = True
    arguments.cluster_autoscaling = auto_provisioning.autopilot(account)


def _private(plan: ControlPlanePlan) -> gcp.container.ClusterPrivateClusterConfigArgs | None:
    if plan.public_endpoint and not plan.private_nodes:
        return None
    return gcp.container.ClusterPrivateClusterConfigArgs(
        enable_private_nodes=plan.private_nodes,
        enable_private_endpoint=not plan.public_endpoint,
        master_ipv4_cidr_block=plan.ip_range,
    )


def _authorized(plan: ControlPlanePlan) -> gcp.container.ClusterMasterAuthorizedNetworksConfigArgs | None:
    """None leaves the endpoint open; a block without networks closes it to all but nodes."""
    if plan.authorized_networks is None:
        return None
    blocks = [
        gcp.container.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(cidr_block=n.cidr, display_name=n.name)
        for n in sorted(plan.authorized_networks, key=lambda n: (n.cidr, n.name))
    ]
    return gcp.container.ClusterMasterAuthorizedNetworksConfigArgs(
        cidr_blocks=blocks, gcp_public_cidrs_access_enabled=plan.google_ranges
    )


def _monitoring(plan: ClusterPlan) -> gcp.container.ClusterMonitoringConfigArgs:
    return gcp.container.ClusterMonitoringConfigArgs(
        enable_components=sorted(plan.monitoring_components, key=_REPORTED_ORDER.index),
        managed_prometheus=gcp.container.ClusterMonitoringConfigManagedPrometheusArgs(enabled=True),
    )


def _addons(plan: ClusterPlan) -> gcp.container.ClusterAddonsConfigArgs:
    """Drivers that are not named are switched off, except the one for persistent disks, which GKE turns on itself."""
    return gcp.container.ClusterAddonsConfigArgs(
        gcs_fuse_csi_driver_config=gcp.container.ClusterAddonsConfigGcsFuseCsiDriverConfigArgs(
            enabled="gcs-fuse" in plan.storage_drivers
        ),
        gcp_filestore_csi_driver_config=gcp.container.ClusterAddonsConfigGcpFilestoreCsiDriverConfigArgs(
            enabled="filestore" in plan.storage_drivers
        ),
        parallelstore_csi_driver_config=gcp.container.ClusterAddonsConfigParallelstoreCsiDriverConfigArgs(
            enabled="parallelstore" in plan.storage_drivers
        ),
    )


def _node_defaults(plan: ClusterPlan) -> gcp.container.ClusterNodePoolDefaultsArgs:
    streaming = gcp.container.ClusterNodePoolDefaultsNodeConfigDefaultsGcfsConfigArgs(enabled=plan.image_streaming)
    return gcp.container.ClusterNodePoolDefaultsArgs(
        node_config_defaults=gcp.container.ClusterNodePoolDefaultsNodeConfigDefaultsArgs(gcfs_config=streaming)
    )


def _maintenance(plan: MaintenancePlan) -> gcp.container.ClusterMaintenancePolicyArgs:
    return gcp.container.ClusterMaintenancePolicyArgs(
        recurring_window=_window(plan),
        maintenance_exclusions=[_exclusion(e) for e in sorted(plan.exclusions, key=lambda e: e.name)],
    )


def _window(plan: MaintenancePlan) -> gcp.container.ClusterMaintenancePolicyRecurringWindowArgs | None:
    if plan.start is None or plan.end is None or plan.recurrence is None:
        return None
    return gcp.container.ClusterMaintenancePolicyRecurringWindowArgs(
        start_time=plan.start, end_time=plan.end, recurrence=plan.recurrence
    )


def _exclusion(plan: MaintenanceExclusion) -> gcp.container.ClusterMaintenancePolicyMaintenanceExclusionArgs:
    return gcp.container.ClusterMaintenancePolicyMaintenanceExclusionArgs(
        exclusion_name=plan.name,
        start_time=plan.start,
        end_time=plan.end,
        exclusion_options=gcp.container.ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs(
            scope=plan.scope
        ),
    )
