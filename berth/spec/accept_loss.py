"""What a backend cannot express and a stack file may accept to lose. docs/backends.md says what each word means."""

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
"""Every loss, of both backends."""

AcceptLoss = Annotated[Sequence[BackendLoss], AfterValidator(unique_items)]
