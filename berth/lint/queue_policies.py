"""Checks of a job against the admission policies of the team's namespace, before it is submitted.

The rules for pods are those of `berth.manifests.policy_rules`. What `berth-machines`, `berth-queues` and
`berth-wrappers` refuse goes by the queue of the job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth.jobs.job_manifests import PRIORITY_CLASS
from berth.jobs.pod_set import PodSet
from berth.jobs.pod_settings import ContainerSettings, PodSettings
from berth.jobs.values import SourceValue, get_nested, inside, items
from berth.lint.fleet import SubmittedJob
from berth.manifests.policy_rules import (
    BASELINE_CAPABILITIES,
    BASELINE_SYSCTLS,
    DEFAULT_TOLERATIONS,
    RUNTIME_CLASSES,
    SELINUX_TYPES,
    SYSTEM_TAINTS,
)
from berth.manifests.rules.machines import INITIALIZERS, SUBMITTED_BY_A_JOB, TRAINER
from berth.manifests.rules.wrappers import SCALED
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.kueue import PODS
from berth.plan.teams import HostAccessPlan, IsolationPlan, NamespacePlan, TeamPlan

_FIRST_PORT = 1024
_Violation = tuple[SourceValue, str]
_NO_TOLERATION = "remove the toleration: Kueue adds those of the machines that it assigns"


def check_pod_security(job: SubmittedJob) -> None:
    """Report pods that the API server refuses in the team's namespace."""
    team = next(each for each in job.context.plan.teams if each.name == job.local_queue.team)
    if not any(each.name == job.local_queue.namespace and each.owned for each in team.namespaces):
        return
    policies = job.context.plan.policies
    for pods in job.job.settings:
        uses = policies is None or pods.requests_any(policies.accelerators)
        for source, violation in _find_violations(pods, team.isolation, uses_accelerators=uses):
            message = (
                f"pods {violation} are refused in namespace "
                f"'{job.local_queue.namespace}', whose podSecurity is '{team.isolation.pod_security}'; "
                "remove that setting"
            )
            source.fault("pod-security", message)
        for source, violation, remedy in _scheduling(pods):
            message = f"pods {violation} are refused in namespace '{job.local_queue.namespace}'; {remedy}"
            source.fault("pod-security", message)


def _find_violations(pods: PodSettings, isolation: IsolationPlan, *, uses_accelerators: bool) -> Iterator[_Violation]:
    if isolation.pod_security == "privileged":
        return
    access = isolation.host_access or HostAccessPlan()
    may_share_network = not pods.resources.isdisjoint(access.network_for)
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pods.is_true(key) and not (key == "hostNetwork" and may_share_network):
            yield pods.field(key), f"with {key}"
    # A folder of GPUDirect is for pods that use the GPUs.
    yield from _host_paths(pods, access if uses_accelerators else HostAccessPlan())
    for container in pods.containers:
        yield from _privileges(container, access)
    yield from _settings(pods, may_share_network=may_share_network)


def _host_paths(pods: PodSettings, access: HostAccessPlan) -> Iterator[_Violation]:
    for volume, path, is_written in pods.host_paths:
        if path not in (*access.paths, *access.read_only_paths):
            yield volume, "with a hostPath volume"
        elif path not in access.paths and is_written:
            yield volume, "that mount a hostPath volume without readOnly: true"


def _privileges(container: ContainerSettings, access: HostAccessPlan) -> Iterator[_Violation]:
    if container.privileged is not None:
        yield container.privileged, "with privileged containers"
    allowed = {*BASELINE_CAPABILITIES, *access.capabilities}
    added = container.added_capabilities
    if others := sorted(str(name) for name in as_list(added.value) if str(name) not in allowed):
        yield added, f"with the capability {others[0]}"


def _settings(pods: PodSettings, *, may_share_network: bool) -> Iterator[_Violation]:
    """Yield settings of the pod and its containers that the policies refuse at every level but privileged."""
    has_host_network = pods.is_true("hostNetwork") and may_share_network
    for container in pods.containers:
        for source, number in container.host_ports:
            # With an allowed host network a pod may have the ports from 1024.
            if not (has_host_network and number >= _FIRST_PORT):
                yield source, f"with the hostPort {number}"
        for source, probe, host in container.probed_hosts:
            yield source, f"whose {probe} has the host '{host}'"
    for context in pods.security_contexts:
        yield from _weak_context(context)
    for each in items(inside(pods.security, "sysctls")):
        if (name := get_nested(each.value, "name")) not in BASELINE_SYSCTLS:
            yield inside(pods.security, "sysctls"), f"with the sysctl {name}"


