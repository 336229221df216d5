"""Existing clusters, which Berth connects to and does not create."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from berth.plan.gke import ClusterPlan


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


def cluster_identifier(plan: ClusterPlan | ExistingClusterPlan) -> str:
    """Return an identifier of a cluster that does not depend on its address or certificate."""
    if isinstance(plan, ExistingClusterPlan):
        return plan.name
    return f"{plan.project}/{plan.location}/{plan.name}"
