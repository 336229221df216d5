"""Schema of a stack file: one object `berth:fleet`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from berth.spec.base import (
    AcceptLoss,
    DnsLabel,
    DnsName,
    Entry,
    Model,
    ProjectId,
    ProjectNumber,
    Region,
    Section,
    Sequence,
    Text,
    default_field,
)
from berth.spec.cluster import ClusterSpec
from berth.spec.controllers import ControllerSpec, KueueSpec
from berth.spec.machines.compute_classes import ClassName, ComputeClassSpec
from berth.spec.machines.pools import FlavorSpec, PoolName, PoolSpec, Reason
from berth.spec.machines.reservations import ReservationSpec
from berth.spec.model import Field
from berth.spec.monitoring import MonitoringSpec
from berth.spec.teams import CohortSpec, PrioritySpec, SharedQueueSpec, TeamDefaults, TeamSpec
from berth.spec.tenancy import PlatformSpec
from berth.spec.workers import WorkerName, WorkerSpec

CloudLabelKey = Annotated[
    str, Text(r"[a-z][a-z0-9_-]{0,62}", "a label key: lower-case letters, digits, '-' and '_', starting with a letter")
]
CloudLabelValue = Annotated[
    str, Text(r"[a-z0-9_-]{0,63}", "a label value: lower-case letters, digits, '-' and '_', at most 63 characters")
]


_EXISTING = {"type": "object", "required": ["existing"], "properties": {"existing": {"type": "object"}}}
_FRAME: dict[str, Any] = {
    "anyOf": [
        {"required": ["project", "region"]},
        {"required": ["cluster"], "properties": {"cluster": _EXISTING}},
    ]
}
"""Required keys of a fleet, in JSON Schema."""


class FleetSpec(Model):
    """A whole stack file. No value in it can be derived from the others.

    `project` and `region` may be None only for an existing cluster; otherwise `parse` requires them.
    """

    model_config: ClassVar[Mapping[str, Any]] = {**Model.model_config, "json_schema_extra": _FRAME}

    project: ProjectId | None = None
    project_number: ProjectNumber | None = None
    region: Region | None = None
    accept_region: bool = False
    labels: Section[CloudLabelKey, CloudLabelValue] = Field(default_factory=dict)
    protect: bool = True
    cluster: Entry[ClusterSpec] = default_field(ClusterSpec)
    reservations: Section[DnsLabel, ReservationSpec] = Field(default_factory=dict)
    pools: Section[PoolName, PoolSpec] = Field(default_factory=dict)
    compute_classes: Section[ClassName, ComputeClassSpec] = Field(default_factory=dict)
    workers: Section[WorkerName, WorkerSpec] = Field(default_factory=dict, max_length=20)
    flavors: Section[DnsName, Entry[FlavorSpec]] = Field(default_factory=dict)
    kueue: Entry[KueueSpec] = default_field(KueueSpec)
    jobset: Entry[ControllerSpec] = default_field(ControllerSpec)
    monitoring: Entry[MonitoringSpec] = default_field(MonitoringSpec)
    priorities: Section[DnsName, PrioritySpec] = Field(default_factory=dict)
    cohorts: Section[DnsName, Entry[CohortSpec]] = Field(default_factory=dict)
    teams: Section[DnsLabel, TeamSpec] = Field(default_factory=dict)
    team_files: Sequence[str] = ()
    team_defaults: TeamDefaults = Field(default_factory=dict)
    platform: Entry[PlatformSpec] = default_field(PlatformSpec)
    cluster_queues: Section[DnsName, SharedQueueSpec] = Field(default_factory=dict)
    accept_loss: AcceptLoss = ()
    allow_replacement: Section[str, Reason] = Field(default_factory=dict)
    allow_deletion: Section[str, Reason] = Field(default_factory=dict)
    allow_change: Section[str, Reason] = Field(default_factory=dict)
