"""CEL expressions of the policies for jobs, services, and objects that only controllers create.

As in `policy_rules`, every expression is true if the request is allowed.
"""

from __future__ import annotations

from typing import Final

from berth.manifests.policy_rules import Rule, Variable, annotation, list_field
from berth.plan import policies

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

JOB_CONCERN: Final = "request.operation != 'CREATE' || has(object.metadata.ownerReferences)"

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
