"""Schema of ComputeClasses: an ordered list of ways to get nodes. Keys are terms of GKE."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from berth.spec.base import MachineType, Model, Sequence, Text, Zones
from berth.spec.machines.capacity import Capacity, CapacityField
from berth.spec.machines.pools import Topology
from berth.spec.machines.reservations import AcceleratorSpec
from berth.spec.model import Field

ClassName = Annotated[
    str,
    Text(
        r"(?!gke|autopilot)[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a compute class's name: lower-case letters, digits and '-', starting with a letter, at most 63 characters, "
        "without the prefixes gke and autopilot, which GKE reserves",
    ),
]


class ClassPrioritySpec(Model):
    """One way to get nodes: the machine and its capacity."""

    machine_type: MachineType
    topology: Topology | None = None
    accelerator: AcceleratorSpec | None = None
    capacity: CapacityField = Field(default=cast("Capacity", "on-demand"), validate_default=True)
    zones: Zones = ()
    accept_zone: bool = False
    driver_version: Literal["default", "latest"] = "default"


class ComputeClassSpec(Model):
    """A ComputeClass: GKE creates node pools by the first of its `priorities` that has capacity."""

    priorities: Sequence[ClassPrioritySpec] = Field(min_length=1, max_length=100)
    node_pool_auto_creation: bool = True
    when_unsatisfiable: Literal["DoNotScaleUp", "ScaleUpAnyway"] = "DoNotScaleUp"
    active_migration: bool | None = None
    consolidation_delay_minutes: int | None = Field(default=None, ge=1, le=1440)
