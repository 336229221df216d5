"""Whether two registered programs differ in harmless ways only, judged without the diff: by what each registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from msgspec.structs import replace

from berth.diff.calm.differences import NEW_NODES, NOT_APPLIED, Difference
from berth.diff.calm.harmless import harmless_kind
from berth.diff.calm.subjects import Subjects
from berth.diff.fields import FieldChange
from berth.diff.kinds import ChangeKind
from berth.diff.provider_inputs.effects import UpdateEffect, effect_of_input, input_rules
from berth.engine import RecordedResource
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.node_settings import Bounds
from tests.berth.diff.edits.engine_changes import changed_inputs
from tests.berth.diff.edits.enumerated import enumerated

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "gcp:container/cluster:Cluster": ("cluster",),
    "gcp:container/nodePool:NodePool": ("pool", "system pool"),
    "gcp:compute/reservation:Reservation": ("reservation",),
    "gcp:compute/futureReservation:FutureReservation": ("future reservation",),
    "gcp:compute/subnetwork:Subnetwork": ("network",),
    "gcp:monitoring/alertPolicy:AlertPolicy": ("alert", "alert configuration"),
    "gcp:monitoring/dashboard:Dashboard": ("dashboard",),
    "gcp:projects/service:Service": ("service",),
    "kubernetes:helm.sh/v3:Release": ("controller",),
    "alicloud:cs/nodePool:NodePool": ("pool",),
    "alicloud:cs/managedKubernetes:ManagedKubernetes": ("cluster",),
    "alicloud:ackone/cluster:Cluster": ("ACK One fleet",),
}
"""Type of a resource → what harmless.yaml calls it; objects are called by their kind, and all else by its type."""
_SIZES: Final = ("nodeCount", "initialNodeCount", "autoscaling", "scalingConfig", "desiredSize")
"""Inputs that are one number of nodes, or a range of it, to people."""


def harmful_differences(old: FleetPlan | AckFleetPlan, new: FleetPlan | AckFleetPlan) -> tuple[list[str], int]:
    """Return what two programs register differently and no row of the table has, and how many differences there are."""
    facts = Subjects.of(old, new).facts
    found = list(_differences(*(_used(enumerated(plan)) for plan in (old, new))))
    labels = {each.path.rpartition(".")[2] for each, _ in found if each.path.startswith("nodeConfig.labels.")}
    rotated = {each.what for each, _ in found if each.of.endswith(":Secret") and not each.path}
    kept_pools = {pool.name for pool in old.pools} if isinstance(old, FleetPlan) else set[str]()
    below = max((each.value for each in old.priorities), default=0)
    low = {each.name for each in new.priorities if each.value < below}

    def is_reviewed(difference: Difference) -> bool:
        """Whether a difference is one of the four that are harmless only together with another one."""
        kind = difference.of.rpartition(":")[2]
        if kind == "NodePool" and difference.what == ChangeKind.CREATED:  # one more of a pool that grows
            name = difference.name.removesuffix("-pool")
            return any(name == pool or name.startswith(f"{pool}-") for pool in kept_pools)
        if kind == "ResourceFlavor":  # asks for a label that its nodes get
            return difference.before is None and difference.path.removeprefix("spec.nodeLabels.") in labels
        if kind in ("PriorityClass", "WorkloadPriorityClass") and difference.what == ChangeKind.CREATED:
            return difference.name.strip("/") in low
        return kind == "Secret" and not difference.path and rotated == {ChangeKind.CREATED, ChangeKind.DELETED}

    harmful = [
        f"{each.of} {each.name} {each.path}: {each.before!r} → {each.after!r}"[:200]
        for each, kinds in _without_renamed_exclusions(found)
        if not is_reviewed(each) and not any(harmless_kind(replace(each, of=kind), facts) for kind in kinds)
    ]
    return harmful, len(found)


def _used(resources: Mapping[str, RecordedResource]) -> dict[str, RecordedResource]:
    """Leave out providers without a resource, which the program does not register."""
    used = {each.provider for each in resources.values()}
    return {
        urn: each for urn, each in resources.items() if urn in used or not each.type.startswith("pulumi:providers:")
    }


_Found = tuple[Difference, tuple[str, ...]]


def _without_renamed_exclusions(found: list[_Found]) -> list[_Found]:
    """Leave out an exclusion of maintenance that is the same under another name."""
    gone: dict[str, object] = {}
    come: dict[str, object] = {}
    for each, _ in found:
        if "maintenanceExclusions" in each.path and not each.path.endswith("exclusionName"):
            key = each.path.rpartition(".")[2]
            gone |= {key: each.before} if each.after is None else {}
            come |= {key: each.after} if each.before is None else {}
    is_same = bool(gone) and gone == come
    return [pair for pair in found if not (is_same and "maintenanceExclusions" in pair[0].path)]


def _differences(before: Mapping[str, RecordedResource], after: Mapping[str, RecordedResource]) -> Iterator[_Found]:
    for urn in dict.fromkeys((*before, *after)):
        old, new = before.get(urn), after.get(urn)
        shown = new or old
        assert shown is not None
        kinds = _KINDS.get(shown.type, (shown.type.rpartition(":")[2],))
        named = cast("Mapping[str, Any]", shown.inputs.get("metadata") or {})
        if old is None or new is None:
            what = ChangeKind.CREATED if old is None else ChangeKind.DELETED
            yield Difference(shown.type, shown.name, "", what), kinds
            continue
        sizes = _size(old.inputs), _size(new.inputs)
        if sizes[0] != sizes[1]:
            yield Difference(shown.type, shown.name, "nodes", ChangeKind.UPDATED, *sizes), kinds
        changes = list(changed_inputs(old, new))
        if any(f"{change.path}.".startswith(f"{fixed}.") for change in changes for fixed in new.replace_on_changes):
            yield Difference(shown.type, shown.name, "", ChangeKind.REPLACED), kinds
        for change in changes:
            leaves = _leaves(shown, change, set(old.inputs) | set(new.inputs))
            yield from ((replace(each, key=str(named.get("name", ""))), kinds) for each in leaves)
        for option in ("protect", "provider", "retain_on_delete", "replace_on_changes", "ignore_changes"):
            sides: tuple[Any, Any] = getattr(old, option), getattr(new, option)
            if option == "ignore_changes" and sizes[0] != sizes[1]:  # who sets the number of nodes is part of the size
                sides = {*sides[0]} - {"nodeCount"}, {*sides[1]} - {"nodeCount"}
            if sides[0] != sides[1]:
                yield Difference(shown.type, shown.name, option, ChangeKind.UPDATED, *sides), kinds


def _leaves(resource: RecordedResource, change: FieldChange, inputs: set[str]) -> Iterator[Difference]:
    """Yield the leaves of a changed input, or of a block that comes or goes, each with what the tables say it does."""
    if change.path.startswith(_SIZES):
        return
    sides = change.before, change.after
    if all(side is None or isinstance(side, dict) for side in sides):
        old, new = (cast("dict[str, object]", side or {}) for side in sides)
        for key in {**old, **new}:
            inner = FieldChange(f"{change.path}.{key}", old.get(key), new.get(key))
            yield from _leaves(resource, inner, inputs) if inner.before != inner.after else ()
        return
    path = _steps(change.path)
    note = ""
    if resource.type.startswith(("gcp:", "alicloud:")):
        note = _NOTES.get(effect_of_input(input_rules(resource.type), change), "")
    before, after = sides
    block = path if before is None else ""
    yield Difference(resource.type, resource.name, path, ChangeKind.UPDATED, before, after, note, block=block)


_NOTES: Final = {
    UpdateEffect.KEPT: NOT_APPLIED,
    UpdateEffect.IGNORED: NOT_APPLIED,
    UpdateEffect.NEW_NODES_ONLY: NEW_NODES,
}


def _steps(path: str) -> str:
    """Return a path as the table writes it: names of entries are steps, and numbers of entries are left out."""
    steps = path.replace("[", ".").replace("]", "").split(".")
    return ".".join(step for step in steps if step and not step.isdigit())


def _size(inputs: Mapping[str, Any]) -> Bounds | None:
    """Return the least and the greatest number of nodes that the inputs of a pool ask for; None for no pool."""
    scaling = inputs.get("autoscaling") or inputs.get("scalingConfig") or {}
    fixed = inputs.get("nodeCount", inputs.get("desiredSize"))
    greatest = scaling.get("maxNodeCount", scaling.get("totalMaxNodeCount", scaling.get("maxSize", fixed)))
    least = scaling.get("minNodeCount", scaling.get("totalMinNodeCount", scaling.get("minSize", fixed)))
    return None if greatest is None else Bounds(min=int(least or 0), max=int(greatest))
