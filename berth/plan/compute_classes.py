"""What GKE's ComputeClasses (cloud.google.com/v1) may say: which machines to try, one after the other.

Fields are those of the CRD of GKE's compute-class-api (8067eae, 2026-08-21); one that is None or empty is left to GKE.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.plan.nodes import Taint


class ClassGpuPlan(Struct, frozen=True, kw_only=True):
    """GPUs of one node: `driver` is default, latest or autoinstall-disabled; sharing as GpuSharingPlan has it."""

    type: str
    count: int
    driver: str = "default"
    partition_size: str | None = None
    sharing_strategy: str | None = None
    shared_clients: int | None = None


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

    `nodepools` names node pools that exist, and then nothing else is said. `flex_start` (not with `spot`) takes
    `max_run_seconds`; `recycle_seconds` before a node's end another is looked for. `affinity` is None, Specific (with
    `reservations`), AnyBestEffort, AnyThenFail or the word None. Disks in GB. `placement_policy` names a resource
    policy. Scores are set on all priorities of a class, or on none.
    """

    machine_type: str | None = None
    machine_family: str | None = None
    gpu: ClassGpuPlan | None = None
    tpu: ClassTpuPlan | None = None
    spot: bool | None = None
    flex_start: bool = False
    recycle_seconds: int | None = None
    max_run_seconds: int | None = None
    affinity: str | None = None
    reservations: tuple[ClassReservationPlan, ...] = ()
    nodepools: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    location_policy: str | None = None
    placement_policy: str | None = None
    boot_disk_type: str | None = None
    boot_disk_gb: int | None = None
    local_ssds: int | None = None
    max_pods_per_node: int | None = None
    accelerator_profile: str | None = None
    gpudirect: str | None = None
    score: int | None = None


class ComputeClassPlan(Struct, frozen=True, kw_only=True):
    """A ComputeClass. One called `default` also serves pods that name none, where the cluster has that switched on.

    `when_unsatisfiable` is DoNotScaleUp or ScaleUpAnyway. `auto_creation`: GKE makes the node pools, with the labels,
    taints and settings here; `service_account` is an address. `migrate_up` moves pods to a higher priority once it can
    be had. `autopilot` (which cannot be changed) makes the nodes Autopilot's; None leaves it unsaid.
    """

    name: str
    priorities: tuple[ClassPriorityPlan, ...]
    description: str | None = None
    auto_creation: bool = True
    secure_boot: bool | None = None
    when_unsatisfiable: str = "DoNotScaleUp"
    migrate_up: bool | None = None
    autopilot: bool | None = None
    consolidation_minutes: int | None = None
    zones: tuple[str, ...] = ()
    location_policy: str | None = None
    service_account: str | None = None
    image_streaming: bool | None = None
    auto_repair: bool | None = None
    auto_upgrade: bool | None = None
    confidential: str | None = None
    dra_networking: bool = False
    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
