"""Convert access to a control plane to arguments of the provider: endpoints, authorized networks, DNS name."""

from __future__ import annotations

from typing import Final

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import ControlPlanePlan

_MANAGER: Final = "manager"
"""The name under which a worker shows the address of its manager."""


def private_cluster(plan: ControlPlanePlan) -> gcp.container.ClusterPrivateClusterConfigArgs:
    """Return private nodes and the private endpoint, explicitly for a public cluster too.

    If the block were omitted, the provider would keep its old values and nodes would stay private. A range that is not
    set does not change.
    """
    return gcp.container.ClusterPrivateClusterConfigArgs(
        enable_private_nodes=plan.private_nodes,
        enable_private_endpoint=not plan.public_endpoint,
        master_ipv4_cidr_block=plan.ip_range,
    )


def authorized_networks(
    plan: ControlPlanePlan, manager_address: pulumi.Input[str] | None = None
) -> gcp.container.ClusterMasterAuthorizedNetworksConfigArgs | None:
    """Return the authorized networks; None leaves the endpoint open, an empty block closes it to all but nodes.

    None, too, if there is no IP endpoint: the provider then does not send the block and would show a change forever.
    `manager_address` is authorized beside the networks of the plan.
    """
    if plan.authorized_networks is None or not plan.ip_endpoint:
        return None
    blocks = [
        gcp.container.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(cidr_block=n.cidr, display_name=n.name)
        for n in sorted(plan.authorized_networks, key=lambda n: (n.cidr, n.name))
    ]
    if manager_address is not None:
        manager_block = gcp.container.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(
            cidr_block=pulumi.Output.concat(manager_address, "/32"), display_name=_MANAGER
        )
        blocks.append(manager_block)
    return gcp.container.ClusterMasterAuthorizedNetworksConfigArgs(
        cidr_blocks=blocks, gcp_public_cidrs_access_enabled=plan.google_ranges
    )


def endpoints(plan: ControlPlanePlan) -> gcp.container.ClusterControlPlaneEndpointsConfigArgs | None:
    """Return the DNS endpoint, open or closed to callers outside Google, and whether there are IP endpoints.

    The IP endpoints are also set where they are on: the provider keeps a block that is left out, so they stayed off.
    """
    if plan.dns_endpoint is None and plan.ip_endpoint:
        return None
    arguments = gcp.container.ClusterControlPlaneEndpointsConfigArgs()
    if plan.dns_endpoint is not None:
        arguments.dns_endpoint_config = gcp.container.ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(
            allow_external_traffic=plan.dns_endpoint
        )
    arguments.ip_endpoints_config = gcp.container.ClusterControlPlaneEndpointsConfigIpEndpointsConfigArgs(
        enabled=plan.ip_endpoint
    )
    return arguments
