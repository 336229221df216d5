"""Rules of resource flavors, and of the topologies that they name."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Path, shown
from berth.plan.kueue import FlavorPlan, TopologyPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import Fault, Rule, label_key, label_value, one_of, subdomain, too_many, twice


def _name(plan: FlavorPlan) -> Iterator[Fault]:
    yield from subdomain(("name",), plan.name, "a flavor")


def _labels(plan: FlavorPlan) -> Iterator[Fault]:
    remedy = "select by fewer"
    yield from too_many(("nodeLabels",), len(plan.node_labels), bounds.FLAVOR_LABELS, "node labels", remedy)


def _label_words(plan: FlavorPlan) -> Iterator[Fault]:
    for key, value in sorted(plan.node_labels.items()):
        hint: Path = ("nodeLabels", key)
        yield from label_key(hint, key, "label key")
        yield from label_value(hint, value)


def _tolerations(plan: FlavorPlan) -> Iterator[Fault]:
    remedy = "give fewer nodes taints of their own"
    yield from too_many(("tolerations",), len(plan.tolerations), bounds.FLAVOR_TOLERATIONS, "tolerations", remedy)


def _toleration_operators(plan: FlavorPlan) -> Iterator[Fault]:
    for index, each in enumerate(plan.tolerations):
        yield from one_of(("tolerations", index, "operator"), each.operator, bounds.OPERATORS)


def _toleration_effects(plan: FlavorPlan) -> Iterator[Fault]:
    for index, each in enumerate(plan.tolerations):
        if each.effect:
            yield from one_of(("tolerations", index, "effect"), each.effect, bounds.EFFECTS)


def _toleration_keys(plan: FlavorPlan) -> Iterator[Fault]:
    for index, each in enumerate(plan.tolerations):
        hint: Path = ("tolerations", index, "key")
        if each.key:
            yield from label_key(hint, each.key, "taint key")
        elif each.operator != "Exists":
            yield hint, f"'' tolerates every taint: Kueue takes that with operator Exists alone, not '{each.operator}'"


def _toleration_values(plan: FlavorPlan) -> Iterator[Fault]:
    for index, each in enumerate(plan.tolerations):
        if each.operator == "Exists" and each.value:
            hint: Path = ("tolerations", index, "value")
            yield hint, f"'{shown(each.value)}' stands beside operator Exists, which takes no value; write Equal"


def _taints(plan: FlavorPlan) -> Iterator[Fault]:
    yield from too_many(("nodeTaints",), len(plan.node_taints), bounds.FLAVOR_TAINTS, "node taints", "name fewer")


def _taint_words(plan: FlavorPlan) -> Iterator[Fault]:
    for index, each in enumerate(plan.node_taints):
        hint: Path = ("nodeTaints", index)
        yield from label_key((*hint, "key"), each.key, "taint key")
        yield from label_value((*hint, "value"), each.value)
        yield from one_of((*hint, "effect"), each.effect, bounds.EFFECTS)


def _taint_once(plan: FlavorPlan) -> Iterator[Fault]:
    yield from twice(("nodeTaints",), [f"{each.key}:{each.effect}" for each in plan.node_taints], "taint")


def _topology_labels(plan: FlavorPlan) -> Iterator[Fault]:
    if plan.topology is not None and not plan.node_labels:
        yield ("topology",), f"'{shown(plan.topology)}': a flavor with a topology selects its nodes; give it a label"


def _topology_reference(plan: FlavorPlan) -> Iterator[Fault]:
    if plan.topology is not None:
        yield from subdomain(("topology",), plan.topology, "a topology")


FLAVORS: tuple[Rule[FlavorPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name),
    Rule("too-many-node-labels", "CRD ResourceFlavor: nodeLabels maxProperties", _labels),
    Rule("bad-node-label", "webhook ValidateResourceFlavor: ValidateLabels", _label_words),
    Rule("too-many-tolerations", "CRD ResourceFlavor: tolerations maxItems", _tolerations),
    Rule("bad-toleration-operator", "CEL ResourceFlavor.tolerations", _toleration_operators),
    Rule("bad-toleration-effect", "CEL ResourceFlavor.tolerations", _toleration_effects),
    Rule("bad-toleration-key", "CEL ResourceFlavor.tolerations; webhook validateTolerations", _toleration_keys),
    Rule("toleration-value-with-exists", "CEL ResourceFlavor.tolerations", _toleration_values),
    Rule("too-many-node-taints", "CRD ResourceFlavor: nodeTaints maxItems", _taints),
    Rule("bad-node-taint", "CEL ResourceFlavor.nodeTaints; webhook validateNodeTaints", _taint_words),
    Rule("node-taint-twice", "webhook validateNodeTaints", _taint_once),
    Rule("topology-without-labels", "CEL ResourceFlavor.spec", _topology_labels),
    Rule("bad-topology-reference", "CRD ResourceFlavor: topologyName pattern", _topology_reference),
)


# --- topologies -------------------------------------------------------------------------------------------------------


def _topology_name(plan: TopologyPlan) -> Iterator[Fault]:
    yield from subdomain(("name",), plan.name, "a topology")


def _levels(plan: TopologyPlan) -> Iterator[Fault]:
    if not plan.levels:
        yield ("levels",), "'[]' has no level; Kueue wants one at least"
    yield from too_many(("levels",), len(plan.levels), bounds.TOPOLOGY_LEVELS, "levels", "name fewer")


def _level_keys(plan: TopologyPlan) -> Iterator[Fault]:
    for index, level in enumerate(plan.levels):
        hint: Path = ("levels", index)
        if len(level) > bounds.LEVEL_LENGTH:
            yield hint, f"'{shown(level)}' is longer than the {bounds.LEVEL_LENGTH} characters that Kueue takes"
        else:
            yield from label_key(hint, level, "node label")


def _level_once(plan: TopologyPlan) -> Iterator[Fault]:
    yield from twice(("levels",), plan.levels, "level")


def _hostname_lowest(plan: TopologyPlan) -> Iterator[Fault]:
    if bounds.HOSTNAME in plan.levels[:-1] and plan.levels[-1] != bounds.HOSTNAME:
        hint: Path = ("levels", plan.levels.index(bounds.HOSTNAME))
        yield hint, f"'{bounds.HOSTNAME}' is one node; nothing is below it, so write it last"


TOPOLOGIES: tuple[Rule[TopologyPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _topology_name),
    Rule("bad-level-count", "CRD Topology: levels minItems, maxItems", _levels),
    Rule("bad-level", "CRD Topology: nodeLabel pattern, maxLength", _level_keys),
    Rule("level-twice", "CEL Topology.levels", _level_once),
    Rule("hostname-not-lowest", "CEL Topology.levels", _hostname_lowest),
)
