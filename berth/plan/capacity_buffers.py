"""Capacity buffers: room that GKE's autoscaler keeps on nodes of a pool for pods of services."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from berth.plan.nodes import Toleration
from berth.spec.machines.capacity_buffers import CapacityBufferSpec as CapacityBufferSpec


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
