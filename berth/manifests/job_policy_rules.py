"""The CEL expressions of the policies of jobs, services, and what only controllers create.

As in `policy_rules`, every expression is true where the request is allowed.
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
        "ownerReferences with controller: true are for controllers: Kueue takes such a job for a part of its owner and "
        "counts nothing; leave them out",
    ),
    (
        "variables.isController || request.operation == 'CREATE' || variables.oldOwners.size() == 0 || "
        "dyn(object).spec == dyn(oldObject).spec",
        "this job is a part of another, by which Kueue counts it; change that one",
    ),
    (
        "variables.isController || !variables.wasSuspended || variables.suspended",
        "a suspended job is started by Kueue when its queue admits it; leave suspend as it is",
    ),
]

# --- services ---------------------------------------------------------------------------------------------------------

SERVICE_VARIABLES: Final[list[Variable]] = [("allowed", annotation(policies.SERVICE_TYPES))]

SERVICE_RULES: Final[list[Rule]] = [
    (
        "!has(object.spec.type) || object.spec.type in ['ClusterIP', 'ExternalName'] || "
        "object.spec.type in variables.allowed",
        "a service of this type is reachable from outside the cluster, and the team is not allowed it; write ClusterIP",
    ),
    (
        "!has(object.spec.externalIPs) || object.spec.externalIPs.size() == 0 || 'ExternalIPs' in variables.allowed",
        "externalIPs take over an address for the whole cluster; leave them out",
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
