"""The words in which changes are told: the same for `berth diff`, the guard and the real engine's preview."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from components.plan.nodes import Bounds
from stacks.changes import deployed_words
from stacks.changes.entitlements import Entitlement, PriorityChange, Step, TeamChange
from stacks.changes.fields import FieldChange
from stacks.changes.forces import LATER, REFUSED
from stacks.changes.guard import DELETE, SECTION, IdleAllowance, Loss
from stacks.changes.objects import ObjectChange
from stacks.changes.pools import CHANGED, LEFT, PoolChange
from stacks.changes.things import (
    CLUSTER,
    CREATED,
    DELETED,
    FLEET,
    FUTURE_RESERVATION,
    IN_WORKER,
    RECREATED,
    REPLACED,
    RESERVATION,
    UPDATED,
    FieldEffect,
    ThingChange,
    named,
)
from stacks.changes.whole import Changes
from stacks.changes.workers import WorkerChange
from stacks.problems import in_words
from stacks.wording import many, span

_NAMED = 3
"""Teams that a headline names; of more it gives the number."""
_SHOWN = 120
"""Characters of a value that are shown."""
_LEAD = 32
"""Characters that long values have in common and that are shown before they part."""
_SIGNS = {CREATED: "+", UPDATED: "~", REPLACED: "±", DELETED: "-"}
_DEAR = (CLUSTER, FLEET, RESERVATION, FUTURE_RESERVATION)
_LEFT = "left to who made it"
_BUT = {LATER: ", for new nodes alone", REFUSED: ", which is refused while the cluster uses it"}
_OPEN = "control_plane.authorized_networks"
"""Networks that reach the control plane; every one does where none is said, and no other where the list is empty."""
_UNLIMITED = ("borrowingLimit", "lendingLimit")
"""Limits of Kueue's that are none where they are not said."""
_LOUD = {REPLACED: "REPLACED", DELETED: "DELETED"}


def headline(changes: Changes) -> str:
    """The change in one line: who loses, who gains, what is replaced or deleted, what is guarded."""
    told = changes.entitlements
    parts = [*_comings(told.teams), *_shifts(told.entitlements), *_reach(told.entitlements)]
    parts += [*_workers(changes.workers), *_upheavals(changes)]
    parts += deployed_words.headline(changes.workloads, changes.files)
    if not parts:
        parts += [f"queue {loss.name} is DELETED" for loss in changes.losses if loss.kind == "queue"][:_NAMED]
    if changes.guarded:
        parts.append(f"{len(changes.guarded)} guarded")
    if not parts:
        parts.append("nothing changes" if changes.empty else "no team gains or loses, and nothing is replaced")
    return f"{changes.stack}: {'; '.join(parts)}"


def _comings(teams: Sequence[TeamChange]) -> Iterable[str]:
    for what in dict.fromkeys(change.what for change in teams):
        names = [change.team for change in teams if change.what == what]
        who = f"{len(names)} teams are" if len(names) > _NAMED else f"{in_words(names)} {'are' if names[1:] else 'is'}"
        yield f"{who} {what}"


def _reach(entitlements: Sequence[Entitlement]) -> Iterable[str]:
    """Teams whose guarantees stay and whose ceilings move."""
    moved = {e.team for e in entitlements if e.guaranteed.gain}
    for word, sign in (("less", -1), ("more", 1)):
        names = list(dict.fromkeys(e.team for e in entitlements if e.ceiling.gain * sign > 0 and e.team not in moved))
        if names:
            who = f"{len(names)} teams" if len(names) > _NAMED else in_words(names)
            yield f"{who} can reach {word}"


def _workers(workers: Sequence[WorkerChange]) -> Iterable[str]:
    for each in workers:
        if each.what != CHANGED:
            yield f"worker {each.worker} is {_LEFT if each.what == LEFT else _LOUD.get(each.what, each.what)}"


def _shifts(entitlements: Sequence[Entitlement]) -> Iterable[str]:
    for word, found in (
        ("loses", [e for e in entitlements if e.guaranteed.gain < 0]),
        ("gains", [e for e in entitlements if e.guaranteed.gain > 0]),
    ):
        teams = list(dict.fromkeys(e.team for e in found))
        if len(teams) > _NAMED:
            yield f"{len(teams)} teams {word.removesuffix('s')} guarantees"
        else:
            yield from (f"{team} {word} {_sum(e for e in found if e.team == team)}" for team in teams)


def _sum(found: Iterable[Entitlement]) -> str:
    """`8 of its 16 guaranteed v5e chips`, for every flavor."""
    return in_words([_part(e) for e in found])


def _part(change: Entitlement) -> str:
    gain, had = change.guaranteed.gain, change.guaranteed.before
    counted = f"all {had}" if gain == -had else f"{-gain} of {had}" if gain < 0 else str(gain)
    flavor = "" if change.flavor in change.noun else f" ({change.flavor})"
    return f"{counted} guaranteed {change.noun}{flavor}"


