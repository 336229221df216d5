"""What the first `pulumi up` after an import would change, and what Berth does not speak of: nothing is lost unsaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from berth.adopt import rest_fields
from berth.adopt.inventory import Answer, Found, Left, at, name_of, namespace_of, part
from berth.diff.fields import FieldChange, differences
from berth.diff.text import became, value
from berth.diff.update_effects import RECREATE, REPLACE, force
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NodePoolPlan

_DOES = {REPLACE: " (REPLACES it)", RECREATE: " (its nodes are made anew)"}
_NAMED = 5
"""Names of one kind that are listed."""
_SERVED = {"status", "metadata"}
_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "ClusterQueue": {
        "stopPolicy": "None",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "fairSharing": {"weight": "1"},
        "namespaceSelector": {},
    },
    "LocalQueue": {"stopPolicy": "None", "fairSharing": {"weight": "1"}},
    "Cohort": {"fairSharing": {"weight": "1"}},
    "Namespace": {"finalizers": ["kubernetes"]},
    "PriorityClass": {"globalDefault": False, "preemptionPolicy": "PreemptLowerPriority"},
}
"""What Kubernetes and Kueue fill in where nothing is said."""


def told(found: Found, plan: FleetPlan) -> list[Left]:
    """Everything, cluster first; of a cluster that stays whose it is, what lies inside alone."""
    home = plan.cluster
    if not isinstance(home, ClusterPlan):
        return list(_objects(found, plan))
    machines = list(_cluster(found, home))
    planned = {each.name: each for pool in plan.own_pools for each in pool.node_pools}
    planned |= {plan.system_pool.name: plan.system_pool} if plan.system_pool else {}
    for one in found.node_pools:
        if one["name"] in planned:
            machines += _node_pool(one, planned[str(one["name"])], home.node_service_account.email)
    return [*machines, *_objects(found, plan)]


# --- Google Cloud -----------------------------------------------------------------------------------------------------


def _cluster(found: Found, plan: ClusterPlan) -> Iterator[Left]:
    what = f"cluster {found.cluster['name']}"
    seen = rest_fields.observed(rest_fields.CLUSTER, found.cluster, autopilot=found.autopilot)
    yield from _fields(what, seen, plan, "ClusterPlan")
    yield from _unsaid(what, rest_fields.CLUSTER, found.cluster)


def _node_pool(one: Answer, plan: NodePoolPlan, own: str) -> Iterator[Left]:
    what = f"node pool {one['name']}"
    yield from _fields(what, rest_fields.observed(rest_fields.NODE_POOL, one), plan, "NodePoolPlan")
    account = at(one, "config.serviceAccount")
    if account not in (None, own):
        yield Left(what, f"config.serviceAccount {account} → {own}{_DOES[REPLACE]}")
    yield from _unsaid(what, rest_fields.NODE_POOL, one)


def _fields(what: str, seen: Mapping[str, object], plan: object, kind: str) -> Iterator[Left]:
    for field, before in seen.items():
        after = _planned(plan, field)
        after = tuple(sorted(cast("tuple[str, ...]", after))) if isinstance(after, tuple) else after
        before = tuple(sorted(cast("tuple[str, ...]", before))) if isinstance(before, tuple) else before
        if after is None or (not before and not after) or str(before).casefold() == str(after).casefold():
            continue  # what is not said stays as it is
        done = _DOES.get(force(kind, FieldChange(field, before, after)).does, "")
        yield Left(what, f"{field} {became(before, after)}{done}")


def _planned(plan: object, path: str) -> object:
    for step in path.split("."):
        plan = getattr(plan, step, None)
    return plan


def _unsaid(what: str, kind: str, one: Answer) -> Iterator[Left]:
    for path, found in rest_fields.unsaid(kind, one):
        if (wanted := rest_fields.wanted(kind, path)) is not None:
            yield Left(what, f"{path} {became(found, wanted.value)}{_DOES.get(wanted.does, '')}")
        else:
            yield Left(what, f"{path} is {value(found)}, of which a stack file says nothing")


# --- Kubernetes -------------------------------------------------------------------------------------------------------


def _objects(found: Found, plan: FleetPlan) -> Iterator[Left]:
    there = {(str(o["kind"]), namespace_of(o), name_of(o)): o for o in found.objects}
    wanted: dict[tuple[str, str, str], dict[str, Any]] = {}
    for manifest in all_manifests(plan):
        one = cast("dict[str, Any]", manifest)
        wanted[str(one["kind"]), namespace_of(one), name_of(one)] = one
    for key, manifest in wanted.items():
        if key in there:
            what = " ".join((key[0], "/".join(filter(None, key[1:]))))
            yield from (Left(what, line) for line in _changes(there[key], manifest))
    yield from _by_kind((key for key in wanted if key not in there), "is not there, and will be made")
    yield from _by_kind((key for key in there if key not in wanted), "is not Berth's, and is left alone")


def _changes(found: Answer, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Fields that change; labels are told once, for the first import gives them to everything."""
    kind = str(found["kind"])
    labels = part(found["metadata"], "labels")
    missing = [k for k, v in part(manifest["metadata"], "labels").items() if labels.get(k) != v]
    if missing:
        yield f"gets labels: {', '.join(missing)}"
    keys = [key for key in {**found, **manifest} if key not in (*_SERVED, "apiVersion", "kind")]
    before = {key: _said(kind, found.get(key)) or None for key in keys}
    after = {key: _said(kind, manifest.get(key)) or None for key in keys}
    for key in keys:
        known = _DEFAULTS.get(kind, {}).get(key)
        if known is not None:
            before[key] = None if before[key] == known else before[key]
            after[key] = None if after[key] == known else after[key]
    for change in differences(before, after):
        yield f"{change.path} {became(change.before, change.after)}"


def _said(kind: str, value: object) -> object:
    """A part of an object without what the server fills in."""
    if not isinstance(value, Mapping):
        return value
    known = _DEFAULTS.get(kind, {})
    said = cast("Mapping[str, object]", value)
    return {key: inner for key, inner in said.items() if not (key in known and known[key] == inner)}


def _by_kind(keys: Iterable[tuple[str, str, str]], why: str) -> Iterator[Left]:
    kinds: dict[str, list[str]] = {}
    for kind, place, name in keys:
        kinds.setdefault(kind, []).append("/".join(filter(None, (place, name))))
    for kind, names in sorted(kinds.items()):
        some = ", ".join(sorted(names)[:_NAMED]) + (f", … ({len(names)} in all)" if len(names) > _NAMED else "")
        yield Left(f"{kind} {some}", why)
