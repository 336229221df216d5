"""The service account of a cluster's nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.service_accounts import project_roles, service_account
from berth.plan.gke import ServiceAccountPlan

from ..options import resource_options


class NodeServiceAccount(pulumi.ComponentResource):
    """A Google service account for nodes with its project roles.

    Owns the account and one binding for each role, and does not change other bindings of the project. Pods get their
    permissions from the identities of teams, not from this account.
    """

    def __init__(
        self,
        name: str,
        plan: ServiceAccountPlan,
        *,
        project: str,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:NodeServiceAccount", name, None, opts)
        made = service_account(plan, project)
        account = gcp.serviceaccount.Account(
            f"{name}-account", **made.arguments, opts=resource_options(made, self, depends_on)
        )
        for role, made in project_roles(project, plan.roles, account.member).items():
            gcp.projects.IAMMember(f"{name}-{role}", **made.arguments, opts=resource_options(made, self))
        self.email: pulumi.Output[str] = account.email
        self.register_outputs({"email": self.email})
