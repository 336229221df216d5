"""The nodes that a fleet has: labels, taints and resources, as GKE makes them or as a stack file describes them.

Three answers everywhere: a fact is known, known to be absent, or unknown with the reason. Nothing is assumed of what no
source tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct, field

from berth.nodes.labels import beginnings, why_foreign
from berth.plan.kueue import PODS as PODS
from berth.plan.node_settings import NETWORK_RESOURCE, Bounds, Taint

Maker = Literal["berth", "described", "auto-provisioned", "compute-class", "autopilot"]
"""Who makes nodes: Berth's node pool, somebody else (the stack file describes them), or one of three ways of GKE."""

NODE_POOL: Final = "cloud.google.com/gke-nodepool"
"""Label with the name of a node's node pool."""
HOSTNAME: Final = "kubernetes.io/hostname"
"""Label with the name of the node itself."""
ZONE: Final = "topology.kubernetes.io/zone"
"""Label with the zone of a node."""


class Label(Struct, frozen=True, kw_only=True):
    """What is known of one label key on the nodes of a group.

    `present` None: unknown whether the nodes have it. `values` are those that nodes of the group have: one, or several
    where nodes differ (the node pools of slices); empty if the value is unknown or the label absent. `why` is the
    reason why presence or value is unknown, else "". `begins` are the beginnings that an unknown value may have; empty
    if any may be.
    """

    present: bool | None
    values: tuple[str, ...] = ()
    why: str = ""
    begins: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether the presence or the value is unknown."""
        return self.present is None or (self.present and not self.values)


ABSENT: Final = Label(present=False)
"""A label that the nodes are known to lack."""


class NodeGroup(Struct, frozen=True, kw_only=True):
    """Nodes of one pool in one zone that are alike, except for the names of their node pools and their own names.

    `node_pools` are the names of GKE node pools, empty where GKE or others choose them. A pool of slices has one node
    pool for each slice, and `slices` counts those of the group (0: the nodes are no multi-host slices). `nodes` are the
    bounds of one node pool in this zone; `pool_nodes` those of the whole pool in all its zones. `zone` None: no source
    tells the zone. A compute class has a group for each `priority` (from 1), which share `pool_nodes`.

    `labels` are known; `unknown_labels` maps the key of a label to why its value is unknown, `uncertain_labels` to why
    it is unknown whether nodes have it. A key in none of these is absent if `is_label_closed` says so.

    `allocatable` maps resources to the amount for pods of one node: cpu in milli, memory, storage and huge pages in
    bytes, others as counts; it is the most that Google's published formulas leave. `least` has what of that is certain
    beside the kernel and the system's pods, for resources of which they take a part that no source tells.
    `taken` is the part of `allocatable` that GKE's own pods certainly request: no other pod gets it.
    `held` is the memory that checkpoints may take of a node (multi-tier checkpointing). No amount has it, though the
    scheduler, which does not know of it, would place pods there.
    `unknown_resources` maps a resource to why its amount is unknown; nodes have no others, unless `open_reason` is set:
    then the nodes may have labels, taints and resources that no source tells, for that reason.

    `networks` are names by which one pod of a node can request an additional interface.

    `kept_reason` is set for a node pool that another tool created: it may have labels of that tool, without a domain.

    `parts` maps a label with an unknown value to how many nodes of one node pool share a value (parts of a TPU slice),
    `place` to a name for the one value that all nodes have.

    `device_classes` maps a DeviceClass to the devices of one node, None if unknown. `worker` is the cluster of the
    nodes in a fleet with workers (MultiKueue), whose `pool` is then `worker/pool`: a job runs in one cluster.
    """

    pool: str
    flavor: str
    maker: Maker
    capacity: str
    machine_type: str
    node_pools: tuple[str, ...]
    slices: int
    nodes: Bounds
    pool_nodes: Bounds
    zone: str | None
    priority: int = 1
    arch: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    uncertain_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict[str, int])
    least: Mapping[str, int] = field(default_factory=dict[str, int])
    taken: Mapping[str, int] = field(default_factory=dict[str, int])
    held: Mapping[str, int] = field(default_factory=dict[str, int])
    unknown_resources: Mapping[str, str] = field(default_factory=dict[str, str])
    device_classes: Mapping[str, int | None] = field(default_factory=dict[str, int | None])
    networks: tuple[str, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict[str, int])
    place: Mapping[str, str] = field(default_factory=dict[str, str])
    open_reason: str | None = None
    kept_reason: str | None = None
    worker: str | None = None

    @property
    def max_nodes(self) -> int:
        """The most nodes of the group: those of all its node pools in this zone."""
        return self.nodes.max * max(1, self.slices)

    def label(self, key: str) -> Label:
        """Return what is known of a label key."""
        if key in self.labels:
            return Label(present=True, values=(self.labels[key],))
        if key == NODE_POOL and self.node_pools:
            return Label(present=True, values=self.node_pools)
        if key in self.unknown_labels:
            # An unknown value begins as GKE's do, or those that `render --nodes` simulates.
            of_gke = () if self.maker == "described" else beginnings(key)
            begins = (*of_gke, f"{self.pool.rpartition('/')[2]}-") if of_gke else ()
            return Label(present=True, why=self.unknown_labels[key], begins=begins)
        if key in self.uncertain_labels:
            return Label(present=None, why=self.uncertain_labels[key])
        if self.open_reason is not None:
            return Label(present=None, why=self.open_reason)
        foreign = why_foreign(key) or (self.kept_reason if "." not in key.partition("/")[0] else None)
        return Label(present=None, why=foreign) if foreign else ABSENT

    def amount(self, resource: str) -> int | None:
        """Return the allocatable amount of a resource; 0 if the nodes are known to lack it, None if it is unknown."""
        if resource in self.allocatable:
            return self.allocatable[resource]
        if self.why_unknown(resource):
            return None
        return 0

    def why_unknown(self, resource: str) -> str:
        """Return why the amount of a resource is unknown; "" if it is known."""
        kept = self.kept_reason if resource.startswith(NETWORK_RESOURCE) else None
        return self.unknown_resources.get(resource) or self.open_reason or kept or ""


class FleetNodes(Struct, frozen=True, kw_only=True):
    """All nodes of a fleet on which its flavors place pods, and what the cluster offers beside them.

    `storage_drivers` are names of CSIDrivers, `runtime_classes` and `device_classes` names of such objects.
    `open_reason` is why the cluster may have more than these; None if the lists are whole. A manager of MultiKueue has
    the nodes of all its `workers`, each of which is a cluster with its own drivers and classes.
    """

    groups: tuple[NodeGroup, ...]
    storage_drivers: tuple[str, ...] = ()
    runtime_classes: tuple[str, ...] = ()
    device_classes: tuple[str, ...] = ()
    open_reason: str | None = None
    by_flavor: Mapping[str, tuple[NodeGroup, ...]] = field(default_factory=dict[str, tuple[NodeGroup, ...]])
    workers: Mapping[str, FleetNodes] = field(default_factory=dict[str, "FleetNodes"])
