"""Policy `berth-tolerations`: pods that Kueue does not count keep off the machines with accelerators.

A toleration of the taint of such machines lets a pod without accelerators take cores and places there, outside of every
queue. The admission plugin ExtendedResourceToleration writes it into pods that request the accelerators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Variable, list_field, texts
from berth.manifests.rules.admission import EVERYONE, AdmissionPolicy, Requests
from berth.manifests.rules.jobs import is_counted

_SPEC: Final = "object.spec"
_VARIABLES: Final[tuple[Variable, ...]] = (
    ("owners", list_field("object.metadata", "ownerReferences")),
    ("gates", f"{list_field(_SPEC, 'schedulingGates')}.map(g, g.name)"),
    (
        "isController",
        "authorizer.group('').resource('pods').check(request.operation == 'CREATE' ? 'create' : 'patch').allowed()",
    ),
)


def tolerations_policy(job_kinds: Mapping[str, Sequence[str]], accelerators: Sequence[str]) -> AdmissionPolicy:
    """Return the policy for pods; `accelerators` are the keys of the taints."""
    tolerations = list_field(_SPEC, "tolerations")
    old = list_field("oldObject.spec", "tolerations")
    is_update = "request.operation == 'UPDATE'"
    tolerates = f"{tolerations}.exists(t, has(t.key) && t.key in {texts(accelerators)})"
    return AdmissionPolicy(
        name="tolerations",
        refuses="tolerations of the taints of accelerators in pods that are not of a job in a queue",
        applies_to=EVERYONE,
        breaks="a pod of one's own on accelerator machines: a Job in a queue",
        requests=(Requests("", ("pods",)),),
        variables=_VARIABLES,
        rules=(
            (
                f"!({tolerates}) || ({is_update} && (variables.isController || {tolerations} == {old})) || "
                f"{is_counted(job_kinds)}",
                "pods that Kueue does not count would take cores and places on accelerator machines; remove this "
                "toleration, or submit a Job with the label kueue.x-k8s.io/queue-name",
            ),
        ),
        concern=tolerates,
        in_shared=False,
    )
