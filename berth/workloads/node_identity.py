"""Whose rights pods have on the network of their nodes: the nodes', and never the team's (Workload Identity)."""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.jobs.gke_webhooks import FUSE_DRIVER
from berth.manifests.workloads.values import as_mapping
from berth.names import COMPUTE_ENGINE_ACCOUNT
from berth.plan.fleet import PoolPlan
from berth.plan.teams import TeamPlan


def has_grants(team: TeamPlan, account: object = None, volumes: Iterable[object] = ()) -> bool:
    """Whether a team's pods with this service account have rights in Google Cloud that they could miss.

    Cloud Storage FUSE mounts buckets as the pod's own account where one of `volumes` says so (GKE docs on its driver).
    """
    identity = team.identity
    if identity is None or account not in (None, identity.service_account):
        return False  # pods with another account do not have the team's rights on any network
    drivers = [as_mapping(as_mapping(each).get("csi")) for each in volumes]
    attributes = [as_mapping(each.get("volumeAttributes")) for each in drivers if each.get("driver") == FUSE_DRIVER]
    by_driver = bool(attributes) and all(each.get("hostNetworkPodKSA") == "true" for each in attributes)
    has_buckets = bool(identity.buckets) and not by_driver
    return bool(identity.roles or has_buckets or identity.secrets or identity.impersonates is not None)


def node_account(pool: PoolPlan) -> str | None:
    """The service account of the pool's own nodes; None where they run as the cluster's, or as Compute Engine's own."""
    written = next((node_pool.settings.service_account for node_pool in pool.node_pools), None)
    return None if written == COMPUTE_ENGINE_ACCOUNT else written


def keep_identity_remedy(pool: PoolPlan) -> str:
    """What keeps the team's identity, or gives its rights to the nodes of this pool alone."""
    account = f"give them to an account of the pool's own nodes (pools.{pool.name}.serviceAccount)"
    row = catalog.machines().get(pool.machine_type)
    if row is not None and row.dranet:
        return f"write pools.{pool.name}.networking: dranet and remove hostNetwork, or {account}"
    return account
