"""Rules for pod templates that do not depend on machines: limits, topology, Autopilot.

Sources: Kubernetes docs, "Extended resources" (requests and limits are equal, and limits are written); Kueue docs,
"Topology Aware Scheduling"; GKE docs, "Autopilot security capabilities".
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.placement_fields import unread_topology
from berth.jobs.pod_settings import PodSettings
from berth.jobs.values import SourceValue, describe_value
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.manifests.workloads.values import as_mapping

_TOPOLOGY_PREFIX = "kueue.x-k8s.io/podset-"
_LEVEL_KEYS = tuple(f"{_TOPOLOGY_PREFIX}{each}-topology" for each in ("required", "preferred", "slice-required"))
_GROUP_NAME = f"{_TOPOLOGY_PREFIX}group-name"
_UNCONSTRAINED = f"{_TOPOLOGY_PREFIX}unconstrained-topology"


def check_limits(job: SubmittedJob) -> None:
    """Report extended resources whose limit is missing or differs from the request."""
    for pods in job.job.settings:
        _check_limits(pods)


def check_pod_rules(job: SubmittedJob) -> None:
    """Report violations in the pod templates of a job."""
    _check_topology_groups(job)
    for pods in job.job.settings:
        _check_limits(pods)
        _check_kubelet(pods)
        _check_priority_fields(job, pods)
        _check_topology(job, pods)
        if job.context.plan.cluster.mode == "autopilot":
            for source, violation in _autopilot_violations(pods):
                source.fault(
                    "autopilot-refuses",
                    f"Autopilot refuses pods with {violation}; remove it, or run the job on a Standard cluster",
                )


def _check_priority_fields(job: SubmittedJob, pods: PodSettings) -> None:
    """Report a priority or a preemption policy that is not that of the pods' class, or of the default class.

    Source: Kubernetes 1.36 `plugin/pkg/admission/priority`. That a priority without any class must be 0 is among the
    API server's other rules.
    """
    named = pods.field("priorityClassName").value
    priorities = job.context.plan.priorities
    plan = next((each for each in priorities if (each.name == named if named else each.default)), None)
    if plan is None and named:
        return
    of_class = f"their class '{plan.name}' has" if plan is not None else "those of no class have"
    policy = "Never" if plan is not None and not plan.preempts else "PreemptLowerPriority"
    for key, right in (("priority", plan.value if plan is not None else None), ("preemptionPolicy", policy)):
        source = pods.field(key)
        if None not in (source.value, right) and source.value != right:
            message = f"the API server refuses the {key} {describe_value(source.value)} of its pods: {of_class}"
            source.fault("refused", f"{message} {right}; remove {key}")


# --- extended resources -----------------------------------------------------------------------------------------------


def _check_limits(pods: PodSettings) -> None:
    """Report extended resources whose limit is missing or differs from the request."""
    for container in pods.containers:
        limits = as_mapping(container.limits.value)
        for resource, amount in as_mapping(container.requests.value).items():
            if "/" not in resource or resource.startswith("kubernetes.io/"):
                continue
            source = container.requests.child(resource, amount)
            if resource not in limits:
                message = f"{resource} has a request but no limit, so the API server refuses its pods"
                source.fault("no-limit", f"{message}; write limits: {{{resource}: {amount}}}")
            elif str(limits[resource]) != str(amount):
                message = f"{resource} has the request {describe_value(amount)} and the limit "
                message += (
                    f"{describe_value(limits[resource])}, so the API server refuses its pods; write equal numbers"
                )
                source.fault("no-limit", message)


def _check_kubelet(pods: PodSettings) -> None:
    """Report an operating system that no node has, and an overhead that only a RuntimeClass may set."""
    system = pods.field("os", "name")
    if system.value not in (None, "linux"):
        message = f"the nodes run Linux, so the kubelet refuses pods for '{system.value}' that the scheduler gives it"
        system.fault("no-shape", f"{message}; remove os")
    if pods.has("overhead") and not pods.has("runtimeClassName"):
        message = "the API server refuses an overhead that no RuntimeClass sets; remove overhead"
        pods.field("overhead").fault("refused", message)


# --- topology ---------------------------------------------------------------------------------------------------------


def _check_topology(job: SubmittedJob, pods: PodSettings) -> None:
    """Report topology requests in a queue whose flavors have no topology, or no such level."""
    for source, message in unread_topology(pods.metadata):
        source.fault("refused", f"Kueue refuses {source.path[-1]}: {message}")
    annotations = pods.annotations
    requested = [key for key in (*_LEVEL_KEYS, _UNCONSTRAINED) if key in annotations]
    if not requested:
        return
    by_name = {each.name: each.levels for each in job.context.plan.topologies}
    topologies = [shape.flavor.topology for shape in job.context.node_shapes(job.queue)]
    levels = [level for name in topologies if name is not None for level in by_name.get(name, ())]
    for key in requested:
        source = pods.annotation(key)
        if not levels:
            message = f"no flavor of {job.queue_name} has a topology, so Kueue never admits the job; remove {key}"
            source.fault("no-topology", message)
        elif key in _LEVEL_KEYS and annotations[key] not in levels:
            known = ", ".join(dict.fromkeys(levels))
            message = f"{describe_value(annotations[key])} is not a level of the topology of {job.queue_name}"
            source.fault("no-topology", f"{message}; write one of {known}")


def _check_topology_groups(job: SubmittedJob) -> None:
    """Report groups of pod sets that Kueue's webhook refuses (0.19.2 `jobframework/tas_validation.go`)."""
    groups: dict[str, list[JobPods]] = {}
    for pods in list_job_pods(job) if job.job.pod_sets else ():
        if pods.pod_set.topology is not None and pods.pod_set.topology.group is not None:
            groups.setdefault(pods.pod_set.topology.group, []).append(pods)
    for name, members in groups.items():
        sets = [each.pod_set for each in members]
        levels = {(each.topology.required, each.topology.preferred) for each in sets if each.topology is not None}
        if len(sets) != 2:
            why = f"a group has 2 pod sets, and this one has {len(sets)}"
        elif all(each.count != 1 for each in sets):
            why = f"one pod set of a group has 1 pod, and these have {sets[0].count} and {sets[1].count}"
        elif len(levels) > 1:
            why = "the pod sets of a group ask for one topology, and these differ"
        else:
            continue
        place = members[-1].at(("metadata", "annotations", _GROUP_NAME))
        place.fault("refused", f"Kueue refuses {_GROUP_NAME} '{name}': {why}; correct it, or remove the annotation")


# --- Autopilot --------------------------------------------------------------------------------------------------------


def _autopilot_violations(pods: PodSettings) -> Iterator[tuple[SourceValue, str]]:
    for key in ("hostPID", "hostIPC"):
        if pods.is_true(key):
            yield pods.field(key), key
    for volume, path, _ in pods.host_paths:
        if path is not None and not str(path).startswith("/var/log"):
            yield volume, f"a hostPath volume of {describe_value(path)}"
    for container in pods.containers:
        if container.privileged is not None:
            yield container.privileged, "privileged containers"
