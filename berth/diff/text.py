"""Text for changes, shared by `berth diff`, `berth guard` and the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from berth.diagnostics import join_words
from berth.diff.fields import FieldChange, format_bounds, format_change, format_on_one_line
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange
from berth.diff.objects import ObjectChange
from berth.diff.pools import PoolChange
from berth.diff.priorities import PriorityChange, QueueRename, ReclaimChange, StopChange
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.rights.changes import SERVING, RightChange
from berth.diff.settings import SettingChange
from berth.diff.workloads import CONFIG, FilesChange, WorkloadChange
from berth.names import to_camel
from berth.plan.kueue import PODS
from berth.plan.node_settings import Bounds
from berth.resource import ResourceKind, resource_title
from berth.text import format_range, pluralize

if TYPE_CHECKING:
    from berth.diff.changes import ReferrerChange

_CHANGE_SIGNS = {ChangeKind.CREATED: "+", ChangeKind.UPDATED: "~", ChangeKind.REPLACED: "±"}
UNMANAGED_TEXT = "no longer managed here"
_EFFECT_NOTES = {
    UpdateEffect.KEPT: " (not applied: the provider keeps the value of a removed setting)",
    UpdateEffect.IGNORED: " (not applied: the provider ignores this change)",
    UpdateEffect.STATED: " (a statement: the nodes of an adopted pool keep their account)",
    UpdateEffect.NEW_NODES_ONLY: " (for new nodes only)",
    UpdateEffect.REFUSED: " (refused by Google Cloud while the cluster uses it)",
}
_AUTHORIZED_NETWORKS = "masterAuthorizedNetworksConfig.cidrBlocks"
"""Networks that reach the control plane; None means all networks, an empty list none."""
_FLAVOR_LIST = re.compile(r"spec\.resourceGroups\[\d+\]\.flavors")
"""The flavors of a ClusterQueue. Changed entries have their own lines: a change of the list is one of its order."""
_COVERED = re.compile(r"spec\.resourceGroups\[\d+\]\.coveredResources")
"""The resources that a queue or cohort counts."""
_EFFECT_OF_PODS = {
    (False, True): " (jobs that run go on, and count no pods until they are admitted again; jobs of more pods wait)",
    (True, False): " (pods are no longer counted: many small ones can fill the machines of others)",
}
_OPTIONAL_LIMITS = ("borrowingLimit", "lendingLimit")
"""Limits of Kueue that mean unlimited when they are not set."""
EMPHASIZED = {ChangeKind.REPLACED: "REPLACED", ChangeKind.DELETED: "DELETED"}
EMPHASIZED_KINDS = (
    ResourceKind.CLUSTER,
    ResourceKind.CONNECTION,
    ResourceKind.FLEET,
    ResourceKind.RESERVATION,
    ResourceKind.FUTURE_RESERVATION,
)
"""Kinds whose replacement or deletion is written in capitals; pools are handled separately."""


_SERVING_ON = " (its people run Deployments, StatefulSets and LeaderWorkerSets there, which Kueue queues)"
_SERVING_OFF = " (Kueue starts no more pods of the services there)"


def describe_right(change: RightChange) -> str:
    """Return `team vision: role roles/owner is added (…)`, or `control plane: public endpoint off → on, widened`."""
    name = f"{change.owner}: {change.right}"
    if change.what == ChangeKind.KEPT:
        kept = f"{name} {change.before} is not taken back: the provider keeps what the stack file no longer sets"
        return kept + _describe_effect_of_role(change)
    if change.before is None or change.after is None:
        return f"{name} {change.before or change.after} is {change.what}{_describe_effect_of_role(change)}"
    return f"{name} {change.before} → {change.after}, {change.what}"


def _describe_effect_of_role(change: RightChange) -> str:
    """Return what a role gives in parentheses; empty for one that is taken back or harmless. Likewise for serving."""
    if change.right == SERVING:
        return _SERVING_OFF if change.what == ChangeKind.REMOVED else _SERVING_ON
    return f" ({change.gives})" if change.gives and change.what != ChangeKind.REMOVED else ""


def describe_priority(change: PriorityChange) -> str:
    """Return `~ priority low: 10 → 30, now above high, its jobs can now preempt others`."""
    before, after = change.value
    if after is None:
        return f"- priority {change.priority} ({before})"
    sign, initial_value = ("~", "") if before is not None else ("+", f" ({after})")
    parts = [f"{before} → {after}"] if before not in (None, after) else []
    if change.above:
        parts.append(f"{'now above' if parts else 'above'} {join_words(list(change.above))}")
    if change.below and before is not None:
        parts.append(f"now below {join_words(list(change.below))}")
    if before is not None and change.preempts[0] != change.preempts[1]:
        parts.append(f"its jobs can {'now' if change.preempts[1] else 'no longer'} preempt others")
    if change.default[0] != change.default[1]:
        parts.append(f"{'' if change.default[1] else 'no longer '}the default")
    return f"{sign} priority {change.priority}{initial_value}" + (f": {', '.join(parts)}" if parts else "")


def describe_priority_order(order: tuple[tuple[str, ...], ...]) -> str:
    """Return `order of priorities: high > low → low > high`."""
    return f"order of priorities: {' → '.join(' > '.join(names) for names in order)}"


def describe_queueing(queueing: tuple[bool, ...]) -> str:
    """Return what it means for jobs whether they wait for quota, `(before, after)`."""
    return "jobs wait in a queue for quota" if queueing[-1] else "jobs no longer wait for quota, and none limits them"


def describe_stop(change: StopChange) -> str:
    """Return `queue vision-train is drained: its jobs are evicted`."""
    effect = {ChangeKind.HELD: ": no new job is admitted", ChangeKind.DRAINED: ": its jobs are evicted"}.get(
        change.what, ""
    )
    return f"queue {change.queue} is {change.what}{effect}"


def describe_likely_rename(rename: QueueRename) -> str:
    """Return the hint for a queue whose key changed."""
    return (
        f"queue {rename.queue} has the teams and quotas of {rename.former}, which is deleted: to rename it, write "
        f"{rename.hint} in its entry"
    )


def describe_referrer(change: ReferrerChange) -> str:
    """Return `worker far of stack hub can use 32 → 8 L4, but describes 32`."""
    other = " of another cluster" if change.is_other_cluster else ""
    count = change.room if change.room.delta else None
    amount = f"{count.before} → {count.after}" if count else str(change.room.after)
    too_many = f", but describes {change.described}" if change.described > change.room.after else ""
    return f"worker {change.worker} of stack {change.stack} can use {amount} {change.noun}{other}{too_many}"


def describe_reclaim(change: ReclaimChange) -> str:
    """Return `vision can no longer reclaim its guarantee of v5e (queue vision-train)`."""
    who = join_words(list(change.teams)) or "nobody"
    verb = "can reclaim" if change.can else "can no longer reclaim"
    return f"{who} {verb} its guarantee of {join_words(list(change.flavors))} (queue {change.queue})"


# --- fields -----------------------------------------------------------------------------------------------------------


def describe_field(change: FieldChange) -> str:
    """Return the change of a field of a Kubernetes object, or that an entry is added or removed."""
    for without, block, verb in ((change.before, change.after, "added"), (change.after, change.before, "removed")):
        if without is None and _is_mapping(block):
            return f"{change.path} is {verb}: {format_on_one_line(block)}"
    if _FLAVOR_LIST.fullmatch(change.path) and change.before and change.after:
        orders = (", ".join(map(str, cast("list[object]", names))) for names in (change.before, change.after))
        return f"preference order of flavors: {' → '.join(orders)}"
    if change.path.endswith(_OPTIONAL_LIMITS):
        limits = (
            "unlimited" if limit is None else format_on_one_line(limit) for limit in (change.before, change.after)
        )
        return f"{change.path}: {' → '.join(limits)}"
    line = f"{change.path}: {format_change(change.before, change.after)}"
    if _COVERED.fullmatch(change.path):
        counted = [PODS in cast("list[object]", each or []) for each in (change.before, change.after)]
        line += _EFFECT_OF_PODS.get((counted[0], counted[1]), "")
    if change.path == "spec.topologyName" and change.before is not None:
        line += " (Kueue refuses this change of a flavor; give it another name: `flavor` of its pools)"
    return line


def _is_mapping(what: object) -> bool:
    return isinstance(what, Mapping)


def describe_effect(field: FieldEffect) -> str:
    """Return the change of a field: `machineType g2-standard-24 → g2-standard-48`."""
    if not field.input:
        return f"{field.path} is replaced"
    if field.input == _AUTHORIZED_NETWORKS and field.does != UpdateEffect.KEPT:
        sides = ("any address" if each is None else format_on_one_line(each) for each in (field.before, field.after))
        return f"{to_camel(field.path)} {' → '.join(sides)}"
    return f"{to_camel(field.path)} {format_change(field.before, field.after)}{_EFFECT_NOTES.get(field.does, '')}"


def describe_reason(field: FieldEffect) -> str:
    """Return the change of a field, with the provider's name for it if that differs."""
    return describe_effect(field) + ("" if field.input in ("", to_camel(field.path)) else f" ({field.input})")


