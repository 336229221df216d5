"""Buckets that the jobs of a team mount: rights on them, the driver, where their caches are and what they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from berth.diagnostics import FieldPath, Problems, did_you_mean, join_words
from berth.manifests.quantities import quantity
from berth.nodes import pool_nodes
from berth.nodes.sources import node_sources
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import ClusterPlan
from berth.plan.teams import READER_ROLES, BucketMountSpec, TeamPlan
from berth.validation.quota_claims import FleetQuotaClaims

_AMOUNTS = {"memory": "memory", "node-disk": "ephemeral-storage", "local-ssd": "ephemeral-storage"}
"""Medium of a cache → what of the node it takes; a disk of its own takes nothing."""


def check_bucket_mounts(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report mounts of teams that cannot work, or whose caches no node of the team has room for."""
    plan = claims.plan
    for team in plan.teams:
        mounts, path = team.settings.bucket_mounts, ("teams", team.name, "bucketMounts")
        if not mounts:
            continue
        _check_driver(plan, path, problems)
        flavors = {each.flavor for queue in plan.cluster_queues if team.name in queue.teams for each in queue.flavors}
        pools = [pool for pool in plan.pools if pool.flavor in flavors]
        for key, mount in sorted(mounts.items()):
            _check_right(team, (*path, key), mount, problems)
            _check_medium(plan, (*path, key, "fileCache", "medium"), mount, pools, problems)
        if not _differ(path, mounts, problems):
            _check_room(plan, path, mounts, pools, problems)


def _check_driver(plan: FleetPlan, path: FieldPath, problems: Problems) -> None:
    cluster = plan.cluster
    if isinstance(cluster, ClusterPlan) and cluster.mode == "standard" and "gcs-fuse" not in cluster.storage_drivers:
        drivers = ", ".join(sorted(("gcs-fuse", *cluster.storage_drivers)))
        message = "needs the Cloud Storage FUSE driver, which is off"
        problems.fault("bucket-mount", path, f"{message}; write cluster.storageDrivers: [{drivers}]")


def _check_right(team: TeamPlan, path: FieldPath, mount: BucketMountSpec, problems: Problems) -> None:
    """Warn of a bucket on which the team has no role, or one that only reads."""
    buckets: Mapping[str, str] = team.identity.buckets if team.identity is not None else {}
    role = buckets.get(mount.bucket)
    if role is None:
        wanted = "roles/storage.objectViewer" if mount.read_only else "roles/storage.objectUser"
        hint = (
            did_you_mean(mount.bucket, buckets) or f"; write identity.buckets: {{{mount.bucket}: {wanted}}} in the team"
        )
        message = f"the team's identity has no role on '{mount.bucket}', so whether its pods may mount it is not known"
        problems.warning("bucket-mount-right", (*path, "bucket"), message + hint)
    elif role in READER_ROLES and not mount.read_only:
        message = f"{role} lets pods only read '{mount.bucket}'; write readOnly: true, or roles/storage.objectUser"
        problems.warning("bucket-mount-right", (*path, "bucket"), message)


def _check_medium(
    plan: FleetPlan, path: FieldPath, mount: BucketMountSpec, pools: Iterable[PoolPlan], problems: Problems
) -> None:
    """Report local SSDs that nodes of the team lack, and disks that queued machines do not wait for."""
    medium = mount.file_cache.medium if mount.file_cache is not None else None
    without = [pool.name for pool in pools if any(s.ephemeral_ssds == 0 for s in node_sources(plan, pool))]
    if medium == "local-ssd" and without:
        message = f"nodes of {join_words(without)} have no local SSDs for pods, so the cache would be on boot disks"
        problems.fault("bucket-mount", path, f"{message}; write medium: node-disk, or localSsd for these pools")
    queued = [pool.name for pool in pools if pool.capacity == "queued"]
    if medium == "persistent-disk" and queued:
        message = (
            f"GKE makes the disk for a pod that has a node, and nodes of {join_words(queued)} are requested without"
        )
        problems.fault("bucket-mount", path, f"{message} it, so pods can wait forever; write medium: node-disk")


def _differ(path: FieldPath, mounts: Mapping[str, BucketMountSpec], problems: Problems) -> bool:
    """Report mounts of one pod that exclude each other, and return whether their caches do."""
    folders: dict[str, str] = {}
    media: dict[str, str] = {}
    for key, mount in sorted(mounts.items()):
        folder = mount.path or f"/{key}"
        if folder in folders:
            message = f"'{folder}' is the folder of {folders[folder]} too; write another path"
            problems.fault("bucket-mount", (*path, key), message)
        folders.setdefault(folder, key)
        medium = mount.file_cache.medium if mount.file_cache is not None else None
        if medium is not None and media and medium not in media:
            (other, named), *_ = media.items()
            message = f"'{medium}' differs from the {other} of {named}, and a pod has one volume for all its caches"
            problems.fault("bucket-mount", (*path, key, "fileCache", "medium"), f"{message}; write medium: {other}")
        elif medium is not None:
            media.setdefault(medium, key)
    return len({m.file_cache.medium for m in mounts.values() if m.file_cache is not None}) > 1


def _check_room(
    plan: FleetPlan,
    path: FieldPath,
    mounts: Mapping[str, BucketMountSpec],
    pools: Iterable[PoolPlan],
    problems: Problems,
) -> None:
    """Report caches that are larger than what is certain of a node of the team."""
    caches = {key: each.file_cache for key, each in sorted(mounts.items()) if each.file_cache is not None}
    resource = next((_AMOUNTS.get(each.medium) for each in caches.values()), None)
    if resource is None:
        return
    wanted = sum(each.capacity for each in caches.values())
    rooms = {pool.name: [g.least.get(resource) for g in pool_nodes(plan, pool)] for pool in pools}
    small = {name: min(known) for name, amounts in rooms.items() if (known := [a for a in amounts if a is not None])}
    tight = {name: amount for name, amount in small.items() if amount <= wanted}
    if not tight:
        return
    name, amount = min(tight.items(), key=lambda each: each[1])
    most = max(1, amount // 2**30 // 2)
    what = "memory" if resource == "memory" else "storage"
    message = f"its caches of {quantity('memory', wanted)} leave pods nothing of the {what} of a node of {name}, which"
    message += f" is {amount // 2**30}Gi; write a smaller capacity, such as {most}Gi"
    problems.fault("bucket-mount", (*path, next(iter(caches)), "fileCache", "capacity"), message)
