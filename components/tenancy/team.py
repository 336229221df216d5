"""A team's namespaces in the cluster and its identity in Google Cloud."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_gcp as gcp

from berth.manifests import tenancy
from berth.plan.gke import ServiceAccountPlan
from berth.plan.teams import IdentityPlan, NamespacePlan, TeamPlan
from components.kubernetes import KubernetesObject, cluster_options


class Team(pulumi.ComponentResource):
    """A team's namespaces with their isolation, its Kubernetes service accounts, and their grants in the project.

    Owns namespaces that the plan marks as owned, access of people to them, and the identity. Does not own the team's
    local queues (`TeamQueues` creates them in `namespaces`), its buckets and secrets, or other bindings on these.
    `namespaces` maps name → output of an owned namespace. Without a project, the team has no identity in Google Cloud;
    without a cluster resource, its objects are deleted one by one.
    """

    def __init__(
        self,
        name: str,
        plan: TeamPlan,
        *,
        project: str | None,
        cluster: pulumi.Resource | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:tenancy:Team", name, None, opts)
        self._cluster = cluster
        options = cluster_options(self, cluster=cluster)
        self.namespaces: Mapping[str, pulumi.Output[str]] = {
            place.name: self._namespace(name, plan, place, options) for place in plan.namespaces if place.owned
        }
        for namespace_plan in plan.namespaces:
            live = {"metadata": {"namespace": self.namespaces.get(namespace_plan.name, namespace_plan.name)}}
            for role, manifest in tenancy.namespace_manifests(plan, namespace_plan):
                KubernetesObject(_resource_name(name, role, plan, namespace_plan), manifest, live=live, opts=options)
        if plan.identity is not None and plan.identity.granted and project is not None:
            self._grants(name, plan, plan.identity, project)
        self.register_outputs({"namespaces": self.namespaces})

    def _namespace(
        self, name: str, plan: TeamPlan, namespace_plan: NamespacePlan, options: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        manifest = tenancy.namespace(plan, namespace_plan)
        return KubernetesObject(
            _resource_name(name, "namespace", plan, namespace_plan), manifest, opts=options
        ).object_name

    def _grants(self, name: str, plan: TeamPlan, identity: IdentityPlan, project: str) -> None:
        """Grant roles on the project, buckets and secrets to the Google service account, or directly to the pods."""
        members: list[tuple[str, pulumi.Input[str]]] = [
            (_suffix(plan, place), member) for place, member in zip(plan.namespaces, identity.members, strict=False)
        ]
        if identity.impersonates is not None:
            members = [("", self._google_account(name, identity.impersonates, members, project))]
        for suffix, member in members:
            self._roles(name, suffix, identity, member, project)
            for bucket, role in sorted(identity.buckets.items()):
                gcp.storage.BucketIAMMember(
                    f"{name}-bucket/{bucket}{suffix}",
                    bucket=bucket,
                    role=role,
                    member=member,
                    opts=self._project_options(),
                )
            for owner, secret in sorted({(each.project, each.secret) for each in identity.secrets}):
                gcp.secretmanager.SecretIamMember(
                    f"{name}-secret/{owner}/{secret}{suffix}",
                    project=owner,
                    secret_id=secret,
                    role="roles/secretmanager.secretAccessor",
                    member=member,
                    opts=self._project_options(),
                )

    def _roles(self, name: str, suffix: str, identity: IdentityPlan, member: pulumi.Input[str], project: str) -> None:
        for role in sorted(identity.roles):
            gcp.projects.IAMMember(
                f"{name}-{role.removeprefix('roles/')}{suffix}",
                project=project,
                role=role,
                member=member,
                opts=self._project_options(),
            )

    def _google_account(
        self,
        name: str,
        plan: ServiceAccountPlan,
        members: list[tuple[str, pulumi.Input[str]]],
        project: str,
    ) -> pulumi.Output[str]:
        account = gcp.serviceaccount.Account(
            f"{name}-account",
            project=project,
            account_id=plan.account_id,
            display_name=plan.display_name,
            opts=self._project_options(),
        )
        for suffix, member in members:
            gcp.serviceaccount.IAMMember(
                f"{name}-workload-identity{suffix}",
                service_account_id=account.name,
                role="roles/iam.workloadIdentityUser",
                member=member,
                opts=self._project_options(),
            )
        return account.member

    def _project_options(self) -> pulumi.ResourceOptions:
        """Return options that depend on the cluster: a project's first cluster creates the workload identity pool."""
        return pulumi.ResourceOptions(parent=self, depends_on=[self._cluster] if self._cluster else None)


def _resource_name(name: str, role: str, plan: TeamPlan, namespace_plan: NamespacePlan) -> str:
    return f"{name}-{role}{_suffix(plan, namespace_plan)}"


def _suffix(plan: TeamPlan, namespace_plan: NamespacePlan) -> str:
    """Return a suffix for resource names, empty for the first namespace, so that adding another renames nothing."""
    return "" if namespace_plan.name == plan.namespace else f"/{namespace_plan.name}"