def describe_setting(change: SettingChange) -> str:
    """Return the change of a path of a stack file: `config.gcp:project: a → b`."""
    return f"{change.path}: {format_change(change.before, change.after)}"


# --- pools and resources ----------------------------------------------------------------------------------------------


def describe_pool(change: PoolChange) -> str:
    """Return what happens to a pool and its nodes: `REPLACED: 6 nodes with 24 v5e chips are deleted (on-demand)`."""
    what = EMPHASIZED.get(change.what, change.what)
    if change.what == ChangeKind.ADDED:
        nodes = "1 node" if change.nodes[1] == Bounds(min=1, max=1) else f"{format_range(change.nodes[1])} nodes"
        return f"{what}: {nodes} with {format_range(change.accelerators[1])} {change.noun}, {machine_source(change)}"
    if change.what == ChangeKind.UNMANAGED:
        return (
            f"{UNMANAGED_TEXT}, with {format_range(change.nodes[0])} nodes of "
            f"{format_range(change.accelerators[0])} {change.noun}"
        )
    parts = [what]
    if change.nodes[0] != change.nodes[1] and change.what != ChangeKind.DELETED:
        parts.append(f"{format_bounds(change.nodes)} nodes, {format_bounds(change.accelerators)} {change.noun}")
    if change.hit_nodes:
        is_single = change.hit_nodes == 1
        how = "is deleted" if is_single else "are deleted"
        if change.what == ChangeKind.RECREATED:
            how = "is recreated" if is_single else "are recreated one by one"
        elif change.what == ChangeKind.CHANGED:
            how = f"{how} and requested again in other zones"
        affected = (
            f"{up_to_prefix(change)}{pluralize(change.hit_nodes, 'node')} with {change.hit_accelerators} {change.noun}"
        )
        parts.append(f"{affected} {how} ({machine_source(change)})")
    return ": ".join([parts[0], "; ".join(parts[1:])]) if parts[1:] else what


