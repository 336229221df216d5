"""Checks of a job's pods against the admission policies of the team's namespace.

The rules are those of `berth.manifests.policy_rules`, applied to a manifest before it is submitted.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.pods import read_pod_spec, requested_resources, template_containers
from berth.jobs.values import SourceValue, get_nested
from berth.lint.fleet import SubmittedJob
from berth.lint.queue_policies import requests_any
from berth.manifests.policy_rules import (
    BASELINE_CAPABILITIES,
    BASELINE_SYSCTLS,
    DEFAULT_TOLERATIONS,
    RUNTIME_CLASSES,
    SELINUX_TYPES,
    SYSTEM_TAINTS,
)
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.teams import HostAccessPlan, IsolationPlan

_PRIVILEGED = "privileged"
_FIRST_PORT = 1024
_HANDLERS = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
_PROFILES = ("seccompProfile", "appArmorProfile")
_HOST_FIELDS = {
    "hostNetwork": "with hostNetwork",
    "hostPID": "with hostPID",
    "hostIPC": "with hostIPC",
}
_Spec = dict[str, SourceValue]
_Violation = tuple[SourceValue, str]
_NO_TOLERATION = "remove the toleration: Kueue adds those of the machines that it assigns"


def check_pod_security(job: SubmittedJob) -> None:
    """Report pods that the API server refuses in the team's namespace."""
    team = next(each for each in job.context.plan.teams if each.name == job.local_queue.team)
    if not any(each.name == job.local_queue.namespace and each.owned for each in team.namespaces):
        return
    for template in job.job.templates:
        spec = read_pod_spec(template) or {}
        policies = job.context.plan.policies
        uses = policies is None or requests_any(template, policies.accelerators)
        for source, violation in _find_violations(template, spec, team.isolation, uses_accelerators=uses):
            message = (
                f"pods {violation} are refused in namespace "
                f"'{job.local_queue.namespace}', whose podSecurity is '{team.isolation.pod_security}'; "
                "remove that setting"
            )
            source.fault("pod-security", message)
        for source, violation, remedy in _scheduling(spec):
            message = f"pods {violation} are refused in namespace '{job.local_queue.namespace}'; {remedy}"
            source.fault("pod-security", message)


def _find_violations(
    template: SourceValue, spec: _Spec, isolation: IsolationPlan, *, uses_accelerators: bool
) -> Iterator[_Violation]:
    if isolation.pod_security == _PRIVILEGED:
        return
    access, containers = isolation.host_access or HostAccessPlan(), list(template_containers(template))
    may_share_network = not requested_resources(template).isdisjoint(access.network_for)
    yield from _host_fields(spec, may_share_network=may_share_network)
    # A folder of GPUDirect is for pods that use the GPUs.
    yield from _host_paths(spec, containers, access if uses_accelerators else HostAccessPlan())
    for container in containers:
        yield from _privileges(container, access)
    yield from _settings(spec, containers, may_share_network=may_share_network)


def _host_fields(spec: _Spec, *, may_share_network: bool) -> Iterator[_Violation]:
    for key, violation in _HOST_FIELDS.items():
        if key in spec and spec[key].value is True and not (key == "hostNetwork" and may_share_network):
            yield spec[key], violation


def _host_paths(spec: _Spec, containers: list[SourceValue], access: HostAccessPlan) -> Iterator[_Violation]:
    exempt = {*access.paths, *access.read_only_paths}
    for index, volume in enumerate(as_list(spec["volumes"].value) if "volumes" in spec else ()):
        path = get_nested(volume, "hostPath", "path")
        if get_nested(volume, "hostPath") is not None and path not in exempt:
            yield spec["volumes"].child(index, volume), "with a hostPath volume"
        elif path is not None and path not in access.paths and _is_written(containers, get_nested(volume, "name")):
            yield spec["volumes"].child(index, volume), "that mount a hostPath volume without readOnly: true"


def _is_written(containers: list[SourceValue], volume: object) -> bool:
    mounts = [
        mount
        for container in containers
        for mount in as_list(get_nested(container.value, "volumeMounts"))
        if get_nested(mount, "name") == volume
    ]
    return any(get_nested(mount, "readOnly") is not True for mount in mounts)


