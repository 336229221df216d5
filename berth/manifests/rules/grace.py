"""Policy `berth-grace`: pods leave machines that others can want back within the fleet's grace period.

Kueue frees the quota of an evicted job as soon as its pods are being deleted, so a lender waits for the rest of their
grace period. The kubelet applies the grace period of a request that deletes a pod, of the pod, or of a probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Rule, Variable, list_field
from berth.manifests.rules.admission import EVERYONE, TEMPLATES, AdmissionPolicy, Requests, with_templates
from berth.plan.policies import DEFAULT_MAX_GRACE, MAX_GRACE, MIN_GRACE, UNLIMITED

_OPTIONS: Final = "request.options"
_CONTAINERS: Final = f"(t.spec.containers + {list_field('t.spec', 'initContainers')})"
_PROBES: Final = (
    "((has(c.livenessProbe) ? [c.livenessProbe] : []) + (has(c.startupProbe) ? [c.startupProbe] : []))"
    ".all(p, !has(p.terminationGracePeriodSeconds) || p.terminationGracePeriodSeconds <= variables.most)"
)
_OWN_GRACE: Final = " || ".join(
    f"(has(c.{probe}) && has(c.{probe}.terminationGracePeriodSeconds))" for probe in ("livenessProbe", "startupProbe")
)
LIMIT: Final[tuple[Variable, ...]] = (
    (
        "written",
        f"(has(namespaceObject.metadata.annotations) && '{MAX_GRACE}' in namespaceObject.metadata.annotations) ? "
        f"namespaceObject.metadata.annotations['{MAX_GRACE}'] : '{DEFAULT_MAX_GRACE}'",
    ),
    ("isLimited", f"variables.written != '{UNLIMITED}'"),
    ("most", f"variables.isLimited ? int(variables.written) : {DEFAULT_MAX_GRACE}"),
)
"""Whether grace periods of a namespace are limited, and to how many seconds."""
_VARIABLES: Final[tuple[Variable, ...]] = (
    *LIMIT,
    ("isEviction", "has(request.subResource) && request.subResource == 'eviction'"),
    (
        TEMPLATES[0],
        f"request.operation == 'DELETE' || variables.isEviction ? [] : ({TEMPLATES[1]})",
    ),
)

_RULES: Final[tuple[Rule, ...]] = (
    (
        "!variables.isLimited || variables.templates.all(t, !has(t.spec.terminationGracePeriodSeconds) || "
        "t.spec.terminationGracePeriodSeconds <= variables.most)",
        "terminationGracePeriodSeconds is more than the fleet's longest grace period, for which pods may keep machines "
        f"that other teams want back; write at most the seconds in the namespace's annotation {MAX_GRACE} "
        f"({DEFAULT_MAX_GRACE} without it)",
    ),
    (
        f"!variables.isLimited || variables.templates.all(t, {_CONTAINERS}.all(c, {_PROBES}))",
        "terminationGracePeriodSeconds of a probe is more than the fleet's longest grace period; write at most the "
        f"seconds in the namespace's annotation {MAX_GRACE} ({DEFAULT_MAX_GRACE} without it)",
    ),
    (
        "request.operation != 'DELETE' || !variables.isLimited || "
        f"!has({_OPTIONS}.gracePeriodSeconds) || {_OPTIONS}.gracePeriodSeconds <= variables.most",
        "gracePeriodSeconds of this deletion is more than the fleet's longest grace period; delete the pod without it",
    ),
    (
        "!variables.isEviction || !variables.isLimited || !has(dyn(object).deleteOptions) || "
        "!has(dyn(object).deleteOptions.gracePeriodSeconds) || "
        "dyn(object).deleteOptions.gracePeriodSeconds <= variables.most",
        "gracePeriodSeconds of this eviction is more than the fleet's longest grace period; evict the pod without it",
    ),
)

_CONDITION: Final = (
    "request.operation != 'UPDATE' || dyn(object).spec != dyn(oldObject).spec || "
    "(has(request.subResource) && request.subResource == 'eviction')"
)


def grace_policy(job_kinds: Mapping[str, Sequence[str]]) -> AdmissionPolicy:
    """Return the policy for every kind with pod templates."""
    return AdmissionPolicy(
        name="grace",
        refuses=(
            "grace periods of pods, probes, deletions and evictions above the team's `maxGracePeriod`, on machines "
            "that another team can want back"
        ),
        applies_to=EVERYONE,
        breaks="a checkpoint that takes longer than 10 minutes: the team's `maxGracePeriod` allows up to 1 hour",
        requests=(
            *with_templates(job_kinds),
            Requests("", ("pods",), ("DELETE",)),
            Requests("", ("pods/eviction",), ("CREATE",)),
        ),
        variables=_VARIABLES,
        rules=_RULES,
        condition=_CONDITION,
        concern=(
            "request.operation == 'DELETE' || (has(request.subResource) && request.subResource == 'eviction') || "
            f"({TEMPLATES[1]}).exists(t, (has(t.spec.terminationGracePeriodSeconds) && "
            f"t.spec.terminationGracePeriodSeconds > {MIN_GRACE}) || {_CONTAINERS}.exists(c, {_OWN_GRACE}))"
        ),
    )
