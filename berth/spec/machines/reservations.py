"""Schema of reservations: created by Berth, existing, or future."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.amounts import MAX_COUNT
from berth.spec.base import (
    MachineType,
    MaintenanceInterval,
    Model,
    NotBlank,
    ProjectId,
    Sequence,
    Text,
    Zone,
    validation_fault,
)
from berth.spec.cluster import Timestamp
from berth.spec.model import Field

Reason = Annotated[str, NotBlank(validation_fault("missing-key", "is empty; write the reason"))]
"""Reason for accepting something that Berth refuses by default."""

ReservationName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a reservation's name: lower-case letters, digits and '-', starting with a letter, at most 63 characters",
    ),
]


class AcceleratorSpec(Model):
    """GPUs attached to a machine without its own (N1), or GPUs or TPU chips of one that Berth's table does not have."""

    type: str
    """Type of the GPU or TPU, the value of its node label, such as `nvidia-tesla-t4`."""
    count: int = Field(ge=1, le=MAX_COUNT)
    """Number of GPUs or chips of each machine."""


class FutureSpec(Model):
    """The time of a reservation that begins later, also of one in the calendar mode of DWS."""

    start: Timestamp
    """Start of the reservation in UTC, in quotes."""
    end: Timestamp
    """End of the reservation in UTC, in quotes."""
    mode: Literal["default", "calendar"] = "default"
    """Future reservation, or calendar mode for at most 90 days."""
    delivered: bool = False
    """Google has created the reservation: write `true` then, so that its pools are created."""


class ReservationSpec(Model):
    """A zonal reservation of machines: one that the fleet creates, or an existing one that it only consumes."""

    machine_type: MachineType
    """Machine type that is reserved; with `chips`, any machine type of the family."""
    accelerator: AcceleratorSpec | None = None
    """GPUs attached to each reserved N1 machine."""
    local_ssd: int | None = Field(default=None, ge=0, le=64)
    """Number of local SSDs of each machine; must equal that of its pools. By default the machine's."""
    zone: Zone
    """Zone of the reserved machines."""
    accept_zone: bool = False
    """Accept a zone in which Google does not list the reserved machine."""
    count: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    """Number of reserved machines. Needed without `chips`."""
    chips: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    """Number of reserved TPU chips, instead of `count`, of a reservation that holds chips of a family and not machines:
    pools of every machine type of the family may use them."""
    accept_overlap: Reason | None = None
    """Accept pools that together can grow above the reservation, and the reason: whichever grows first gets the
    machines. What always runs, fixed numbers and minimums, must fit."""
    maintenance_interval: MaintenanceInterval | None = None
    """How often the hosts of the reserved machines are maintained; must equal that of its pools. A change replaces the
    reservation. By default Google's choice."""
    name: ReservationName | None = None
    """Name of the reservation in Google Cloud. By default `<stack>-<key>`."""
    existing: bool | None = None
    """The reservation exists already, and the fleet only consumes it. By default `true` for TPUs."""
    project: ProjectId | None = None
    """Project that shares the existing reservation."""
    block: ReservationName | None = None
    """Block of the existing reservation."""
    sub_block: ReservationName | None = None
    """Sub-block of the existing reservation."""
    shared_with: Sequence[ProjectId] = ()
    """Other projects that may consume a reservation that Berth creates."""
    future: FutureSpec | None = None
    """The reservation begins later. Its pools scale from zero."""
