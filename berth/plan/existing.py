"""Existing clusters: one that Berth only connects to, or a GKE cluster in which it makes machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct, field

from berth.plan.gke import AutoProvisioningPlan, CheckpointingPlan, ClusterPlan, ServiceAccountPlan


class ExistingClusterPlan(Struct, frozen=True, kw_only=True):
    """Connection to an existing cluster. Berth creates neither the cluster nor resources in Google Cloud.

    `kubeconfig` is the path of a file (None: the client's default), `secret` the config key with a kubeconfig instead;
    `context` None is the current context. Another `name` means another, empty cluster.
    """

    name: str
    context: str | None
    kubeconfig: str | None = None
    secret: str | None = None
    mode: ClassVar[str] = "existing"

    @property
    def connection(self) -> str | None:
        """Where the kubeconfig comes from: a path, or `berth:<key>` of a secret, which is named and not read."""
        return f"berth:{self.secret}" if self.secret else self.kubeconfig


class ExistingGkeClusterPlan(Struct, frozen=True, kw_only=True):
    """An existing GKE cluster in which Berth makes machines; Berth never changes the cluster.

    `name`, `project` and `location` (a region or a zone) identify it. The other fields are what the stack file states
    or needs of it, which a look-up compares with the cluster (`berth.rules.gke.live_cluster`). None and empty values
    are not compared. `needs` maps what the fleet needs (`workload_pool`, ...) to the reason, a phrase.
    `node_service_account` is created for pools without a service account of their own; None if there is none.
    """

    name: str
    project: str
    location: str
    workload_pool: str
    mode: str = "standard"
    datapath: str | None = None
    zones: tuple[str, ...] = ()
    release_channel: str | None = None
    version: str | None = None
    auto_provisioning: AutoProvisioningPlan | None = None
    pod_range_name: str | None = None
    service_range_name: str | None = None
    service_range: str | None = None
    confidential_nodes: str | None = None
    dns_endpoint: bool | None = None
    security_group: str | None = None
    storage_drivers: tuple[str, ...] = ()
    checkpointing: CheckpointingPlan | None = None
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    node_service_account: ServiceAccountPlan | None = None


def cluster_identifier(plan: ClusterPlan | ExistingClusterPlan | ExistingGkeClusterPlan) -> str:
    """Return an identifier of a cluster that does not depend on its address or certificate."""
    if isinstance(plan, ExistingClusterPlan):
        return plan.name
    return f"{plan.project}/{plan.location}/{plan.name}"
