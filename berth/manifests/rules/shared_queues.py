"""Policy `berth-queues`: jobs in a queue that several teams share keep to the priorities and the size that it has.

A priority orders a queue and decides who is preempted, so in a shared queue it evicts jobs of other teams. Kueue takes
it from its label on the job, else from the pod templates, of a job of Kubeflow also from `runPolicy` (Kueue 0.19.2,
pkg/controller/jobframework, `ExtractPriority`). The templates of other kinds than Job meet the policy of pods only
after the eviction. In a queue with StrictFIFO a job that can never be admitted holds up all jobs behind it, forever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import annotation, list_field
from berth.manifests.rules.admission import (
    EVERYONE,
    IS_CONTROLLER,
    QUEUE_LABEL,
    REPLICA_SPECS,
    TEMPLATES,
    AdmissionPolicy,
    entry,
    keys,
    of_group,
    of_kind,
    templates,
    with_templates,
)
from berth.manifests.rules.growth import hosts, replicas, worker_groups
from berth.plan.kueue import PODS
from berth.plan.policies import QUEUE_CEILINGS, QUEUE_PRIORITIES

_PRIORITY: Final = "kueue.x-k8s.io/priority-class"
_SPEC: Final = "dyn(object).spec"
_OF_TEMPLATES: Final = f"({TEMPLATES[1]}).exists(t, has(t.spec.priorityClassName))"
_OF_POLICY: Final = (
    f"(request.resource.group == 'kubeflow.org' && has({_SPEC}.runPolicy) && "
    f"has({_SPEC}.runPolicy.schedulingPolicy) && has({_SPEC}.runPolicy.schedulingPolicy.priorityClass))"
)
_MOST_QUEUES: Final = 64
"""Queues that a condition names; the rules themselves look at the namespace, which has only its own."""
_RESOURCE: Final = "c.split('=')[0].split(variables.queue + '/')[1]"
_MOST: Final = "int(c.split('=')[1])"
_IS_WRAPPER: Final = "(request.resource.resource == 'appwrappers')"


def _allowed(priority: str) -> str:
    """Return an expression for whether jobs of the queue may have a priority, which may be empty."""
    return f"(variables.queue + '=' + {priority}) in variables.priorities"


def _template_allowed(template: str) -> str:
    return f"(!has({template}.spec.priorityClassName) || {_allowed(f'{template}.spec.priorityClassName')})"


def _above(resources: str, pods: str) -> str:
    """Return an expression for whether so many pods, each with a map of limits, request more than a ceiling `c`.

    `c` is `<queue>/<resource>=<most>`; amounts that are no plain numbers are left to the queue.
    """
    amount = f"string({resources}[{_RESOURCE}])"
    return f"{_RESOURCE} in {resources} && {amount}.matches('^[0-9]{{1,9}}$') && int({amount}) * ({pods}) > {_MOST}"


def _too_many(pod: str, pods: str) -> str:
    """Return an expression for whether so many pods of a spec together request more than a ceiling `c`."""
    limits = "has(k.resources) && has(k.resources.limits)"
    return (
        f"(({_RESOURCE} == '{PODS}' && {pods} > {_MOST}) || {list_field(pod, 'containers')}.exists(k, {limits} && "
        f"{_above('k.resources.limits', pods)}))"
    )


def _of_train_job() -> str:
    """Return an expression for whether a TrainJob says more than a ceiling `c`: its runtime may ask for more."""
    trainer = f"{_SPEC}.trainer"
    nodes = f"(has({trainer}.numNodes) ? {trainer}.numNodes : 1)"
    each = f"{trainer}.resourcesPerNode"
    return (
        f"(has({trainer}) && (({_RESOURCE} == '{PODS}' && {nodes} > {_MOST}) || (has({each}) && has({each}.limits) && "
        f"{_above(f'{each}.limits', nodes)})))"
    )


def _never_fits(holder: str, component: str | None = None) -> str:
    """Return an expression for whether a role of a job asks for more than a ceiling `c`, where it is known.

    The job is a request's or, with `component`, what a component of an AppWrapper has. Kueue admits the pods of a
    Deployment one by one, those of a LeaderWorkerSet by group, and an AppWrapper as a whole.
    """
    spec = f"dyn({holder}).spec"
    of_job = "(has({0}.parallelism) ? {0}.parallelism : 1)"
    in_set = _too_many("r.template.spec.template.spec", f"{of_job.format('r.template.spec')} * {replicas('r')}")
    group = _too_many("g.template.spec", f"{replicas('g')} * {hosts('g')}")
    roles = " || ".join(
        f"(has({spec}.{field}) && {spec}.{field}.exists(n, "
        f"{_too_many(f'{spec}.{field}[n].template.spec', replicas(f'{spec}.{field}[n]'))}))"
        for field in REPLICA_SPECS
    )
    workers = f"{spec}.leaderWorkerTemplate"
    size = f"((has({workers}.size) ? {workers}.size : 1) - (has({workers}.leaderTemplate) ? 1 : 0))"
    deployed = "1" if component is None else replicas(spec)
    of_kinds = {
        "Job": _too_many(f"{spec}.template.spec", of_job.format(spec)),
        "JobSet": f"{spec}.replicatedJobs.exists(r, {in_set})",
        "Pod": _too_many(spec, "1"),
        "Deployment": _too_many(f"{spec}.template.spec", deployed),
        "StatefulSet": _too_many(f"{spec}.template.spec", replicas(spec)),
        "LeaderWorkerSet": _too_many(f"{workers}.workerTemplate.spec", size),
    }
    rays = f"{worker_groups(holder)}.exists(g, {group})"
    kinds = [f"({of_kind(kind, component)} && {text})" for kind, text in of_kinds.items()]
    kinds += [f"({of_group('ray.io', component)} && {rays})", f"({of_group('kubeflow.org', component)} && ({roles}))"]
    if component is not None:
        return f"({' || '.join(kinds)})"
    wrapped = f"{_SPEC}.components.exists(w, {_never_fits('w.template', 'w.template')})"
    kinds += [f"({of_kind('TrainJob', None)} && {_of_train_job()})", f"({_IS_WRAPPER} && {wrapped})"]
    return " || ".join(kinds)


def _concern(ordered: Sequence[str]) -> str | None:
    if len(ordered) > _MOST_QUEUES:
        return None
    return (
        f"'{_PRIORITY}' in {keys('object', 'labels')} || {entry(QUEUE_LABEL)} in {list(ordered)} || {_OF_POLICY} || "
        f"{_IS_WRAPPER} || {_OF_TEMPLATES}"
    )


def shared_queue_policy(
    job_kinds: Mapping[str, Sequence[str]], shared: Sequence[str], ordered: Sequence[str]
) -> AdmissionPolicy:
    """Return the policy for the kinds that Kueue queues in the local queues `shared`; `ordered` have ceilings."""
    is_shared = "(variables.queue + '=') in variables.priorities"
    # Kueue starts jobs that are older than the policy.
    is_checked = f"{is_shared} && (request.operation == 'CREATE' || !variables.isController)"
    wrapped = templates("c.template", "c.template")
    evicts = "in a queue of several teams this priority evicts jobs of others"
    remedy = f"or write one of the namespace's annotation {QUEUE_PRIORITIES}"
    return AdmissionPolicy(
        name="queues",
        refuses=(
            "in queues that several teams share: a priority, as label or of pods, other than those of the queue, the "
            "default and the team's `podPriorities`; with StrictFIFO, a job above what the queue can ever admit"
        ),
        applies_to=EVERYONE,
        breaks="an urgent job in a shared queue: the team's `podPriorities` allows the priority",
        requests=with_templates(job_kinds),
        variables=(
            IS_CONTROLLER,
            ("queue", entry(QUEUE_LABEL)),
            ("priority", entry(_PRIORITY)),
            ("priorities", annotation(QUEUE_PRIORITIES)),
            (
                "ceilings",
                f"({annotation(QUEUE_CEILINGS)}).filter(c, variables.queue != '' && "
                "c.startsWith(variables.queue + '/'))",
            ),
        ),
        rules=(
            (
                f"!({is_shared}) || {_allowed('variables.priority')}",
                f"{evicts}; remove the label {_PRIORITY}, {remedy}",
            ),
            (
                f"!({is_checked}) || (({TEMPLATES[1]}).all(t, {_template_allowed('t')}) && (!{_IS_WRAPPER} || "
                f"{_SPEC}.components.all(c, ({wrapped}).all(t, {_template_allowed('t')}))))",
                f"{evicts}; remove priorityClassName from the pod templates, {remedy}",
            ),
            (
                f"!({is_checked}) || !{_OF_POLICY} || {_allowed(f'{_SPEC}.runPolicy.schedulingPolicy.priorityClass')}",
                f"{evicts}; remove runPolicy.schedulingPolicy.priorityClass, {remedy}",
            ),
            (
                f"!variables.ceilings.exists(c, {_never_fits('object')})",
                "this job asks for more accelerators or pods than its queue can ever admit, and would hold up all jobs "
                f"behind it; write at most what the namespace's annotation {QUEUE_CEILINGS} has",
            ),
        ),
        in_shared=False,
        concern=_concern(ordered),
        queues=tuple(shared),
        condition=(
            f"request.operation == 'CREATE' || dyn(object).spec != dyn(oldObject).spec || "
            f"{keys('object', 'labels')} != {keys('oldObject', 'labels')}"
        ),
    )
