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
    """Machine type of this way."""
    topology: Topology | None = None
    """Topology of a TPU slice of this way."""
    accelerator: AcceleratorSpec | None = None
    """GPUs attached to each N1 machine of this way."""
    capacity: CapacityField = Field(default=cast("Capacity", "on-demand"), validate_default=True)
    """How the machines of this way are obtained: `on-demand`, `spot`, `any-reservation`, `any-reservation-then-fail`,
    `flex-start`, or a mapping for a reservation or with settings."""
    zones: Zones = ()
    """Zones of the nodes of this way."""
    accept_zone: bool = False
    """Accept a zone in which Google does not list the machine, as of a pool."""
    driver_version: Literal["default", "latest"] = "default"
    """GPU driver that GKE installs on these nodes."""


class ComputeClassSpec(Model):
    """A ComputeClass. GKE creates node pools by the first of its priorities that is available."""

    priorities: Sequence[ClassPrioritySpec] = Field(min_length=1, max_length=100)
    """Ways to get nodes, in order of preference."""
    node_pool_auto_creation: bool = True
    """Let GKE create the node pools. Must be `true`, because priorities name machines."""
    when_unsatisfiable: Literal["DoNotScaleUp", "ScaleUpAnyway"] = "DoNotScaleUp"
    """What happens when no priority is available: `ScaleUpAnyway` creates nodes without accelerators as a last
    resort."""
    active_migration: bool | None = None
    """Move jobs to a better priority once it is available. By default GKE's choice."""
    consolidation_delay_minutes: int | None = Field(default=None, ge=1, le=1440)
    """How long a node stays idle, in minutes. By default GKE's."""
