"""What a preview of the real engine is about to lose, in the words of the guard.

A replacement is one step `replace`, or `create-replacement` and `delete-replaced`. What is protected is refused while
the preview runs: then the step may be missing, and an error names the resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.guard.ack_preview import classify_ack_resource, removed_quota_leaves
from berth.diff.guard.changes import DELETE, QUEUE_DRAINED, REPLACE, GuardedChange, allowance_reason, worker_plan
from berth.diff.guard.preview_file import REPLACING_OPS, EnginePreview
from berth.diff.guard.protected import PROTECTED_BY_TYPE
from berth.diff.guard.settings import switched_off, unprotected_cluster
from berth.diff.resources import CLUSTER, IN_WORKER, NODE_POOL, FieldEffect
from berth.diff.update_effects import REPLACE as REPLACE_EFFECT
from berth.diff.update_effects import UPDATE
from berth.plan.ack import AckFleetPlan
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.planner.machines.pools import SYSTEM

AnyPlan = FleetPlan | AckFleetPlan | TeamStackPlan

_ACTION_OF_OP = {**dict.fromkeys(REPLACING_OPS, REPLACE), "delete": DELETE}
_PROTECT_ERROR = re.compile(
    r'unable to replace resource "(?P<urn>[^"]+)"(?: as part of replacing "(?P<below>[^"]+)")?'
    r'|resource "(?P<deleted>[^"]+)" cannot be deleted'
)
_SLICE_NAME = re.compile(r".+-\d+x\d+(x\d+)?-\d+")
_SUMMARY_MESSAGES = ("preview failed", "update failed")
"""What the engine says after its errors, of all of them."""
_NON_ACCELERATORS = ("cpu", "memory", "pods", "ephemeral-storage")
_OFF_INPUT = "deletionProtection"
WAS_UNPROTECTED = "it was not protected when it was last deployed"


class GuardReport(Struct, frozen=True):
    """Every loss of a preview, allowed or not, and the errors that have nothing to do with protection."""

    losses: tuple[GuardedChange, ...]
    errors: tuple[str, ...]

    @property
    def blocked(self) -> tuple[GuardedChange, ...]:
        """What would be lost and may not be."""
        return tuple(change for change in self.losses if change.allowed is None)


def check_preview(preview: EnginePreview, plan: AnyPlan) -> GuardReport:
    """Return what a preview of the stack of `plan` would lose.

    Nothing of a team's own stack is guarded. That somebody protected a resource by hand is an error of the preview.
    """
    messages = preview.errors
    refused = {urn: (action, first) for message in messages for urn, action, first in _protect_errors(message)}
    steps = [step for step in preview.steps if _step_action(step)]
    known = {str(step["urn"]) for step in steps}
    changes = [
        *(
            switched_off(_loses_protection(preview.steps), plan.allowances)
            if not isinstance(plan, TeamStackPlan)
            else ()
        ),
        *_unprotected_clusters(preview.steps, plan),
        *(_guarded_change(str(s["urn"]), _step_action(s), s, plan, refused) for s in steps),
        *(_guarded_change(urn, action, {}, plan, refused) for urn, (action, _) in refused.items() if urn not in known),
        *(removed_quota_leaves(preview.steps, plan) if isinstance(plan, AckFleetPlan) else ()),
    ]
    reported_urns = {urn for urn in refused if _classify_urn(urn, {}, plan) is not None}
    errors = tuple(
        m.strip()
        for m in messages
        if not (_is_summary(m) or any(urn in reported_urns for urn, _, _ in _protect_errors(m)))
    )
    return GuardReport(tuple(_merged(change for change in changes if change is not None)), errors)


def _loses_protection(steps: Iterable[Mapping[str, Any]]) -> bool:
    states = ((_state(step, "oldState"), _state(step, "newState")) for step in steps)
    return any(bool(old.get("protect")) and bool(new) and not new.get("protect") for old, new in states)


def _state(step: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return step.get(key) or {}


def _unprotected_clusters(steps: Iterable[Mapping[str, Any]], plan: AnyPlan) -> Iterator[GuardedChange]:
    """Clusters that stay, and whose deletion protection is switched off."""
    for step in steps:
        inputs: list[Mapping[str, Any]] = [_state(step, key).get("inputs") or {} for key in ("oldState", "newState")]
        before, after = (each.get(_OFF_INPUT) for each in inputs)
        if not isinstance(plan, FleetPlan) or not (before is True and after is False):
            continue
        resource = _classify_urn(str(step["urn"]), {}, plan)
        if resource is not None and resource.kind == CLUSTER:
            allowances = _worker_plan(plan, resource.worker).allowances if resource.worker else plan.allowances
            change = unprotected_cluster(FieldEffect(_OFF_INPUT, _OFF_INPUT, before, after, UPDATE), allowances)
            yield replace(change, name=resource.name, worker=resource.worker)


def _step_action(step: Mapping[str, Any]) -> str:
    """What a step does to what there was; "" where it stays. A pool that moves to other zones loses all its nodes."""
    if step.get("op") == "update":
        before, after = _node_zones(step.get("oldState")), _node_zones(step.get("newState"))
        return REPLACE if before and after and before.isdisjoint(after) else ""
    return _ACTION_OF_OP.get(str(step.get("op")), "")


def _node_zones(state: Mapping[str, Any] | None) -> set[str]:
    """Where a node pool has its nodes; nowhere for anything else."""
    inputs: Mapping[str, Any] = (state or {}).get("inputs") or {}
    locations: list[str] = inputs.get("nodeLocations") or []
    return set(locations)


def _protect_errors(message: str) -> Iterator[tuple[str, str, bool]]:
    """URN, action, and whether it was protected before: as what is deleted, or is made of something replaced."""
    for match in _PROTECT_ERROR.finditer(message):
        yield (match["urn"], REPLACE, match["below"] is not None) if match["urn"] else (match["deleted"], DELETE, True)


def _is_summary(message: str) -> bool:
    return message.strip().removeprefix("error: ") in _SUMMARY_MESSAGES


def _guarded_change(
    urn: str, action: str, step: Mapping[str, Any], plan: AnyPlan, refused: Mapping[str, tuple[str, bool]]
) -> GuardedChange | None:
    """None where it is nothing dear."""
    old: Mapping[str, Any] = step.get("oldState") or {}
    inputs: Mapping[str, Any] = old.get("inputs") or {}
    resource = _classify_urn(urn, inputs, plan)
    if resource is None or isinstance(plan, TeamStackPlan):
        return None
    first = refused[urn][1] if urn in refused else action == DELETE
    change = replace(resource, action=action, first=first, because=tuple(_replace_reasons(step)))
    if urn in refused:
        return change
    if action == REPLACE:
        allowances = plan.allowances
        if isinstance(plan, FleetPlan) and change.worker is not None:
            allowances = _worker_plan(plan, change.worker).allowances
        inside = allowance_reason(REPLACE, CLUSTER, allowances) if change.kind == "queue" else None
        return replace(change, allowed=allowance_reason(REPLACE, change.key, allowances) or inside)
    if inputs.get("spec", {}).get("stopPolicy") == "HoldAndDrain":
        return replace(change, allowed=QUEUE_DRAINED)
    return replace(change, allowed=None if old.get("protect") else WAS_UNPROTECTED)


def _classify_urn(urn: str, inputs: Mapping[str, Any], plan: AnyPlan) -> GuardedChange | None:
    """What a resource is to the guard; None where it is nothing dear."""
    type_token, name = urn.rpartition("::")[0].rpartition("::")[2].rpartition("$")[2], urn.rpartition("::")[2]
    if isinstance(plan, AckFleetPlan):
        return classify_ack_resource(type_token, name, inputs, plan)
    return _classify_resource(type_token, name, inputs, plan) if isinstance(plan, FleetPlan) else None


def _classify_resource(type_token: str, name: str, inputs: Mapping[str, Any], plan: FleetPlan) -> GuardedChange | None:
    """What a resource is to the guard, by its type and its name in the program; None where it is nothing dear."""
    worker, slash, own_name = name.partition(IN_WORKER)
    if not slash:
        return _classify_in_cluster(type_token, name, inputs, plan)
    resource = _classify_in_cluster(type_token, own_name, inputs, _worker_plan(plan, worker))
    if resource is None:
        return None
    key = resource.key if resource.kind != "queue" or worker_plan(plan, worker) else CLUSTER
    return replace(resource, name=f"{worker}{IN_WORKER}{resource.name}", key=key, worker=worker)


def _worker_plan(plan: FleetPlan, name: str) -> FleetPlan:
    """A worker's plan; an empty one where the fleet has the worker no more."""
    return worker_plan(plan, name) or replace(plan, pools=(), cluster_queues=(), allowances=AllowancesPlan())


