"""What the API server and Kueue refuse of a pod template, whatever the machines: limits, topology, Autopilot.

Sources: Kubernetes docs, "Extended resources" (requests and limits are equal, and limits are written); Kueue docs,
"Topology Aware Scheduling"; GKE docs, "Autopilot security capabilities".
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.pods import pod_spec
from berth.jobs.values import SourceValue, as_list, as_mapping, format_value, get_nested
from berth.lint.fleet import SubmittedJob

_TOPOLOGY_PREFIX = "kueue.x-k8s.io/podset-"
_LEVEL_KEYS = tuple(f"{_TOPOLOGY_PREFIX}{each}-topology" for each in ("required", "preferred", "slice-required"))
_UNCONSTRAINED = f"{_TOPOLOGY_PREFIX}unconstrained-topology"
_NATIVE_PREFIX = "kubernetes.io/"
_AUTOPILOT_HOST_FIELDS = {"hostPID": "the processes of their nodes", "hostIPC": "the IPC namespace of their nodes"}
_AUTOPILOT_LOGS = "/var/log"


def check_pod_rules(job: SubmittedJob) -> None:
    """Report what is refused of every pod template of a job."""
    for template in job.job.templates:
        _check_limits(template)
        _check_topology(job, template)
        if job.context.plan.cluster.mode == "autopilot":
            for source, violation in _autopilot_violations(template):
                source.fault("autopilot-refuses", f"Autopilot refuses pods with {violation}; leave it out")


# --- extended resources -----------------------------------------------------------------------------------------------


def _check_limits(template: SourceValue) -> None:
    """The API server refuses an extended resource without a limit, or with another limit than request."""
    for container in _containers(template):
        resources = container.child("resources", get_nested(container.value, "resources"))
        requests, limits = (as_mapping(get_nested(resources.value, key)) for key in ("requests", "limits"))
        for resource, amount in requests.items():
            if "/" not in resource or resource.startswith(_NATIVE_PREFIX):
                continue
            source = resources.child("requests", requests).child(resource, amount)
            if resource not in limits:
                message = f"{resource} has a request and no limit: the API server refuses its pods"
                source.fault("no-limit", f"{message}; write limits: {{{resource}: {amount}}}")
            elif str(limits[resource]) != str(amount):
                message = f"{resource} has the request {format_value(amount)} and the limit "
                message += f"{format_value(limits[resource])}: the API server refuses its pods; write the same number"
                source.fault("no-limit", message)


def _containers(template: SourceValue) -> Iterator[SourceValue]:
    spec = pod_spec(template) or {}
    for key in ("initContainers", "containers"):
        for index, container in enumerate(as_list(spec[key].value) if key in spec else ()):
            yield spec[key].child(index, container)


# --- topology ---------------------------------------------------------------------------------------------------------


def _check_topology(job: SubmittedJob, template: SourceValue) -> None:
    """Kueue never admits pods with a topology request to a flavor without a topology."""
    annotations = as_mapping(get_nested(template.value, "metadata", "annotations"))
    requested = [key for key in (*_LEVEL_KEYS, _UNCONSTRAINED) if key in annotations]
    if not requested:
        return
    by_name = {each.name: each.levels for each in job.context.plan.topologies}
    topologies = [shape.flavor.topology for shape in job.context.node_shapes(job.queue)]
    levels = [level for name in topologies if name is not None for level in by_name.get(name, ())]
    place = template.child("metadata", {}).child("annotations", annotations)
    for key in requested:
        source = place.child(key, annotations[key])
        if not levels:
            message = f"no flavor of {job.queue_name} has a topology: Kueue never admits the job; leave {key} out"
            source.fault("no-topology", message)
        elif key in _LEVEL_KEYS and annotations[key] not in levels:
            known = ", ".join(dict.fromkeys(levels))
            message = f"{format_value(annotations[key])} is no level of the topology of {job.queue_name}"
            source.fault("no-topology", f"{message}; write one of {known}")


# --- Autopilot --------------------------------------------------------------------------------------------------------


def _autopilot_violations(template: SourceValue) -> Iterator[tuple[SourceValue, str]]:
    spec = pod_spec(template) or {}
    for key, violation in _AUTOPILOT_HOST_FIELDS.items():
        if key in spec and spec[key].value is True:
            yield spec[key], violation
    for index, volume in enumerate(as_list(spec["volumes"].value) if "volumes" in spec else ()):
        path = get_nested(volume, "hostPath", "path")
        if path is not None and not str(path).startswith(_AUTOPILOT_LOGS):
            yield spec["volumes"].child(index, volume), f"the files of their nodes at {format_value(path)}"
    for container in _containers(template):
        if get_nested(container.value, "securityContext", "privileged") is True:
            yield container.child("securityContext", {}).child("privileged", True), "privileged containers"
