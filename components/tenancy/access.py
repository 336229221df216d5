"""Cluster-wide access of people."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

from berth.google.service_accounts import cluster_viewers
from berth.manifests import roles
from berth.plan.teams import AccessPlan

from ..kubernetes import KubernetesObject, cluster_options
from ..options import resource_options


class Access(pulumi.ComponentResource):
    """The cluster roles for teams, their cluster-wide bindings, and the permission to view the cluster.

    Owns the cluster roles and their cluster-wide bindings, and one project binding for each group. `Team` binds the
    roles in a team's namespaces. Without a project, the cluster is not in Google Cloud.
    """

    def __init__(
        self,
        name: str,
        plan: AccessPlan,
        *,
        project: str | None,
        cluster: pulumi.Resource | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:tenancy:Access", name, None, opts)
        options = cluster_options(self, cluster=cluster)
        for role, manifest in roles.cluster_access(plan):
            KubernetesObject(f"{name}-{role}", manifest, opts=options)
        for viewer, made in cluster_viewers(plan, project).items() if project is not None else ():
            gcp.projects.IAMMember(f"{name}-{viewer}", **made.arguments, opts=resource_options(made, self))
        self.register_outputs({"groups": sorted({*plan.owners, *plan.teams})})
