"""How a control plane is reached, as arguments of the provider: addresses, who may use them, its DNS name."""

from __future__ import annotations

from typing import Final

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import ControlPlanePlan

_MANAGER: Final = "manager"
"""The name under which a worker shows the address of its manager."""


def private_cluster(plan: ControlPlanePlan) -> gcp.container.ClusterPrivateClusterConfigArgs:
    """Private nodes and the private address, set for a public cluster too.

    Of a block that goes away the provider keeps what it knew, and nodes would stay private. A range that is not set
    stays as it was.
    """
    return gcp.container.ClusterPrivateClusterConfigArgs(
        enable_private_nodes=plan.private_nodes,
        enable_private_endpoint=not plan.public_endpoint,
        master_ipv4_cidr_block=plan.ip_range,
    )


def authorized_networks(
    plan: ControlPlanePlan, manager_address: pulumi.Input[str] | None = None
) -> gcp.container.ClusterMasterAuthorizedNetworksConfigArgs | None:
    """None leaves the endpoint open; a block without networks closes it to all but nodes.

    None also where there is no address that networks could reach: the provider does not send the block then, and would
    show it as a change forever. `manager_address` is authorized beside the networks of the plan.
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
    """The DNS name, open or closed to callers outside Google, and whether there is an address beside it.

    The address is set also where it is on: the provider keeps a block that is left out, and it would stay off.
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
