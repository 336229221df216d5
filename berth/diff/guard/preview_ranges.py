"""Changed ranges of pods and services in a preview: the engine calls them an update, and Google Cloud refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange, worker_plan
from berth.diff.provider_inputs.effects import UpdateEffect, input_rules, word_for_input
from berth.diff.resources import FieldEffect
from berth.plan.fleet import FleetPlan
from berth.resource import IN_WORKER, ResourceKind

_NETWORK: Final = ResourceKind.NETWORK.value
_SUBNET: Final = f"berth:gke:Network$gcp:compute/subnetwork:Subnetwork::{_NETWORK}-subnet"
_IN_WORKER_SUBNET: Final = f"{IN_WORKER}{_NETWORK}-subnet"
_RANGES: Final = "secondaryIpRanges"


def refused_ranges(steps: Iterable[Mapping[str, Any]], plan: FleetPlan) -> Iterator[GuardedChange]:
    """Yield the networks of clusters whose ranges of pods or services an update would change."""
    for step in steps:
        urn = str(step["urn"])
        own_name = urn.rpartition("::")[2]
        if step.get("op") != "update" or not (urn.endswith(_SUBNET) or own_name.endswith(_IN_WORKER_SUBNET)):
            continue
        before, after = (_ranges(step.get(state)) for state in ("oldState", "newState"))
        effects = tuple(
            FieldEffect(_word(name), _RANGES, before[name], after[name], UpdateEffect.REFUSED)
            for name in before.keys() & after.keys()
            if before[name] != after[name]
        )
        if effects:
            worker = own_name.partition(IN_WORKER)[0] if IN_WORKER in own_name else None
            cluster_plan = (worker_plan(plan, worker) if worker else plan) or plan
            name = f"{worker}{IN_WORKER}{_NETWORK}" if worker else _NETWORK
            allowed = cluster_plan.allowances.change.get(_NETWORK)
            yield GuardedChange(
                ResourceKind.NETWORK, name, _NETWORK, GuardedAction.REFUSE, effects, allowed=allowed, worker=worker
            )


def _word(name: str) -> str:
    return word_for_input(input_rules("gcp:compute/subnetwork:Subnetwork"), f"{_RANGES}[{name}].ipCidrRange")


def _ranges(state: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the secondary ranges of a subnet by name, `pods` and `services`."""
    inputs: Mapping[str, Any] = (state or {}).get("inputs") or {}
    entries: list[Mapping[str, Any]] = inputs.get(_RANGES) or []
    return {str(each["rangeName"]): str(each["ipCidrRange"]) for each in entries}
