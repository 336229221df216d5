"""GKE's compute classes: which machines to try for a pod, in order."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.gke import compute_class
from berth.plan.compute_classes import ComputeClassPlan

from ..kubernetes import KubernetesObject, cluster_options


class ComputeClasses(pulumi.ComponentResource):
    """Every ComputeClass of the fleet.

    Owns the classes; does not own the node pools that GKE creates for them, which exist while pods run there, or the
    reservations, policies and pools that they refer to. GKE serves the kind, so they depend only on the cluster.
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
