"""A team's place in the cluster and its identity in Google Cloud."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from components.kubernetes import KubernetesObject, inside
from components.plan.gke import ServiceAccountPlan
from components.plan.teams import IdentityPlan, TeamPlan
from components.tenancy import manifests


class Team(pulumi.ComponentResource):
    """A team's namespace, its Kubernetes account and what that account may do in the project.

    Owns the namespace only where the plan says so, and the identity. Does not own the team's local queues (Kueue's side
    makes them; they take `namespace` from here and so come after it), nor other bindings of the project.
    """

    def __init__(
        self,
        name: str,
        plan: TeamPlan,
        *,
        project: str,
        cluster: pulumi.Resource,
        gcp_provider: gcp.Provider,
        kubernetes_provider: kubernetes.Provider,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:tenancy:Team", name, None, opts)
        self._cluster, self._google = cluster, gcp_provider
        here = inside(self, provider=kubernetes_provider, cluster=cluster)
        self.namespace: pulumi.Output[str] = _namespace(name, plan, here)
        if plan.identity is not None:
            live = {"metadata": {"namespace": self.namespace}}
            account = manifests.service_account(plan, plan.identity)
            KubernetesObject(f"{name}-service-account", account, live=live, opts=here)
            self._roles(name, plan.identity, project)
        self.register_outputs({"namespace": self.namespace})

    def _roles(self, name: str, plan: IdentityPlan, project: str) -> None:
        """Project roles, to the Google account in between or to the pods themselves."""
        member: pulumi.Input[str] | None = plan.member
        if plan.impersonates is not None:
            member = self._google_account(name, plan.impersonates, plan.member, project)
        for role in sorted(plan.roles):
            gcp.projects.IAMMember(
                f"{name}-{role.removeprefix('roles/')}",
                project=project,
                role=role,
                member=member,
                opts=self._in_project(),
            )

    def _google_account(
        self, name: str, plan: ServiceAccountPlan, member: str | None, project: str
    ) -> pulumi.Output[str]:
        account = gcp.serviceaccount.Account(
            f"{name}-account",
            project=project,
            account_id=plan.account_id,
            display_name=plan.display_name,
            opts=self._in_project(),
        )
        gcp.serviceaccount.IAMMember(
            f"{name}-workload-identity",
            service_account_id=account.name,
            role="roles/iam.workloadIdentityUser",
            member=member,
            opts=self._in_project(),
        )
        return account.member

    def _in_project(self) -> pulumi.ResourceOptions:
        """After the cluster: a project's first one makes the workload pool, and no member of it can be named before."""
        return pulumi.ResourceOptions(parent=self, provider=self._google, depends_on=[self._cluster])


def _namespace(name: str, plan: TeamPlan, here: pulumi.ResourceOptions) -> pulumi.Output[str]:
    if not plan.owns_namespace:
        return pulumi.Output.from_input(plan.namespace)
    return KubernetesObject(f"{name}-namespace", manifests.namespace(plan), opts=here).object_name
