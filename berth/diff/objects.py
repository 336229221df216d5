"""Kubernetes objects that are created, changed field by field, replaced or deleted."""

from __future__ import annotations

import pathlib
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.fields import FieldChange, compare_fields
from berth.diff.kinds import ChangeKind
from berth.manifests import immutable
from berth.manifests.fleet import all_manifests
from berth.manifests.releases import stays
from berth.manifests.worker_access import kubeconfig_secret
from berth.names import TEAM_LABEL
from berth.plan.fleet import FleetPlan, cluster_identifier
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import TeamPlan
from berth.resource import ResourceKind
from berth.yaml_loader import load_table

_KIND_TABLE = pathlib.Path(__file__).with_name("kinds.yaml")

Manifest = Mapping[str, object]
ObjectKey = tuple[str, str, str, str]
_QUEUE_KINDS = ("ClusterQueue", "LocalQueue")
"""Kinds with a team's label that Pulumi identifies by the queue's name. All others are identified by the team's key, so
that they are deleted and created when the key changes."""


class ObjectChange(Struct, frozen=True):
    """A changed object; `namespace` is "" for a cluster-scoped one.

    `because` are immutable fields that change, or the cluster or fleet if the object moves to another one.
    `worker` is the worker that has the object, None for the fleet's own cluster.
    """

    kind: str
    namespace: str
    name: str
    what: ChangeKind
    fields: tuple[FieldChange, ...] = ()
    because: tuple[str, ...] = ()
    worker: str | None = None

    @property
    def is_moved(self) -> bool:
        """Whether the object moves to another cluster or fleet."""
        return self.because in ((ResourceKind.CLUSTER,), (ResourceKind.FLEET,))


KeyedManifest = tuple[ObjectKey, Manifest]
"""A manifest with its identity in the Pulumi program."""


class ClusterObjects(Struct, frozen=True):
    """The objects of one cluster before and after a change, without those of teams and queues that are equal in both.

    `worker` is the worker that the cluster is, None for the fleet's own. `is_moved` if it becomes another cluster.
    `kueue` is the release of Kueue after the change, if it is known.
    """

    worker: str | None
    before: Mapping[ObjectKey, Manifest]
    after: Mapping[ObjectKey, Manifest]
    is_moved: bool
    kueue: str | None = None


def render_clusters(
    old: FleetPlan, new: FleetPlan, replaced_clusters: Container[str] = ()
) -> tuple[ClusterObjects, ...]:
    """Return the objects of the fleet's own cluster, then those of each worker.

    `replaced_clusters` are names of workers, "" for the fleet's own cluster: every object in one is replaced.
    """
    is_moved = "" in replaced_clusters or cluster_identifier(old.cluster) != cluster_identifier(new.cluster)
    clusters = [_render_cluster(None, old, new, is_moved=is_moved)]
    before, after = ({worker.name: worker for worker in plan.workers} for plan in (old, new))
    for name in sorted(before.keys() | after.keys()):
        old_worker, new_worker = before.get(name), after.get(name)
        plans = old_worker and old_worker.plan, new_worker and new_worker.plan
        identifiers = {worker.cluster_identifier for worker in (old_worker, new_worker) if worker}
        is_moved = name in replaced_clusters or len(identifiers) > 1
        clusters.append(_render_cluster(name, *plans, is_moved=is_moved))
    return tuple(clusters)


def _render_cluster(
    worker: str | None, old: FleetPlan | None, new: FleetPlan | None, *, is_moved: bool
) -> ClusterObjects:
    if old is None or new is None or is_moved:
        before, after = (_manifests_by_key(plan) if plan else {} for plan in (old, new))
        return ClusterObjects(worker, before, after, is_moved=True)
    # Without teams and queues that are equal in both, for speed.
    unchanged = _unchanged_names(old.teams, new.teams), _unchanged_names(old.cluster_queues, new.cluster_queues)
    before, after = (_manifests_by_key(plan, *unchanged) for plan in (old, new))
    return ClusterObjects(worker, before, after, is_moved=False, kueue=new.kueue_release)


def compare_objects(old: FleetPlan, new: FleetPlan, clusters: Iterable[ClusterObjects]) -> tuple[ObjectChange, ...]:
    """Return every changed object of the plans' `clusters`: created and changed ones, followed by deleted ones."""
    return tuple(_compare_clusters(old, new, clusters))


def _compare_clusters(old: FleetPlan, new: FleetPlan, clusters: Iterable[ClusterObjects]) -> Iterator[ObjectChange]:
    for cluster in clusters:
        changed = (
            moved_objects(cluster.before, cluster.after)
            if cluster.is_moved
            else compare_manifests(cluster.before, cluster.after, cluster.kueue)
        )
        if cluster.worker is None:
            yield from _with_protection(changed, old, new)
        else:
            yield from (replace(change, worker=cluster.worker) for change in changed)


