"""Policies `berth-serving` and `berth-scale`: services, pods that Kueue queues alone, and StatefulSets that are scaled.

As in `policy_rules`, every expression is true if the request is allowed. Where Kueue does not queue services, nobody
may request accelerators in them, or in pods with a scheduling gate of their own. Where it does, a StatefulSet and a
LeaderWorkerSet keep their pods: while one is updated, Kueue removes the gates of all pods of the old revision, with or
without quota (Kueue 0.19.2, pkg/util/statefulset, `UngateAndFinalizePod`).

Kueue admits the pods of a StatefulSet together. Its webhook looks at the StatefulSet, not at the subresource `scale`: a
StatefulSet that is scaled there, by a person or an autoscaler, has more pods than its Workload, which Kueue then calls
finished, and its running pods are counted nowhere (Kueue 0.19.2, tried with Kubernetes 1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from berth.manifests import policy_rules
from berth.manifests.policy_rules import Rule, Variable, list_field
from berth.manifests.rules import jobs as job_rules
from berth.manifests.rules.admission import EVERYONE, PEOPLE, AdmissionPolicy, Requests, requests_of
from berth.names import TEAM_LABEL

KINDS: Final = {"apps": ("deployments", "statefulsets"), "leaderworkerset.x-k8s.io": ("leaderworkersets",)}
"""API group → kinds of services that Kueue queues."""


def _variables(namespaces: Sequence[str], accelerators: Sequence[str]) -> list[Variable]:
    """Return the variables of the policy; Kueue queues services in `namespaces`."""
    return [
        ("isQueuedHere", f"namespaceObject.metadata.name in {policy_rules.texts(sorted(namespaces))}"),
        (
            "isOwned",
            f"has(namespaceObject.metadata.labels) && '{TEAM_LABEL}' in namespaceObject.metadata.labels",
        ),
        ("isPod", "request.resource.resource == 'pods'"),
        (
            "spec",
            "variables.isPod ? dyn(object).spec : request.resource.resource == 'leaderworkersets' ? "
            "dyn(object).spec.leaderWorkerTemplate.workerTemplate.spec : dyn(object).spec.template.spec",
        ),
        policy_rules.CONTAINERS,
        *(each for each in policy_rules.accelerator_variables(accelerators) if each[0] != "mayHostNetwork"),
        ("gates", f"variables.isPod ? {list_field('variables.spec', 'schedulingGates')}.map(g, g.name) : []"),
        *(each for each in job_rules.JOB_VARIABLES if each[0] in ("owners", "oldOwners", "isController")),
        ("isChanged", "request.operation == 'UPDATE' && !variables.isController"),
    ]


_RULES: Final[list[Rule]] = [
    (
        "variables.isPod || variables.isQueuedHere || !variables.usesAccelerators",
        "Kueue does not queue services in this namespace, so they may not use accelerators; submit a job, or ask the "
        "platform's owners for serving: true",
    ),
    (
        "!variables.isPod || variables.isQueuedHere || !variables.isOwned || !variables.usesAccelerators || "
        f"!('{policy_rules.ADMISSION_GATE}' in variables.gates)",
        "Kueue does not queue single pods in this namespace, so its scheduling gate does not allow accelerators; "
        "submit a job",
    ),
    *(
        (f"variables.isPod || {expression}", message)
        for expression, message in job_rules.JOB_RULES
        if "wners" in expression
    ),
    (
        "!variables.isQueuedHere || !variables.isChanged || request.resource.resource != 'statefulsets' || "
        "dyn(object).spec.template == dyn(oldObject).spec.template",
        "while a StatefulSet is updated, Kueue starts its old pods without quota; create a new StatefulSet instead",
    ),
    (
        "!variables.isQueuedHere || !variables.isChanged || request.resource.resource != 'leaderworkersets' || "
        "(dyn(object).spec.leaderWorkerTemplate == dyn(oldObject).spec.leaderWorkerTemplate && "
        "has(dyn(object).spec.networkConfig) == has(dyn(oldObject).spec.networkConfig) && "
        "(!has(dyn(object).spec.networkConfig) || "
        "dyn(object).spec.networkConfig == dyn(oldObject).spec.networkConfig))",
        "while a LeaderWorkerSet is updated, Kueue starts its old pods without quota; create a new LeaderWorkerSet "
        "instead",
    ),
]


def serving_policy(namespaces: Sequence[str], accelerators: Sequence[str]) -> AdmissionPolicy:
    """Return the policy of a cluster in which Kueue queues services in `namespaces`."""
    return AdmissionPolicy(
        name="serving",
        refuses="accelerators in services that Kueue does not queue; changes of pods that Kueue admitted together",
        applies_to=PEOPLE,
        breaks="a rolling update of a StatefulSet or LeaderWorkerSet with serving: create a new one",
        requests=(Requests("", ("pods",)), *requests_of(KINDS)),
        variables=tuple(_variables(namespaces, accelerators)),
        rules=tuple(_RULES),
    )


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
