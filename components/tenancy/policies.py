"""Admission policies for the namespaces of teams."""

from __future__ import annotations

import pulumi

from berth.manifests import policies
from berth.manifests.rules import submission
from berth.plan.policies import PoliciesPlan

from ..kubernetes import KubernetesObject, cluster_options


class Policies(pulumi.ComponentResource):
    """The admission policies of a cluster and their bindings.

    Owns a few objects for the whole cluster, independent of the number of teams. Settings of a team are annotations of
    its namespaces, which `Team` owns.
    """

    def __init__(
        self,
        name: str,
        plan: PoliciesPlan,
        *,
        cluster: pulumi.Resource | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:tenancy:Policies", name, None, opts)
        options = cluster_options(self, cluster=cluster)
        first: list[pulumi.Resource] = []
        for role, manifest in policies.admission_policies(plan):
            opts = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=list(first)))
            made = KubernetesObject(f"{name}-{role}", manifest, opts=opts)
            if role.startswith(submission.NAME):
                # The others no longer look at what it looks at.
                first.append(made)
        self.register_outputs({"policies": [policies.object_name(each) for each in policies.objects(plan)]})
