"""Kubernetes objects that are created, changed field by field, replaced or deleted."""

from __future__ import annotations

import pathlib
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, cast

import yaml
from msgspec import Struct
from msgspec.structs import replace

from berth.diff.fields import FieldChange, differences
from berth.diff.resources import CREATED, DELETED, REPLACED, UPDATED
from berth.manifests import ack
from berth.manifests.fleet import all_manifests
from berth.manifests.immutable import immutable
from berth.manifests.worker_access import credentials
from berth.names import TEAM_LABEL
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import TeamPlan

Plan = FleetPlan | AckFleetPlan

_KINDS = pathlib.Path(__file__).with_name("kinds.yaml")

Manifest = Mapping[str, object]
Identity = tuple[str, str, str, str]
_OF_A_QUEUE = ("ClusterQueue", "LocalQueue")
"""Kinds with a team's label whose identity in the program is the queue's name; that of all others holds the team's key,
so that a team under another key deletes and makes them."""


class ObjectChange(Struct, frozen=True):
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


Keyed = tuple[Identity, Manifest]
"""A manifest by what tells it from others in the program."""


def compare_objects(old: Plan, new: Plan) -> tuple[ObjectChange, ...]:
    """Every object that is not left as it is, by cluster: those of the fleet's own, then those of each worker.

    What comes or changes is in the order of `berth render`, and what goes comes after it.
    """
    if isinstance(old, FleetPlan) and isinstance(new, FleetPlan):
        return tuple(_on_clusters(old, new))
    return compare_keyed(_objects(old), _objects(new))


def _on_clusters(old: FleetPlan, new: FleetPlan) -> Iterator[ObjectChange]:
    before, after = ({worker.name: worker for worker in plan.workers} for plan in (old, new))
    yield from compare_keyed(*_both(old, new))
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one and other and one.way == other.way:
            changed = compare_keyed(*_both(one.plan, other.plan))
        else:  # come, gone, or made by another provider
            gone = compare_keyed(_objects(one.plan), {}) if one else ()
            changed = (*gone, *compare_keyed({}, _objects(other.plan))) if other else gone
        yield from (replace(change, worker=name) for change in changed)


def compare_keyed(before: Mapping[Identity, Manifest], after: Mapping[Identity, Manifest]) -> tuple[ObjectChange, ...]:
    """The same of objects by their identities."""
    found = [_change(key, before.get(key), manifest) for key, manifest in after.items() if before.get(key) != manifest]
    gone = [ObjectChange(*key[:3], DELETED) for key in before if key not in after]
    return (*found, *gone)


def _both(old: FleetPlan, new: FleetPlan) -> tuple[dict[Identity, Manifest], dict[Identity, Manifest]]:
    """The manifests of two plans but for those of teams and queues that are the same in both, as most are."""
    same = _same(old.teams, new.teams), _same(old.cluster_queues, new.cluster_queues)
    return _objects(old, *same), _objects(new, *same)


def _same(old: Iterable[TeamPlan | ClusterQueuePlan], new: Iterable[TeamPlan | ClusterQueuePlan]) -> set[str]:
    before = {each.name: each for each in old}
    return {each.name for each in new if before.get(each.name) == each}


def _objects(plan: Plan, teams: Container[str] = (), queues: Container[str] = ()) -> dict[Identity, Manifest]:
    """Every manifest but those of the `teams` and `queues` named; the Secrets by which a manager reaches its workers
    without what they hold.
    """
    keys = {team.name: team.key for team in plan.teams}
    if isinstance(plan, AckFleetPlan):
        return {_identity(manifest, keys): manifest for manifest in ack.all_manifests(plan)}
    plan = replace(
        plan,
        teams=tuple(team for team in plan.teams if team.name not in teams),
        cluster_queues=tuple(queue for queue in plan.cluster_queues if queue.name not in queues),
    )
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
    fixed = [path for path in unchangeable(after) if any(_within(f.path, path) for f in fields)]
    return ObjectChange(*key[:3], REPLACED if fixed else UPDATED, fields, tuple(fixed))


@cache
def kinds() -> Mapping[str, Mapping[str, Any]]:
    """Kind → its row of kinds.yaml."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(_KINDS.read_text(encoding="utf-8"), loader)


def unchangeable(manifest: Mapping[str, object]) -> list[str]:
    """The fields of an object whose change replaces it: by the component's own asking, and the provider's."""
    return [*immutable(manifest), *kinds().get(str(manifest["kind"]), {}).get("provider", ())]


def _within(path: str, field: str) -> bool:
    """Whether a change of `path` is one of `field`: it lies in it, or holds it."""
    inside = (path, field), (field, path)
    return path == field or any(one.startswith((f"{other}.", f"{other}[")) for one, other in inside)