def _scheduling(pods: PodSettings) -> Iterator[tuple[SourceValue, str, str]]:
    """Yield what is refused at every level, with the remedy: bypassing the scheduler, or tolerating other nodes."""
    node, runtime = pods.field("nodeName"), pods.field("runtimeClassName")
    if node.value:
        yield node, "with a nodeName", "remove nodeName, and the scheduler chooses the node"
    if pods.has("runtimeClassName") and runtime.value not in RUNTIME_CLASSES:
        yield runtime, f"of the runtime class '{runtime.value}'", "remove runtimeClassName"
    for toleration in pods.tolerated:
        key = str(get_nested(toleration.value, "key") or "")
        if not key or (key not in DEFAULT_TOLERATIONS and key.startswith(SYSTEM_TAINTS)):
            violation = f"that tolerate '{key}'" if key else "that tolerate every taint"
            yield toleration, violation, _NO_TOLERATION


def _weak_context(holder: SourceValue) -> Iterator[_Violation]:
    """Yield settings of a security context, a pod's or a container's, that are weaker than the default."""
    for name in ("seccompProfile", "appArmorProfile"):
        if inside(holder, name, "type").value == "Unconfined":
            yield inside(holder, name), f"with the {name} Unconfined"
    if (mount := inside(holder, "procMount")).value not in (None, "Default"):
        yield mount, f"with procMount '{mount.value}'"
    written = inside(holder, "seLinuxOptions")
    options = as_mapping(written.value or {})
    if str(options.get("type") or "") not in SELINUX_TYPES or options.get("user") or options.get("role"):
        yield written, "with seLinuxOptions"


_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_SELECTOR = ("template", "spec", "template", "spec", "nodeSelector")


def refused_on_plain_machines(
    job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan
) -> Iterator[tuple[SourceValue, str]]:
    """Yield what the policy refuses of a job, and the message."""
    plain = namespace.plain_machines.get(job.local_queue.name, ())
    policies = job.context.plan.policies
    if not plain or policies is None or not namespace.owned:
        return
    labels = " or ".join(f"{key}: {value}" for key, value in plain)
    message = f"pods without accelerators may get accelerator machines of {job.queue_name}, which has others"
    if job.job.kind == "TrainJob":
        if not _is_on_own_machines(job.job.source, policies.accelerators, plain):
            source = job.job.source.child("spec", None)
            remedy = "write accelerators in trainer.resourcesPerNode, or in runtimePatches"
            yield source, f"{message}; {remedy} for each job without accelerators a nodeSelector of {labels}"
        return
    for settings, pods in zip(job.job.settings, job.job.pod_sets or (), strict=False):
        if not settings.requests_any(policies.accelerators) and not _selects(pods, plain):
            yield settings.spec, f"{message}; write a nodeSelector of {labels}"
    for each in (job.job.source, *(wrapped for wrapped, _ in wrapped_objects(job))):
        spec = each.child("spec", get_nested(each.value, "spec"))
        mode = get_nested(spec.value, "submissionMode")
        hidden = mode in (None, SUBMITTED_BY_A_JOB) and "submitterPodTemplate" not in as_mapping(spec.value)
        if get_nested(each.value, "kind") == "RayJob" and hidden:
            remedy = f"write submitterPodTemplate with a nodeSelector of {labels}, or submissionMode: HTTPMode"
            if each is not job.job.source:
                remedy = "write submissionMode: HTTPMode"
            yield spec, f"the pod that submits the entrypoint may get accelerator machines; {remedy}"


def _selects(pods: PodSet, labels: tuple[tuple[str, str], ...]) -> bool:
    """Whether pods select one of the labels, by nodeSelector or in every term of required node affinity."""
    of_terms = [
        any(each.operator == "In" and all((each.key, value) in labels for value in each.values) for each in term)
        for term in pods.affinity_terms
    ]
    return not set(labels).isdisjoint(pods.node_selector.items()) or (bool(of_terms) and all(of_terms))


