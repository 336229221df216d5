"""Checks of a job's local queue, kind and priority."""

from __future__ import annotations

from collections.abc import Iterator

from berth.catalog import fact_tables
from berth.diagnostics import did_you_mean, join_quoted, join_words
from berth.jobs.job_manifests import PRIORITY_CLASS, QUEUE_NAME, JobManifest
from berth.jobs.kinds import kinds
from berth.jobs.pod_templates import iterate_containers
from berth.jobs.values import get_nested
from berth.lint.admission import check_uncounted
from berth.lint.fleet import LintContext, SubmittedJob
from berth.lint.likely_queue import likely_queue
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.configuration import OPERATORS
from berth.plan.kueue import LocalQueuePlan
from berth.simulator.integrations import POD
from berth.workloads.target import DEFAULT_QUEUE

_MAX_LISTED = 6


def resolve_local_queue(context: LintContext, job: JobManifest) -> LocalQueuePlan | None:
    """Look up the local queue of a job; None after a fault."""
    name = job.labels.get(QUEUE_NAME)
    if name is None and (job.namespace, DEFAULT_QUEUE) not in context.local_queues:
        _report_no_queue(context, job)
        return None
    local_queue = context.local_queues.get((job.namespace, DEFAULT_QUEUE if name is None else str(name)))
    if local_queue is None:
        source = job.label(QUEUE_NAME)
        source.fault(
            "no-queue",
            f"no local queue '{name}' in namespace '{job.namespace}'{_suggest_local_queue(context, job, str(name))}",
        )
    return local_queue


def _report_no_queue(context: LintContext, job: JobManifest) -> None:
    """Report a missing queue label, and where the queue is named instead."""
    consequence = context.fate_without_queue(
        job.namespace, has_suspend=job.row is not None and job.row.suspend is not None
    )
    if QUEUE_NAME in job.annotations:
        source = job.metadata.child("annotations", job.annotations).child(QUEUE_NAME, "")
        source.fault(
            "no-queue", f"the queue is named in an annotation: {consequence}; write it in the label {QUEUE_NAME}"
        )
        return
    outer_labels = as_mapping(get_nested(job.source.value, "metadata", "labels"))
    if job.row is not None and QUEUE_NAME in outer_labels:
        source = job.source.child("metadata", {}).child("labels", outer_labels).child(QUEUE_NAME, "")
        message = f"the queue is named on the {job.kind}, which creates the jobs: {consequence}"
        source.fault("no-queue", f"{message}; write the label in {job.row.metadata}.labels")
        return
    for pods in job.settings:
        if QUEUE_NAME in pods.labels:
            source = pods.at(("metadata", "labels", QUEUE_NAME))
            source.fault(
                "no-queue", f"the queue is named on the pods: {consequence}; write the label on the {job.kind}"
            )
            return
    message = f"names no queue: {consequence}; write the label {_label_remedy(context, job)}"
    job.metadata.fault("no-queue", message)


def _label_remedy(context: LintContext, job: JobManifest) -> str:
    """Return what to write for a queue: the only one for the job's accelerators, or the local queues."""
    likely = likely_queue(context, job)
    if likely is None or not likely.is_only:
        return f"{QUEUE_NAME}{_list_local_queues(context, job.namespace)}"
    namespace = likely.local_queue.namespace
    beside = f" and metadata.namespace: {namespace}" if namespace != job.namespace else ""
    return f"{QUEUE_NAME}: {likely.local_queue.name}{beside}"


def _suggest_local_queue(context: LintContext, job: JobManifest, name: str) -> str:
    namespace_queues = sorted(local for namespace, local in context.local_queues if namespace == job.namespace)
    elsewhere = sorted(namespace for namespace, local in context.local_queues if local == name)
    if not namespace_queues and elsewhere:
        return f"; it exists in {_quote_some(elsewhere)}; write metadata.namespace"
    if hint := did_you_mean(name, namespace_queues):
        return hint
    likely = likely_queue(context, job)
    if likely is not None and likely.is_only:
        return f"; write {_label_remedy(context, job)}, the only queue for its pods"
    return _list_local_queues(context, job.namespace)


def _list_local_queues(context: LintContext, namespace: str) -> str:
    namespace_queues = sorted(local for space, local in context.local_queues if space == namespace)
    if namespace_queues:
        return f"; local queues: {_quote_some(namespace_queues)}"
    namespaces = sorted({space for space, _ in context.local_queues})
    return f"; local queues are in {_quote_some(namespaces)}" if namespaces else "; the fleet has no queues"


def _quote_some(names: list[str]) -> str:
    omitted = [f"{len(names) - _MAX_LISTED} more"] if len(names) > _MAX_LISTED else []
    return join_words([*(f"'{name}'" for name in names[:_MAX_LISTED]), *omitted])


