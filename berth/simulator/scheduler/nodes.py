"""Whether pods accept the nodes of a flavor: node selector, required node affinity, taints and tolerations."""

from __future__ import annotations

from collections.abc import Mapping

from berth.jobs.pod_set import Expression, PodSet, Toleration
from berth.simulator.scheduler.model import CHECKED, Nodes, Taint


def may_run(pods: PodSet, nodes: Nodes) -> bool:
    """Whether the pods may run on a flavor's nodes; label keys that the flavor does not name are ignored.

    Terms of an affinity are alternatives; one that asks nothing of the flavor's own keys accepts it.
    """
    if any(nodes.labels.get(key, value) != value for key, value in pods.selector.items()):
        return False
    if pods.affinity and not any(_accepts(term, nodes.labels) for term in pods.affinity):
        return False
    return not nodes.taints or pods.tolerations is None or _tolerates(pods.tolerations, nodes)


def _accepts(term: tuple[Expression, ...], labels: Mapping[str, str]) -> bool:
    return all(_holds(expression, labels[expression.key]) for expression in term if expression.key in labels)


def _holds(expression: Expression, label: str) -> bool:
    """Whether one expression holds of a label that the flavor has."""
    values = expression.values
    match expression.operator:
        case "In":
            return label in values
        case "NotIn":
            return label not in values
        case "Exists" | "DoesNotExist":
            return expression.operator == "Exists"
        case "Gt":
            return label.isdigit() and values[0].isdigit() and int(label) > int(values[0])
        case _:
            return label.isdigit() and values[0].isdigit() and int(label) < int(values[0])


def _tolerates(tolerations: tuple[Toleration, ...], nodes: Nodes) -> bool:
    """Whether every taint that keeps pods away is tolerated, by the pods or by what the flavor gives them."""
    known = tolerations + nodes.tolerations
    return all(any(_covers(each, taint) for each in known) for taint in nodes.taints if taint.effect in CHECKED)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in (None, "", taint.effect) or toleration.key not in (None, "", taint.key):
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value
