"""Checks of a job's pods against the admission policies of the team's namespace.

The rules are those of `berth.manifests.policy_rules`, applied to a manifest before it is submitted.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.teams import HostAccessPlan, IsolationPlan

_PRIVILEGED = "privileged"
_FIRST_PORT = 1024
_PROFILES = ("seccompProfile", "appArmorProfile")
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC")
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
    if isolation.pod_security == _PRIVILEGED:
        return
    access = isolation.host_access or HostAccessPlan()
    may_share_network = not pods.resources.isdisjoint(access.network_for)
    for key in _HOST_FIELDS:
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
    for name in _PROFILES:
        if inside(holder, name, "type").value == "Unconfined":
            yield inside(holder, name), f"with the {name} Unconfined"
    if (mount := inside(holder, "procMount")).value not in (None, "Default"):
        yield mount, f"with procMount '{mount.value}'"
    written = inside(holder, "seLinuxOptions")
    options = as_mapping(written.value or {})
    if str(options.get("type") or "") not in SELINUX_TYPES or options.get("user") or options.get("role"):
        yield written, "with seLinuxOptions"
