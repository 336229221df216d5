"""Whether the pod security of a team's namespace lets a job's pods in.

Source: Kubernetes docs, "Pod Security Standards": what the level `baseline` refuses of the host.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.pods import pod_spec
from berth.jobs.values import SourceValue, as_list, get_nested
from berth.lint.fleet import SubmittedJob

_PRIVILEGED = "privileged"
_HOST_FIELDS = {"hostNetwork": "on the network of their nodes", "hostPID": "among the processes of their nodes"}


def check_pod_security(job: SubmittedJob) -> None:
    """Report pods that the API server refuses in a namespace of the team's own."""
    team = next(each for each in job.context.plan.teams if each.name == job.local_queue.team)
    level = team.isolation.pod_security
    is_owned = any(each.name == job.local_queue.namespace and each.owned for each in team.namespaces)
    if not is_owned or level == _PRIVILEGED:
        return
    for template in job.job.templates:
        for source, violation in _find_violations(template):
            message = (
                f"pods {violation} are refused in namespace "
                f"'{job.local_queue.namespace}', whose podSecurity is '{level}'"
            )
            source.fault("pod-security", message)


def _find_violations(template: SourceValue) -> Iterator[tuple[SourceValue, str]]:
    spec = pod_spec(template) or {}
    for key, violation in _HOST_FIELDS.items():
        if key in spec and spec[key].value is True:
            yield spec[key], violation
    if "volumes" in spec:
        for index, volume in enumerate(as_list(spec["volumes"].value)):
            if get_nested(volume, "hostPath") is not None:
                yield spec["volumes"].child(index, volume), "with files of their nodes"
    for key in ("initContainers", "containers"):
        for index, container in enumerate(as_list(spec[key].value) if key in spec else ()):
            if get_nested(container, "securityContext", "privileged") is True:
                context = spec[key].child(index, container).child("securityContext", {})
                yield context.child("privileged", True), "with privileged containers"
