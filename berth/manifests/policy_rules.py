"""CEL expressions of the admission policies, each with the message of its rejection.

Every expression is true if the request is allowed. Exemptions are annotations of the namespace. Expressions use only
the standard functions of CEL, `split` and `authorizer`, so that tests can evaluate them without an API server.
`dyn(object)` is needed where one policy applies to several kinds, because the API server checks an expression against
the schema of each. Source of the level: Kubernetes docs, "Pod Security Standards", level `baseline`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from berth.plan import policies

Variable = tuple[str, str]
"""Name and expression; later variables may use earlier ones."""
Rule = tuple[str, str]
"""Expression that must be true, and the message if it is not."""

CHANGED: Final = (
    "request.operation == 'CREATE' || dyn(object).spec != dyn(oldObject).spec || "
    "(has(object.metadata.ownerReferences) ? object.metadata.ownerReferences : []) != "
    "(has(oldObject.metadata.ownerReferences) ? oldObject.metadata.ownerReferences : [])"
)

BASELINE_CAPABILITIES: Final = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
BASELINE_SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
SELINUX_TYPES: Final = ("", "container_engine_t", "container_init_t", "container_kvm_t", "container_t")
RUNTIME_CLASSES: Final = ("", "gvisor")
"""Allowed runtime classes: the default and GKE Sandbox."""
SYSTEM_TAINTS: Final = (
    "CriticalAddonsOnly",
    "components.gke.io/",
    "node-role.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "node.gke.io/",
    "node.kubernetes.io/",
)
"""Prefixes of taint keys that keep pods off system, new and broken nodes."""
DEFAULT_TOLERATIONS: Final = (
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
"""Tolerations that the API server adds to pods (admission plugins DefaultTolerationSeconds and Priority)."""
ADMISSION_GATE: Final = "kueue.x-k8s.io/admission"
"""The scheduling gate that Kueue adds to pods that it queues individually."""


def texts(values: Sequence[str]) -> str:
    """Return an expression for a list of texts."""
    return "[" + ", ".join(f"'{each}'" for each in values) + "]"


def list_field(holder: str, field: str) -> str:
    """Return an expression for the items of a field that may be missing."""
    return f"(has({holder}.{field}) ? {holder}.{field} : [])"


def annotation(key: str) -> str:
    """Return an expression for the items of an annotation of the namespace; empty if it is missing."""
    return (
        "(has(namespaceObject.metadata.annotations) && "
        f"'{key}' in namespaceObject.metadata.annotations) ? "
        f"namespaceObject.metadata.annotations['{key}'].split(',') : ['']"
    )


# --- pods -------------------------------------------------------------------------------------------------------------


def pod_variables(accelerators: Sequence[str]) -> list[Variable]:
    """The variables that the rules of pods use."""
    return [*_POD_VARIABLES, *accelerator_variables(accelerators), *_UPDATE_VARIABLES]


CONTAINERS: Final[Variable] = (
    "containers",
    f"variables.spec.containers + {list_field('variables.spec', 'initContainers')} + "
    f"{list_field('variables.spec', 'ephemeralContainers')}",
)
_POD_VARIABLES: Final[list[Variable]] = [
    ("spec", "request.resource.resource == 'jobs' ? dyn(object).spec.template.spec : dyn(object).spec"),
    ("isPod", "request.resource.resource == 'pods'"),
    ("isNew", "request.operation == 'CREATE'"),
    CONTAINERS,
    ("volumes", list_field("variables.spec", "volumes")),
    (
        "contexts",
        "(has(variables.spec.securityContext) ? [variables.spec.securityContext] : []) + "
        "variables.containers.filter(c, has(c.securityContext)).map(c, c.securityContext)",
    ),
    (
        "unrestricted",
        "has(namespaceObject.metadata.labels) && "
        f"'{policies.POD_SECURITY_LABEL}' in namespaceObject.metadata.labels && "
        f"namespaceObject.metadata.labels['{policies.POD_SECURITY_LABEL}'] == 'privileged'",
    ),
    ("hostNetworkResources", annotation(policies.HOST_NETWORK)),
    ("hostPaths", annotation(policies.HOST_PATHS)),
    ("readOnlyHostPaths", annotation(policies.READ_ONLY_HOST_PATHS)),
    ("capabilities", f"{texts(BASELINE_CAPABILITIES)} + ({annotation(policies.CAPABILITIES)})"),
    ("priorities", annotation(policies.POD_PRIORITIES)),
]
"""The parts of a pod or of a Job's template, and what its namespace allows beyond the Pod Security level."""


