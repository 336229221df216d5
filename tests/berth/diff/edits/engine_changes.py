"""What two runs of the program register differently by the provider's own marks, and what the diff says of it.

The engine's side knows no plan: a resource is created, deleted, updated or replaced by its URN, provider, inputs and
protection, by `willReplaceOnChanges` of Google's and Alibaba Cloud's providers, `forceNew` of the Kubernetes provider,
and the options that the component set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from ipaddress import ip_network
from typing import Any, Final, cast

from msgspec import Struct

from berth.alibaba import fleet as alibaba_fleet
from berth.backends.table import StackPlan
from berth.diff.changes import Changes
from berth.diff.fields import FieldChange, compare_fields
from berth.diff.kinds import ChangeKind, FieldEffect
from berth.diff.pools import PoolChange
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.renames import former_worker_names, with_worker_names
from berth.engine import RecordedResource
from berth.google import fleet as google_fleet
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind
from berth.yaml_loader import load_table
from tests.stack_files import ROOT

CREATED, DELETED, UPDATED, REPLACED, KEPT = (
    ChangeKind.CREATED,
    ChangeKind.DELETED,
    ChangeKind.UPDATED,
    ChangeKind.REPLACED,
    ChangeKind.KEPT,
)
Resources = Mapping[str, RecordedResource]

TABLES: Final = ROOT / "berth" / "diff" / "provider_inputs"


@cache
def _marks() -> Mapping[str, list[str]]:
    return load_table(TABLES / "replaces.yaml")


@cache
def _kubernetes_marks() -> Mapping[str, Mapping[str, list[str]]]:
    """`forceNew` of the Kubernetes provider by kind, from the table that another test compares with the provider's."""
    return load_table(ROOT / "berth" / "diff" / "kinds.yaml")


@cache
def _kept_inputs() -> Mapping[str, list[str]]:
    return load_table(TABLES / "keeps.yaml")


def marks_of(resource: RecordedResource) -> list[str]:
    """The inputs of a resource whose change replaces it."""
    if resource.type.startswith("kubernetes:") and resource.type != "kubernetes:helm.sh/v3:Release":
        marked = _kubernetes_marks()[resource.type.rpartition(":")[2]].get("provider", [])
        return ["metadata.name", "metadata.namespace", *marked, *resource.replace_on_changes]
    return [*_marks().get(resource.type, []), *resource.replace_on_changes]


def is_within(path: str, marked: Iterable[str]) -> bool:
    """Return whether an input is marked or inside a marked block; `nodeConfig` is only marked as a whole."""
    flat = path.replace("[0]", "")
    return any(flat == each or (flat.startswith((f"{each}.", f"{each}[")) and each != "nodeConfig") for each in marked)


def is_ignored(path: str, ignored: Collection[str]) -> bool:
    """Return whether the engine ignores an input, or the block around it."""
    return is_within(path, ignored) or ("nodeConfig" in ignored and path.startswith("nodeConfig."))


def changed_inputs(before: RecordedResource, after: RecordedResource) -> Iterator[FieldChange]:
    """The inputs that the engine sees as changed: not those that it ignores, or that the provider keeps."""
    kept = _kept_inputs().get(after.type, [])
    for change in compare_fields(before.inputs, after.inputs):
        is_kept = not change.after and change.after is not False and change.path.replace("[0]", "") in kept
        if not is_kept and not is_ignored(change.path, after.ignore_changes):
            yield from _leaves(change)


def _leaves(change: FieldChange) -> Iterator[FieldChange]:
    """A block that comes or goes, leaf by leaf."""
    before, after = ({} if each is None else each for each in (change.before, change.after))
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from compare_fields(cast("object", before), cast("object", after), change.path)
    else:
        yield change


def forcing_inputs(before: RecordedResource, after: RecordedResource) -> list[str]:
    """The inputs that differ and replace the resource; a subnet's range only where it does not grow."""
    marked = marks_of(after)
    changes = list(changed_inputs(before, after))
    shrunk = [each.path for each in changes if after.type.endswith(":Subnetwork") and each.path == "ipCidrRange"]
    is_wider = shrunk and ip_network(str(before.inputs["ipCidrRange"])).subnet_of(
        cast("Any", ip_network(str(after.inputs["ipCidrRange"])))
    )
    return [each.path for each in changes if is_within(each.path, marked)] + ([] if is_wider else shrunk)