def _privileges(container: SourceValue, access: HostAccessPlan) -> Iterator[_Violation]:
    if get_nested(container.value, "securityContext", "privileged") is True:
        yield container.child("securityContext", {}).child("privileged", True), "with privileged containers"
    added = as_list(get_nested(container.value, "securityContext", "capabilities", "add"))
    allowed = {*BASELINE_CAPABILITIES, *access.capabilities}
    if others := sorted(str(name) for name in added if str(name) not in allowed):
        context = container.child("securityContext", {}).child("capabilities", {})
        yield context.child("add", added), f"with the capability {others[0]}"


def _settings(spec: _Spec, containers: list[SourceValue], *, may_share_network: bool) -> Iterator[_Violation]:
    """Yield settings of the pod and its containers that the policies refuse at every level but privileged."""
    has_host_network = "hostNetwork" in spec and spec["hostNetwork"].value is True and may_share_network
    for container in containers:
        yield from _host_ports(container, has_host_network)
        yield from _probes(container)
        yield from _profiles(container)
    if "securityContext" in spec:
        yield from _weak_context(spec["securityContext"])
        yield from _sysctls(spec["securityContext"])


def _scheduling(spec: _Spec) -> Iterator[tuple[SourceValue, str, str]]:
    """Yield what is refused at every level, with the remedy: bypassing the scheduler, or tolerating other nodes."""
    if "nodeName" in spec and spec["nodeName"].value:
        yield spec["nodeName"], "with a nodeName", "remove nodeName, and the scheduler chooses the node"
    if "runtimeClassName" in spec and spec["runtimeClassName"].value not in RUNTIME_CLASSES:
        violation = f"of the runtime class '{spec['runtimeClassName'].value}'"
        yield spec["runtimeClassName"], violation, "remove runtimeClassName"
    for index, toleration in enumerate(as_list(spec["tolerations"].value) if "tolerations" in spec else ()):
        key = str(get_nested(toleration, "key") or "")
        if not key or (key not in DEFAULT_TOLERATIONS and key.startswith(SYSTEM_TAINTS)):
            violation = f"that tolerate '{key}'" if key else "that tolerate every taint"
            yield spec["tolerations"].child(index, toleration), violation, _NO_TOLERATION


# --- settings that reach the node -------------------------------------------------------------------------------------


def _host_ports(container: SourceValue, has_host_network: bool) -> Iterator[_Violation]:
    """Yield ports of the host that the pod may not have: it may have those from 1024 with an allowed host network."""
    for port in as_list(get_nested(container.value, "ports")):
        number = get_nested(port, "hostPort")
        if isinstance(number, int) and number != 0 and not (has_host_network and number >= _FIRST_PORT):
            yield container.child("ports", None), f"with the hostPort {number}"


def _probes(container: SourceValue) -> Iterator[_Violation]:
    """Yield probes and hooks that name a host, which the node would connect to."""
    for path in _HANDLERS:
        for kind in ("httpGet", "tcpSocket"):
            if host := get_nested(container.value, *path, kind, "host"):
                yield container.child(path[0], None), f"whose {path[-1]} has the host '{host}'"


def _profiles(container: SourceValue) -> Iterator[_Violation]:
    """Yield settings of a container's security context that are weaker than the default."""
    context = get_nested(container.value, "securityContext")
    if context is not None:
        yield from _weak_context(container.child("securityContext", context))


def _weak_context(holder: SourceValue) -> Iterator[_Violation]:
    """Yield settings of a security context, a pod's or a container's, that are weaker than the default."""
    context = as_mapping(holder.value)
    for name in _PROFILES:
        if get_nested(context, name, "type") == "Unconfined":
            yield holder.child(name, None), f"with the {name} Unconfined"
    if (mount := get_nested(context, "procMount")) not in (None, "Default"):
        yield holder.child("procMount", None), f"with procMount '{mount}'"
    options = as_mapping(get_nested(context, "seLinuxOptions") or {})
    if str(options.get("type") or "") not in SELINUX_TYPES or options.get("user") or options.get("role"):
        yield holder.child("seLinuxOptions", None), "with seLinuxOptions"


def _sysctls(context: SourceValue) -> Iterator[_Violation]:
    """Yield sysctls that change the node."""
    for each in as_list(get_nested(context.value, "sysctls")):
        if (name := get_nested(each, "name")) not in BASELINE_SYSCTLS:
            yield context.child("sysctls", None), f"with the sysctl {name}"
