"""Schema of reservations: created by Berth, existing, or future."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.amounts import MAX_COUNT
from berth.spec.base import MachineType, Model, ProjectId, Sequence, Text, Zone
from berth.spec.cluster import Timestamp
from berth.spec.model import Field

ReservationName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a reservation's name: lower-case letters, digits and '-', starting with a letter, at most 63 characters",
    ),
]


class AcceleratorSpec(Model):
    """GPUs attached to a machine without accelerators (N1)."""

    type: str
    count: int = Field(ge=1, le=MAX_COUNT)


class FutureSpec(Model):
    """Time window of a future reservation, or of one in the calendar mode of DWS.

    Google creates the reservation some time after the request. When it is `delivered`, its pools can be created.
    """

    start: Timestamp
    end: Timestamp
    mode: Literal["default", "calendar"] = "default"
    delivered: bool = False


class ReservationSpec(Model):
    """A zonal reservation; `count` is in machines, `localSsd` is per machine.

    Berth creates it, unless it is `existing` (in another `project` if it is shared): then pools only use it, as a whole
    or by `block` and `subBlock`. Reservations of TPUs are `existing` by default.
    """

    machine_type: MachineType
    accelerator: AcceleratorSpec | None = None
    local_ssd: int | None = Field(default=None, ge=0, le=64)
    zone: Zone
    accept_zone: bool = False
    count: int = Field(ge=1, le=MAX_COUNT)
    name: ReservationName | None = None
    existing: bool | None = None
    project: ProjectId | None = None
    block: ReservationName | None = None
    sub_block: ReservationName | None = None
    shared_with: Sequence[ProjectId] = ()
    future: FutureSpec | None = None
