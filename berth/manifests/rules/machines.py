"""Policy `berth-machines`: pods without accelerators use the machines without, where their queue has some.

On accelerator machines such pods take cores, memory and places of pods that others' jobs need beside their
accelerators. Kueue assigns the first flavor with enough quota, so a pod says which machines it means. A queue without
other machines lets them run where its accelerators are: quotas of cpu, memory and pods bound them.

The queue is known where a person names it. So the policy reads the components of an AppWrapper, and of a TrainJob what
it says of its runtime's jobs: the runtime itself is another object, which no expression can read. A RayJob without
`submitterPodTemplate` has a pod besides its cluster (KubeRay 1.6.2, `GetDefaultSubmitterTemplate`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Rule, annotation, list_field
from berth.manifests.rules.admission import (
    EVERYONE,
    HAS_NEW_TEMPLATES,
    IS_CONTROLLER,
    QUEUE_LABEL,
    TEMPLATES,
    AdmissionPolicy,
    entry,
    requests_accelerators,
    templates,
    with_templates,
)
from berth.plan.policies import PLAIN_MACHINES

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _selects_plain(template: str) -> str:
    """Return an expression for whether a pod template selects a label of `variables.plain`."""
    spec = f"{template}.spec"
    terms = f"{spec}.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    return (
        f"(has({spec}.nodeSelector) && {spec}.nodeSelector.exists(k, (variables.queue + '/' + k + '=' + "
        f"{spec}.nodeSelector[k]) in variables.plain)) || (has({spec}.affinity) && has({spec}.affinity.nodeAffinity) "
        f"&& has({spec}.affinity.nodeAffinity.{_REQUIRED}) && {terms}.all(n, {list_field('n', 'matchExpressions')}"
        ".exists(e, e.operator == 'In' && e.values.all(v, (variables.queue + '/' + e.key + '=' + v) in "
        "variables.plain))))"
    )


INITIALIZERS: Final = {"dataset": "dataset-initializer", "model": "model-initializer"}
"""Field of a TrainJob's `initializer` → the job of the runtimes that Kubeflow Trainer 2.2 publishes."""
TRAINER: Final = "node"
"""The job of these runtimes that trains."""
SUBMITTED_BY_A_JOB: Final = "K8sJobMode"
"""The default of a RayJob's `submissionMode`, in which a job of its own submits the entrypoint."""


def _has_no_hidden_submitter(rayjob: str) -> str:
    """Return an expression for whether every pod of a RayJob has a template in it."""
    spec = f"dyn({rayjob}).spec"
    return (
        f"has({spec}.submitterPodTemplate) || (has({spec}.submissionMode) && "
        f"{spec}.submissionMode != '{SUBMITTED_BY_A_JOB}')"
    )


def _patched(job: str) -> str:
    """Return an expression for whether a TrainJob's patches select machines without accelerators for a job.

    A later patch replaces labels of an earlier one, so each with a nodeSelector selects such a label.
    """
    spec = "dyn(object).spec"
    inner = "p.trainingRuntimeSpec.template.spec.replicatedJobs"
    has_inner = (
        "has(p.trainingRuntimeSpec) && has(p.trainingRuntimeSpec.template) && "
        "has(p.trainingRuntimeSpec.template.spec) && has(p.trainingRuntimeSpec.template.spec.replicatedJobs)"
    )
    has_selector = (
        f"r.name == '{job}' && has(r.template) && has(r.template.spec) && has(r.template.spec.template) && "
        "has(r.template.spec.template.spec) && has(r.template.spec.template.spec.nodeSelector)"
    )
    selected = "r.template.spec.template.spec.nodeSelector"
    plain = f"{selected}.exists(k, (variables.queue + '/' + k + '=' + {selected}[k]) in variables.plain)"
    return (
        f"(has({spec}.runtimePatches) && {spec}.runtimePatches.exists(p, {has_inner} && {inner}.exists(r, "
        f"{has_selector})) && {spec}.runtimePatches.all(p, !({has_inner}) || {inner}.all(r, !({has_selector}) || "
        f"{plain})))"
    )


