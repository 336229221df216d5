"""Admission policies for the namespaces of teams."""

from __future__ import annotations

import pulumi

from berth.manifests import policies
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
        for role, manifest in policies.admission_policies(plan):
            KubernetesObject(f"{name}-{role}", manifest, opts=options)
        self.register_outputs({"policies": [policies.object_name(each) for each in policies.policies(plan)]})
