"""Machines that are spoken for before there is a pool: what is reserved, now or later, and how it is wired."""

from __future__ import annotations

from msgspec import Struct


class AggregatePlan(Struct, frozen=True, kw_only=True):
    """TPU chips reserved as a total, whatever the machines: how v4, v5e and v5p are usually reserved.

    `accelerator_type` is a partial URL, such as projects/P/zones/Z/acceleratorTypes/ct5lp; `vm_family` Google's enum;
    `workload_type` is BATCH for slices of several hosts, SERVING for single hosts.
    """

    accelerator_type: str
    accelerator_count: int
    vm_family: str
    workload_type: str


class FutureReservationPlan(Struct, frozen=True, kw_only=True):
    """A request for machines from `start` until `end` (RFC 3339), which Google grants or declines.

    `mode` is CALENDAR (90 days at the most; what was delivered is deleted at the end) or DEFAULT. Google delivers into
    a reservation called `reservation_name`, made when the request is granted: pools name that one, and cannot exist
    before. Exactly one of `machine_type` (with `count` machines) and `aggregate` is set. `local_ssds` counts
    the local SSDs of a machine. `key` names it within the program and never changes; `name` is Google's.
    `attached_ssds` as of a ReservationPlan.
    """

    key: str
    name: str
    zone: str
    start: str
    end: str
    reservation_name: str
    mode: str = "DEFAULT"
    machine_type: str | None = None
    count: int = 0
    gpu_type: str | None = None
    gpu_count: int = 0
    local_ssds: int = 0
    aggregate: AggregatePlan | None = None
    deployment_type: str | None = None
    share_with: tuple[str, ...] = ()
    protect: bool = True
    attached_ssds: bool = False


class HeldPlan(Struct, frozen=True, kw_only=True):
    """A reservation as its owner wrote it, whoever made it, and the `pools` that take machines from it.

    `key` is the stack file's name for it, `name` Google's; `project`, `block` and `sub_block` say where in somebody
    else's it is. `start`, `end` (RFC 3339) and `mode` are of one that begins later; it is there once it is `delivered`.
    """

    key: str
    name: str
    existing: bool
    project: str | None
    block: str | None
    sub_block: str | None
    machine_type: str
    zone: str
    count: int
    pools: tuple[str, ...]
    start: str | None = None
    end: str | None = None
    mode: str | None = None
    delivered: bool = True


class WorkloadPolicyPlan(Struct, frozen=True, kw_only=True):
    """A resource policy that says how accelerators are wired; pools of one topology in one region may share it.

    Nothing of it can be changed: another topology wants another name.
    """

    key: str
    name: str
    region: str
    accelerator_topology: str


def reservation_path(
    name: str, *, project: str | None = None, block: str | None = None, sub_block: str | None = None
) -> str:
    """The value of an affinity to one reservation: its name, or as much of its path as is needed.

    `project` is set where another project shares it. A sub-block lies in a block, so without `block` it is not said.
    """
    path = name if project is None else f"projects/{project}/reservations/{name}"
    if block is None:
        return path
    path = f"{path}/reservationBlocks/{block}"
    return path if sub_block is None else f"{path}/reservationSubBlocks/{sub_block}"