def engine_changes(before: Resources, after: Resources) -> dict[str, str]:
    """URN → what the engine does, of all that is not left as it is.

    What comes with another provider is replaced, and so is what is deleted with a resource that is replaced.
    """
    changes: dict[str, str] = {}
    for urn, resource in after.items():
        old = before.get(urn)
        if old is None:
            changes[urn] = CREATED
        elif forcing_inputs(old, resource) or _has_new_provider(old, resource, before, after):
            changes[urn] = REPLACED
        elif any(changed_inputs(old, resource)) or (old.protect, old.provider) != (resource.protect, resource.provider):
            changes[urn] = UPDATED
    with_cluster = {
        urn for urn, each in after.items() if each.deleted_with and changes.get(each.deleted_with) == REPLACED
    }
    changes |= {urn: REPLACED for urn in with_cluster if changes.get(urn) != CREATED}
    return changes | {urn: DELETED for urn in before if urn not in after}


def _has_new_provider(old: RecordedResource, new: RecordedResource, before: Resources, after: Resources) -> bool:
    """Whether the object's cluster is another one."""
    identifiers = [
        resources[each.provider].inputs.get("clusterIdentifier")
        for each, resources in ((old, before), (new, after))
        if each.provider is not None and each.provider in resources
    ]
    return len(identifiers) == 2 and identifiers[0] != identifiers[1]


def depends_on_replaced(resource: RecordedResource, replaced: set[str], after: Resources) -> bool:
    """Whether an input that replaces the resource comes from one that is replaced, or from a component that has one."""
    parents = {urn: after[urn].parent for urn in after}
    gone = replaced | {cast("str", parents[urn]) for urn in replaced if parents.get(urn)}
    marked = marks_of(resource)
    return any(
        gone.intersection(urns) and (is_within(name, marked) or any(each.startswith(f"{name}.") for each in marked))
        for name, urns in resource.property_dependencies.items()
    )


# --- the diff's words -------------------------------------------------------------------------------------------------

Address = tuple[str, ...]
"""("object", worker, kind, namespace, name), ("pool", name), or a resource's (kind, key)."""

Named = Mapping[tuple[str, str], tuple[Address, bool]]
"""Type and name in the program → how the diff calls a resource, and whether one line stands for several resources."""


def named_resources(plan: StackPlan) -> Named:
    """Everything in the cloud that a stack registers, with its name in the diff."""
    resources = (
        google_fleet.google_resources(plan)
        if isinstance(plan, FleetPlan)
        else alibaba_fleet.alibaba_resources(plan)
        if isinstance(plan, AckFleetPlan)
        else ()
    )
    return {
        (made.type, f"{each.name}-{role}"): (("pool", each.pool) if each.pool else (each.kind, each.key), not each.role)
        for each in resources
        for role, made in each.registrations().items()
    }


def address_of(resource: RecordedResource, named: Named, workers: Mapping[str, str]) -> Address | None:
    """How the diff calls a resource; None of components, providers and what the diff has no line for."""
    if not resource.custom or resource.type.startswith("pulumi:"):
        return None
    if (resource.type, resource.name) in named:
        return named[resource.type, resource.name][0]
    worker = resource.name.partition("/")[0]
    metadata = cast("Mapping[str, str]", resource.inputs["metadata"])
    kind = resource.type.rpartition(":")[2]
    return "object", workers.get(worker, ""), kind, metadata.get("namespace", ""), metadata["name"]


def reported(changes: Changes) -> dict[Address, str]:
    """Everything that the diff names, with what becomes of it."""
    result: dict[Address, str] = {("pool", each.pool): _pool_words(each) for each in changes.pools}
    result |= {(each.kind, each.key): KEPT if _is_kept(each.fields) else each.what for each in changes.things}
    for each in changes.objects:
        address = "object", each.worker or "", each.kind, each.namespace, each.name
        result[address] = REPLACED if REPLACED in (each.what, result.get(address)) else each.what
    return result


