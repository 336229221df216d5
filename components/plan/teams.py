"""What Berth makes for a team: namespace, identity, doors to its queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.plan.gke import ServiceAccountPlan
from components.plan.kueue import LocalQueuePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPlan:
    """Who a team's pods are.

    `service_account` is the Kubernetes account; `roles` are project roles. With `impersonates` they are given to that
    Google service account, which the Kubernetes account may impersonate; without it, to `member` directly.
    """

    service_account: str
    member: str | None
    impersonates: ServiceAccountPlan | None
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPlan:
    """A team: its namespace, its identity and the doors to its queues.

    `guaranteed` sums the nominal quota of the queues that are this team's alone; `ceiling` is the most that all its
    queues could use at once, borrowing included. Both map flavor name to accelerators.
    """

    name: str
    namespace: str
    owns_namespace: bool
    identity: IdentityPlan | None
    local_queues: tuple[LocalQueuePlan, ...]
    guaranteed: Mapping[str, int]
    ceiling: Mapping[str, int]
    labels: Mapping[str, str]
