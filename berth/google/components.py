"""What components of several resources register, by the role of each resource, with references between them."""

from __future__ import annotations

from msgspec.structs import replace

from berth.google.network import (
    accelerator_firewall,
    accelerator_subnetwork,
    accelerator_vpc,
    nat,
    nat_address,
    router,
    subnetwork,
    vpc,
)
from berth.google.service_accounts import project_roles, service_account, team_account, team_account_users, team_grants
from berth.plan.gke import NetworkPlan, ServiceAccountPlan
from berth.plan.node_settings import AcceleratorNetworksPlan
from berth.plan.teams import TeamPlan
from berth.registration import Reference, Registration


def network_parts(
    plan: NetworkPlan, vpc_id: Reference, router_name: Reference, address_link: Reference
) -> dict[str, Registration]:
    """Return the VPC of a cluster, its subnet and, for a plan with NAT, the router, the address and NAT."""
    made = {"vpc": vpc(plan), "subnet": subnetwork(plan, vpc_id)}
    if plan.nat:
        made["router"] = router(plan, vpc_id)
        address = nat_address(plan)
        made |= {} if address is None else {"nat-address": address}
        made["nat"] = nat(plan, router_name, () if address is None else (address_link,))
    return made


def node_identity_parts(plan: ServiceAccountPlan, project: str, member: Reference) -> dict[str, Registration]:
    """Return the service account of nodes, and its roles; `member` is the account as a member of a role."""
    return {"account": service_account(plan, project), **project_roles(project, plan.roles, member)}


def accelerator_network_parts(
    plan: AcceleratorNetworksPlan, vpc_ids: tuple[Reference, ...], start: str
) -> dict[str, Registration]:
    """Return the VPCs and subnets of a set of networks; `start` is what names of subnets in the program begin with."""
    made: dict[str, Registration] = {}
    for each, vpc_id in zip(plan.vpcs, vpc_ids, strict=True):
        made[f"{each.key}-vpc"] = accelerator_vpc(each)
        if (firewall := accelerator_firewall(each, vpc_id)) is not None:
            made[f"{each.key}-internal"] = firewall
        for subnet in each.subnets:
            made[subnet_role(subnet.device, start)] = accelerator_subnetwork(subnet, plan.region, vpc_id)
    return made


def subnet_role(device: str, start: str) -> str:
    """Return the role of the subnet for a device; devices are mostly named after their set, which `start` is."""
    return f"{device.removeprefix(start)}-subnet"


def team_identity_parts(plan: TeamPlan, project: str, account_name: Reference) -> dict[str, Registration]:
    """Return the account of a team's pods, if they have one, and the roles of the account or of the pods."""
    made: dict[str, Registration] = {}
    member: Reference | None = None
    if (account := team_account(plan, project)) is not None and plan.identity and plan.identity.impersonates:
        email = f"serviceAccount:{plan.identity.impersonates.email}"
        member = replace(account_name, output="account.member", value=email)
        made |= {"account": account, **team_account_users(plan, account_name)}
    grants = team_grants(plan, project, member)
    return {**made, **grants.project_roles, **grants.buckets, **grants.secrets}
