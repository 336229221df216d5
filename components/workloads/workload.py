"""A workload that a stack deploys itself. Does not own its queue, its namespace or its service account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pulumi

from berth.manifests.workloads.objects import workload_manifests
from berth.plan.workloads import WorkloadPlan

from ..kubernetes import KubernetesObject, cluster_options

_SKIP_AWAIT: Final = {"pulumi.com/skipAwait": "true"}
"""Annotation to not wait until a Job completes, because it may be pending for days."""
_KUEUE_FIELDS: Final = ["spec.suspend", "spec.runPolicy.suspend"]
"""Fields that Kueue changes after creation."""


class Workload(pulumi.ComponentResource):
    """The objects of one workload, created in order: a Service comes before its pods.

    `namespace` is the Namespace's output if the same program creates it. The component is complete when its objects
    exist, because Kueue decides when the workload runs. Jobs are immutable: a change replaces the Job, which loses its
    progress.
    """

    def __init__(
        self,
        name: str,
        plan: WorkloadPlan,
        *,
        namespace: pulumi.Input[str] | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:workloads:Workload", name, None, opts)
        live: dict[str, Any] = {"annotations": _SKIP_AWAIT} | ({} if namespace is None else {"namespace": namespace})
        objects: list[KubernetesObject] = []
        for manifest in workload_manifests(plan):
            options = cluster_options(self, cluster=cluster, served_by=objects[-1:] or served_by)
            options.ignore_changes = _KUEUE_FIELDS
            resource_name = f"{name}-{str(manifest['kind']).lower()}"
            objects.append(KubernetesObject(resource_name, manifest, live={"metadata": live}, opts=options))
        self.register_outputs({"workload": objects[-1].object_name})