def up_to_prefix(change: PoolChange) -> str:
    """Return "up to " for a pool that autoscales, because its current number of nodes is unknown; otherwise ""."""
    return "" if change.nodes[0].min == change.nodes[0].max else "up to "


def machine_source(change: PoolChange) -> str:
    """Return where the machines come from: the reservation or the provisioning model."""
    return f"reservation {change.reservation}" if change.reservation else change.capacity


def describe_resource(change: ResourceChange) -> str:
    """Return what happens to another cloud resource: `reservation l4 is REPLACED`."""
    name = resource_title(change.kind, change.key)
    if change.what == ChangeKind.UNMANAGED:
        return f"{name} keeps running, but is no longer managed: it is not uninstalled, and its objects remain"
    if change.kind in (ResourceKind.CONNECTION, ResourceKind.CLUSTER) and change.what == ChangeKind.REPLACED:
        return f"{name} is REPLACED: all namespaces, volumes and jobs in the old one are lost"
    disable_note = (
        " from this stack, and stays enabled"
        if change.what == ChangeKind.DELETED and change.kind == ResourceKind.SERVICE
        else ""
    )
    nodes = ": its nodes are recreated one by one" if change.what == ChangeKind.RECREATED else ""
    what = ChangeKind.CHANGED if change.what in (ChangeKind.UPDATED, ChangeKind.RECREATED) else change.what
    return (
        f"{name} is "
        f"{what.upper() if change.kind in EMPHASIZED_KINDS and what in EMPHASIZED else what}{disable_note}{nodes}"
    )


def describe_object(change: ObjectChange) -> str:
    """Return what happens to a Kubernetes object: `~ ClusterQueue vision-train`."""
    namespace_prefix = f"{change.namespace}/" if change.namespace else ""
    new_place = "cluster" if ResourceKind.CLUSTER in change.because else "fleet"
    reason = f"it moves to another {new_place}" if change.is_moved else ""
    reason = reason or f"{join_words(list(change.because))} cannot change"
    why = f" (REPLACED, because {reason})" if change.because else ""
    why = f" ({UNMANAGED_TEXT}, and stays)" if change.what == ChangeKind.UNMANAGED else why
    worker_suffix = f" on worker {change.worker}" if change.worker else ""
    return f"{_CHANGE_SIGNS.get(change.what, '-')} {change.kind} {namespace_prefix}{change.name}{worker_suffix}{why}"


# --- a team's own stack -----------------------------------------------------------------------------------------------


def describe_workload(change: WorkloadChange) -> str:
    """Return `workload evaluation (Job evaluation) is REPLACED: it stops, and starts again from its queue`."""
    name = f"{change.workload} ({change.kind} {change.name})"
    more = {
        ChangeKind.REPLACED: ": it stops, and starts again from its queue",
        ChangeKind.DELETED: ": it stops if it runs",
    }.get(change.what, "")
    return f"workload {name} is {EMPHASIZED.get(change.what, change.what)}{more}"


def workload_details(change: WorkloadChange) -> Iterator[str]:
    """Yield why it is replaced, its queue, and its requests."""
    if change.because:
        yield f"because {join_words(list(change.because))} cannot change"
    before, after = change.queue
    if before != after or change.what not in (ChangeKind.CHANGED, ChangeKind.REPLACED):
        yield f"in queue {' → '.join(each for each in (before, after) if each is not None) or '–'}"
    for request in change.asks:
        least, most = sorted((request.amount.before, request.amount.after))
        if request.amount.delta:
            number = f"{request.amount.before} → {request.amount.after}" if least else str(most)
            verb = "requested" if change.what == ChangeKind.DELETED else "requests"
            yield f"{verb} {number} {request.resource} in total"


def describe_files(change: FilesChange) -> str:
    """Return `config evaluation is changed; read by evaluation, whose running pods see the change`."""
    sentence = f"{change.kind} {change.name} is {EMPHASIZED.get(change.what, change.what)}"
    if not change.workloads:
        return f"{sentence}; no workload reads it"
    readers = join_words(list(change.workloads))
    sees = change.kind == CONFIG and change.what == ChangeKind.CHANGED
    return f"{sentence}; read by {readers}" + (", whose running pods see the change" if sees else "")
