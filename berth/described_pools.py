"""Pools that a manager describes of a worker, compared with those that the worker's own stack has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from berth.nodes.groups import pool_nodes
from berth.nodes.labels import why_foreign
from berth.plan.fleet import FleetPlan, PoolPlan, WorkerPlan
from berth.plan.node_settings import Taint
from berth.planner.machines.pools import RESERVED_DOMAINS
from berth.planner.queueing.node_labels import INSTANCE_TYPE

_COPY_KEYS: Final = "write the keys of that stack's pool"
PoolNames = frozenset[str]
"""Pools of a worker's own stack."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_NO_TEXT: Final = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


class PoolDifference(Struct, frozen=True):
    """A key in which a described pool differs from one of the stack; "" for none, and then `remedy` what to write."""

    key: str
    described: str
    actual: str
    remedy: str


def machines_of(pool: PoolPlan) -> tuple[str, str | None, str]:
    """Return machine type, topology and capacity: a flavor selects and tolerates by them."""
    return pool.machine_type, pool.topology, pool.capacity


def description_differences(described: PoolPlan, pool: PoolPlan, stack: FleetPlan) -> Iterator[PoolDifference]:
    """Yield each key in which a description contradicts a pool: a job for the described one never runs on the other."""
    for key, *sides in zip(
        ("machineType", "topology", "capacity"), machines_of(described), machines_of(pool), strict=True
    ):
        before, actual = (side or "" for side in sides)
        if before != actual:
            is_value = actual not in ("", "reservation", "compute-class")
            yield PoolDifference(key, before, actual, f"write {key}: {actual}" if is_value else _COPY_KEYS)
    if _is_elsewhere(described, pool):
        yield zone_difference(described, pool.zones)
    if described.capacity != pool.capacity:
        return  # it has labels and taints of its own, which follow from it
    yield from _label_differences(described, pool, stack)
    yield from _taint_differences(described, pool)


def zone_difference(described: PoolPlan, actual: Sequence[str]) -> PoolDifference:
    """Return that a description is in other zones than the pools that it can be, which are in the `actual` ones."""
    return PoolDifference("zones", ", ".join(described.zones), ", ".join(actual), f"write zones: [{', '.join(actual)}]")


def _is_elsewhere(described: PoolPlan, pool: PoolPlan) -> bool:
    """Whether two pools of one region have no zone in common; another region is a difference of the cluster."""
    regions = {zone.rpartition("-")[0] for zone in (*described.zones, *pool.zones)}
    return len(regions) == 1 and bool(described.zones and pool.zones) and {*described.zones}.isdisjoint(pool.zones)


def _label_differences(described: PoolPlan, pool: PoolPlan, stack: FleetPlan) -> Iterator[PoolDifference]:
    if INSTANCE_TYPE not in described.node_labels or INSTANCE_TYPE not in pool.node_labels:
        # One of them is recognized by `nodeLabels`: only those that the nodes certainly lack contradict.
        lacking = dict(_certainly_lacking(described.node_labels, pool, stack))
        if lacking:
            actual = {key: value for key, value in pool.node_labels.items() if key in lacking}
            yield PoolDifference("nodeLabels", _mapping(lacking), _mapping(actual), _COPY_KEYS)
        return
    (own, made), (actual_own, actual_made) = (_split(each.node_labels) for each in (described, pool))
    if own != actual_own:
        remedy = f"write labels: {_mapping(actual_own)}" if actual_own else "remove labels"
        yield PoolDifference("labels", _mapping(own), _mapping(actual_own), remedy)
    if made != actual_made and machines_of(described) == machines_of(pool):
        changed = {key for key in made.keys() | actual_made.keys() if made.get(key) != actual_made.get(key)}
        texts = [_mapping({key: each[key] for key in changed & each.keys()}) for each in (made, actual_made)]
        yield PoolDifference("", texts[0], texts[1], _COPY_KEYS)