def accelerator_variables(accelerators: Sequence[str]) -> list[Variable]:
    """Whether the pod requests accelerators, and may use the host's network for them."""
    return [
        (
            "resources",
            "variables.containers.filter(c, has(c.resources) && has(c.resources.limits)).map(c, c.resources.limits) + "
            "variables.containers.filter(c, has(c.resources) && has(c.resources.requests))"
            ".map(c, c.resources.requests)",
        ),
        (
            "usesAccelerators",
            "has(variables.spec.resourceClaims) || "
            f"variables.resources.exists(r, {texts(accelerators)}.exists(name, name in r))",
        ),
        ("mayHostNetwork", "variables.resources.exists(r, variables.hostNetworkResources.exists(name, name in r))"),
    ]


_UPDATE_VARIABLES: Final[list[Variable]] = [
    ("owners", list_field("object.metadata", "ownerReferences")),
    (
        "oldOwners",
        "(request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences)) ? "
        "oldObject.metadata.ownerReferences : []",
    ),
    (
        "gates",
        f"variables.isPod ? {list_field('variables.spec', 'schedulingGates')}.map(g, g.name) : []",
    ),
    (
        "oldGates",
        "(variables.isPod && !variables.isNew && has(dyn(oldObject).spec.schedulingGates)) ? "
        "dyn(oldObject).spec.schedulingGates.map(g, g.name) : []",
    ),
    (
        "isController",
        "authorizer.group('').resource('pods').check(variables.isNew ? 'create' : 'patch').allowed()",
    ),
]
"""Who creates or changes the pod, and what it had before an update."""


_HOST_RULES: Final[list[Rule]] = [
    (
        "variables.unrestricted || ((!has(variables.spec.hostPID) || variables.spec.hostPID == false) && "
        "(!has(variables.spec.hostIPC) || variables.spec.hostIPC == false))",
        "hostPID and hostIPC give access to processes of the node; remove hostPID and hostIPC",
    ),
    (
        "variables.unrestricted || !has(variables.spec.hostNetwork) || variables.spec.hostNetwork == false || "
        "variables.mayHostNetwork",
        "hostNetwork is only for pods that request accelerators of a multi-host slice; remove it, or request the TPUs",
    ),
    (
        "variables.unrestricted || variables.containers.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || "
        "p.hostPort == 0 || (has(variables.spec.hostNetwork) && variables.spec.hostNetwork && "
        "variables.mayHostNetwork && p.hostPort >= 1024)))",
        "hostPort needs hostNetwork in a pod with TPUs, and a port of at least 1024; remove hostPort",
    ),
    (
        "variables.unrestricted || variables.volumes.all(v, !has(v.hostPath) || "
        "(v.hostPath.path != '' && (v.hostPath.path in variables.hostPaths || "
        "v.hostPath.path in variables.readOnlyHostPaths) && variables.usesAccelerators))",
        "a hostPath volume gives access to the node; mount only the GPUDirect directories in the namespace's "
        "annotations, in pods with accelerators",
    ),
    (
        "variables.unrestricted || variables.volumes.all(v, !has(v.hostPath) || v.hostPath.path in "
        "variables.hostPaths || variables.containers.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, "
        "m.name != v.name || (has(m.readOnly) && m.readOnly))))",
        "libraries of the node are read-only; write readOnly: true in the volumeMount",
    ),
    (
        "variables.unrestricted || variables.containers.all(c, "
        "((has(c.livenessProbe) ? [c.livenessProbe] : []) + (has(c.readinessProbe) ? [c.readinessProbe] : []) + "
        "(has(c.startupProbe) ? [c.startupProbe] : []) + "
        "(has(c.lifecycle) && has(c.lifecycle.postStart) ? [c.lifecycle.postStart] : []) + "
        "(has(c.lifecycle) && has(c.lifecycle.preStop) ? [c.lifecycle.preStop] : [])).all(h, "
        "(!has(h.httpGet) || !has(h.httpGet.host) || h.httpGet.host == '') && "
        "(!has(h.tcpSocket) || !has(h.tcpSocket.host) || h.tcpSocket.host == '')))",
        "the node sends a probe with a host, which bypasses the network policy; remove host",
    ),
]

