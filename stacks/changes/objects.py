"""Kubernetes objects that are created, changed field by field, replaced or deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from components.immutable import immutable
from components.kueue.access import credentials
from components.manifests import all_manifests
from components.names import TEAM_LABEL
from components.plan.fleet import FleetPlan
from stacks.changes.fields import FieldChange, differences
from stacks.changes.things import CREATED, DELETED, REPLACED, UPDATED

Manifest = Mapping[str, object]
Identity = tuple[str, str, str, str]
_OF_A_QUEUE = ("ClusterQueue", "LocalQueue")
"""Kinds with a team's label whose identity in the program is the queue's name; that of all others holds the team's key,
so that a team under another key deletes and makes them."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """What becomes of one object; `namespace` is "" for what has none. `because` are the fields that cannot change.

    `worker` is the worker that it stands in, None for the fleet's own cluster.
    """

    kind: str
    namespace: str
    name: str
    what: str
    fields: tuple[FieldChange, ...] = ()
    because: tuple[str, ...] = ()
    worker: str | None = None


def compare_objects(old: FleetPlan, new: FleetPlan) -> tuple[ObjectChange, ...]:
    """Every object that is not left as it is, by cluster: those of the fleet's own, then those of each worker.

    What comes or changes is in the order of `berth render`, and what goes comes after it.
    """
    before, after = ({worker.name: worker for worker in plan.workers} for plan in (old, new))
    found = [*_compare(_objects(old), _objects(new))]
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        sides = _objects(one.plan) if one else {}, _objects(other.plan) if other else {}
        moved = one and other and one.way != other.way
        changed = (*_compare(sides[0], {}), *_compare({}, sides[1])) if moved else _compare(*sides)
        found += [replace(change, worker=name) for change in changed]
    return tuple(found)


def _compare(before: Mapping[Identity, Manifest], after: Mapping[Identity, Manifest]) -> tuple[ObjectChange, ...]:
    found = [_change(key, before.get(key), manifest) for key, manifest in after.items() if before.get(key) != manifest]
    gone = [ObjectChange(*key[:3], DELETED) for key in before if key not in after]
    return (*found, *gone)


def _objects(plan: FleetPlan) -> dict[Identity, Manifest]:
    """Every manifest; the Secrets by which a manager reaches its workers without what they hold."""
    keys = {team.name: team.key for team in plan.teams}
    let_in = (access for worker in plan.workers if (access := worker.plan.manager_access) is not None)
    return {_identity(manifest, keys): manifest for manifest in (*map(credentials, let_in), *all_manifests(plan))}


def _identity(manifest: Manifest, keys: Mapping[str, str]) -> Identity:
    metadata = cast("dict[str, object]", manifest["metadata"])
    kind, labels = str(manifest["kind"]), cast("dict[str, str]", metadata.get("labels") or {})
    team = "" if kind in _OF_A_QUEUE else labels.get(TEAM_LABEL, "")
    return kind, str(metadata.get("namespace", "")), str(metadata["name"]), keys.get(team, team)


def _change(key: Identity, before: Manifest | None, after: Manifest) -> ObjectChange:
    if before is None:
        return ObjectChange(*key[:3], CREATED)
    fields = tuple(differences(before, after))
    fixed = [path for path in immutable(after) if any(_within(f.path, path) for f in fields)]
    return ObjectChange(*key[:3], REPLACED if fixed else UPDATED, fields, tuple(fixed))


def _within(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))
