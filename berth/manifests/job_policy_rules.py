"""CEL expressions of the policies for jobs, services, and objects that only controllers create.

As in `policy_rules`, every expression is true if the request is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from berth.manifests.policy_rules import Rule, Variable, annotation, list_field
from berth.plan import policies
from berth.plan.admission_checks import MAX_RUN_SECONDS, MIN_RUN_SECONDS, PARAMETER_PREFIX, RUN_DURATION_PARAMETER

# --- jobs -------------------------------------------------------------------------------------------------------------

_SUSPEND_FIELD: Final = (
    "has(spec.suspend) ? spec.suspend : "
    "(has(spec.runPolicy) && has(spec.runPolicy.suspend) ? spec.runPolicy.suspend : "
    "(has(spec.rayClusterConfig) && has(spec.rayClusterConfig.suspend) ? spec.rayClusterConfig.suspend : false))"
)


def _suspended(holder: str) -> str:
    return _SUSPEND_FIELD.replace("spec", f"dyn({holder}).spec")


JOB_VARIABLES: Final[list[Variable]] = [
    ("owners", f"{list_field('object.metadata', 'ownerReferences')}.filter(o, has(o.controller) && o.controller)"),
    (
        "oldOwners",
        "(request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences)) ? "
        "oldObject.metadata.ownerReferences.filter(o, has(o.controller) && o.controller) : []",
    ),
    ("suspended", _suspended("object")),
    ("wasSuspended", f"request.operation == 'UPDATE' && ({_suspended('oldObject')})"),
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

# --- services ---------------------------------------------------------------------------------------------------------

SERVICE_VARIABLES: Final[list[Variable]] = [("allowed", annotation(policies.SERVICE_TYPES))]

SERVICE_RULES: Final[list[Rule]] = [
    (
        "!has(object.spec.type) || object.spec.type in ['ClusterIP', 'ExternalName'] || "
        "object.spec.type in variables.allowed",
        "a service of this type is reachable from outside the cluster, which this team may not use; write ClusterIP",
    ),
    (
        "!has(object.spec.externalIPs) || object.spec.externalIPs.size() == 0 || 'ExternalIPs' in variables.allowed",
        "externalIPs take over an address for the whole cluster; remove them",
    ),
]

# --- what only controllers create -------------------------------------------------------------------------------------

CONTROLLER_RULES: Final[list[Rule]] = [
    (
        "authorizer.group(request.resource.group).resource(request.resource.resource)"
        ".subresource(has(request.subResource) ? request.subResource : '')"
        ".check(request.operation == 'CREATE' ? 'create' : 'update').allowed()",
        "only controllers bind pods to nodes and write workloads of Kueue; submit a job with the label "
        "kueue.x-k8s.io/queue-name",
    ),
]

# --- run durations ----------------------------------------------------------------------------------------------------
# They limit how long a job may keep queued machines, as `berth lint` does. The limits are an annotation of the
# namespace (`berth.plan.policies.RUN_DURATIONS`), or for a namespace that Berth does not manage a list in the policy.
# Jobs that another job owns have no run duration of their own.

_ANNOTATION: Final = f"{PARAMETER_PREFIX}{RUN_DURATION_PARAMETER}"
_QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"


def _entry(holder: str, field: str, key: str) -> str:
    """Return an expression for a label or an annotation; empty text without it."""
    has_key = f"has({holder}.metadata.{field}) && '{key}' in {holder}.metadata.{field}"
    return f"({has_key} ? {holder}.metadata.{field}['{key}'] : '')"


RUN_CHANGED: Final = (
    "request.operation == 'CREATE' || "
    f"{_entry('object', 'annotations', _ANNOTATION)} != {_entry('oldObject', 'annotations', _ANNOTATION)} || "
    f"{_entry('object', 'labels', _QUEUE_LABEL)} != {_entry('oldObject', 'labels', _QUEUE_LABEL)}"
)
"""Whether a request can change the run duration of a job: other updates of older jobs are allowed."""


def run_variables(shared: Mapping[str, Mapping[str, int]]) -> list[Variable]:
    """Return the run duration of a job, and the limits of its queue: one, or none."""
    listed = ", ".join(
        f"'{namespace}/{queue}={seconds}'"
        for namespace, limits in sorted(shared.items())
        for queue, seconds in sorted(limits.items())
    )
    prefix = "namespaceObject.metadata.name + '/'"
    of_shared = f" + [{listed}]" if listed else ""
    return [
        ("queue", _entry("object", "labels", _QUEUE_LABEL)),
        ("duration", _entry("object", "annotations", _ANNOTATION)),
        ("isNumber", "variables.duration.matches('^[0-9]{1,9}$')"),
        (
            "isPart",
            "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && "
            "o.controller && o.kind != 'CronJob')",
        ),
        (
            "limits",
            f"variables.isPart ? [] : ((({annotation(policies.RUN_DURATIONS)}).map(l, {prefix} + l){of_shared})"
            f".filter(l, l.startsWith({prefix} + variables.queue + '=')).map(l, int(l.split('=')[1])))",
        ),
    ]


RUN_RULES: Final[list[Rule]] = [
    (
        "variables.limits.size() == 0 || variables.duration == '' || (variables.isNumber && "
        f"int(variables.duration) >= {MIN_RUN_SECONDS} && int(variables.duration) <= {MAX_RUN_SECONDS})",
        f"{_ANNOTATION} is not a number of seconds from {MIN_RUN_SECONDS} (10 minutes) to {MAX_RUN_SECONDS} (7 days)",
    ),
    (
        "!variables.isNumber || variables.limits.all(l, int(variables.duration) <= l)",
        f"{_ANNOTATION} is more than the maximum of this queue, which the namespace's annotation "
        f"{policies.RUN_DURATIONS} has; write the maximum or less",
    ),
    (
        f"variables.duration != '' || variables.limits.all(l, l >= {MAX_RUN_SECONDS})",
        f"a job without a run duration could keep its machines for 7 days, more than the maximum of this queue, which "
        f"the namespace's annotation {policies.RUN_DURATIONS} has; write the annotation {_ANNOTATION}",
    ),
]
