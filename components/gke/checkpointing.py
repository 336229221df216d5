"""Multi-tier checkpointing of GKE: checkpoints in the memory of nodes, which it copies to a bucket."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

from berth.google.service_accounts import checkpoint_writer
from berth.manifests.gke import checkpoint_configuration
from berth.plan.gke import CheckpointingPlan

from ..kubernetes import KubernetesObject, cluster_options
from ..options import resource_options


class Checkpointing(pulumi.ComponentResource):
    """The settings of GKE's driver, and its right to write to the bucket.

    Owns the CheckpointConfiguration and one binding on the bucket; does not own the bucket, or the add-on, which is a
    setting of the cluster. A project's first cluster creates the pool of identities that the right names.
    """

    def __init__(
        self,
        name: str,
        plan: CheckpointingPlan,
        *,
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Checkpointing", name, None, opts)
        made = checkpoint_writer(plan)
        writer = gcp.storage.BucketIAMMember(
            f"{name}-writer", **made.arguments, opts=resource_options(made, self, [cluster] if cluster else [])
        )
        options = cluster_options(self, cluster=cluster, served_by=[writer])
        KubernetesObject(f"{name}-configuration", checkpoint_configuration(plan), opts=options)
        self.register_outputs({"bucket": plan.bucket})
