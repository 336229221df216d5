"""Kubernetes objects that are created, changed field by field, replaced or deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from components.immutable import immutable
from components.manifests import all_manifests
from components.names import TEAM_LABEL
from components.plan.fleet import FleetPlan
from stacks.changes.fields import FieldChange, differences
from stacks.changes.things import CREATED, DELETED, REPLACED, UPDATED

Identity = tuple[str, str, str, str]
_OF_A_QUEUE = ("ClusterQueue", "LocalQueue")
"""Kinds with a team's label whose identity in the program is the queue's name; that of all others holds the team's key,
so that a team under another key deletes and makes them."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """What becomes of one object; `namespace` is "" for what has none. `because` are the fields that cannot change."""

    kind: str
    namespace: str
    name: str
    what: str
    fields: tuple[FieldChange, ...] = ()
    because: tuple[str, ...] = ()


def compare_objects(old: FleetPlan, new: FleetPlan) -> tuple[ObjectChange, ...]:
    """Every object that is not left as it is: what comes or changes in the order of `berth render`, then what goes."""
    before, after = _objects(old), _objects(new)
    found = [_change(key, before.get(key), manifest) for key, manifest in after.items() if before.get(key) != manifest]
    gone = [ObjectChange(*key[:3], DELETED) for key in before if key not in after]
    return (*found, *gone)


def _objects(plan: FleetPlan) -> dict[Identity, dict[str, object]]:
    keys = {team.name: team.key for team in plan.teams}
    return {_identity(manifest, keys): manifest for manifest in all_manifests(plan)}


def _identity(manifest: Mapping[str, object], keys: Mapping[str, str]) -> Identity:
    metadata = cast("dict[str, object]", manifest["metadata"])
    kind, labels = str(manifest["kind"]), cast("dict[str, str]", metadata.get("labels") or {})
    team = "" if kind in _OF_A_QUEUE else labels.get(TEAM_LABEL, "")
    return kind, str(metadata.get("namespace", "")), str(metadata["name"]), keys.get(team, team)


def _change(key: Identity, before: Mapping[str, object] | None, after: Mapping[str, object]) -> ObjectChange:
    if before is None:
        return ObjectChange(*key[:3], CREATED)
    fields = tuple(differences(before, after))
    fixed = [path for path in immutable(after) if any(_within(f.path, path) for f in fields)]
    return ObjectChange(*key[:3], REPLACED if fixed else UPDATED, fields, tuple(fixed))


def _within(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))
