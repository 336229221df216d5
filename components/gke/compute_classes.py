"""GKE's compute classes: which machines to try for a pod, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.gke import compute_class
from berth.plan.compute_classes import ComputeClassPlan
from components.kubernetes import KubernetesObject, cluster_options


class ComputeClasses(pulumi.ComponentResource):
    """Every ComputeClass of the fleet.

    Owns the classes; does not own the node pools that GKE makes for them, which stay for as long as pods run there, nor
    the reservations, policies and pools that they name. GKE serves the kind, so they wait for the cluster alone.
    """

    def __init__(
        self,
        name: str,
        plan: Sequence[ComputeClassPlan],
        *,
        cluster: pulumi.Resource | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:ComputeClasses", name, None, opts)
        options = cluster_options(self, cluster=cluster, served_by=served_by)
        for each in plan:
            KubernetesObject(f"{name}-{each.name}", compute_class(each), opts=options)
        self.register_outputs({"computeClasses": [each.name for each in plan]})