def _certainly_lacking(labels: Mapping[str, str], pool: PoolPlan, stack: FleetPlan) -> Iterator[tuple[str, str]]:
    groups = pool_nodes(stack, pool)
    for key, value in labels.items():
        if groups and not any(
            group.labels.get(key) == value
            or key in group.unknown_labels
            or key in group.uncertain_labels
            or (key not in group.labels and (group.open_reason is not None or why_foreign(key)))
            for group in groups
        ):
            yield key, value


def unproved_labels(described: PoolPlan, pools: Iterable[PoolPlan], stack: FleetPlan) -> str:
    """Return the `nodeLabels` of a description that no table gives the nodes of these pools; empty for none."""
    groups = [group for pool in pools for group in pool_nodes(stack, pool)]
    if INSTANCE_TYPE in described.node_labels:
        return _mapping({})
    labels = described.node_labels.items()
    return _mapping({k: v for k, v in labels if any(group.labels.get(k) != v for group in groups)})


def _taint_differences(described: PoolPlan, pool: PoolPlan) -> Iterator[PoolDifference]:
    # A flavor tolerates the taint of its accelerator, whether or not a description of existing nodes has it.
    before, actual = (
        {(taint.key, taint.value, taint.effect): taint for taint in each.taints if taint.key != pool.resource}
        for each in (described, pool)
    )
    if before.keys() == actual.keys():
        return
    free = [taint for taint in actual.values() if not _is_reserved(taint.key)]
    same_made = {key for key in before if _is_reserved(key[0])} == {key for key in actual if _is_reserved(key[0])}
    remedy = f"write taints: {_taints(free)}" if free else "remove taints"
    texts = [_taints(each.values()) if each else "" for each in (before, actual)]
    yield PoolDifference("taints" if same_made else "", texts[0], texts[1], remedy if same_made else _COPY_KEYS)


def _split(labels: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels that the stack file writes, and those that GKE and Berth set."""
    own = {key: value for key, value in labels.items() if not _is_reserved(key)}
    return own, {key: value for key, value in labels.items() if key not in own}


def _is_reserved(key: str) -> bool:
    domain = key.rpartition("/")[0]
    return any(domain == each or domain.endswith(f".{each}") for each in RESERVED_DOMAINS)


def _mapping(labels: Mapping[str, str]) -> str:
    entries = (f"{key}: {_scalar(value)}" for key, value in sorted(labels.items()))
    return f"{{{', '.join(entries)}}}" if labels else ""


def _taints(taints: Iterable[Taint]) -> str:
    entries = (
        f"{{key: {each.key}, value: {_scalar(each.value)}, effect: {each.effect}}}"
        for each in sorted(taints, key=lambda each: (each.key, each.effect))
    )
    return f"[{', '.join(entries)}]"


def _scalar(value: str) -> str:
    """Return a value as the stack file writes it: quoted, unless every parser reads it as text."""
    is_text = _WORD.fullmatch(value) and value.lower() not in _NO_TEXT
    return value if is_text else f'"{value}"'


class DescribedPools:
    """What a worker describes of a stack: `meant` maps each described pool to those of the stack that it can be."""

    def __init__(self, worker: WorkerPlan, stack: FleetPlan) -> None:
        self._pools = worker.plan.own_pools
        self.meant: Mapping[str, PoolNames] = {
            pool.name: frozenset(
                each.name
                for each in stack.own_pools
                if each.accelerator == pool.accelerator and not any(description_differences(pool, each, stack))
            )
            for pool in self._pools
        }

    def sets(self, others: Iterable[PoolNames]) -> list[PoolNames]:
        """Return each set of pools that one or several descriptions can be, with `others`; small ones first."""
        own = {names for names in self.meant.values() if names}
        all_sets = own | {*others}
        joined = {frozenset(chain.from_iterable(each for each in all_sets if each & names)) for names in own}
        return sorted(own | joined, key=lambda names: (len(names), sorted(names)))

    def within(self, names: PoolNames) -> list[PoolPlan]:
        """Return the described pools that can be no other than these of the stack."""
        return [each for each in self._pools if self.meant[each.name] and self.meant[each.name] <= names]

    def accelerators(self, names: PoolNames) -> int:
        """Return the largest number of accelerators of the described pools that can be no other than these."""
        return sum(each.accelerators.max for each in self.within(names))
