"""Policy `berth-scale`: StatefulSets that Kueue queues are not scaled beside it.

Kueue admits the pods of a StatefulSet together. Its webhook looks at the StatefulSet, not at the subresource `scale`: a
StatefulSet that is scaled there, by a person or an autoscaler, has more pods than its Workload, which Kueue then calls
finished, and its running pods are counted nowhere (Kueue 0.19.2, tried with Kubernetes 1.36).
"""

from __future__ import annotations

from collections.abc import Sequence

from berth.manifests.rules.admission import EVERYONE, AdmissionPolicy, Requests


def scale_policy(namespaces: Sequence[str]) -> AdmissionPolicy:
    """Return the policy for the namespaces in which Kueue queues services."""
    queued = f"namespaceObject.metadata.name in {sorted(namespaces)}"
    return AdmissionPolicy(
        name="scale",
        refuses="scaling of StatefulSets that Kueue queues by the subresource `scale`, and autoscalers of them",
        applies_to=EVERYONE,
        breaks="`kubectl scale statefulset`: another StatefulSet; an autoscaler of a StatefulSet: a Deployment",
        requests=(
            Requests("apps", ("statefulsets/scale",)),
            Requests("autoscaling", ("horizontalpodautoscalers",)),
        ),
        rules=(
            (
                f"request.resource.resource != 'statefulsets' || !({queued})",
                "Kueue no longer counts a StatefulSet that is scaled beside it; write spec.replicas: 0 in the "
                "StatefulSet itself (kubectl patch) to stop it, and create another one for more pods",
            ),
            (
                f"request.resource.resource != 'horizontalpodautoscalers' || !({queued}) || "
                "dyn(object).spec.scaleTargetRef.kind != 'StatefulSet'",
                "Kueue no longer counts a StatefulSet that an autoscaler scales; scale a Deployment or a "
                "LeaderWorkerSet",
            ),
        ),
        condition=None,
    )
