"""ComputeClasses of GKE (cloud.google.com/v1): which machines to try, in order.

Fields as in the CRD of GKE's compute-class-api (8067eae, 2026-08-21); GKE chooses those that are None or empty.
"""

from __future__ import annotations

from msgspec import Struct


class ClassGpuPlan(Struct, frozen=True, kw_only=True):
    """GPUs of one node: `driver` is default, latest or autoinstall-disabled."""

    type: str
    count: int
    driver: str = "default"


class ClassTpuPlan(Struct, frozen=True, kw_only=True):
    """Chips of one node, and the topology of its slice."""

    type: str
    count: int
    topology: str


class ClassReservationPlan(Struct, frozen=True, kw_only=True):
    """One reservation by name, optionally limited to a block or sub-block."""

    name: str
    project: str | None = None
    block: str | None = None
    sub_block: str | None = None
    zones: tuple[str, ...] = ()


class ClassPriorityPlan(Struct, frozen=True, kw_only=True):
    """One priority: a way to get nodes.

    `max_run_seconds` applies to `flex_start`, which excludes `spot`. `affinity` is Specific (with `reservations`),
    AnyBestEffort, AnyThenFail, the string "None", or None (not set).
    """

    machine_type: str | None = None
    gpu: ClassGpuPlan | None = None
    tpu: ClassTpuPlan | None = None
    spot: bool | None = None
    flex_start: bool = False
    max_run_seconds: int | None = None
    affinity: str | None = None
    reservations: tuple[ClassReservationPlan, ...] = ()
    zones: tuple[str, ...] = ()


class ComputeClassPlan(Struct, frozen=True, kw_only=True):
    """A ComputeClass, whose node pools GKE creates.

    `when_unsatisfiable` is DoNotScaleUp or ScaleUpAnyway. `service_account` is an email address. `migrate_up` moves
    pods to a higher priority once that is available.
    """

    name: str
    priorities: tuple[ClassPriorityPlan, ...]
    secure_boot: bool | None = None
    when_unsatisfiable: str = "DoNotScaleUp"
    migrate_up: bool | None = None
    consolidation_minutes: int | None = None
    service_account: str | None = None
    image_streaming: bool | None = None
