"""Policies `berth-pods`, `berth-jobs` and `berth-services`.

As in `policy_rules`, every expression is true if the request is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import (
    ADMISSION_GATE,
    POD_RULES,
    Rule,
    Variable,
    annotation,
    list_field,
    pod_variables,
    texts,
)
from berth.manifests.rules.admission import EVERYONE, PEOPLE, AdmissionPolicy, Requests, requests_of
from berth.plan import policies
from berth.plan.policies import PoliciesPlan

# --- jobs -------------------------------------------------------------------------------------------------------------

_SUSPEND_FIELD: Final = (
    "has(spec.suspend) ? spec.suspend : "
    "(has(spec.runPolicy) && has(spec.runPolicy.suspend) ? spec.runPolicy.suspend : "
    "(has(spec.rayClusterConfig) && has(spec.rayClusterConfig.suspend) ? spec.rayClusterConfig.suspend : false))"
)


def suspended(holder: str) -> str:
    """Return an expression for whether a job of any queued kind is suspended."""
    return _SUSPEND_FIELD.replace("spec", f"dyn({holder}).spec")


JOB_VARIABLES: Final[list[Variable]] = [
    ("owners", f"{list_field('object.metadata', 'ownerReferences')}.filter(o, has(o.controller) && o.controller)"),
    (
        "oldOwners",
        "(request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences)) ? "
        "oldObject.metadata.ownerReferences.filter(o, has(o.controller) && o.controller) : []",
    ),
    ("suspended", suspended("object")),
    ("wasSuspended", f"request.operation == 'UPDATE' && ({suspended('oldObject')})"),
    (
        "isController",
        "authorizer.group(request.resource.group).resource(request.resource.resource)"
        ".check(request.operation == 'CREATE' ? 'create' : 'update').allowed()",
    ),
]

JOB_RULES: Final[list[Rule]] = [
    (
        "variables.isController || variables.owners == variables.oldOwners",
        "ownerReferences with controller: true are reserved for controllers, because Kueue does not count the quota of "
        "such a job; remove them",
    ),
    (
        "variables.isController || request.operation == 'CREATE' || variables.oldOwners.size() == 0 || "
        "dyn(object).spec == dyn(oldObject).spec",
        "this job is part of another job, whose quota Kueue counts; change that job",
    ),
    (
        "variables.isController || !variables.wasSuspended || variables.suspended",
        "Kueue resumes a suspended job when its queue admits it; do not change suspend",
    ),
]


def jobs_policy(job_kinds: Mapping[str, Sequence[str]]) -> AdmissionPolicy:
    """Return the policy for the kinds that Kueue queues."""
    return AdmissionPolicy(
        name="jobs",
        refuses="controller ownerReferences on jobs; changes of a part of another job; resuming a suspended job",
        applies_to=PEOPLE,
        breaks="an operator with permissions in single namespaces only: install it for the whole cluster",
        requests=requests_of(job_kinds),
        variables=tuple(JOB_VARIABLES),
        rules=tuple(JOB_RULES),
        concern="request.operation != 'CREATE' || has(object.metadata.ownerReferences)",
    )


# --- pods -------------------------------------------------------------------------------------------------------------


def _job_concern() -> str:
    """Return an expression for whether a Job's template has a field that a rule of pods may refuse in it."""
    fields = ("hostPID", "hostIPC", "hostNetwork", "nodeName", "priorityClassName", "runtimeClassName", "tolerations")
    contexts = ("appArmorProfile", "seLinuxOptions", "seccompProfile", "sysctls", "windowsOptions")
    handlers = ("lifecycle", "livenessProbe", "ports", "readinessProbe", "securityContext", "startupProbe")
    containers = f"s.containers + {list_field('s', 'initContainers')} + {list_field('s', 'ephemeralContainers')}"
    any_of = [
        *(f"has(s.{each})" for each in fields),
        # The API server writes an empty one.
        f"(has(s.securityContext) && ({' || '.join(f'has(s.securityContext.{each})' for each in contexts)}))",
        f"{list_field('s', 'volumes')}.exists(v, has(v.hostPath))",
        f"({containers}).exists(c, {' || '.join(f'has(c.{each})' for each in handlers)})",
    ]
    return f"[dyn(object).spec.template.spec].exists(s, {' || '.join(any_of)})"