def _upheavals(changes: Changes) -> Iterable[str]:
    gone = tuple(f"{each.worker}{IN_WORKER}" for each in changes.workers if each.what == DELETED) or ("//",)
    for pool in changes.pools:
        if pool.what in _LOUD and not pool.pool.startswith(gone):
            yield f"pool {pool.pool} is {_LOUD[pool.what]}"
        elif pool.what == RECREATED:
            yield f"the nodes of pool {pool.pool} are made anew"
        elif pool.hit_nodes and pool.what not in _LOUD:
            verb = "goes" if pool.hit_nodes == 1 else "go"
            yield f"{pool.hit_nodes} of {many(pool.nodes[0].max, 'node')} of pool {pool.pool} {verb}"
    for thing in changes.things:
        if any(field.path == _OPEN and field.after is None for field in thing.fields):
            yield f"the control plane of {named(thing.kind, thing.key)} opens to any address"
        if thing.what in _LOUD and thing.kind in _DEAR and not thing.key.startswith(gone):
            yield f"{named(thing.kind, thing.key)} is {_LOUD[thing.what]}"


def priority(change: PriorityChange) -> str:
    """`priority low: 10 → 30, now above high; its jobs push out others now`."""
    before, after = change.value
    if after is None:
        return f"- priority {change.priority} ({before})"
    sign, said = ("~", "") if before is not None else ("+", f" ({after})")
    parts = [f"{before} → {after}"] if before not in (None, after) else []
    if change.above:
        parts.append(f"{'now above' if parts else 'above'} {in_words(list(change.above))}")
    if before is not None and change.preempts[0] != change.preempts[1]:
        parts.append(f"its jobs push out {'others now' if change.preempts[1] else 'nobody any more'}")
    if change.default[0] != change.default[1]:
        parts.append(f"{'' if change.default[1] else 'no longer '}that of jobs that name none")
    return f"{sign} priority {change.priority}{said}" + (f": {', '.join(parts)}" if parts else "")


# --- numbers and values -----------------------------------------------------------------------------------------------


def step(counts: Step) -> str:
    """`16 → 8`, or the one number."""
    return f"{counts.before} → {counts.after}" if counts.gain else str(counts.after)


def spans(bounds: tuple[Bounds, Bounds]) -> str:
    """A range before and after."""
    return span(bounds[1]) if bounds[0] == bounds[1] else f"{span(bounds[0])} → {span(bounds[1])}"


def value(what: object) -> str:
    """A value on one line, cut where it is long; `–` for none."""
    return _cut(_value(what))


def became(before: object, after: object) -> str:
    """`4 → 8`; of long values, from shortly before the place where they part."""
    one, other = _value(before), _value(after)
    parted = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    if max(len(one), len(other)) > _SHOWN and parted > _LEAD:
        one, other = f"…{one[parted - _LEAD :]}", f"…{other[parted - _LEAD :]}"
    return f"{_cut(one)} → {_cut(other)}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _value(what: object) -> str:
    if what is None or what in ((), [], {}, ""):
        return "–"
    if isinstance(what, Bounds):
        return span(what)
    if isinstance(what, bool):
        return str(what).lower()
    if dataclasses.is_dataclass(what):
        named = {f.name: getattr(what, f.name) for f in dataclasses.fields(cast("Any", what))}
        return _value({camel(name): inner for name, inner in named.items() if inner not in (None, (), {})})
    if isinstance(what, Mapping):
        entries = cast("Mapping[str, object]", what).items()
        return "{" + ", ".join(f"{key}: {_value(inner)}" for key, inner in entries) + "}"
    if isinstance(what, (list, tuple)):
        return "[" + ", ".join(map(_value, cast("Sequence[object]", what))) + "]"
    return " ".join(str(what).split())


def field(change: FieldChange) -> str:
    """A field of a Kubernetes object that changes; of a whole entry, that it comes with what it holds, or goes."""
    if change.before is None and _is_entry(change.after):
        return f"{change.path} is added: {value(change.after)}"
    if change.after is None and _is_entry(change.before):
        return f"{change.path} is taken out: {value(change.before)}"
    if change.path.endswith(_UNLIMITED):
        limits = ("unlimited" if limit is None else value(limit) for limit in (change.before, change.after))
        return f"{change.path}: {' → '.join(limits)}"
    return f"{change.path}: {became(change.before, change.after)}"


def _is_entry(what: object) -> bool:
    return isinstance(what, Mapping)


def camel(path: str) -> str:
    """`machine_type` as the stack file spells it."""
    return re.sub(r"_([a-z0-9])", lambda found: found.group(1).upper(), path)


