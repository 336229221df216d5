"""The labels of nodes, from the table `labels.yaml`: known values, unknown values, and labels that nodes may have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct, convert

from berth import catalog
from berth.plan.dynamic_slices import SlicingPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.yaml_loader import load_table


class Unknown(Struct, frozen=True):
    """A fact that no source tells, and why; `maybe_absent` if nodes may lack it."""

    why: str
    maybe_absent: bool = False


Fact = str | Unknown | None
"""A fact of a node as text; None if the node does not have it."""


class LabelRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One key of the table: exactly one of `value`, `unknown` and `uncertain` is set."""

    key: str
    source: str
    value: str | None = None
    when: str | None = None
    unknown: str | None = None
    uncertain: str | None = None
    begins: tuple[str, ...] = ()
    everywhere: bool = False


class PrefixRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All keys that begin with `prefix`, of which it is uncertain whether nodes have them."""

    prefix: str
    uncertain: str
    source: str


class LabelTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole table."""

    rows: tuple[LabelRow, ...]
    prefixes: tuple[PrefixRow, ...]
    domains: tuple[str, ...]


class NodeLabels(Struct, frozen=True):
    """Labels of nodes: known values, and reasons for those with an unknown value or an unknown presence."""

    known: dict[str, str]
    unknown: dict[str, str]
    uncertain: dict[str, str]


_FACT: Final = re.compile(r"\{(\w+)\}")


@cache
def label_table() -> LabelTable:
    """Return the table of labels."""
    return convert(load_table(Path(__file__).with_name("labels.yaml")), LabelTable)


def predicted_labels(facts: Mapping[str, Fact], written: Mapping[str, str], *, described: bool) -> NodeLabels:
    """Return the labels of nodes with these facts.

    `written` are labels that the plan has, which win over the table. Of `described` nodes, which need not be GKE's,
    only the rows for nodes everywhere hold. Raises KeyError for a fact that is not given.
    """
    result = NodeLabels(dict(written), {}, {})
    for row in label_table().rows:
        condition = facts[row.when] if row.when else ""
        if row.key in written or condition is None or (described and not row.everywhere):
            continue
        if isinstance(condition, Unknown):
            result.uncertain[row.key] = condition.why
        elif row.uncertain is not None:
            result.uncertain[row.key] = row.uncertain
        elif row.unknown is not None:
            result.unknown[row.key] = row.unknown
        else:
            value = _value(row.value or "", facts)
            if isinstance(value, Unknown):
                (result.uncertain if value.maybe_absent else result.unknown)[row.key] = value.why
            elif value is not None:
                result.known[row.key] = value
    return result


def _value(template: str, facts: Mapping[str, Fact]) -> Fact:
    """Return the value of a label: plain text, or the fact in braces."""
    fact = _FACT.fullmatch(template)
    return facts[fact[1]] if fact else template


@cache
def beginnings(key: str) -> tuple[str, ...]:
    """Return how all values of an unknown label begin on nodes that GKE makes; empty if that is not known."""
    return next((row.begins for row in label_table().rows if row.key == key), ())


@lru_cache(maxsize=4096)
def why_foreign(key: str) -> str:
    """Return why it is unknown whether nodes have a label that no group lists; "" if they are known to lack it.

    The labels of Kubernetes and GKE are those of the table, and a key of their domains that it does not have is absent,
    as is a key without a domain: the stack file writes such labels. Somebody else may set a key of another domain.
    """
    table = label_table()
    if any(row.key == key for row in table.rows):
        return ""
    for row in table.prefixes:
        if key.startswith(row.prefix):
            return row.uncertain
    domain, slash, _ = key.rpartition("/")
    if not slash or any(domain == each or domain.endswith(f".{each}") for each in table.domains):
        return ""
    return "a controller or an administrator may set this label; Berth does not"


_HEALTHY: Final = "HEALTHY"
"""The state of a part whose machines all work, as nodes are ready here; a job does not select others."""
_PART: Final = "GKE tells which part of which sub-block a node is in once the node exists"
_PLACE: Final = "Compute Engine tells the block of a machine once it runs"
_OF_A_SLICE: Final = "GKE's slice controller sets it while the node is in a slice"
_SLICE: Final = "cloud.google.com/gke-tpu-slice"


def flavor_slicing(plan: FleetPlan, flavor: str) -> SlicingPlan | None:
    """Return how jobs form slices of the nodes of a flavor; None if they do not."""
    return next((each.slicing for each in plan.flavors if each.name == flavor), None)


def part_labels(slicing: SlicingPlan | None) -> dict[str, str]:
    """Return the labels that all nodes have with a value that is not known, and why."""
    if slicing is None:
        return {}
    place = {slicing.outer: _PLACE} if slicing.outer else {}
    return place | dict.fromkeys(slicing.nodes_by_label, _PART)


def healthy_parts(slicing: SlicingPlan | None) -> dict[str, str]:
    """Return the labels with the state of the parts."""
    if slicing is None or slicing.state is None:
        return {}
    return {slicing.state.format(shape): _HEALTHY for shape in (slicing.block, *slicing.parts)}


def uncertain_labels(slicing: SlicingPlan | None, others: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that nodes may have: those of a slice, where a controller forms them, and `others`."""
    own = dict.fromkeys((_SLICE, catalog.labels().tpu_topology), _OF_A_SLICE)
    known = part_labels(slicing)
    formed = own if slicing is not None and slicing.controller is not None else {}
    return {key: why for key, why in {**others, **formed}.items() if key not in known}


def one_place(plan: FleetPlan, pool: PoolPlan, slicing: SlicingPlan | None) -> dict[str, str]:
    """Return the label of the place that all nodes of a pool share: its reservation names the block."""
    if slicing is None or slicing.outer is None:
        return {}
    held = next((each for each in plan.held if pool.name in each.pools), None)
    return {slicing.outer: f"{held.name}/{held.block}"} if held is not None and held.block is not None else {}
