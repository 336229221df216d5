"""Policy `berth-deletion`: pods do not outlive their job, and finished Workloads may be deleted.

Kueue frees the quota of a job that is gone. A job that is deleted with orphaned pods leaves them on the machines, and
Kueue has nothing to evict. `batch/v1` orphans pods if a request names no propagation policy (Kubernetes 1.36,
pkg/registry/batch/job/strategy.go, `DefaultGarbageCollectionPolicy`). A finalizer on a job keeps its pods, which are
deleted after their owner is gone; so does a second owner, because Kubernetes deletes only what has no owner left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Rule, Variable, list_field
from berth.manifests.rules.admission import (
    HAS_NEW_TEMPLATES,
    IS_CONTROLLER,
    PEOPLE,
    SERVICES,
    TEMPLATES,
    AdmissionPolicy,
    Requests,
    joined,
    keys,
    requests_of,
    with_templates,
)

_OPTIONS: Final = "request.options"
FINALIZERS: Final = ("foregroundDeletion",)
"""Finalizers that people may write: Kubernetes deletes the pods first."""
_POD_FINALIZER: Final = "kueue.x-k8s.io/managed"
"""Finalizer that Kueue's webhook adds to pods that it queues, within the request that creates them."""

_VARIABLES: Final[tuple[Variable, ...]] = (
    IS_CONTROLLER,
    ("isDeletion", "request.operation == 'DELETE'"),
    (
        "hasPolicy",
        f"has({_OPTIONS}.propagationPolicy) || (has({_OPTIONS}.orphanDependents) && "
        f"{_OPTIONS}.orphanDependents == false)",
    ),
    ("finalizers", f"variables.isDeletion ? [] : {list_field('object.metadata', 'finalizers')}"),
    ("oldFinalizers", f"request.operation == 'UPDATE' ? {list_field('oldObject.metadata', 'finalizers')} : []"),
    (TEMPLATES[0], f"variables.isDeletion ? [] : ({TEMPLATES[1]})"),
    HAS_NEW_TEMPLATES,
    ("owners", f"variables.isDeletion ? [] : {list_field('object.metadata', 'ownerReferences')}"),
    ("oldOwners", f"request.operation == 'UPDATE' ? {list_field('oldObject.metadata', 'ownerReferences')} : []"),
    ("isOldPod", "request.resource.resource == 'pods' && request.operation == 'UPDATE'"),
    ("labels", f"variables.isDeletion ? {{}} : {keys('object', 'labels')}"),
    ("oldLabels", f"request.operation == 'UPDATE' ? {keys('oldObject', 'labels')} : {{}}"),
    ("annotations", f"variables.isDeletion ? {{}} : {keys('object', 'annotations')}"),
    ("oldAnnotations", f"request.operation == 'UPDATE' ? {keys('oldObject', 'annotations')} : {{}}"),
)

