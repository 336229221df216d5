"""The service account of a cluster's nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.plan.gke import ServiceAccountPlan


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
        account = gcp.serviceaccount.Account(
            f"{name}-account",
            project=project,
            account_id=plan.account_id,
            display_name=plan.display_name,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*depends_on]),
        )
        for role in sorted(plan.roles):
            self._grant(f"{name}-{role.removeprefix('roles/')}", role, account.member, project)
        self.email: pulumi.Output[str] = account.email
        self.register_outputs({"email": self.email})

    def _grant(self, name: str, role: str, member: pulumi.Input[str], project: str) -> None:
        gcp.projects.IAMMember(
            name, project=project, role=role, member=member, opts=pulumi.ResourceOptions(parent=self)
        )
