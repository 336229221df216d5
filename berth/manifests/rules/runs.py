"""Policy `berth-runs`: how long a job may keep queued machines.

As in `policy_rules`, every expression is true if the request is allowed; `berth lint` reports the same. The limits are
an annotation of the namespace (`berth.plan.policies.RUN_DURATIONS`), or for a namespace that Berth does not manage a
list in the policy. What another job owns has no run duration of its own: its pods, and jobs of a job. Pods of a
Deployment are admitted one by one, so their run duration is in the pod template; Kueue reads that of a StatefulSet or a
LeaderWorkerSet from the object (Kueue 0.19.2, pkg/controller/jobs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Rule, Variable, annotation
from berth.manifests.rules.admission import EVERYONE, QUEUE_LABEL, AdmissionPolicy, joined, requests_of
from berth.manifests.serving.rules import KINDS
from berth.plan import policies
from berth.plan.admission_checks import MAX_RUN_SECONDS, MIN_RUN_SECONDS, PARAMETER_PREFIX, RUN_DURATION_PARAMETER

_ANNOTATION: Final = f"{PARAMETER_PREFIX}{RUN_DURATION_PARAMETER}"
_PARENT: Final = "kueue.x-k8s.io/pod-suspending-parent"
"""Annotation that Kueue sets on the pods of services that it queues, with the integration of the service."""
_GROUPED: Final = ("leaderworkerset.x-k8s.io/leaderworkerset", "statefulset")
"""Integrations of services whose pods are admitted together."""


def _entry(metadata: str, field: str, key: str) -> str:
    """Return an expression for a label or an annotation; empty text without it."""
    return f"(has({metadata}.{field}) && '{key}' in {metadata}.{field} ? {metadata}.{field}['{key}'] : '')"


def _duration(holder: str) -> str:
    """Return an expression for the run duration of a request's object; of a Deployment, that of its pods."""
    template = f"dyn({holder}).spec.template"
    of_pods = f"(has({template}.metadata) ? {_entry(f'{template}.metadata', 'annotations', _ANNOTATION)} : '')"
    own = _entry(f"{holder}.metadata", "annotations", _ANNOTATION)
    return f"(request.resource.resource == 'deployments' ? {of_pods} : {own})"


def _queue(holder: str) -> str:
    return _entry(f"{holder}.metadata", "labels", QUEUE_LABEL)


_CHANGED: Final = (
    f"request.operation == 'CREATE' || {_duration('object')} != {_duration('oldObject')} || "
    f"{_queue('object')} != {_queue('oldObject')}"
)
"""Whether a request can change a run duration: other updates of older jobs are allowed."""

_ALONE: Final = ("CronJob", "DaemonSet", "ReplicaSet", "ReplicationController")
"""Kinds of owners that Kueue does not queue: each of their jobs or pods is admitted by itself."""


def _is_part() -> str:
    """Return an expression for whether another object that Kueue queues owns this one, and has the run duration.

    Pods of a StatefulSet are parts of it where Kueue queues it.
    """
    alone = ", ".join(f"'{kind}'" for kind in _ALONE)
    parents = ", ".join(f"'{each}'" for each in _GROUPED)
    grouped = f"{_entry('object.metadata', 'annotations', _PARENT)} in [{parents}]"
    return (
        "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && "
        f"o.controller && !(o.kind in [{alone}]) && (!(o.kind in ['LeaderWorkerSet', 'StatefulSet']) || "
        f"request.resource.resource != 'pods' || {grouped}))"
    )


def _variables(shared: Mapping[str, Mapping[str, int]]) -> list[Variable]:
    """Return the run duration of a job, and the limits of its queue: one, or none."""
    listed = ", ".join(
        f"'{namespace}/{queue}={seconds}'"
        for namespace, limits in sorted(shared.items())
        for queue, seconds in sorted(limits.items())
    )
    prefix = "namespaceObject.metadata.name + '/'"
    of_shared = f" + [{listed}]" if listed else ""
    return [
        ("queue", _queue("object")),
        ("duration", _duration("object")),
        ("isNumber", "variables.duration.matches('^[0-9]{1,9}$')"),
        ("isPart", _is_part()),
        (
            "limits",
            f"variables.isPart ? [] : ((({annotation(policies.RUN_DURATIONS)}).map(l, {prefix} + l){of_shared})"
            f".filter(l, l.startsWith({prefix} + variables.queue + '=')).map(l, int(l.split('=')[1])))",
        ),
    ]


_RULES: Final[list[Rule]] = [
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
        f"the namespace's annotation {policies.RUN_DURATIONS} has; write the annotation {_ANNOTATION}, of a Deployment "
        "in its pod template",
    ),
]


def runs_policy(
    job_kinds: Mapping[str, Sequence[str]], queues: Sequence[str], shared: Mapping[str, Mapping[str, int]]
) -> AdmissionPolicy:
    """Return the policy for jobs in `queues`, and for the services and pods that Kueue queues there.

    `shared` maps namespaces that Berth does not manage to their local queues and limits.
    """
    return AdmissionPolicy(
        name="runs",
        refuses="a run duration above the maximum of a queue with queued machines",
        applies_to=EVERYONE,
        breaks="a job without a run duration in a queue that limits it: write the annotation",
        requests=requests_of({**joined(KINDS, job_kinds), "": ("pods",)}),
        variables=tuple(_variables(shared)),
        rules=tuple(_RULES),
        condition=_CHANGED,
        queues=tuple(queues),
    )