# --- kind -------------------------------------------------------------------------------------------------------------


def check_operator(context: LintContext, job: JobManifest) -> None:
    """Check that the cluster has the operator of the job's kind, and of those that an AppWrapper wraps."""
    wrapped = as_list(get_nested(job.source.value, "spec", "components")) if job.kind == "AppWrapper" else []
    rows = [job.row, *(kinds().get(str(get_nested(each, "template", "kind"))) for each in wrapped)]
    for name in dict.fromkeys(row.operator for row in rows if row is not None and row.operator is not None):
        require_operator(context, job, name)


def require_operator(context: LintContext, job: JobManifest, name: str) -> None:
    """Report that the cluster lacks an operator that the job needs, or that nobody says whether it has it."""
    present = context.plan.operators
    if present is None:
        message = f"not checked: whether the cluster has {OPERATORS[name]}, which Berth does not install"
        remedy = f"write operators: [{name}] in the platform's stack file if it does"
        job.source.problems.unknown("operator-unknown", job.source.path, f"{message}; {remedy}")
    elif name not in present:
        message = f"the cluster has no {OPERATORS[name].removeprefix('the ')}, so nothing starts the job's pods"
        remedy = f"install it, and write {name} under operators in the platform's stack file"
        job.source.fault("no-operator", f"{message}; {remedy}")


def is_queued(context: LintContext, job: JobManifest) -> bool:
    """Check whether Kueue queues this job; otherwise add a fault or a warning."""
    if job.elsewhere is not None:
        message = f"runs on the pods that {job.elsewhere} selects: Kueue counts those, and does not queue this job"
        job.source.problems.warning("not-checked", job.source.path, message)
        return False
    if QUEUE_NAME not in job.labels and (_reports_queue_of_pods(context, job) or _may_go_unqueued(context, job)):
        return False
    if job.row is None or context.integrations.manages(job.row.framework, job.namespace):
        return True
    job.source.fault("not-queued", context.integrations.refusal(job.kind, job.row.framework, job.namespace))
    return False


def _may_go_unqueued(context: LintContext, job: JobManifest) -> bool:
    """Check whether an object of a serving or unknown kind may do without a queue, and report it."""
    if job.row is not None and (not job.row.serving or context.holds_unqueued_pods(job.namespace, job.row.framework)):
        return False
    if (job.namespace, DEFAULT_QUEUE) in context.local_queues and job.row is not None:
        return False
    accelerators = {flavor.resource for flavor in context.plan.flavors if flavor.scale == 1}
    requested = sorted(accelerators & set(_requested_resources(job)))
    is_held = job.row is None and context.holds_unqueued_pods(job.namespace, POD)
    outside = "Kueue would gate its pods forever" if is_held else "its pods start at once, outside all quota"
    if is_held and (job.namespace, DEFAULT_QUEUE) in context.local_queues:
        outside, requested = f"Kueue queues its pods one by one in '{DEFAULT_QUEUE}'", []
    if requested and job.row is not None and not context.integrations.manages(job.row.framework, job.namespace):
        return False
    if requested:
        message = f"requests {join_words(requested)} and names no queue: {outside}; write the label "
        job.metadata.fault("no-queue", f"{message}{_label_remedy(context, job)}")
    else:
        job.source.problems.warning("no-queue", job.metadata.path, f"names no queue: {outside}")
        if not is_held:
            check_uncounted(context, job)
    return True


def _reports_queue_of_pods(context: LintContext, job: JobManifest) -> bool:
    """Check the queue that the pods of an unknown kind name; return whether they name one, not of an unknown version.

    Kueue queues such pods one by one, as it does Pods (Kueue docs: "Run Argo Workflows", "Run Tekton").
    """
    names = [] if job.kind in kinds() else list(dict.fromkeys(_queues_of_pods(job.source.value)))
    is_managed = context.integrations.manages(POD, job.namespace)
    if names and not is_managed:
        message = (
            f"Kueue does not manage pods in namespace '{job.namespace}': its pods start at once, outside all quota; "
            "write serving: true for the namespace in the platform's stack file"
        )
        job.source.fault("not-queued", message)
    for name in names:
        if (job.namespace, name) not in context.local_queues:
            suggestion = _suggest_local_queue(context, job, name)
            job.source.fault(
                "no-queue", f"its pods name no local queue of namespace '{job.namespace}': '{name}'{suggestion}"
            )
        elif is_managed:
            message = f"its pods are queued one by one in '{name}'; not checked: their requests and selectors"
            job.source.problems.warning("not-checked", job.source.path, message)
    return bool(names)


