"""Pools for the tests of the rules: one that GKE would take, by machine and capacity, to be changed in one respect."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import Severity
from berth.plan.node_settings import Bounds
from berth.rules.gke.capacity import pool_violations
from berth.rules.gke.pool_request import ClusterFeatures, PoolRequest, ReservationRequest
from berth.spec.machines.pools import GpuSharingSpec, LocalSsdSpec, NodeSettings

ZONE = "us-central1-a"
NAMED = ReservationRequest(form="named", name="held")
READY = ClusterFeatures()
AUTOPILOT = ClusterFeatures(autopilot=True)


def machine(name: str) -> Machine:
    """A machine of the table; `n1` is one with a T4."""
    return catalog.attach_gpus("n1-standard-4", "nvidia-tesla-t4", 1) if name == "n1" else catalog.machines()[name]


def pool(name: str, topology: str | None = None, **changes: Any) -> PoolRequest:
    """A pool of this machine in one zone, with nothing wrong but what the changes make wrong: fields, or settings."""
    row = machine(name)
    output = topology or row.single_host_topology
    shape = catalog.slice_shape(row, output) if output else None
    dws = changes.get("capacity") in ("flex-start", "queued")
    hosts = shape.hosts if shape else 1
    request = PoolRequest(
        machine=row,
        shape=shape,
        nodes=Bounds(min=0 if dws else hosts, max=hosts),
        autoscaled=dws,
        zones=(ZONE,),
        reservation=NAMED if changes.get("capacity") == "reservation" else None,
        cluster=READY,
    )
    settings = {key: value for key, value in changes.items() if key in NodeSettings.model_fields}
    fields = {key: value for key, value in changes.items() if key not in settings}
    return replace(request, **fields, settings=NodeSettings.model_construct(**settings))


shared = GpuSharingSpec.model_construct
"""The key gpuSharing, by time unless another strategy is named; no count of clients is refused."""


def ephemeral_ssds(count: int) -> LocalSsdSpec:
    """The key localSsd with this count, also one that no machine has."""
    return LocalSsdSpec.model_construct(ephemeral=count)


def codes(request: PoolRequest, severity: Severity | None = None) -> set[str]:
    """The codes of what is wrong with a pool, of one severity or of all."""
    return {violation.code for violation in pool_violations(request) if severity in (None, violation.severity)}


def message(request: PoolRequest) -> str:
    """The message about a pool with exactly one fault, after its key."""
    (violation,) = pool_violations(request)
    return f"{violation.key}: {violation.message}"
