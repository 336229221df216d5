"""Rules of resource flavors, and of the topologies that they name."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import FieldPath, format_value
from berth.plan.kueue import FlavorPlan, TopologyPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import (
    FieldError,
    Rule,
    check_enum,
    check_label_key,
    check_label_value,
    check_max_items,
    check_subdomain,
    check_unique,
)


def _name(plan: FlavorPlan) -> Iterator[FieldError]:
    yield from check_subdomain(("name",), plan.name, "a flavor")


def _label_count(plan: FlavorPlan) -> Iterator[FieldError]:
    remedy = "select by fewer"
    yield from check_max_items(("nodeLabels",), len(plan.node_labels), bounds.FLAVOR_LABELS, "node labels", remedy)


def _label_syntax(plan: FlavorPlan) -> Iterator[FieldError]:
    for key, value in sorted(plan.node_labels.items()):
        path: FieldPath = ("nodeLabels", key)
        yield from check_label_key(path, key, "label key")
        yield from check_label_value(path, value)


def _toleration_count(plan: FlavorPlan) -> Iterator[FieldError]:
    remedy = "give fewer nodes taints of their own"
    yield from check_max_items(
        ("tolerations",), len(plan.tolerations), bounds.FLAVOR_TOLERATIONS, "tolerations", remedy
    )


def _toleration_operators(plan: FlavorPlan) -> Iterator[FieldError]:
    for index, toleration in enumerate(plan.tolerations):
        yield from check_enum(("tolerations", index, "operator"), toleration.operator, bounds.OPERATORS)


def _toleration_effects(plan: FlavorPlan) -> Iterator[FieldError]:
    for index, toleration in enumerate(plan.tolerations):
        if toleration.effect:
            yield from check_enum(("tolerations", index, "effect"), toleration.effect, bounds.EFFECTS)


def _toleration_keys(plan: FlavorPlan) -> Iterator[FieldError]:
    for index, toleration in enumerate(plan.tolerations):
        path: FieldPath = ("tolerations", index, "key")
        if toleration.key:
            yield from check_label_key(path, toleration.key, "taint key")
        elif toleration.operator != "Exists":
            yield (
                path,
                f"'' tolerates every taint: Kueue takes that with operator Exists alone, not '{toleration.operator}'",
            )


def _toleration_values(plan: FlavorPlan) -> Iterator[FieldError]:
    for index, toleration in enumerate(plan.tolerations):
        if toleration.operator == "Exists" and toleration.value:
            path: FieldPath = ("tolerations", index, "value")
            yield (
                path,
                f"'{format_value(toleration.value)}' stands beside operator Exists, which takes no value; write Equal",
            )


def _taint_count(plan: FlavorPlan) -> Iterator[FieldError]:
    yield from check_max_items(
        ("nodeTaints",), len(plan.node_taints), bounds.FLAVOR_TAINTS, "node taints", "name fewer"
    )


def _taint_syntax(plan: FlavorPlan) -> Iterator[FieldError]:
    for index, taint in enumerate(plan.node_taints):
        path: FieldPath = ("nodeTaints", index)
        yield from check_label_key((*path, "key"), taint.key, "taint key")
        yield from check_label_value((*path, "value"), taint.value)
        yield from check_enum((*path, "effect"), taint.effect, bounds.EFFECTS)


def _unique_taints(plan: FlavorPlan) -> Iterator[FieldError]:
    yield from check_unique(("nodeTaints",), [f"{each.key}:{each.effect}" for each in plan.node_taints], "taint")


def _topology_needs_labels(plan: FlavorPlan) -> Iterator[FieldError]:
    if plan.topology is not None and not plan.node_labels:
        yield (
            ("topology",),
            f"'{format_value(plan.topology)}': a flavor with a topology selects its nodes; give it a label",
        )


def _topology_reference(plan: FlavorPlan) -> Iterator[FieldError]:
    if plan.topology is not None:
        yield from check_subdomain(("topology",), plan.topology, "a topology")


FLAVORS: tuple[Rule[FlavorPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name),
    Rule("too-many-node-labels", "CRD ResourceFlavor: nodeLabels maxProperties", _label_count),
    Rule("bad-node-label", "webhook ValidateResourceFlavor: ValidateLabels", _label_syntax),
    Rule("too-many-tolerations", "CRD ResourceFlavor: tolerations maxItems", _toleration_count),
    Rule("bad-toleration-operator", "CEL ResourceFlavor.tolerations", _toleration_operators),
    Rule("bad-toleration-effect", "CEL ResourceFlavor.tolerations", _toleration_effects),
    Rule("bad-toleration-key", "CEL ResourceFlavor.tolerations; webhook validateTolerations", _toleration_keys),
    Rule("toleration-value-with-exists", "CEL ResourceFlavor.tolerations", _toleration_values),
    Rule("too-many-node-taints", "CRD ResourceFlavor: nodeTaints maxItems", _taint_count),
    Rule("bad-node-taint", "CEL ResourceFlavor.nodeTaints; webhook validateNodeTaints", _taint_syntax),
    Rule("node-taint-twice", "webhook validateNodeTaints", _unique_taints),
    Rule("topology-without-labels", "CEL ResourceFlavor.spec", _topology_needs_labels),
    Rule("bad-topology-reference", "CRD ResourceFlavor: topologyName pattern", _topology_reference),
)


# --- topologies -------------------------------------------------------------------------------------------------------


def _topology_name(plan: TopologyPlan) -> Iterator[FieldError]:
    yield from check_subdomain(("name",), plan.name, "a topology")


def _level_count(plan: TopologyPlan) -> Iterator[FieldError]:
    if not plan.levels:
        yield ("levels",), "'[]' has no level; Kueue wants one at least"
    yield from check_max_items(("levels",), len(plan.levels), bounds.TOPOLOGY_LEVELS, "levels", "name fewer")


def _level_keys(plan: TopologyPlan) -> Iterator[FieldError]:
    for index, level in enumerate(plan.levels):
        path: FieldPath = ("levels", index)
        if len(level) > bounds.LEVEL_LENGTH:
            yield path, f"'{format_value(level)}' is longer than the {bounds.LEVEL_LENGTH} characters that Kueue takes"
        else:
            yield from check_label_key(path, level, "node label")


def _unique_levels(plan: TopologyPlan) -> Iterator[FieldError]:
    yield from check_unique(("levels",), plan.levels, "level")


def _hostname_lowest(plan: TopologyPlan) -> Iterator[FieldError]:
    if bounds.HOSTNAME in plan.levels[:-1] and plan.levels[-1] != bounds.HOSTNAME:
        path: FieldPath = ("levels", plan.levels.index(bounds.HOSTNAME))
        yield path, f"'{bounds.HOSTNAME}' is one node; nothing is below it, so write it last"


TOPOLOGIES: tuple[Rule[TopologyPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _topology_name),
    Rule("bad-level-count", "CRD Topology: levels minItems, maxItems", _level_count),
    Rule("bad-level", "CRD Topology: nodeLabel pattern, maxLength", _level_keys),
    Rule("level-twice", "CEL Topology.levels", _unique_levels),
    Rule("hostname-not-lowest", "CEL Topology.levels", _hostname_lowest),
)
