"""Settings of containers that reach the node: ports of the host, probes with a host, profiles and sysctls.

The rules are those of `berth.manifests.policy_rules` for every level but `privileged`.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.values import SourceValue, get_nested
from berth.manifests.policy_rules import BASELINE_SYSCTLS, SELINUX_TYPES
from berth.manifests.workloads.values import as_list, as_mapping

_FIRST_PORT = 1024
_HANDLERS = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
_PROFILES = ("seccompProfile", "appArmorProfile")
Violation = tuple[SourceValue, str]


def host_ports(container: SourceValue, has_host_network: bool) -> Iterator[Violation]:
    """Yield ports of the host that the pod may not have: it may have those from 1024 with an allowed host network."""
    for port in as_list(get_nested(container.value, "ports")):
        number = get_nested(port, "hostPort")
        if isinstance(number, int) and number != 0 and not (has_host_network and number >= _FIRST_PORT):
            yield container.child("ports", None), f"with the hostPort {number}"


def probes(container: SourceValue) -> Iterator[Violation]:
    """Yield probes and hooks that name a host, which the node would connect to."""
    for path in _HANDLERS:
        for kind in ("httpGet", "tcpSocket"):
            if host := get_nested(container.value, *path, kind, "host"):
                yield container.child(path[0], None), f"whose {path[-1]} has the host '{host}'"


def profiles(container: SourceValue) -> Iterator[Violation]:
    """Yield settings of a container's security context that are weaker than the default."""
    context = get_nested(container.value, "securityContext")
    if context is not None:
        yield from weak_context(container.child("securityContext", context))


def weak_context(holder: SourceValue) -> Iterator[Violation]:
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


def sysctls(context: SourceValue) -> Iterator[Violation]:
    """Yield sysctls that change the node."""
    for each in as_list(get_nested(context.value, "sysctls")):
        if (name := get_nested(each, "name")) not in BASELINE_SYSCTLS:
            yield context.child("sysctls", None), f"with the sysctl {name}"
