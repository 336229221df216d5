"""Changed ranges of pods and services in a preview: the engine calls them an update, and Google Cloud refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange, worker_plan
from berth.diff.kinds import ResourceKind
from berth.diff.resources import IN_WORKER, FieldEffect
from berth.diff.update_effects import UpdateEffect
from berth.plan.fleet import FleetPlan

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
            FieldEffect(f"{name}_range", _RANGES, before[name], after[name], UpdateEffect.REFUSED)
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


def _ranges(state: Mapping[str, Any] | None) -> dict[str, str]:
    """The secondary ranges of a subnet by name, `pod` and `service` as plans spell them."""
    inputs: Mapping[str, Any] = (state or {}).get("inputs") or {}
    entries: list[Mapping[str, Any]] = inputs.get(_RANGES) or []
    return {str(each["rangeName"]).removesuffix("s"): str(each["ipCidrRange"]) for each in entries}