def effect(field: FieldEffect) -> str:
    """A field that changes, `machineType g2-standard-24 → g2-standard-48`."""
    if not field.input:
        return f"{field.path} is replaced"
    if field.path == _OPEN:
        sides = ("any address" if each is None else value(each) for each in (field.before, field.after))
        return f"{camel(field.path)} {' → '.join(sides)}"
    return f"{camel(field.path)} {became(field.before, field.after)}{_BUT.get(field.does, '')}"


def reason(field: FieldEffect) -> str:
    """The same, with the input by which the provider knows it."""
    return effect(field) + ("" if field.input in ("", camel(field.path)) else f" ({field.input})")


# --- what is lost -----------------------------------------------------------------------------------------------------

_DONE = {"replace": "replaced", "delete": "deleted"}


def loss(found: Loss) -> str:
    """What would be lost and why: `pool v5e would be replaced: topology changes`."""
    name = named(found.kind, found.name)
    which = in_words(list(found.parts))
    if found.kind == "queue":
        return f"{name} would be {_DONE[found.action]}, with what it guarantees of {in_words(list(found.flavors))}"
    why = in_words([f"{camel(f.path)} changes" if f.input else f"{f.path} is replaced" for f in found.because])
    because = f", because {why}" if why else ""
    if found.kind == "pool" and found.action == DELETE and not found.whole:
        return f"{name} would lose its node pool{'s' if len(found.parts) > 1 else ''} {which}{because}"
    also = f" (node pools {which})" if len(found.parts) > 1 else ""
    return f"{name} would be {_DONE[found.action]}{also}{because}"


def remedy(found: Loss) -> str:
    """What to do about a loss that is guarded."""
    of_worker = found.worker and not found.key.startswith("clusterQueues.")
    section = f"{f'workers.{found.worker}.' if of_worker else ''}{SECTION[found.action]}"
    allowance = f'{section}: {{{found.key}: "<why>"}}'
    if found.first:
        drain = ", or drains it (stopPolicy: HoldAndDrain)" if found.kind == "queue" and found.action == DELETE else ""
        return f"to allow it, first deploy a change that adds {allowance}{drain}; then this one"
    return f"to allow it, add {allowance}"


def idle(found: IdleAllowance) -> str:
    """An allowance without a use."""
    return f"{found.section}.{found.key} allows what this change does not do, and leaves it unprotected: take it out"


def pool(found: PoolChange) -> str:
    """What becomes of a pool and how much of it is hit: `REPLACED: 6 nodes with 24 v5e chips go, on-demand`."""
    what = _LOUD.get(found.what, found.what)
    if found.what == "added":
        nodes = "1 node" if found.nodes[1] == Bounds(min=1, max=1) else f"{span(found.nodes[1])} nodes"
        return f"{what}: {nodes} with {span(found.accelerators[1])} {found.noun}, {source(found)}"
    if found.what == LEFT:
        return f"{_LEFT}, with {span(found.nodes[0])} nodes of {span(found.accelerators[0])} {found.noun}"
    parts = [what]
    if found.nodes[0] != found.nodes[1] and found.what != DELETED:
        parts.append(f"{spans(found.nodes)} nodes, {spans(found.accelerators)} {found.noun}")
    if found.hit_nodes:
        one = found.hit_nodes == 1
        how = "goes" if one else "go"
        if found.what == RECREATED:
            how = f"{'is' if one else 'are'} made anew{'' if one else ' one after the other'}"
        elif found.what == CHANGED:
            how = f"{how}, and {'is' if one else 'are'} asked for again elsewhere"
        lost = f"{many(found.hit_nodes, 'node')} with {found.hit_accelerators} {found.noun}"
        parts.append(f"{lost} {how} ({source(found)})")
    return ": ".join([parts[0], "; ".join(parts[1:])]) if parts[1:] else what


def source(found: PoolChange) -> str:
    """Where the machines come from."""
    return f"reservation {found.reservation}" if found.reservation else found.capacity


def thing(found: ThingChange) -> str:
    """What becomes of something else in Google Cloud: `reservation l4 is REPLACED`."""
    name = named(found.kind, found.key)
    left = " (it is left on)" if found.what == DELETED and found.kind == "service" else ""
    nodes = ": its nodes are made anew one after the other" if found.what == "recreated" else ""
    what = "changed" if found.what in ("updated", "recreated") else found.what
    return f"{name} is {what.upper() if found.kind in _DEAR and what in _LOUD else what}{left}{nodes}"


def object_(found: ObjectChange) -> str:
    """What becomes of a Kubernetes object: `~ ClusterQueue vision-train`."""
    place = f"{found.namespace}/" if found.namespace else ""
    why = f" (REPLACED, because {in_words(list(found.because))} cannot change)" if found.because else ""
    where = f" on worker {found.worker}" if found.worker else ""
    return f"{_SIGNS[found.what]} {found.kind} {place}{found.name}{where}{why}"
