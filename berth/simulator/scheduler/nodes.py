"""Matching of pods with the nodes of a flavor: node selectors, required node affinity, taints and tolerations."""

from __future__ import annotations

from berth.jobs.pod_set import NodeSelectorRequirement, PodSet
from berth.plan.nodes import Toleration
from berth.simulator.scheduler.model import BLOCKING_EFFECTS, ResourceFlavor


def can_run_on(pod_set: PodSet, flavor: ResourceFlavor) -> bool:
    """Return whether the pods can run on a flavor's nodes; label keys that the flavor does not have are ignored.

    Terms of an affinity are alternatives; a term without keys of the flavor accepts it.
    """
    if any(flavor.node_labels.get(key, value) != value for key, value in pod_set.node_selector.items()):
        return False
    if pod_set.affinity_terms and not any(
        all(
            _matches_expression(expression, flavor.node_labels[expression.key])
            for expression in term
            if expression.key in flavor.node_labels
        )
        for term in pod_set.affinity_terms
    ):
        return False
    return not flavor.node_taints or pod_set.tolerations is None or _tolerates_all(pod_set.tolerations, flavor)


def _matches_expression(expression: NodeSelectorRequirement, label: str) -> bool:
    """Return whether one expression matches the value of a label."""
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


def _tolerates_all(tolerations: tuple[Toleration, ...], flavor: ResourceFlavor) -> bool:
    """Return whether the pods or the flavor tolerate every taint that prevents scheduling."""
    all_tolerations = tolerations + flavor.tolerations
    return all(
        any(
            each.effect in (None, "", taint.effect)
            and each.key in (None, "", taint.key)
            and (each.operator == "Exists" or (each.value or "") == taint.value)
            for each in all_tolerations
        )
        for taint in flavor.node_taints
        if taint.effect in BLOCKING_EFFECTS
    )
