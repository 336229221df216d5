"""What `pulumi preview --json` of the real engine is about to lose, in the words of the guard.

As seen in previews of Pulumi 3.27: a step for each resource with `op`, `urn`, `oldState` and `newState`; a replacement
is one step `replace`, or `create-replacement` and `delete-replaced`. What is protected is refused while the preview
runs: then the step may be missing, and an error among the `diagnostics` names the resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.guard.ack_preview import dear_on_ack, leaves_lost
from berth.diff.guard.changes import DELETE, DRAINED, REPLACE, Loss, allowed, plan_of
from berth.diff.guard.protected import BY_RESOURCE
from berth.diff.resources import CLUSTER, IN_WORKER, NODE_POOL, FieldEffect
from berth.diff.update_effects import REPLACE as FORCES
from berth.plan.ack import AckFleetPlan
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.planner.machines.pools import SYSTEM

Plan = FleetPlan | AckFleetPlan | TeamStackPlan

_OPS = {
    "replace": REPLACE,
    "create-replacement": REPLACE,
    "delete-replaced": REPLACE,
    "delete": DELETE,
}
_REFUSED = re.compile(
    r'unable to replace resource "(?P<urn>[^"]+)"(?: as part of replacing "(?P<below>[^"]+)")?'
    r'|resource "(?P<deleted>[^"]+)" cannot be deleted'
)
_FOLLOWS = ("preview failed", "update failed")
"""What the engine says after its errors, of all of them."""
_BASIC = ("cpu", "memory", "pods", "ephemeral-storage")
WAS_FREE = "it was not protected when it was last deployed"


class NoPreview(Exception):
    """What was read is no preview, in one line."""


class Judged(Struct, frozen=True):
    """Every loss of a preview, allowed or not, and the errors that have nothing to do with protection."""

    losses: tuple[Loss, ...]
    errors: tuple[str, ...]

    @property
    def guarded(self) -> tuple[Loss, ...]:
        """What would be lost and may not be."""
        return tuple(loss for loss in self.losses if loss.allowed is None)


def judge(preview: object, plan: Plan) -> Judged:
    """What a preview (its JSON, read) of the stack of `plan` would lose. Raises NoPreview.

    Nothing of a team's own stack is guarded. That somebody protected a resource by hand is an error of the preview.
    """
    if not isinstance(preview, Mapping) or ("steps" not in preview and "diagnostics" not in preview):
        raise NoPreview("this is not what `pulumi preview --json` prints: an object with steps is wanted")
    found = cast("Mapping[str, Any]", preview)
    diagnostics = _records(found, "diagnostics")
    made = _records(found, "steps", "op", "urn")
    messages = [str(d.get("message", "")) for d in diagnostics if d.get("severity") == "error"]
    refused = {urn: (action, first) for message in messages for urn, action, first in _refusals(message)}
    steps = [step for step in made if _action(step)]
    known = {str(step["urn"]) for step in steps}
    losses = [
        *(_loss(str(s["urn"]), _action(s), s, plan, refused) for s in steps),
        *(_loss(urn, action, {}, plan, refused) for urn, (action, _) in refused.items() if urn not in known),
        *(leaves_lost(made, plan) if isinstance(plan, AckFleetPlan) else ()),
    ]
    told = {urn for urn in refused if _found(urn, {}, plan) is not None}
    errors = tuple(m.strip() for m in messages if not (_follows(m) or any(urn in told for urn, _, _ in _refusals(m))))
    return Judged(tuple(_joined(loss for loss in losses if loss is not None)), errors)


def _records(preview: Mapping[str, Any], key: str, *texts: str) -> list[dict[str, Any]]:
    """The objects below a key, each with these texts: one that is not understood might be a loss. Raises NoPreview."""
    found: object = preview.get(key) or []
    records = cast("list[dict[str, Any]]", found) if isinstance(found, list) else []
    objects = isinstance(found, list) and all(type(each) is dict for each in records)
    if objects and all(isinstance(each.get(text), str) for each in records for text in texts):
        return records
    wanted = f"objects with {' and '.join(texts)} are" if texts else "objects are"
    raise NoPreview(f"this is not what `pulumi preview --json` prints: {wanted} wanted below {key}")


def _action(step: Mapping[str, Any]) -> str:
    """What a step does to what there was; "" where it stays. A pool that moves to other zones loses all its nodes."""
    if step.get("op") == "update":
        before, after = _zones(step.get("oldState")), _zones(step.get("newState"))
        return REPLACE if before and after and before.isdisjoint(after) else ""
    return _OPS.get(str(step.get("op")), "")


def _zones(state: Mapping[str, Any] | None) -> set[str]:
    """Where a node pool has its nodes; nowhere for anything else."""
    inputs: Mapping[str, Any] = (state or {}).get("inputs") or {}
    found: list[str] = inputs.get("nodeLocations") or []
    return set(found)


def _refusals(message: str) -> Iterator[tuple[str, str, bool]]:
    """URN, action, and whether it was protected before: as what is deleted, or is made of something replaced."""
    for found in _REFUSED.finditer(message):
        yield (found["urn"], REPLACE, found["below"] is not None) if found["urn"] else (found["deleted"], DELETE, True)


def _follows(message: str) -> bool:
    return message.strip().removeprefix("error: ") in _FOLLOWS


def _loss(
    urn: str, action: str, step: Mapping[str, Any], plan: Plan, refused: Mapping[str, tuple[str, bool]]
) -> Loss | None:
    """None where it is nothing dear."""
    old: Mapping[str, Any] = step.get("oldState") or {}
    inputs: Mapping[str, Any] = old.get("inputs") or {}
    found = _found(urn, inputs, plan)
    if found is None or isinstance(plan, TeamStackPlan):
        return None
    first = refused[urn][1] if urn in refused else action == DELETE
    loss = replace(found, action=action, first=first, because=tuple(_because(step)))
    if urn in refused:
        return loss
    if action == REPLACE:
        allowances = plan.allowances
        if isinstance(plan, FleetPlan) and loss.worker is not None:
            allowances = _worker(plan, loss.worker).allowances
        inside = allowed(REPLACE, CLUSTER, allowances) if loss.kind == "queue" else None
        return replace(loss, allowed=allowed(REPLACE, loss.key, allowances) or inside)
    if inputs.get("spec", {}).get("stopPolicy") == "HoldAndDrain":
        return replace(loss, allowed=DRAINED)
    return replace(loss, allowed=None if old.get("protect") else WAS_FREE)


def _found(urn: str, inputs: Mapping[str, Any], plan: Plan) -> Loss | None:
    """What a resource is to the guard; None where it is nothing dear."""
    type_token, name = urn.rpartition("::")[0].rpartition("::")[2].rpartition("$")[2], urn.rpartition("::")[2]
    if isinstance(plan, AckFleetPlan):
        return dear_on_ack(type_token, name, inputs, plan)
    return _dear(type_token, name, inputs, plan) if isinstance(plan, FleetPlan) else None


def _dear(type_token: str, name: str, inputs: Mapping[str, Any], plan: FleetPlan) -> Loss | None:
    """What a resource is to the guard, by its type and its name in the program; None where it is nothing dear."""
    worker, slash, own = name.partition(IN_WORKER)
    if not slash:
        return _in_cluster(type_token, name, inputs, plan)
    found = _in_cluster(type_token, own, inputs, _worker(plan, worker))
    if found is None:
        return None
    key = found.key if found.kind != "queue" or plan_of(plan, worker) else CLUSTER
    return replace(found, name=f"{worker}{IN_WORKER}{found.name}", key=key, worker=worker)


def _worker(plan: FleetPlan, name: str) -> FleetPlan:
    """A worker's plan; an empty one where the fleet has the worker no more."""
    return plan_of(plan, name) or replace(plan, pools=(), cluster_queues=(), allowances=AllowancesPlan())