_SECURITY_RULES: Final[list[Rule]] = [
    (
        "variables.unrestricted || variables.contexts.all(s, (!has(s.privileged) || s.privileged == false) && "
        "(!has(s.windowsOptions) || !has(s.windowsOptions.hostProcess) || s.windowsOptions.hostProcess == false))",
        "a privileged container is root on the node; remove privileged",
    ),
    (
        "variables.unrestricted || variables.contexts.all(s, !has(s.capabilities) || !has(s.capabilities.add) || "
        "s.capabilities.add.all(name, name != '' && name in variables.capabilities))",
        "capabilities.add has a capability that is not allowed in this namespace; remove that capability",
    ),
    (
        "variables.unrestricted || variables.contexts.all(s, "
        "(!has(s.procMount) || s.procMount == 'Default') && "
        "(!has(s.seccompProfile) || !has(s.seccompProfile.type) || s.seccompProfile.type != 'Unconfined') && "
        "(!has(s.appArmorProfile) || !has(s.appArmorProfile.type) || s.appArmorProfile.type != 'Unconfined') && "
        "(!has(s.seLinuxOptions) || ((!has(s.seLinuxOptions.type) || "
        f"s.seLinuxOptions.type in {texts(SELINUX_TYPES)}) && "
        "(!has(s.seLinuxOptions.user) || s.seLinuxOptions.user == '') && "
        "(!has(s.seLinuxOptions.role) || s.seLinuxOptions.role == ''))))",
        "procMount, seccompProfile, appArmorProfile and seLinuxOptions must not be weaker than the default; remove "
        "them",
    ),
    (
        "variables.unrestricted || variables.contexts.all(s, !has(s.sysctls) || "
        f"s.sysctls.all(each, each.name in {texts(BASELINE_SYSCTLS)}))",
        "an unsafe sysctl changes the node; remove it from sysctls",
    ),
    (
        f"!has(variables.spec.runtimeClassName) || variables.spec.runtimeClassName in {texts(RUNTIME_CLASSES)}",
        "the only allowed runtimeClassName is gvisor; remove runtimeClassName, or write gvisor",
    ),
]

_SCHEDULING_RULES: Final[list[Rule]] = [
    (
        "!variables.isNew || !has(variables.spec.nodeName) || variables.spec.nodeName == ''",
        "nodeName bypasses the scheduler, the queue and every taint; remove nodeName",
    ),
    (
        f"{list_field('variables.spec', 'tolerations')}.all(t, has(t.key) && t.key != '' && "
        f"(t.key in {texts(DEFAULT_TOLERATIONS)} || "
        f"!{texts(SYSTEM_TAINTS)}.exists(prefix, t.key.startsWith(prefix))))",
        "a toleration without a key, or of a taint of system nodes, allows nodes that are not for jobs; remove it",
    ),
    (
        "!has(variables.spec.priorityClassName) || variables.spec.priorityClassName == '' || "
        "variables.spec.priorityClassName in variables.priorities",
        "priorityClassName is neither of the team's queues nor in its podPriorities; remove it, or write one of those",
    ),
]

POD_RULES: Final[list[Rule]] = [*_HOST_RULES, *_SECURITY_RULES, *_SCHEDULING_RULES]
"""The rules for every pod in a team's namespace, and for the template of every Job."""
