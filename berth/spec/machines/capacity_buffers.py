"""Schema of capacity buffers: room on nodes that GKE keeps ready for the pods of a team's services."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.amounts import Bytes, MilliCpu
from berth.spec.base import DnsLabel, DnsName, Model, Text, validation_fault
from berth.spec.model import Field, check_model

_DURATION = "([1-9][0-9]{0,5}(h|m|s))+"
Duration = Annotated[str, Text(_DURATION, "a duration such as 5m or 24h")]
Refresh = Annotated[str, Text(f"{_DURATION}|never", "a duration such as 24h, or never")]
MachineFamily = Annotated[str, Text(r"[a-z][a-z0-9]{1,7}", "a machine family such as n2")]
Kind = Annotated[str, Text(r"[A-Z][A-Za-z0-9]{0,62}", "a kind such as Deployment")]
Amount = Annotated[int, Field(ge=1, le=1_000_000)]


class BufferAmountSpec(Model):
    """Amounts of what a unit of a buffer requests. At least one of the keys."""

    accelerators: Amount | None = None
    """Number of accelerators."""
    cpu: MilliCpu | None = None
    """Cores, such as `8` or `"500m"`."""
    memory: Bytes | None = None
    """Memory, such as `32Gi`."""

    @check_model
    def _check_one(self) -> BufferAmountSpec:
        if self.accelerators is None and self.cpu is None and self.memory is None:
            raise validation_fault("missing-key", "needs an amount; write cpu: 4 or accelerators: 1")
        return self


class BufferLimitsSpec(BufferAmountSpec):
    """Amounts of what all units of a buffer request together. At least one of the keys."""


class ScalableRefSpec(Model):
    """A workload with a number of replicas, such as a Deployment, in the namespace of the buffer."""

    kind: Kind
    """Kind of the workload."""
    name: DnsName
    """Name of the workload."""
    api_group: str = "apps"
    """API group of the kind; empty for the core group."""


class CapacityBufferSpec(Model):
    """Room for pods of a team's services that GKE keeps on nodes, beside what runs (docs/serving.md)."""

    pool: str | None = None
    """The pool whose nodes have the room; GKE adds nodes to it, up to its maximum. Standby nodes are in no pool."""
    provisioning_strategy: Literal["active", "standby"] = "active"
    """`active`: the nodes run, and pods start at once. `standby`: node auto-provisioning makes nodes without
    accelerators and suspends them; they cost their disks, and start in about half a minute."""
    machine_family: MachineFamily | None = None
    """Family of standby machines, such as `n2`. By default GKE's choice."""
    namespace: DnsLabel | None = None
    """Namespace of the buffer, one of the team's. By default the first."""
    replicas: int | None = Field(default=None, ge=1, le=10_000)
    """Number of units that are kept. Exactly one of `replicas`, `percentage` and, without `scalableRef`, `limits`."""
    percentage: int | None = Field(default=None, ge=1, le=10_000)
    """Units that are kept for each hundred replicas of the workload in `scalableRef`."""
    limits: BufferLimitsSpec | None = None
    """What all units together may request; without `replicas` as many units as fit."""
    unit: BufferAmountSpec | None = None
    """What one unit requests; needed for nodes without accelerators. By default the accelerators of a whole node."""
    scalable_ref: ScalableRefSpec | None = None
    """The workload whose pods are the unit, instead of `unit`."""
    init_time: Duration | None = None
    """How long a new standby node runs before it is suspended. By default GKE's `5m`."""
    refresh_frequency: Refresh | None = None
    """How often a standby node is made again, or `never`. By default GKE's `24h`."""

    @check_model
    def _check_size(self) -> CapacityBufferSpec:
        if self.replicas is not None and self.percentage is not None:
            raise validation_fault(
                "contradiction",
                "replicas and percentage: sources differ on whether the larger or the smaller one counts; remove one",
            )
        if self.scalable_ref is None:
            if self.percentage is not None:
                message = "percentage: is of a workload's replicas; write scalableRef: {kind: Deployment, name: <name>}"
                raise validation_fault("missing-key", message)
            if self.replicas is None and self.limits is None:
                raise validation_fault("missing-key", "has no size; write replicas: 1")
        elif self.unit is not None:
            raise validation_fault("contradiction", "unit: the pods of scalableRef are the unit; remove unit")
        elif self.replicas is None and self.percentage is None:
            raise validation_fault("missing-key", "has no size; write percentage: 20, or replicas: 1")
        return self

    @check_model
    def _check_strategy(self) -> CapacityBufferSpec:
        if self.provisioning_strategy == "standby":
            if self.pool is not None:
                raise validation_fault(
                    "contradiction",
                    "pool: GKE makes standby nodes itself, in no pool; remove pool, or write provisioningStrategy: "
                    "active",
                )
            if self.unit is not None and self.unit.accelerators is not None:
                raise validation_fault(
                    "capacity-buffer",
                    "unit: GKE does not suspend nodes with accelerators; write cpu, or provisioningStrategy: active",
                )
            return self
        keys = {
            "initTime": self.init_time,
            "refreshFrequency": self.refresh_frequency,
            "machineFamily": self.machine_family,
        }
        if key := next((key for key, value in keys.items() if value is not None), None):
            raise validation_fault(
                "contradiction", f"{key}: is for suspended nodes; remove it, or write provisioningStrategy: standby"
            )
        if self.pool is None:
            raise validation_fault("missing-key", "pool: is missing; write pool: <name>")
        return self
