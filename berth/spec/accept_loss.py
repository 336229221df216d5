"""Features that a backend lacks and whose loss a stack file can accept (docs/backends.md explains them)."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.base import Sequence, unique_items
from berth.spec.core import AfterValidator

BackendLoss = Literal[
    "borrow-within-cohort",
    "default-requests",
    "fair-sharing",
    "flavor-order",
    "flavor-quotas",
    "groups",
    "identity",
    "max-jobs",
    "network-policy",
    "pod-security",
    "preemption",
    "queueing-strategy",
    "reclaim",
    "state",
    "workload-priority",
]
"""Every loss, for both backends."""

AcceptLoss = Annotated[Sequence[BackendLoss], AfterValidator(unique_items)]
