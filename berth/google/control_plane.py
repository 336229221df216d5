"""Access to a control plane: endpoints, authorized networks, DNS name."""

from __future__ import annotations

from typing import Any, Final

from berth.plan.gke import ControlPlanePlan

_MANAGER: Final = "manager"
"""The name under which a worker shows the address of its manager."""


def control_plane(plan: ControlPlanePlan, manager_range: object | None = None) -> dict[str, Any]:
    """Return the arguments of a cluster for access to its control plane.

    `manager_range` is authorized beside the networks of the plan, if the plan has `manager_access`.
    """
    endpoints = None
    if plan.dns_endpoint is not None or not plan.ip_endpoint:
        # The IP endpoints are also set where they are on: the provider keeps a block that is left out, so they stayed
        # off. The DNS endpoint is open or closed to callers outside Google.
        dns = None if plan.dns_endpoint is None else {"allow_external_traffic": plan.dns_endpoint}
        endpoints = {"dns_endpoint_config": dns, "ip_endpoints_config": {"enabled": plan.ip_endpoint}}
    return {
        # Explicitly for a public cluster too: if the block were omitted, the provider would keep its old values and
        # nodes would stay private. A range that is not set does not change.
        "private_cluster_config": {
            "enable_private_nodes": plan.private_nodes,
            "enable_private_endpoint": not plan.public_endpoint,
            "master_ipv4_cidr_block": plan.ip_range,
            "master_global_access_config": {"enabled": True} if plan.global_access else None,
        },
        "control_plane_endpoints_config": endpoints,
        "master_authorized_networks_config": _authorized_networks(plan, manager_range),
    }


def _authorized_networks(plan: ControlPlanePlan, manager_range: object | None) -> dict[str, Any] | None:
    """Return the authorized networks; None leaves the endpoint open, an empty block closes it to all but nodes.

    None, too, if there is no IP endpoint: the provider then does not send the block and would show a change forever.
    """
    if plan.authorized_networks is None or not plan.ip_endpoint:
        return None
    networks = sorted(plan.authorized_networks, key=lambda network: (network.cidr, network.name))
    blocks: list[dict[str, object]] = [{"cidr_block": each.cidr, "display_name": each.name} for each in networks]
    if plan.manager_access and manager_range is not None:
        blocks.append({"cidr_block": manager_range, "display_name": _MANAGER})
    return {"cidr_blocks": blocks, "gcp_public_cidrs_access_enabled": plan.google_ranges}