def wrapped_objects(job: SubmittedJob) -> Iterator[tuple[SourceValue, str]]:
    """Yield what an AppWrapper wraps, with API version and kind."""
    for each in items(inside(job.job.source, "spec", "components")) if job.job.kind == "AppWrapper" else ():
        wrapped = inside(each, "template")
        yield wrapped, f"{get_nested(wrapped.value, 'apiVersion')}/{get_nested(wrapped.value, 'kind')}"


def refused_as_uncounted(job: SubmittedJob, namespace: NamespacePlan) -> Iterator[tuple[SourceValue, str]]:
    """Yield the components of an AppWrapper whose pods run beside the queue, on machines where none may."""
    policies = job.context.plan.policies
    if policies is None or not namespace.owned:
        return
    runs = job.local_queue.name in (*namespace.plain_queues, *namespace.plain_machines)
    for wrapped, kind in wrapped_objects(job):
        pods = [each for each in job.job.settings if each.path[: len(wrapped.path)] == wrapped.path]
        if kind in SCALED and (not runs or any(each.requests_any(policies.accelerators) for each in pods)):
            message = f"no pod of {kind} in an AppWrapper may have the machines of {job.queue_name}"
            remedy = "wrap batch/v1/Job, or submit to a queue of machines without accelerators"
            yield inside(wrapped, "kind"), f"{message}; {remedy}"


# --- TrainJob ---------------------------------------------------------------------------------------------------------


def _is_on_own_machines(job: SourceValue, accelerators: Sequence[str], plain: Sequence[tuple[str, str]]) -> bool:
    """Whether each job of a TrainJob has accelerators or selects one of the labels `plain`, as far as it says."""
    spec = as_mapping(get_nested(job.value, "spec"))
    node = get_nested(spec, "trainer", "resourcesPerNode")
    requested = {name for part in ("limits", "requests") for name in as_mapping(get_nested(node, part))}
    without = [name for field, name in INITIALIZERS.items() if field in as_mapping(spec.get("initializer"))]
    without += [] if requested.intersection(accelerators) else [TRAINER]
    for selectors in (list(_selectors(spec, name)) for name in without):
        if not selectors or any(set(plain).isdisjoint(each.items()) for each in selectors):
            return False
    return True


def _selectors(spec: dict[str, object], name: str) -> Iterator[dict[str, object]]:
    for patch in as_list(spec.get("runtimePatches")):
        for job in as_list(get_nested(patch, *_JOBS)):
            selector = get_nested(job, *_SELECTOR)
            if get_nested(job, "name") == name and selector is not None:
                yield as_mapping(selector)


def refused_in_shared_queue(
    job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan
) -> Iterator[tuple[SourceValue, str]]:
    """Yield what the policy of queues that several teams share refuses: other priorities, and jobs that never fit."""
    queue = next((each for each in namespace.shared_queues if each.name == job.local_queue.name), None)
    if queue is None or not namespace.owned:
        return
    given = f"write one of {', '.join(queue.priorities)}, or " if queue.priorities else ""
    for source, what in _priorities(job):
        if source.value is not None and source.value not in queue.priorities:
            yield source, f"'{source.value}' evicts jobs of other teams in a shared queue; {given}remove {what}"
    asked_for: list[tuple[int, Mapping[str, int]]] = [(each.count, each.requests) for each in job.job.pod_sets or ()]
    nodes = get_nested(job.job.source.value, "spec", "trainer", "numNodes")
    if not asked_for and isinstance(nodes, int):
        asked_for = [(nodes, {})]  # of a TrainJob whose runtime has the resources
    for count, requests in asked_for:
        for resource, most in queue.ceilings.items():
            asked = count * (1 if resource == PODS else requests.get(resource, 0))
            if asked > most:
                message = (
                    f"{asked} {resource} are more than {job.queue_name} can ever admit, and the queue is StrictFIFO"
                )
                yield job.job.source, f"{message}: the job would hold up all others; write at most {most}"


def _priorities(job: SubmittedJob) -> Iterator[tuple[SourceValue, str]]:
    """Yield the priorities that Kueue may give a job: its label, a Kubeflow job's own, and those of its pods."""
    yield job.job.label(PRIORITY_CLASS), "the label"
    yield inside(job.job.source, "spec", "runPolicy", "schedulingPolicy", "priorityClass"), "it"
    for pods in job.job.settings:
        yield pods.field("priorityClassName"), "it"
