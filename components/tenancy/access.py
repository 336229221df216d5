"""What people may do in the cluster as a whole."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

from berth.manifests import roles
from berth.plan.teams import AccessPlan
from components.kubernetes import KubernetesObject, cluster_options


class Access(pulumi.ComponentResource):
    """The roles that all teams share, who has them cluster-wide, and everybody's way to the cluster.

    Owns the cluster roles and their cluster-wide bindings, and one binding of the project for each group. What a team
    may do in its own namespaces is bound there. Without a project the cluster is not in Google Cloud.
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
        for group in sorted({*plan.owners, *plan.teams}) if plan.in_project and project is not None else ():
            # Who may not see the cluster cannot ask for its address; it gives no right to anything inside.
            gcp.projects.IAMMember(
                f"{name}-cluster-viewer/{group}",
                project=project,
                role="roles/container.clusterViewer",
                member=f"group:{group}",
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({"groups": sorted({*plan.owners, *plan.teams})})
