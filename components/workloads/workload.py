"""A workload that a stack deploys itself. Does not own its queue, its namespace or its service account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pulumi

from berth.manifests.workloads import manifests
from berth.plan.workloads import WorkloadPlan
from components.kubernetes import KubernetesObject, inside

_AT_ONCE: Final = {"pulumi.com/skipAwait": "true"}
"""The provider would wait until a Job is complete, and it may wait in its queue for days."""
_KUEUES: Final = ["spec.suspend", "spec.runPolicy.suspend"]
"""Fields that are Kueue's once the object is made."""


class Workload(pulumi.ComponentResource):
    """The objects of one workload, each after the one before it: what pods are found by comes before them.

    `namespace` is the Namespace's own output where the same program makes it. Whether the workload runs is Kueue's
    affair, so the component is done as soon as its objects exist. Jobs cannot be changed once they are made; a change
    replaces one, and what it computed so far is lost.
    """

    def __init__(
        self,
        name: str,
        plan: WorkloadPlan,
        *,
        provider: pulumi.ProviderResource,
        namespace: pulumi.Input[str] | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:workloads:Workload", name, None, opts)
        live: dict[str, Any] = {"annotations": _AT_ONCE} | ({} if namespace is None else {"namespace": namespace})
        made: list[KubernetesObject] = []
        for manifest in manifests(plan):
            options = inside(self, provider=provider, cluster=cluster, served_by=made[-1:] or served_by)
            options.ignore_changes = _KUEUES
            logical = f"{name}-{str(manifest['kind']).lower()}"
            made.append(KubernetesObject(logical, manifest, live={"metadata": live}, opts=options))
        self.register_outputs({"workload": made[-1].object_name})