def _pool_words(change: PoolChange) -> str:
    return KEPT if change.what == "changed" and _is_kept(change.fields) else change.what


def _is_kept(fields: Sequence[FieldEffect]) -> bool:
    return bool(fields) and all(field.does == UpdateEffect.KEPT or field.path == "kubeconfig" for field in fields)


class Disagreement(Struct, frozen=True):
    """A resource that the engine and the diff judge differently."""

    urn: str
    engine: str | None
    diff: str | None


def disagreements(
    before: Resources, after: Resources, changes: Changes, plans: tuple[StackPlan, StackPlan]
) -> Iterator[Disagreement]:
    """Compare what the engine does with what the diff says, resource by resource."""
    engine, diff = engine_changes(before, after), reported(changes)
    old, new = plans
    if isinstance(old, FleetPlan) and isinstance(new, FleetPlan):
        plans = with_worker_names(old, former_worker_names(old, new)), new
    sides = [(resources, named_resources(plan)) for resources, plan in zip((before, after), plans, strict=True)]
    possible = _possibly_replaced(engine, before, after)
    if any(field.path in _ELSEWHERE for thing in changes.things for field in thing.because):
        possible |= {urn for urn, resource in after.items() if resource.type.startswith("alicloud:")}
    workers = {worker.key: worker.name for plan in plans if isinstance(plan, FleetPlan) for worker in plan.workers}
    for urn in {**before, **after}:
        known = [(resources[urn], named) for resources, named in sides if urn in resources]
        addresses = [address_of(resource, named, workers) for resource, named in known]
        if addresses[-1] is None:
            continue
        does, says = engine.get(urn), _says(addresses, diff)
        resource, named = known[-1]
        is_component = named.get((resource.type, resource.name), (addresses[-1], False))[1]
        if not _agree(does, says, can_be_replaced=urn in possible, is_component=is_component):
            yield Disagreement(urn, does, says)


def _says(addresses: Sequence[Address | None], diff: Mapping[Address, str]) -> str | None:
    """What the diff says of a resource: a new name is a deletion and a creation, which is a replacement."""
    first, last = (diff.get(each) if each else None for each in (addresses[0], addresses[-1]))
    if addresses[-1] and addresses[-1][0] == "alert" and last is None:
        return diff.get(
            (ResourceKind.ALERT_CONFIGURATION, addresses[-1][1].rpartition("/")[0] + ResourceKind.ALERT_CONFIGURATION)
        )
    return REPLACED if addresses[0] != addresses[-1] and (first, last) == (DELETED, CREATED) else last


def _possibly_replaced(engine: Mapping[str, str], before: Resources, after: Resources) -> set[str]:
    """URNs that are replaced, or may be: with what they are made of, or with the project of their provider."""
    possible = {urn for urn, what in engine.items() if what == REPLACED}
    moved = {urn for urn in after if urn in before and _project(before[urn]) != _project(after[urn])}
    for urn, resource in after.items():  # in the order of the program: what is made of something comes after it
        is_replaced = resource.provider in moved or resource.deleted_with in possible
        if urn in before and (is_replaced or depends_on_replaced(resource, possible, after)):
            possible.add(urn)
    return possible


def _project(resource: RecordedResource) -> object:
    return resource.inputs.get("project") if resource.type == "pulumi:providers:gcp" else None


def _agree(engine: str | None, diff: str | None, *, can_be_replaced: bool, is_component: bool) -> bool:
    """Whether the diff says no less and no more than what the engine does; one line stands for all of a component."""
    if engine is None:
        return diff in (None, KEPT) or is_component or (can_be_replaced if diff == REPLACED else diff in _WITH_OTHERS)
    if diff in (None, KEPT):
        return False
    if engine == REPLACED:
        return diff == REPLACED or is_component
    return diff != REPLACED or can_be_replaced or engine != UPDATED or is_component


_WITH_OTHERS: Final = ("added", "resized", "changed", "renamed", DELETED)
"""What becomes of a pool as a whole; some of its node pools may stay as they are."""
_ELSEWHERE: Final = ("region", "vpc", "kubeconfig")
"""On Alibaba Cloud: inputs of the provider and not of the resource, which cannot move with them."""