def _with_protection(changed: Iterable[ObjectChange], old: FleetPlan, new: FleetPlan) -> Iterator[ObjectChange]:
    """Yield the changes, and a change for each queue whose protection is switched on or off."""
    before, after = ({queue.name: queue.protect for queue in plan.cluster_queues} for plan in (old, new))
    flipped = {
        name: FieldChange("protect", before[name], is_protected)
        for name, is_protected in after.items()
        if before.get(name, is_protected) != is_protected
    }
    for change in changed:
        field = flipped.pop(change.name, None) if change.kind == "ClusterQueue" else None
        yield replace(change, fields=(*change.fields, field)) if field else change
    for name, field in flipped.items():
        yield ObjectChange("ClusterQueue", "", name, ChangeKind.UPDATED, (field,))


def moved_objects(
    before: Mapping[ObjectKey, Manifest],
    after: Mapping[ObjectKey, Manifest],
    because: ResourceKind = ResourceKind.CLUSTER,
) -> Iterator[ObjectChange]:
    """Compare objects of two clusters: an object in both is deleted in the old one and created in the new one."""
    changes = {(each.kind, each.namespace, each.name): each for each in compare_manifests(before, after)}
    for key in after:
        change = changes.pop(key[:3], None) or ObjectChange(*key[:3], ChangeKind.REPLACED)
        yield replace(change, what=ChangeKind.REPLACED, because=(because,)) if key in before else change
    yield from (replace(each, what=ChangeKind.DELETED) for each in changes.values())  # also what stays otherwise


def compare_manifests(
    before: Mapping[ObjectKey, Manifest], after: Mapping[ObjectKey, Manifest], kueue: str | None = None
) -> tuple[ObjectChange, ...]:
    """Compare manifests by identity. `kueue` is the release of Kueue that serves them after the change."""
    changed = [
        _compare_object(key, before.get(key), manifest, kueue)
        for key, manifest in after.items()
        if before.get(key) != manifest
    ]
    left = [
        ObjectChange(*key[:3], ChangeKind.UNMANAGED if stays(manifest) else ChangeKind.DELETED)
        for key, manifest in before.items()
        if key not in after
    ]
    return (*changed, *left)


def _unchanged_names(
    old: Iterable[TeamPlan | ClusterQueuePlan], new: Iterable[TeamPlan | ClusterQueuePlan]
) -> set[str]:
    before = {each.name: each for each in old}
    return {each.name for each in new if before.get(each.name) == each}


def _manifests_by_key(
    plan: FleetPlan, teams: Container[str] = (), queues: Container[str] = ()
) -> dict[ObjectKey, Manifest]:
    """Return every manifest except those of `teams` and `queues`; worker kubeconfig Secrets are without data."""
    plan_without = replace(
        plan,
        teams=tuple(team for team in plan.teams if team.name not in teams),
        cluster_queues=tuple(queue for queue in plan.cluster_queues if queue.name not in queues),
    )
    manager_access = (access for worker in plan.workers if (access := worker.plan.manager_access) is not None)
    homes = {place.name: team.home(place.name) for team in plan.teams for place in team.namespaces}
    return keyed_manifests((*map(kubeconfig_secret, manager_access), *all_manifests(plan_without)), plan.teams, homes)


def keyed_manifests(
    manifests: Iterable[Manifest], teams: Iterable[TeamPlan], homes: Mapping[str, str] | None = None
) -> dict[ObjectKey, Manifest]:
    """Return the manifests by their identity in the program, with a team's key or what `homes` has of a namespace."""
    keys = {team.name: team.key for team in teams}
    return {_object_key(manifest, keys, homes or {}): manifest for manifest in manifests}


def _object_key(manifest: Manifest, keys: Mapping[str, str], homes: Mapping[str, str]) -> ObjectKey:
    metadata = cast("dict[str, object]", manifest["metadata"])
    kind, labels = str(manifest["kind"]), cast("dict[str, str]", metadata.get("labels") or {})
    team = "" if kind in _QUEUE_KINDS else labels.get(TEAM_LABEL, "")
    place = str(metadata["name"] if kind == "Namespace" else metadata.get("namespace", ""))
    home = homes.get(place, keys.get(team, team)) if team else ""
    return kind, str(metadata.get("namespace", "")), str(metadata["name"]), home


def _compare_object(key: ObjectKey, before: Manifest | None, after: Manifest, kueue: str | None) -> ObjectChange:
    if before is None:
        return ObjectChange(*key[:3], ChangeKind.CREATED)
    fields = tuple(compare_fields(before, after))
    because = tuple(
        path
        for path in (*immutable.immutable_paths(after, kueue), *load_kinds().get(key[0], {}).get("provider", ()))
        if any(_contains(f.path, path) or _contains(path, f.path) for f in fields)
    )
    return ObjectChange(*key[:3], ChangeKind.REPLACED if because else ChangeKind.UPDATED, fields, because)


@cache
def load_kinds() -> Mapping[str, Mapping[str, Any]]:
    """Return kind → its row of kinds.yaml."""
    return load_table(_KIND_TABLE)


def _contains(path: str, other: str) -> bool:
    return other == path or other.startswith((f"{path}.", f"{path}["))