_RULES: Final[tuple[Rule, ...]] = (
    (
        f"!variables.isDeletion || variables.isController || ((!has({_OPTIONS}.propagationPolicy) || "
        f"{_OPTIONS}.propagationPolicy != 'Orphan') && (!has({_OPTIONS}.orphanDependents) || "
        f"{_OPTIONS}.orphanDependents == false))",
        "pods that outlive their job keep machines that Kueue counts as free; delete it with propagationPolicy "
        "Background or Foreground (kubectl delete --cascade=background)",
    ),
    (
        "!variables.isDeletion || variables.isController || !(request.resource.resource in ['jobs', "
        "'replicationcontrollers']) || variables.hasPolicy",
        "without a propagation policy Kubernetes keeps the pods of a deleted Job; write propagationPolicy: Background "
        "in the DeleteOptions, as kubectl does",
    ),
    (
        "variables.isController || variables.finalizers.all(f, f in variables.oldFinalizers || "
        f"f in {list(FINALIZERS)} || (request.resource.resource == 'pods' && f == '{_POD_FINALIZER}'))",
        "a finalizer keeps a deleted job and its pods, which Kueue no longer counts; remove it from "
        "metadata.finalizers",
    ),
    (
        # Of controllers too: they create jobs from templates that people write, such as those of a CronJob.
        "request.resource.resource == 'pods' || !variables.hasNewTemplates || variables.templates.all(t, "
        "!has(t.metadata) || !has(t.metadata.finalizers) || t.metadata.finalizers.size() == 0)",
        "a finalizer keeps deleted pods; remove it from the pod template's metadata.finalizers",
    ),
    (
        "variables.isController || !(variables.isOldPod || variables.oldOwners.exists(o, has(o.controller) && "
        "o.controller)) || request.operation != 'UPDATE' || variables.owners == variables.oldOwners",
        "without its owner, or with a second one, an object outlives the job that it is a part of, and Kueue does not "
        "count it; keep ownerReferences, and delete the job",
    ),
    (
        "!variables.isOldPod || variables.isController || variables.oldLabels.all(k, !(k.startsWith('kueue.x-k8s.io/') "
        "|| variables.oldOwners.exists(o, has(o.controller) && o.controller && o.kind == 'Job')) || (k in "
        "variables.labels && variables.labels[k] == variables.oldLabels[k]))",
        "a job finds its pods by their labels, and Kueue those that it counts, and lets go of a pod whose labels "
        "change; add other labels, and keep those that are there",
    ),
    (
        "!variables.isOldPod || variables.isController || variables.oldAnnotations.all(k, "
        "!k.startsWith('kueue.x-k8s.io/') || (k in variables.annotations && variables.annotations[k] == "
        "variables.oldAnnotations[k]))",
        "Kueue counts this pod by its annotations of kueue.x-k8s.io/; keep those that are there",
    ),
)

_CONDITION: Final = (
    "request.operation != 'UPDATE' || dyn(object).metadata != dyn(oldObject).metadata || "
    "dyn(object).spec != dyn(oldObject).spec"
)


def deletion_policy(job_kinds: Mapping[str, Sequence[str]]) -> AdmissionPolicy:
    """Return the policy for the kinds that Kueue queues."""
    owners = {group: names for group, names in SERVICES.items() if group}
    deleted = {**joined(owners, job_kinds), "": ("replicationcontrollers",)}
    return AdmissionPolicy(
        name="deletion",
        refuses=(
            "deletion of jobs and services that keeps their pods (`Orphan`, or a Job without a propagation policy); "
            "finalizers other than `foregroundDeletion`; other owners of the parts of a job, and other labels of its "
            "pods; Kueue's labels and annotations of pods that are there"
        ),
        applies_to=PEOPLE,
        breaks="a client that deletes a Job without DeleteOptions: it writes `propagationPolicy: Background`",
        requests=(*with_templates(job_kinds), *requests_of(deleted, ("DELETE",))),
        variables=_VARIABLES,
        rules=_RULES,
        condition=_CONDITION,
        concern=(
            "request.operation != 'CREATE' || has(object.metadata.finalizers) || "
            f"({TEMPLATES[1]}).exists(t, has(t.metadata) && has(t.metadata.finalizers))"
        ),
    )


WORKLOADS: Final = AdmissionPolicy(
    name="workloads",
    refuses="deletion of a Workload of Kueue that is not finished and has an owner or quota",
    applies_to=PEOPLE,
    breaks="nothing: people had no right to delete Workloads before",
    requests=(Requests("kueue.x-k8s.io", ("workloads",), ("DELETE",)),),
    variables=(IS_CONTROLLER,),
    rules=(
        (
            "variables.isController || oldObject == null || (has(oldObject.status) && "
            "has(oldObject.status.conditions) && oldObject.status.conditions.exists(c, c.type == 'Finished' && "
            "c.status == 'True')) || (!has(oldObject.metadata.ownerReferences) && (!has(oldObject.status) || "
            "!has(oldObject.status.admission)))",
            "this Workload counts a job that is not finished; delete the job",
        ),
    ),
    condition=None,
)