def _queues_of_pods(value: object) -> Iterator[str]:
    """Yield the queues that labels within an object name."""
    for key, inside in as_mapping(value).items():
        if key == "labels" and QUEUE_NAME in as_mapping(inside):
            yield str(as_mapping(inside)[QUEUE_NAME])
        yield from _queues_of_pods(inside)
    for inside in as_list(value):
        yield from _queues_of_pods(inside)


def _requested_resources(job: JobManifest) -> Iterator[str]:
    """Yield the resources that any container of an object requests."""
    for containers in iterate_containers(job.source.value):
        for container in as_list(containers):
            for section in ("requests", "limits"):
                yield from as_mapping(get_nested(container, "resources", section))


def warn_if_unread(job: SubmittedJob) -> None:
    """Add a warning about the parts of the job that are not checked."""
    if job.job.unread:
        checked = "queue, priority and requests" if job.job.pod_sets else "namespace, queue and priority"
        if job.job.row is None:
            kind = f"kind {job.job.kind}"
            if job.job.kind in kinds():
                kind = f"{get_nested(job.job.source.value, 'apiVersion')} of {kind}"
            unknown = fact_tables()["job-kinds"].unknown(kind, "its pods are")
            job.job.source.problems.unknown(
                "kind-unknown", job.job.source.path, f"{unknown}; its {checked} are checked"
            )
            return
        message = f"its {checked} are checked; not checked: {job.job.unread}"
        job.job.source.problems.warning("not-checked", job.job.source.path, message)


def warn_if_held(job: SubmittedJob) -> None:
    """Add a warning for a held queue, and for a job that is not suspended."""
    for stop_policy, level in ((job.queue.stop_policy, "queue"), (job.local_queue.stop_policy, "local queue")):
        if stop_policy in ("Hold", "HoldAndDrain"):
            source = job.job.label(QUEUE_NAME)
            message = f"the {level} {job.queue_name} is held ({stop_policy}): no job is admitted until it is resumed"
            job.warn("held", source.path, message)
            break
    suspend = job.job.suspend
    if suspend is not None and suspend.value is False:
        job.warn("not-suspended", suspend.path, "Kueue suspends the job anyway; remove suspend, or write true")


# --- priority ---------------------------------------------------------------------------------------------------------


def check_priority(job: SubmittedJob) -> bool:
    """Check that the job's priority exists and is the queue's; return False after a fault."""
    known = sorted(job.context.simulated.priorities)
    priority_class = job.job.priority_class
    has_classes = _has_known_classes(job, known)
    if not has_classes and PRIORITY_CLASS not in job.job.labels:
        return False
    if priority_class is not None and str(priority_class.value) not in known:
        suggestion = did_you_mean(str(priority_class.value), known) or (
            f"; write one of {', '.join(known)}" if known else "; the fleet has none"
        )
        priority_class.fault("no-priority", f"no priority '{priority_class.value}'{suggestion}")
        return False
    required = job.queue.priority
    default = next((each.name for each in job.context.plan.priorities if each.default), None)
    if required is None or required == (default if priority_class is None else str(priority_class.value)):
        return has_classes
    remedy = f"write the label {PRIORITY_CLASS}: {required}"
    if priority_class is None:
        stated = f"has no priority, and the default is '{default}'" if default else "has no priority"
        source = job.job.metadata.child("labels", {})
    else:
        stated, source = f"'{priority_class.value}' is a different priority", priority_class
    # Kueue admits the job with any priority: what the queue is meant for is the platform's advice.
    job.warn("wrong-priority", source.path, f"{stated}, but {job.queue_name} is meant for '{required}'; {remedy}")
    return has_classes


def _has_known_classes(job: SubmittedJob, known: list[str]) -> bool:
    """Check that the pods' PriorityClasses exist and are allowed: the API server refuses pods with others."""
    all_known = True
    team = next(each for each in job.context.plan.teams if each.name == job.local_queue.team)
    allowed = team.pod_priorities(job.local_queue.namespace)
    for pods in job.job.settings:
        class_value = pods.field("priorityClassName")
        if not class_value.value:
            continue
        name, job_class = str(class_value.value), job.job.priority_class
        if allowed is not None and name not in allowed and (name in known or name.startswith("system-")):
            message = f"pods of the PriorityClass '{name}' are refused in namespace '{job.local_queue.namespace}'"
            given = f"write {join_quoted(list(allowed))}, or " if allowed else ""
            remedy = f"{given}remove priorityClassName; the platform allows others by podPriorities"
            class_value.fault("pod-priority", f"{message}; {remedy}")
            all_known = False
        if name in known or name.startswith("system-"):
            continue
        if job_class is None or job_class.path != class_value.path:
            class_value.fault(
                "no-priority", f"no PriorityClass '{name}': its pods are refused{did_you_mean(name, known)}"
            )
            all_known = False
    return all_known