def _is_plain_train_job(accelerators: Sequence[str]) -> str:
    """Return an expression for whether no job of a TrainJob may get accelerator machines without accelerators."""
    spec = "dyn(object).spec"
    node = f"{spec}.trainer.resourcesPerNode"
    uses = " || ".join(
        f"(has({node}.{field}) && {list(accelerators)}.exists(n, n in {node}.{field}))"
        for field in ("limits", "requests")
    )
    initializers = " && ".join(
        f"(!has({spec}.initializer) || !has({spec}.initializer.{field}) || {_patched(job)})"
        for field, job in INITIALIZERS.items()
    )
    return f"((has({spec}.trainer) && has({node}) && ({uses})) || {_patched(TRAINER)}) && {initializers}"


def _rules(accelerators: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules for a job in a queue with both kinds of machines."""
    wrong = "pods without accelerators would take cores of accelerator machines, and this queue has others"
    labels = f"one of the labels of the namespace's annotation {PLAIN_MACHINES}"
    allowed = f"t, {requests_accelerators('t', accelerators)} || {_selects_plain('t')}"
    components = "dyn(object).spec.components"
    return (
        (
            f"variables.templates.all({allowed})",
            f"{wrong}; write {labels} in the nodeSelector of these pods",
        ),
        (
            f"request.resource.resource != 'rayjobs' || {_has_no_hidden_submitter('object')}",
            f"the pod that submits the entrypoint would take cores of accelerator machines; write {labels} in the "
            "nodeSelector of submitterPodTemplate, or submissionMode: HTTPMode",
        ),
        (
            f"request.resource.resource != 'trainjobs' || ({_is_plain_train_job(accelerators)})",
            f"{wrong}; write accelerators in trainer.resourcesPerNode, or {labels} in the nodeSelector of "
            "runtimePatches for each job without accelerators",
        ),
        (
            f"request.resource.resource != 'appwrappers' || {components}.all(c, "
            f"({templates('c.template', 'c.template')}).all({allowed}) && (c.template.kind != 'RayJob' || "
            f"{_has_no_hidden_submitter('c.template')}))",
            f"{wrong}; write {labels} in the nodeSelector of these pods of the components, and submissionMode: "
            "HTTPMode in a RayJob",
        ),
    )


def machines_policy(
    job_kinds: Mapping[str, Sequence[str]], accelerators: Sequence[str], queues: Sequence[str]
) -> AdmissionPolicy:
    """Return the policy for every kind with pod templates; the local queues `queues` have both kinds of machines."""
    queue, old_queue = entry(QUEUE_LABEL), entry(QUEUE_LABEL, "oldObject")
    return AdmissionPolicy(
        name="machines",
        refuses=(
            "pods without accelerators that may get accelerator machines, in queues that also have machines without"
        ),
        applies_to=EVERYONE,
        breaks=(
            "a job without accelerators, or with such a role, in such a queue: its pods select a label of the machines "
            "without, and by node affinity (`DoesNotExist`) keep off that of accelerators, by which Kueue chooses; "
            "`berth workload` writes both"
        ),
        requests=with_templates(job_kinds),
        variables=(
            IS_CONTROLLER,
            TEMPLATES,
            HAS_NEW_TEMPLATES,
            (
                # Kueue writes into the templates of older jobs that it starts; pods of a job have its selectors.
                "isChecked",
                "(request.resource.resource != 'pods' || "
                f"!{list_field('object.metadata', 'ownerReferences')}.exists(o, has(o.controller) && o.controller)) && "
                f"(variables.hasNewTemplates || {queue} != {old_queue} || (request.resource.resource in "
                "['appwrappers', 'rayjobs', 'trainjobs'] && dyn(object).spec != dyn(oldObject).spec)) && "
                "(request.operation == 'CREATE' || !variables.isController)",
            ),
            ("queue", queue),
            (
                "plain",
                f"({annotation(PLAIN_MACHINES)}).filter(m, variables.queue != '' && m.startsWith(variables.queue + "
                "'/'))",
            ),
        ),
        rules=tuple(
            (f"!variables.isChecked || variables.plain.size() == 0 || {expression}", message)
            for expression, message in _rules(accelerators)
        ),
        condition=None,
        queues=tuple(queues),
        in_shared=False,
    )
