"""Types of the capacity rules: what a pool requests, what its cluster offers, and violations.

Plain values, which the planner fills in from a stack file. None means that Berth chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from berth.catalog import Machine, ProvisioningModel, SliceShape, limits
from berth.diagnostics import Severity
from berth.plan.gke import NO_SETTINGS
from berth.plan.node_settings import Bounds
from berth.spec.machines.pools import NodeSettings

CapacityKind = Literal["on-demand", "spot", "reservation", "flex-start", "queued"]
"""Provisioning models of a pool: how it gets its machines."""

SettingKey = str
"""Key of a pool, a reservation (count, end) or a cluster (version) that causes a violation, as in the stack file."""

DWS: tuple[CapacityKind, ...] = ("flex-start", "queued")
"""Capacities of the Dynamic Workload Scheduler (DWS)."""


MODEL_LABELS: dict[str, str] = {
    "on-demand": "on-demand",
    "spot": "spot",
    "reservation-any": "any-reservation",
    "reservation-specific": "{reservation: <name>}",
    "flex-start": "flex-start",
    "queued": "queued",
}
"""Provisioning model → the value of capacity that requests it."""


class GkeViolation(Struct, frozen=True, kw_only=True):
    """A broken rule: a stable `code`, the `key` that causes it, and a message with the values and the remedy."""

    code: str
    key: SettingKey
    message: str
    severity: Severity = Severity.FAULT


Violations = Iterator[GkeViolation]


def gke_fault(code: str, key: SettingKey, message: str) -> GkeViolation:
    """Return a violation that GKE refuses."""
    return GkeViolation(code=code, key=key, message=message)


def gke_warning(code: str, key: SettingKey, message: str) -> GkeViolation:
    """Return a violation that GKE may refuse, or that has no effect."""
    return GkeViolation(code=code, key=key, message=message, severity=Severity.WARNING)


class ReservationRequest(Struct, frozen=True, kw_only=True):
    """The reservation that a pool uses.

    `form`: own (created by Berth), named (existing), any (one that matches, else on-demand) or any-or-fail. `project`
    is the project that shares it, if another one does. A `sub_block` is part of a `block`. `begins` and `ends` are the
    days between which a reservation with a time window has its machines.
    """

    form: Literal["own", "named", "any", "any-or-fail"]
    name: str | None = None
    project: str | None = None
    block: str | None = None
    sub_block: str | None = None
    begins: str | None = None
    ends: str | None = None

    @property
    def is_specific(self) -> bool:
        """Whether the pool names the reservation."""
        return self.form in ("own", "named")


class ClusterFeatures(Struct, frozen=True, kw_only=True):
    """Features of the cluster that pools rely on. `dcgm` is GKE's managed package of GPU metrics.

    `confidential` is the confidential VM type of every node, if the cluster sets one. `image_streaming` is whether
    containers start before their image is complete. `version` is that of the control plane, None if the channel
    chooses it; `keeps_nodes` is whether an exclusion keeps GKE from upgrading nodes. `compute_domains` is whether it
    has NVIDIA's DRA driver, `channel` the release channel, `only_connects` that others make it and its nodes.
    """

    autopilot: bool = False
    dcgm: bool = False
    confidential: str | None = None
    image_streaming: bool = True
    version: str | None = None
    keeps_nodes: bool = False
    compute_domains: bool = False
    channel: str = "rapid"
    only_connects: bool = False


class PoolRequest(Struct, frozen=True, kw_only=True):
    """One pool as its owner requests it. `nodes` counts the whole pool, over all zones and slices.

    `region` is the cluster's, "" with a fault. `shape` is the slice of a TPU pool. `autoscaled`: the number of nodes
    follows the jobs. `max_run_seconds` limits the lifetime of a node. `auto_provisioned`: GKE creates the pool for
    pending jobs (always on Autopilot), `compute_class`: for jobs that select a ComputeClass. `settings` are the keys
    that describe the nodes.
    """

    machine: Machine
    nodes: Bounds
    capacity: CapacityKind = "on-demand"
    reservation: ReservationRequest | None = None
    max_run_seconds: int | None = None
    shape: SliceShape | None = None
    autoscaled: bool = False
    region: str = ""
    zones: tuple[str, ...] = ()
    auto_provisioned: bool = False
    compute_class: bool = False
    cluster: ClusterFeatures = ClusterFeatures()
    settings: NodeSettings = NO_SETTINGS

    @property
    def uses_dws(self) -> bool:
        """Whether the Dynamic Workload Scheduler provides the machines."""
        return self.capacity in DWS

    @property
    def provisioning_model(self) -> ProvisioningModel:
        """The provisioning model, which selects the column of the availability table."""
        if self.capacity != "reservation":
            return self.capacity
        return "reservation-specific" if self.is_specific else "reservation-any"

    @property
    def node_run_seconds(self) -> int | None:
        """Maximum lifetime of a node in seconds; for flex-start the longest that DWS allows, unless the pool sets one.

        None for a queued pool: there it is a parameter of each job's request.
        """
        if self.capacity == "queued":
            return None
        return self.max_run_seconds or (limits().max_run_seconds if self.capacity == "flex-start" else None)

    @property
    def is_specific(self) -> bool:
        """Whether the machines come from a reservation that the pool names."""
        return self.reservation is None or self.reservation.is_specific

    @property
    def local_ssds(self) -> int | None:
        """Local SSDs of a node that the pool asks for; None if it does not say."""
        ssd = self.settings.local_ssd
        return ssd and (ssd.ephemeral or ssd.block)

    @property
    def driver_version(self) -> str | None:
        """The GPU driver that the pool asks for; None if it does not say."""
        return self.settings.driver_version if "driver_version" in self.settings.model_fields_set else None

    @property
    def made_by_gke(self) -> bool:
        """Whether GKE creates the node pools instead of Berth."""
        return self.auto_provisioned or self.cluster.autopilot

    @property
    def multi_host(self) -> bool:
        """Whether the pool consists of slices of several hosts."""
        return self.shape is not None and self.shape.multi_host

    @property
    def size_key(self) -> SettingKey:
        """The key that sets the size of the pool: slices or nodes."""
        return "slices" if self.shape else "nodes"
