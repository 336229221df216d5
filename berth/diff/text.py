"""The words in which changes are told: the same for `berth diff`, the guard and the real engine's preview."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from berth.diagnostics import in_words
from berth.diff.entitlements import PriorityChange, Step
from berth.diff.fields import FieldChange
from berth.diff.guard.changes import DELETE, SECTION, IdleAllowance, Loss
from berth.diff.objects import ObjectChange
from berth.diff.pools import CHANGED, LEFT, PoolChange
from berth.diff.resources import (
    CLUSTER,
    CREATED,
    DELETED,
    FLEET,
    FUTURE_RESERVATION,
    RECREATED,
    REPLACED,
    RESERVATION,
    UPDATED,
    FieldEffect,
    ThingChange,
    named,
)
from berth.diff.update_effects import IGNORED, KEPT, LATER, REFUSED
from berth.plan.nodes import Bounds
from berth.text import many, span

_SHOWN = 120
"""Characters of a value that are shown."""
_LEAD = 32
"""Characters that long values have in common and that are shown before they part."""
_SIGNS = {CREATED: "+", UPDATED: "~", REPLACED: "±", DELETED: "-"}
BEHIND = "left to who made it"
_BUT = {
    KEPT: ", and stays as it was: the provider keeps what is no longer said",
    IGNORED: ", and stays as it was: the provider passes no change of it on",
    LATER: ", for new nodes alone",
    REFUSED: ", which is refused while the cluster uses it",
}
OPEN = "control_plane.authorized_networks"
"""Networks that reach the control plane; every one does where none is said, and no other where the list is empty."""
_UNLIMITED = ("borrowingLimit", "lendingLimit")
"""Limits of Kueue's that are none where they are not said."""
LOUD = {REPLACED: "REPLACED", DELETED: "DELETED"}
LOUD_KINDS = (CLUSTER, FLEET, RESERVATION, FUTURE_RESERVATION)
"""What is written in capitals when one of those things becomes of it; pools have words of their own."""


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
    if isinstance(what, Struct):
        return _value({camel(name): inner for name, inner in asdict(what).items() if inner not in (None, (), {})})
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
    if field.path == OPEN:
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
        of = f" of {in_words(list(found.flavors))}" if found.flavors else ""  # a refusal of the engine's names none
        return f"{name} would be {_DONE[found.action]}, with what it guarantees{of}"
    reasons = (
        f"{camel(f.path.partition('[')[0])} changes" if f.input else f"{f.path} is replaced" for f in found.because
    )
    why = in_words(list(dict.fromkeys(reasons)))
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
    what = LOUD.get(found.what, found.what)
    if found.what == "added":
        nodes = "1 node" if found.nodes[1] == Bounds(min=1, max=1) else f"{span(found.nodes[1])} nodes"
        return f"{what}: {nodes} with {span(found.accelerators[1])} {found.noun}, {source(found)}"
    if found.what == LEFT:
        return f"{BEHIND}, with {span(found.nodes[0])} nodes of {span(found.accelerators[0])} {found.noun}"
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
        lost = f"{at_most(found)}{many(found.hit_nodes, 'node')} with {found.hit_accelerators} {found.noun}"
        parts.append(f"{lost} {how} ({source(found)})")
    return ": ".join([parts[0], "; ".join(parts[1:])]) if parts[1:] else what


def at_most(found: PoolChange) -> str:
    """What precedes the nodes that are hit: of a pool that scales nobody knows how many are there."""
    return "" if found.nodes[0].min == found.nodes[0].max else "up to "


def source(found: PoolChange) -> str:
    """Where the machines come from."""
    return f"reservation {found.reservation}" if found.reservation else found.capacity


def thing(found: ThingChange) -> str:
    """What becomes of something else in Google Cloud: `reservation l4 is REPLACED`."""
    name = named(found.kind, found.key)
    left = " (it is left on)" if found.what == DELETED and found.kind == "service" else ""
    nodes = ": its nodes are made anew one after the other" if found.what == "recreated" else ""
    what = "changed" if found.what in ("updated", "recreated") else found.what
    return f"{name} is {what.upper() if found.kind in LOUD_KINDS and what in LOUD else what}{left}{nodes}"


def object_(found: ObjectChange) -> str:
    """What becomes of a Kubernetes object: `~ ClusterQueue vision-train`."""
    place = f"{found.namespace}/" if found.namespace else ""
    why = f" (REPLACED, because {in_words(list(found.because))} cannot change)" if found.because else ""
    where = f" on worker {found.worker}" if found.worker else ""
    return f"{_SIGNS[found.what]} {found.kind} {place}{found.name}{where}{why}"
