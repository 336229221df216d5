"""Whether labels match selectors and pods tolerate taints: yes, no, or unknown (None).

Source: Kubernetes 1.36 `component-helpers/scheduling/corev1`, read 2026-11-25.
"""

from __future__ import annotations

from collections.abc import Iterable

from berth.jobs.pod_set import NodeSelectorRequirement
from berth.nodes.model import Label
from berth.plan.node_settings import Taint, Toleration

BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that prevent scheduling."""
_ABSENT_MATCHES = ("NotIn", "DoesNotExist")


def matches_value(requirement: NodeSelectorRequirement, value: str) -> bool:
    """Return whether one expression matches the value of a label that is there."""
    values = requirement.values
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists" | "DoesNotExist":
            return requirement.operator == "Exists"
        case _:
            if not (_is_whole(value) and _is_whole(values[0])):
                return False
            return int(value) > int(values[0]) if requirement.operator == "Gt" else int(value) < int(values[0])


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def matches_label(requirement: NodeSelectorRequirement, label: Label) -> bool | None:
    """Return whether one expression matches what is known of a label; None if that is not enough."""
    if label.present is False:
        return requirement.operator in _ABSENT_MATCHES
    if requirement.operator in ("Exists", "DoesNotExist"):
        return None if label.present is None else requirement.operator == "Exists"
    if label.begins and not any(each.startswith(label.begins) for each in requirement.values):
        return requirement.operator == "NotIn"
    found = {matches_value(requirement, each) for each in label.values}
    return found.pop() if len(found) == 1 else None


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all answers are yes; None if an unknown one decides."""
    known = list(answers)
    return False if False in known else None if None in known else True


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """Return whether one answer is yes; None if an unknown one decides."""
    known = list(answers)
    return True if True in known else None if None in known else False


def tolerates(tolerations: tuple[Toleration, ...] | None, taint: Taint, more: tuple[Toleration, ...] = ()) -> bool:
    """Return whether pods tolerate a taint, or it does not prevent scheduling; `tolerations` None tolerate all."""
    if tolerations is None or taint.effect not in BLOCKING_EFFECTS:
        return True
    return any(
        each.effect in (None, "", taint.effect)
        and each.key in (None, "", taint.key)
        and (each.operator == "Exists" or (each.value or "") == taint.value)
        for each in (*tolerations, *more)
    )