def _classify_in_cluster(
    type_token: str, name: str, inputs: Mapping[str, Any], plan: FleetPlan
) -> GuardedChange | None:
    if type_token.endswith(":ClusterQueue"):
        return _guarded_queue(name.removesuffix("-cluster-queue"), inputs)
    protected_kind = PROTECTED_BY_TYPE.get(type_token)
    if protected_kind is None:
        return None
    key = protected_kind.resource_key(name)
    if protected_kind.kind != NODE_POOL:
        return GuardedChange(protected_kind.kind, key, protected_kind.allowance_key(key), "")
    pool = _pool_name(key, inputs, plan)
    kept = any(each.name == pool for each in plan.own_pools)
    allowance = protected_kind.allowance_key(key, pool)
    return None if key == SYSTEM else GuardedChange("pool", pool, allowance, "", parts=(key,), whole=not kept)


def _pool_name(key: str, inputs: Mapping[str, Any], plan: FleetPlan) -> str:
    """Return the pool of a node pool; of one that the plan no longer has, by its key, which counts a pool's slices."""
    for pool in plan.pools:
        if any(each.key == key for each in pool.node_pools):
            return pool.name
    names = {pool.key: pool.name for pool in plan.own_pools}
    numbered = re.fullmatch(r"(.+)-\d+", key)
    pool_key = numbered[1] if numbered and _is_slice(numbered[1], key, inputs, plan) else key
    return names.get(pool_key, pool_key)


