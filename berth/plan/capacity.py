"""Reserved machines and guarantees, now or at other times, workload policies for how accelerators are wired, and room
that GKE's autoscaler keeps for pods of services.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from berth.plan.node_settings import Toleration
from berth.spec.machines.capacity_buffers import CapacityBufferSpec as CapacityBufferSpec


class AggregatePlan(Struct, frozen=True, kw_only=True):
    """TPU chips reserved as a total, independent of machine types, as usual for v4, v5e and v5p.

    `accelerator_type` is a partial URL, such as projects/P/zones/Z/acceleratorTypes/ct5lp; `vm_family` is Google's
    enum; `workload_type` is BATCH for slices of several hosts, and SERVING for single hosts.
    """

    accelerator_type: str
    accelerator_count: int
    vm_family: str
    workload_type: str


class FutureReservationPlan(Struct, frozen=True, kw_only=True):
    """A request for machines from `start` to `end` (RFC 3339), which Google approves or declines.

    `mode` is CALENDAR (at most 90 days; the reservation is deleted at the end) or DEFAULT. On approval Google creates
    the reservation `reservation_name`, which pools refer to; they cannot exist before. Exactly one of `machine_type`
    (with `count` machines) and `aggregate` is set. `local_ssds` counts the local SSDs of a machine. `key` is its name
    in the Pulumi program and never changes; `name` is its name in Google Cloud.
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
    maintenance_interval: str | None = None


class HeldPlan(Struct, frozen=True, kw_only=True):
    """Summary of a reservation, created by Berth or existing, and the `pools` that use it.

    `key` is its name in the stack file, `name` that in Google Cloud; `project`, `block` and `sub_block` locate machines
    in an existing one. It has `count` machines or, of a TPU family, `chips`; the other one is None. `start`, `end`
    (RFC 3339) and `mode` are set for a future one, which exists once it is `delivered`. Its pools together may
    grow above it if they `may_overlap`.
    """

    key: str
    name: str
    existing: bool
    project: str | None
    block: str | None
    sub_block: str | None
    machine_type: str
    zone: str
    count: int | None
    pools: tuple[str, ...]
    start: str | None = None
    end: str | None = None
    mode: str | None = None
    delivered: bool = True
    chips: int | None = None
    may_overlap: bool = False


class WorkloadPolicyPlan(Struct, frozen=True, kw_only=True):
    """A workload policy that determines how accelerators are wired; pools of one topology and region may share it.

    All fields are immutable, so another topology needs another name. `topology_mode` PROVISION_ONLY leaves the
    accelerators unconnected until a slice is formed; None connects them.
    """

    key: str
    name: str
    region: str
    accelerator_topology: str
    topology_mode: str | None = None


def reservation_path(
    name: str, *, project: str | None = None, block: str | None = None, sub_block: str | None = None
) -> str:
    """Return the value of an affinity to one reservation: its name, or the necessary part of its path.

    `project` is set if another project shares it. `sub_block` is ignored without `block`, which contains it.
    """
    path = name if project is None else f"projects/{project}/reservations/{name}"
    if block is None:
        return path
    path = f"{path}/reservationBlocks/{block}"
    return path if sub_block is None else f"{path}/reservationSubBlocks/{sub_block}"


class GuaranteeWindow(Struct, frozen=True):
    """A time with another guarantee, in accelerators: as written, from `start` (None: always) until `end` (None: ever).

    Times without a zone are of `time_zone`. With a `recurrence` (RFC 5545) they are those of the first window.
    """

    guaranteed: int
    start: str | None = None
    end: str | None = None
    time_zone: str = "UTC"
    recurrence: str | None = None


class TimedGuarantee(Struct, frozen=True):
    """A guarantee with windows: whose, of which flavor, and how much at every `other` time.

    `holder` is `team/queue`, a shared queue, or `cohort <name>`, which has no `teams` and no cluster `queue`.
    """

    holder: str
    teams: tuple[str, ...]
    flavor: str
    noun: str
    other: int
    windows: tuple[GuaranteeWindow, ...]
    queue: str = ""


class CapacityBufferPlan(Struct, frozen=True, kw_only=True):
    """A CapacityBuffer in a namespace of a team, and the PodTemplate of one unit of it.

    `settings` are the keys of the stack file. `requests` maps resources to what one unit requests (cpu in milli, memory
    in bytes); empty where a workload's pods are the unit. Units select `node_labels` and tolerate `tolerations` as pods
    of `queue` do, a local queue; None where pods are not queued. `flavor` is that of the pool. `units`, and the `nodes`
    of the pool that they take whole or in part with all their `accelerators` (cores for nodes without), are None where
    they depend on a workload, or on a machine that GKE chooses.
    """

    name: str
    namespace: str
    settings: CapacityBufferSpec
    flavor: str | None = None
    queue: str | None = None
    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerations: tuple[Toleration, ...] = ()
    requests: Mapping[str, int] = field(default_factory=dict[str, int])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    units: int | None = None
    nodes: int | None = None
    accelerators: int | None = None

    @property
    def pool(self) -> str | None:
        """The pool whose nodes have the room; None for standby nodes, which are in none."""
        return self.settings.pool

    @property
    def is_standby(self) -> bool:
        """Whether the nodes are suspended."""
        return self.settings.provisioning_strategy == "standby"


def kept_nodes(buffers: Iterable[CapacityBufferPlan], pool: str) -> int:
    """Return how many nodes of a pool are known to be kept ready and running."""
    return sum(each.nodes or 0 for each in buffers if each.pool == pool)


def kept_accelerators(buffers: Iterable[CapacityBufferPlan], flavor: str) -> int:
    """Return how many accelerators of a flavor are known to be kept ready; cores of nodes without."""
    return sum(each.accelerators or 0 for each in buffers if each.flavor == flavor)
