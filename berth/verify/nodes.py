"""Predicted nodes against real ones: counts, labels, taints and allocatable resources of each pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from berth.diagnostics import join_words
from berth.jobs.quantities import format_quantity, parse_quantity
from berth.manifests.workloads.values import as_list, as_mapping
from berth.nodes import NodeGroup
from berth.nodes.model import HOSTNAME, NODE_POOL, ZONE
from berth.plan.fleet import FleetPlan
from berth.text import format_range, pluralize
from berth.verify.findings import Learned, LiveDifference
from berth.yaml_loader import load_table

_NotedNodes = dict[tuple[str, str, str, str, str], list[str]]
_LEAST: Final = {"memory": 0.94, "ephemeral-storage": 0.85}
"""What a node has at least of a predicted amount: the kernel takes about 1.6 % of the memory of a machine and 5 % of a
small one, the operating system up to 11 % of a boot disk (real nodes in tests/vendored/facts/nodes.yaml)."""


class NodeComparison:
    """Compares the nodes of a cluster with the groups of a fleet, and collects what it finds."""

    def __init__(self, plan: FleetPlan, groups: Iterable[NodeGroup], source: str) -> None:
        """Take the predicted groups; `source` names the cluster and the day in rows."""
        self._plan = plan
        self._groups = [group for group in groups if group.worker is None]
        self._flavors = {flavor.name: flavor for flavor in plan.flavors}
        self._by_node_pool: dict[str, list[NodeGroup]] = {}
        for group in self._groups:
            for node_pool in group.node_pools:
                self._by_node_pool.setdefault(node_pool, []).append(group)
        self._source = source
        self._found: dict[str, list[str]] = {}
        self._differences: _NotedNodes = {}
        self._values: dict[tuple[str, str], dict[str, set[str]]] = {}
        self.others: list[str] = []

    def add(self, name: str, node: Mapping[str, Any]) -> None:
        """Compare one node."""
        labels = {str(key): str(value) for key, value in as_mapping(_at(node, "metadata", "labels")).items()}
        group = self._group_of(labels, _taints(node))
        if group is None:
            if labels.get(NODE_POOL) != "system":
                self.others.append(f"node {name}")
            return
        self._found.setdefault(group.pool, []).append(name)
        self._compare_labels(group, name, labels)
        self._compare_taints(group, name, node)
        self._compare_resources(group, name, node)

    def compared(self) -> Iterator[str]:
        """Yield `4 nodes of pool l4` for each pool with nodes."""
        for pool, names in self._found.items():
            yield f"{pluralize(len(names), 'node')} of pool {pool}"

    def not_compared(self) -> Iterator[str]:
        """Yield each pool that has no node now, and may have none."""
        for pool in self._pools():
            if pool not in self._found and not self._bounds(pool).min:
                yield f"pool {pool} has no node now, so its labels, taints and resources are not compared"

    def differences(self) -> Iterator[LiveDifference]:
        """Yield every difference; equal ones of several nodes are one."""
        for pool in self._pools():
            yield from self._count_difference(pool)
        for (subject, what, predicted, live, meaning), names in self._differences.items():
            yield LiveDifference(
                subject=subject, what=what, predicted=predicted, live=live, meaning=meaning, objects=tuple(names)
            )

    def learned(self) -> Iterator[Learned]:
        """Yield each label and resource that was unknown, with the values of the nodes."""
        for (pool, what), by_value in self._values.items():
            values = tuple(sorted(by_value))
            shown = f'value: "{values[0]}"' if len(values) == 1 else f"unknown: it has {len(values)} values on {pool}"
            row = f'- {{key: {what.partition(" ")[2]}, {shown}, source: "{self._source}"}}'
            yield Learned(subject=f"pool {pool}", what=what, values=values, row=row)

    # --- one node -----------------------------------------------------------------------------------------------------

    def _group_of(self, labels: Mapping[str, str], taints: set[tuple[str, str, str]]) -> NodeGroup | None:
        """Return the group of a node: by its node pool, else by the labels and taints of its flavor; in its zone."""
        matches = self._by_node_pool.get(labels.get(NODE_POOL, "")) or [
            group
            for group in self._groups
            if not group.node_pools and self._flavors[group.flavor].node_labels.items() <= labels.items()
        ]

        def likeness(group: NodeGroup) -> tuple[int, int, bool]:
            differing = {(taint.key, taint.value, taint.effect) for taint in group.taints} ^ taints
            return -len(differing), len(self._flavors[group.flavor].node_labels), group.zone == labels.get(ZONE)

        return max(matches, key=likeness, default=None)

    def _compare_labels(self, group: NodeGroup, name: str, labels: Mapping[str, str]) -> None:
        flavor = self._flavors[group.flavor]
        for key, value in labels.items():
            answer = group.label(key)
            if key == HOSTNAME or key in default_table()["passing_labels"] or value in answer.values:
                continue
            if answer.is_unknown:
                self._values.setdefault((group.pool, f"label {key}"), {}).setdefault(value, set()).add(name)
            elif answer.values:
                predicted = " or ".join(answer.values)
                meaning = self._selector_meaning(group, key, predicted, selects=key in flavor.node_labels)
                self._note(group, name, f"label {key}", predicted, value, meaning)
            else:
                meaning = f"jobs of {self._queues(group)} that select it are refused by lint, though nodes have it"
                self._note(group, name, f"label {key}", "no such label", value, meaning)
        for key, value in group.labels.items():
            if key not in labels:
                meaning = self._selector_meaning(group, key, value, selects=key in flavor.node_labels)
                self._note(group, name, f"label {key}", value, "no such label", meaning)

    def _selector_meaning(self, group: NodeGroup, key: str, value: str, *, selects: bool) -> str:
        if selects:
            return f"flavor {group.flavor} does not select these nodes: pods of {self._queues(group)} stay pending"
        return f"jobs of {self._queues(group)} that select {key}: {value} stay pending, though lint passes them"

    def _compare_taints(self, group: NodeGroup, name: str, node: Mapping[str, Any]) -> None:
        live = _taints(node)
        predicted = {(taint.key, taint.value, taint.effect) for taint in group.taints}
        for key, value, effect in sorted(live - predicted):
            text = f"{value}:{effect}"
            if group.open_reason is not None and not predicted:
                self._values.setdefault((group.pool, f"taint {key}"), {}).setdefault(text, set()).add(name)
                continue
            meaning = f"flavor {group.flavor} does not tolerate it: pods of {self._queues(group)} stay pending there"
            self._note(group, name, f"taint {key}", "no such taint", text, meaning)
        for key, value, effect in sorted(predicted - live):
            meaning = f"pods of no queue can run there, and take the machines of {self._queues(group)}"
            self._note(group, name, f"taint {key}", f"{value}:{effect}", "no such taint", meaning)

    def _compare_resources(self, group: NodeGroup, name: str, node: Mapping[str, Any]) -> None:
        there = as_mapping(_at(node, "status", "allocatable"))
        for resource in sorted({*group.allocatable, *group.unknown_resources}):
            live = parse_quantity(resource, there[resource]) if resource in there else 0
            predicted, held = group.amount(resource), group.held.get(resource, 0)
            if live is None:
                self._note(group, name, resource, str(predicted), f"{there[resource]!s}", "it is not a quantity")
            elif predicted is None:
                value = format_quantity(resource, live)
                self._values.setdefault((group.pool, f"resource {resource}"), {}).setdefault(value, set()).add(name)
            # Real nodes also have what checkpoints may take, of which Kubernetes knows nothing; simulated ones do not.
            elif not predicted * _LEAST.get(resource, 1) <= live <= predicted + held:
                meaning = self._amount_meaning(group, resource, predicted, live)
                self._note(
                    group,
                    name,
                    resource,
                    format_quantity(resource, predicted),
                    format_quantity(resource, live),
                    meaning,
                )

    def _amount_meaning(self, group: NodeGroup, resource: str, predicted: int, live: int) -> str:
        queues, amount = self._queues(group), format_quantity(resource, min(predicted, live))
        if live > predicted:
            return f"pods of {queues} that request more than {amount} would run, though lint refuses them"
        flavor = self._flavors[group.flavor]
        counted = f"; quota of {flavor.name} counts more than there is" if resource == flavor.resource else ""
        return f"pods of {queues} that request more than {amount} stay pending, though lint passes them{counted}"

    # --- pools --------------------------------------------------------------------------------------------------------

    def _pools(self) -> list[str]:
        return list(dict.fromkeys(group.pool for group in self._groups))

    def _bounds(self, pool: str) -> Any:
        return next(group.pool_nodes for group in self._groups if group.pool == pool)

    def _count_difference(self, pool: str) -> Iterator[LiveDifference]:
        bounds, count = self._bounds(pool), len(self._found.get(pool, ()))
        if bounds.min <= count <= bounds.max:
            return
        group = next(each for each in self._groups if each.pool == pool)
        meaning = (
            f"{self._queues(group)} cannot use all that they are guaranteed of flavor {group.flavor}"
            if count < bounds.min
            else f"quota of flavor {group.flavor} counts {bounds.max}, so {count - bounds.max} of them stay idle"
        )
        names = tuple(self._found.get(pool, ()))
        yield LiveDifference(
            subject=f"pool {pool}",
            what="nodes",
            predicted=format_range(bounds),
            live=str(count),
            meaning=meaning,
            objects=names,
        )

    def _queues(self, group: NodeGroup) -> str:
        """Return the queues that use the flavor of a group, as a phrase."""
        names = [q.name for q in self._plan.cluster_queues if any(f.flavor == group.flavor for f in q.flavors)]
        if not names:
            return f"flavor {group.flavor}, which no queue has,"
        return f"queue{'s' if len(names) > 1 else ''} {join_words(names)}"

    def _note(self, group: NodeGroup, name: str, what: str, predicted: str, live: str, meaning: str) -> None:
        self._differences.setdefault((f"pool {group.pool}", what, predicted, live, meaning), []).append(name)


def _taints(node: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """Return key, value and effect of the taints of a node, without those of its state."""
    passing = tuple(default_table()["passing_taints"])
    return {
        (str(taint.get("key")), str(taint.get("value") or ""), str(taint.get("effect")))
        for taint in map(as_mapping, as_list(_at(node, "spec", "taints")))
        if not str(taint.get("key")).startswith(passing)
    }


def _at(value: object, *path: str) -> object:
    for step in path:
        value = as_mapping(value).get(step)
    return value


@cache
def default_table() -> dict[str, Any]:
    """Return fields that the API server fills in, and labels and taints that are not compared, loaded once."""
    return load_table(Path(__file__).with_name("defaults.yaml"))