def pods_policy(plan: PoliciesPlan) -> AdmissionPolicy:
    """Return the policy for pods, and for the templates of Jobs."""
    return AdmissionPolicy(
        name="pods",
        refuses=(
            "access of pods to their node, its scheduler and other teams' priorities; accelerators and their "
            "machines outside the queue"
        ),
        applies_to=EVERYONE,
        breaks="a pod that needs more of its node: exemptions by `podSecurity` and the team's machines",
        # Jobs too, by their template, so that the person who submits the job sees the rejection.
        requests=(Requests("", ("pods", "pods/ephemeralcontainers")), Requests("batch", ("jobs",))),
        variables=tuple(pod_variables(plan.accelerators)),
        rules=(*POD_RULES, *_queue_rules(plan)),
        # Of Jobs, only those with one of these fields in their template.
        concern=f"request.resource.resource != 'jobs' || {_job_concern()}",
        in_shared=False,
    )


def is_counted(job_kinds: Mapping[str, Sequence[str]]) -> str:
    """Return an expression for whether Kueue counts a pod, by itself or as a part of a job."""
    groups = texts([f"{group}/" for group in sorted(job_kinds)])
    return (
        f"'{ADMISSION_GATE}' in variables.gates || (variables.isController && variables.owners.exists(o, "
        f"has(o.controller) && o.controller && {groups}.exists(group, o.apiVersion.startsWith(group))))"
    )


def _queue_rules(plan: PoliciesPlan) -> list[Rule]:
    """Return the rules by which pods in a team's namespace are those that Kueue counts."""
    return [
        (
            "!variables.isPod || variables.isController || variables.owners.all(o, !has(o.controller) || "
            "o.controller == false || o in variables.oldOwners)",
            "ownerReferences with controller: true are reserved for controllers, because they hide a pod from Kueue; "
            "remove them",
        ),
        (
            "!variables.isPod || variables.isNew || variables.isController || "
            "variables.oldGates.all(gate, gate in variables.gates)",
            "only the controllers that set scheduling gates may remove them; keep them",
        ),
        (
            f"!variables.isPod || !variables.isNew || !variables.usesAccelerators || {is_counted(plan.job_kinds)}",
            "only pods of a job in a queue may use accelerators; submit a Job or a JobSet with the label "
            "kueue.x-k8s.io/queue-name",
        ),
    ]


# --- services ---------------------------------------------------------------------------------------------------------

_SERVICE_RULES: Final[tuple[Rule, ...]] = (
    (
        "request.resource.resource == 'services' || 'LoadBalancer' in variables.allowed",
        "an Ingress or a Gateway makes an address that is reachable from outside the cluster, which this team may not "
        "use; remove it, or ask the platform's owners for LoadBalancer in serviceTypes",
    ),
    (
        "request.resource.resource != 'services' || !has(dyn(object).spec.type) || "
        "dyn(object).spec.type in ['ClusterIP', 'ExternalName'] || dyn(object).spec.type in variables.allowed",
        "a service of this type is reachable from outside the cluster, which this team may not use; write ClusterIP",
    ),
    (
        "request.resource.resource != 'services' || !has(dyn(object).spec.externalIPs) || "
        "dyn(object).spec.externalIPs.size() == 0 || 'ExternalIPs' in variables.allowed",
        "externalIPs take over an address for the whole cluster; remove them",
    ),
)

SERVICES: Final = AdmissionPolicy(
    name="services",
    refuses="LoadBalancer, NodePort and externalIPs; Ingresses and Gateways",
    applies_to=EVERYONE,
    breaks="a service that is reachable from outside: the team's `serviceTypes` allows it",
    requests=(
        Requests("", ("services",)),
        Requests("gateway.networking.k8s.io", ("gateways",)),
        Requests("networking.k8s.io", ("ingresses",)),
    ),
    variables=(("allowed", annotation(policies.SERVICE_TYPES)),),
    rules=_SERVICE_RULES,
    in_shared=False,
)
