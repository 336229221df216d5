"""Whether the pod security of a team's namespace lets a job's pods in.

Source: Kubernetes docs, "Pod Security Standards": what the level `baseline` refuses of the host.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.pods import pod_spec
from berth.jobs.values import At, as_list, deep
from berth.lint.fleet import Submitted

_PRIVILEGED = "privileged"
_OF_THE_HOST = {"hostNetwork": "on the network of their nodes", "hostPID": "among the processes of their nodes"}


def shut_in(job: Submitted) -> None:
    """Report pods that the API server refuses in a namespace of the team's own."""
    team = next(each for each in job.fleet.plan.teams if each.name == job.door.team)
    level = team.isolation.pod_security
    owned = any(each.name == job.door.namespace and each.owned for each in team.namespaces)
    if not owned or level == _PRIVILEGED:
        return
    for template in job.job.templates:
        for at, what in _refused(template):
            message = f"pods {what} are refused in namespace '{job.door.namespace}', whose podSecurity is '{level}'"
            at.fault("pod-security", message)


def _refused(template: At) -> Iterator[tuple[At, str]]:
    spec = pod_spec(template) or {}
    for key, what in _OF_THE_HOST.items():
        if key in spec and spec[key].value is True:
            yield spec[key], what
    if "volumes" in spec:
        for index, volume in enumerate(as_list(spec["volumes"].value)):
            if deep(volume, "hostPath") is not None:
                yield spec["volumes"].under(index, volume), "with files of their nodes"
    for key in ("initContainers", "containers"):
        for index, container in enumerate(as_list(spec[key].value) if key in spec else ()):
            if deep(container, "securityContext", "privileged") is True:
                at = spec[key].under(index, container).under("securityContext", {})
                yield at.under("privileged", True), "with privileged containers"
