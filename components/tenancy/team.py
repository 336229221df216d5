"""A team's namespaces in the cluster and its identity in Google Cloud."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_gcp as gcp

from berth.google.service_accounts import team_account, team_account_users, team_grants
from berth.manifests import tenancy
from berth.parts.team import plan_team
from berth.plan.teams import NamespacePlan, TeamPlan

from ..arguments.team import TeamArgs
from ..kubernetes import KubernetesObject, cluster_options
from ..options import resource_options
from .access import Access


class Team(pulumi.ComponentResource):
    """A team's namespaces with their isolation, its Kubernetes service accounts, and their grants in the project.

    Owns namespaces that are not existing ones, access of people to them, and the identity. Does not own the team's
    local queues (`TeamQueues` creates them in `namespaces`), its buckets and secrets, or other bindings on these.
    `namespaces` maps name → output of an owned namespace. Without a project, the team has no identity in Google Cloud;
    without a cluster resource, its objects are deleted one by one.

    With arguments, also the cluster roles of its people's rights, unless `create_roles` is off. A fleet passes the plan
    of a team instead, and makes the roles once.
    """

    def __init__(
        self,
        name: str,
        args: TeamArgs | TeamPlan,
        *,
        project: str | None = None,
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:tenancy:Team", name, None, opts)
        args = TeamArgs.of(args, name)
        self._cluster = cluster
        if isinstance(args, TeamArgs):
            given, part = args.planned(self, name, plan_team)
            project, (plan,) = given.plain.get("project"), part.teams
            if part.access is not None and given.plain.get("createRoles", True):
                below = pulumi.ResourceOptions(parent=self)
                Access(f"{name}-access", part.access, project=project, cluster=cluster, opts=below)
        else:
            plan = args
        options = cluster_options(self, cluster=cluster)
        self.namespaces: Mapping[str, pulumi.Output[str]] = {
            place.name: self._namespace(name, plan, place, options) for place in plan.namespaces if place.owned
        }
        for namespace_plan in plan.namespaces:
            live = {"metadata": {"namespace": self.namespaces.get(namespace_plan.name, namespace_plan.name)}}
            for role, manifest in tenancy.namespace_manifests(plan, namespace_plan):
                KubernetesObject(_resource_name(name, role, plan, namespace_plan), manifest, live=live, opts=options)
        if project is not None:
            self._grants(name, plan, project)
        self.register_outputs({"namespaces": self.namespaces})

    def _namespace(
        self, name: str, plan: TeamPlan, namespace_plan: NamespacePlan, options: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        manifest = tenancy.namespace(plan, namespace_plan)
        return KubernetesObject(
            _resource_name(name, "namespace", plan, namespace_plan), manifest, opts=options
        ).object_name

    def _grants(self, name: str, plan: TeamPlan, project: str) -> None:
        """Grant roles on the project, buckets and secrets to the Google service account, or directly to the pods.

        They depend on the cluster: a project's first cluster creates the workload identity pool.
        """
        after = [self._cluster] if self._cluster else []
        member: pulumi.Output[str] | None = None
        if (made := team_account(plan, project)) is not None:
            account = gcp.serviceaccount.Account(
                f"{name}-account", **made.arguments, opts=resource_options(made, self, after)
            )
            member = account.member
            for role, made in team_account_users(plan, account.name).items():
                gcp.serviceaccount.IAMMember(
                    f"{name}-{role}", **made.arguments, opts=resource_options(made, self, after)
                )
        grants = team_grants(plan, project, member)
        for role, made in grants.project_roles.items():
            gcp.projects.IAMMember(f"{name}-{role}", **made.arguments, opts=resource_options(made, self, after))
        for role, made in grants.buckets.items():
            gcp.storage.BucketIAMMember(f"{name}-{role}", **made.arguments, opts=resource_options(made, self, after))
        for role, made in grants.secrets.items():
            gcp.secretmanager.SecretIamMember(
                f"{name}-{role}", **made.arguments, opts=resource_options(made, self, after)
            )


def _resource_name(name: str, role: str, plan: TeamPlan, namespace_plan: NamespacePlan) -> str:
    """Return a name that stays when the namespace goes to another team: `vision-quota`, `vision-quota/models`."""
    team, slash, rest = plan.home(namespace_plan.name).partition("/")
    if team == plan.key:  # a component may have any name
        return f"{name}-{role}{slash}{rest}"
    before, _, after = name.rpartition(plan.key)
    return f"{before}{team}{after}-{role}{slash}{rest}"