def _is_slice(pool_key: str, key: str, inputs: Mapping[str, Any], plan: FleetPlan) -> bool:
    """Whether a node pool is one slice of a pool, by its inputs; without any, by the slices that the plan has.

    GKE's name of a slice carries its topology (`v5e-2x4-1`), that of any other node pool is its key.
    """
    placement: dict[str, Any] = inputs.get("placementPolicy") or {}
    if inputs:
        name = str(inputs.get("name") or "")
        return bool(placement.get("tpuTopology")) or bool(_SLICE_NAME.fullmatch(name) and name != key)
    return any(
        each.key.startswith(f"{pool_key}-") for p in plan.own_pools if p.key == pool_key for each in p.node_pools
    )


def _guarded_queue(name: str, inputs: Mapping[str, Any]) -> GuardedChange | None:
    """A queue with the flavors that it guarantees something of; without its inputs it was refused, so it does."""
    groups: Iterable[Mapping[str, Any]] = inputs.get("spec", {}).get("resourceGroups") or ()
    guaranteed_flavors = tuple(
        str(flavor["name"])
        for group in groups
        for flavor in group.get("flavors") or ()
        if any(
            r["name"] not in _NON_ACCELERATORS and str(r.get("nominalQuota", "0")) != "0" for r in flavor["resources"]
        )
    )
    return (
        GuardedChange("queue", name, f"clusterQueues.{name}", "", flavors=guaranteed_flavors)
        if guaranteed_flavors or not inputs
        else None
    )


def _replace_reasons(step: Mapping[str, Any]) -> Iterator[FieldEffect]:
    for reason in step.get("replaceReasons") or ():
        yield FieldEffect(str(reason), str(reason), None, None, REPLACE_EFFECT)


def _merged(changes: Iterable[GuardedChange]) -> list[GuardedChange]:
    """One loss for each thing: the slices of a pool go together, and a replacement may be several steps."""
    merged: dict[tuple[str, ...], GuardedChange] = {}
    for change in changes:
        identity = (change.worker or "", change.key, change.action, change.name)
        first = merged.setdefault(identity, change)
        merged[identity] = replace(
            first,
            because=tuple({f.path: f for f in (*first.because, *change.because)}.values()),
            parts=tuple(dict.fromkeys((*first.parts, *change.parts))),
            flavors=tuple(dict.fromkeys((*first.flavors, *change.flavors))),
            first=first.first or change.first,
            allowed=first.allowed and change.allowed,
        )
    return [merged[key] for key in sorted(merged)]
