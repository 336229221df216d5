"""Which of a job's own pods a label selector selects."""

from __future__ import annotations

from enum import StrEnum

from berth.jobs.pod_set import (
    DIFFERENT,
    EACH_CHILD,
    EACH_JOB,
    EACH_POD,
    SAME,
    NodeSelectorRequirement,
    PodAffinityTerm,
    PodSet,
)
from berth.placement.matching import matches_value


class Scope(StrEnum):
    """Pods of the other pod set that a selector of a pod selects."""

    ALL = "all"
    CHILD = "child"
    """Those of the pod's own child job."""
    POD = "pod"
    """The pod itself."""
    NONE = "none"
    UNKNOWN = "unknown"


_ORDER = (Scope.ALL, Scope.CHILD, Scope.POD, Scope.NONE)
_SCOPES = {EACH_JOB: Scope.ALL, EACH_CHILD: Scope.CHILD, EACH_POD: Scope.POD}


def own_scope(
    selector: tuple[NodeSelectorRequirement, ...] | None,
    term: PodAffinityTerm | None,
    owner: PodSet,
    other: PodSet | None = None,
) -> Scope:
    """Return which pods of `other` (the owner's own by default) a selector of the owner selects.

    `term` has the namespaces; a selector of spreading always means the own namespace.
    """
    target = owner if other is None else other
    if selector is None:
        return Scope.NONE
    if term is not None and (term.has_namespace_selector or term.namespaces):
        return Scope.UNKNOWN
    found = [_scope(each, owner, target) for each in selector]
    if Scope.NONE in found:
        return Scope.NONE
    if Scope.UNKNOWN in found:
        return Scope.UNKNOWN
    return max(found, key=_ORDER.index, default=Scope.ALL)


def _scope(requirement: NodeSelectorRequirement, owner: PodSet, other: PodSet) -> Scope:
    key = requirement.key
    value = other.labels.get(key, other.added_labels.get(key))
    if requirement.operator in (SAME, DIFFERENT):
        own = owner.labels.get(key, owner.added_labels.get(key))
        return _compared(requirement.operator, own, value, same=owner is other)
    if value is None:
        return Scope.ALL if requirement.operator in ("NotIn", "DoesNotExist") else Scope.NONE
    if requirement.operator in ("Exists", "DoesNotExist"):
        return Scope.ALL if requirement.operator == "Exists" else Scope.NONE
    if value in _SCOPES:
        return Scope.UNKNOWN
    return Scope.ALL if matches_value(requirement, value) else Scope.NONE


def _compared(operator: str, own: str | None, value: str | None, *, same: bool) -> Scope:
    if value is None or own is None:
        return Scope.NONE if operator == SAME else Scope.ALL
    if value in _SCOPES or own in _SCOPES:
        if operator == DIFFERENT:
            return Scope.UNKNOWN if same and value != EACH_JOB else Scope.NONE
        return _SCOPES.get(value, Scope.UNKNOWN) if same or value == EACH_JOB else Scope.NONE
    return Scope.ALL if (value == own) == (operator == SAME) else Scope.NONE
