"""What GKE's ComputeClasses (cloud.google.com/v1) may say: which machines to try, one after the other.

Fields are those of the CRD of GKE's compute-class-api (8067eae, 2026-08-21); one that is None or empty is left to GKE.
"""

from __future__ import annotations

from msgspec import Struct


class ClassGpuPlan(Struct, frozen=True, kw_only=True):
    """GPUs of one node: `driver` is default, latest or autoinstall-disabled."""

    type: str
    count: int
    driver: str = "default"


class ClassTpuPlan(Struct, frozen=True, kw_only=True):
    """Chips of one node, and the slice that it is part of."""

    type: str
    count: int
    topology: str


class ClassReservationPlan(Struct, frozen=True, kw_only=True):
    """One reservation by its name; a sub-block lies in a block."""

    name: str
    project: str | None = None
    block: str | None = None
    sub_block: str | None = None
    zones: tuple[str, ...] = ()


class ClassPriorityPlan(Struct, frozen=True, kw_only=True):
    """One way to get nodes.

    `flex_start` (not with `spot`) takes `max_run_seconds`. `affinity` is None, Specific (with `reservations`),
    AnyBestEffort, AnyThenFail or the word None.
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
    """A ComputeClass, whose node pools GKE makes.

    `when_unsatisfiable` is DoNotScaleUp or ScaleUpAnyway. `service_account` is an address. `migrate_up` moves pods to a
    higher priority once it can be had.
    """

    name: str
    priorities: tuple[ClassPriorityPlan, ...]
    secure_boot: bool | None = None
    when_unsatisfiable: str = "DoNotScaleUp"
    migrate_up: bool | None = None
    consolidation_minutes: int | None = None
    service_account: str | None = None
    image_streaming: bool | None = None
