"""Policy `berth-platform`: what limits a team is the platform's, whatever rights an account has in its namespace.

A local queue of one's own leads to a queue of several teams past the rules of its name. A LimitRange of one's own gives
later pods of a job that Kueue admitted other requests: defaults of any resource, accelerators among them. Rights on
namespaces in one namespace are rights on that namespace, whose label and annotations the policies read. The label
decides which policies apply, and Kubernetes looks at it as it is after an update, so this policy applies in every
namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from berth.manifests.isolation import OBJECT_NAME
from berth.manifests.rules.admission import IS_CONTROLLER, PEOPLE, AdmissionPolicy, Requests, keys
from berth.names import TEAM_LABEL
from berth.plan.policies import POD_SECURITY

_CHANGES: Final = ("UPDATE", "DELETE")
_LIMITS: Final = ("networkpolicies", "resourcequotas")
_READ: Final = f"(k.startsWith('berth.dev/') || k.startsWith('{POD_SECURITY}/'))"
"""Whether policies read a label or an annotation `k` of a namespace."""


def _same(field: str) -> str:
    """Return an expression for whether an update of a namespace keeps what policies read."""
    old, new = keys("oldObject", field), keys("object", field)
    return f"{old}.all(k, !{_READ} || (k in {new} && {new}[k] == {old}[k])) && {new}.all(k, !{_READ} || k in {old})"


def platform_policy(shared: Sequence[str]) -> AdmissionPolicy:
    """Return the policy; `shared` are namespaces of teams that Berth does not manage."""
    return AdmissionPolicy(
        name="platform",
        refuses=(
            "local queues and LimitRanges; changes and deletion of the team's ResourceQuota and NetworkPolicy, of its "
            "namespace, and of the namespace's labels and annotations that policies read"
        ),
        applies_to=PEOPLE,
        breaks="an account with rights in a single namespace that administers it: the platform's stack does",
        requests=(
            Requests("", ("limitranges",), ("CREATE", *_CHANGES)),
            Requests("", ("resourcequotas",), _CHANGES),
            Requests("", ("namespaces", "namespaces/finalize", "namespaces/status"), _CHANGES),
            Requests("kueue.x-k8s.io", ("localqueues", "localqueues/status"), ("CREATE", *_CHANGES)),
            Requests("networking.k8s.io", ("networkpolicies",), _CHANGES),
        ),
        variables=(
            IS_CONTROLLER,
            (
                "isOfTeam",
                f"request.resource.resource == 'namespaces' ? '{TEAM_LABEL}' in {keys('oldObject', 'labels')} : "
                f"(has(namespaceObject.metadata.labels) && '{TEAM_LABEL}' in namespaceObject.metadata.labels) || "
                f"namespaceObject.metadata.name in {sorted(shared)}",
            ),
        ),
        rules=(
            (
                "variables.isController || request.resource.resource != 'localqueues' || !variables.isOfTeam",
                "local queues are the platform's, because the policies know them by name; submit jobs to one of the "
                "team's local queues",
            ),
            (
                f"variables.isController || !(request.resource.resource in {list(_LIMITS)}) || !variables.isOfTeam || "
                f"oldObject.metadata.name != '{OBJECT_NAME}'",
                "this object limits the team, and the platform's stack writes it; leave it as it is",
            ),
            (
                "variables.isController || request.resource.resource != 'limitranges' || !variables.isOfTeam",
                "a LimitRange writes requests into pods after Kueue has counted their job, also of accelerators; write "
                "the requests into the pods",
            ),
            (
                "variables.isController || request.resource.resource != 'namespaces' || !variables.isOfTeam || "
                "(request.operation == 'UPDATE' && !(has(request.subResource) && request.subResource == 'finalize') && "
                f"{_same('labels')} && {_same('annotations')})",
                "the policies read this namespace's labels and annotations, and the platform's stack writes them; "
                "leave the namespace as it is",
            ),
        ),
        condition=None,
        in_shared=False,
        everywhere=True,
    )
