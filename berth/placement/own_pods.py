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


class OwnPods(StrEnum):
    """Pods of the other pod set that a selector of a pod selects."""

    ALL = "all"
    CHILD = "child"
    """Those of the pod's own child job."""
    POD = "pod"
    """The pod itself."""
    NONE = "none"
    UNKNOWN = "unknown"


_ORDER = (OwnPods.ALL, OwnPods.CHILD, OwnPods.POD, OwnPods.NONE)
_SCOPES = {EACH_JOB: OwnPods.ALL, EACH_CHILD: OwnPods.CHILD, EACH_POD: OwnPods.POD}


def own_scope(
    selector: tuple[NodeSelectorRequirement, ...] | None,
    term: PodAffinityTerm | None,
    owner: PodSet,
    other: PodSet | None = None,
) -> OwnPods:
    """Return which pods of `other` (the owner's own by default) a selector of the owner selects.

    `term` has the namespaces; a selector of spreading always means the own namespace.
    """
    target = owner if other is None else other
    if selector is None:
        return OwnPods.NONE
    in_own = True if term is None else term.selects_own(owner.namespace)
    if not in_own:
        return OwnPods.UNKNOWN if in_own is None else OwnPods.NONE
    found = [_scope(each, owner, target) for each in selector]
    if OwnPods.NONE in found:
        return OwnPods.NONE
    if OwnPods.UNKNOWN in found:
        return OwnPods.UNKNOWN
    return max(found, key=_ORDER.index, default=OwnPods.ALL)


def _scope(requirement: NodeSelectorRequirement, owner: PodSet, other: PodSet) -> OwnPods:
    key = requirement.key
    value = other.labels.get(key, other.added_labels.get(key))
    if requirement.operator in (SAME, DIFFERENT):
        own = owner.labels.get(key, owner.added_labels.get(key))
        return _compared(requirement.operator, own, value, same=owner is other)
    if value is None:
        return OwnPods.ALL if requirement.operator in ("NotIn", "DoesNotExist") else OwnPods.NONE
    if requirement.operator in ("Exists", "DoesNotExist"):
        return OwnPods.ALL if requirement.operator == "Exists" else OwnPods.NONE
    if value in _SCOPES:
        return OwnPods.UNKNOWN
    return OwnPods.ALL if matches_value(requirement, value) else OwnPods.NONE


def _compared(operator: str, own: str | None, value: str | None, *, same: bool) -> OwnPods:
    if value is None or own is None:
        return OwnPods.NONE if operator == SAME else OwnPods.ALL
    if value in _SCOPES or own in _SCOPES:
        if operator == DIFFERENT:
            return OwnPods.UNKNOWN if same and value != EACH_JOB else OwnPods.NONE
        return _SCOPES.get(value, OwnPods.UNKNOWN) if same or value == EACH_JOB else OwnPods.NONE
    return OwnPods.ALL if (value == own) == (operator == SAME) else OwnPods.NONE