def _in_cluster(type_token: str, name: str, inputs: Mapping[str, Any], plan: FleetPlan) -> Loss | None:
    if type_token.endswith(":ClusterQueue"):
        return _queue(name.removesuffix("-cluster-queue"), inputs)
    dear = BY_RESOURCE.get(type_token)
    if dear is None:
        return None
    key = dear.key(name)
    if dear.kind != NODE_POOL:
        return Loss(dear.kind, key, dear.allowed_as(key), "")
    pool = _pool_of(key, inputs, plan)
    kept = any(each.name == pool for each in plan.own_pools)
    own = dear.allowed_as(key, pool)
    return None if key == SYSTEM else Loss("pool", pool, own, "", parts=(key,), whole=not kept)


def _pool_of(key: str, inputs: Mapping[str, Any], plan: FleetPlan) -> str:
    """The pool of a node pool; of one that the plan has no more, by its key, which counts the slices of a pool."""
    for pool in plan.pools:
        if any(each.key == key for each in pool.node_pools):
            return pool.name
    counted = re.fullmatch(r"(.+)-\d+", key)
    placement: dict[str, Any] = inputs.get("placementPolicy") or {}
    in_slices = bool(placement.get("tpuTopology"))
    return counted[1] if counted and (in_slices or any(p.name == counted[1] for p in plan.pools)) else key


def _queue(name: str, inputs: Mapping[str, Any]) -> Loss | None:
    """A queue with the flavors that it guarantees something of; without its inputs it was refused, so it does."""
    groups: Iterable[Mapping[str, Any]] = inputs.get("spec", {}).get("resourceGroups") or ()
    held = tuple(
        str(flavor["name"])
        for group in groups
        for flavor in group.get("flavors") or ()
        if any(r["name"] not in _BASIC and str(r.get("nominalQuota", "0")) != "0" for r in flavor["resources"])
    )
    return Loss("queue", name, f"clusterQueues.{name}", "", flavors=held) if held or not inputs else None


def _because(step: Mapping[str, Any]) -> Iterator[FieldEffect]:
    for reason in step.get("replaceReasons") or ():
        yield FieldEffect(str(reason), str(reason), None, None, FORCES)


def _joined(losses: Iterable[Loss]) -> list[Loss]:
    """One loss for each thing: the slices of a pool go together, and a replacement may be several steps."""
    found: dict[tuple[str, ...], Loss] = {}
    for loss in losses:
        identity = (loss.worker or "", loss.key, loss.action, loss.name)
        first = found.setdefault(identity, loss)
        found[identity] = replace(
            first,
            because=tuple({f.path: f for f in (*first.because, *loss.because)}.values()),
            parts=tuple(dict.fromkeys((*first.parts, *loss.parts))),
            flavors=tuple(dict.fromkeys((*first.flavors, *loss.flavors))),
            first=first.first or loss.first,
            allowed=first.allowed and loss.allowed,
        )
    return [found[key] for key in sorted(found)]
