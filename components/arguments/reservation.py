"""Arguments of Reservation. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from berth.spec.fleet import FleetSpec
from berth.spec.machines.reservations import ReservationSpec
from berth.spec.model import Model

from .base import ComponentArguments


class ReservationArgs(ComponentArguments):
    """A zonal reservation of machines, consumed only by pools that name it. With `future` it begins later."""

    models: ClassVar[Sequence[type[Model]]] = (ReservationSpec, FleetSpec)

    machine_type: str
    """Machine type that is reserved; with `chips`, any machine type of the family."""
    project: str
    """Google Cloud project ID, not the number. Required, unless the cluster is an existing one."""
    zone: str
    """Zone of the reserved machines."""
    accelerator: Mapping[str, Any] | None = None
    """GPUs attached to each reserved N1 machine."""
    accept_overlap: str | None = None
    """Accept pools that together can grow above the reservation, and the reason: whichever grows first gets the
    machines. What always runs, fixed numbers and minimums, must fit."""
    accept_zone: bool | None = None
    """Accept a zone in which Google does not list the reserved machine. Default: `false`."""
    chips: int | None = None
    """Number of reserved TPU chips, instead of `count`, of a reservation that holds chips of a family and not machines:
    pools of every machine type of the family may use them."""
    count: int | None = None
    """Number of reserved machines. Needed without `chips`."""
    future: Mapping[str, Any] | None = None
    """The reservation begins later. Its pools scale from zero."""
    local_ssd: int | None = None
    """Number of local SSDs of each machine; must equal that of its pools. By default the machine's."""
    maintenance_interval: Literal["PERIODIC", "AS_NEEDED"] | None = None
    """How often the hosts of the reserved machines are maintained; must equal that of its pools. A change replaces the
    reservation. By default Google's choice."""
    name: str | None = None
    """Name of the reservation in Google Cloud. By default the component's name."""
    protect: bool | None = None
    """Protect the reservation from replacement and deletion. Default: `true`."""
    shared_with: Sequence[str] | None = None
    """Other projects that may consume a reservation that Berth creates."""
