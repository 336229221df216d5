"""Schema of a stack file: one object `berth:fleet`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

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


OperatorName = Literal[
    "appwrapper",
    "kuberay",
    "leaderworkerset",
    "mpi-operator",
    "slice-controller",
    "spark-operator",
    "trainer",
    "training-operator",
]
_EXISTING = {"type": "object", "required": ["existing"], "properties": {"existing": {"type": "object"}}}
_FRAME: dict[str, Any] = {
    "anyOf": [
        {"required": ["project", "region"]},
        {"required": ["cluster"], "properties": {"cluster": _EXISTING}},
    ]
}
"""Required keys of a fleet, in JSON Schema. `project` and `region` may be None only for an existing cluster: otherwise
`parse` requires them."""


class FleetMachines(Model):
    """Where a fleet on GKE is, its cluster and its machines."""

    project: ProjectId | None = None
    """Google Cloud project ID, not the number. Required, unless the cluster is an existing one."""
    project_number: ProjectNumber | None = None
    """Number of the project, in quotes. Needed for direct grants to teams."""
    region: Region | None = None
    """Region of the cluster, such as `us-central1`. Required as `project` is."""
    accept_region: bool = False
    """Accept a region, or zones of the cluster, that are newer than Berth's table."""
    labels: Section[CloudLabelKey, CloudLabelValue] = Field(default_factory=dict)
    """Google Cloud labels of the cluster."""
    cluster: Entry[ClusterSpec] = default_field(ClusterSpec)
    """The GKE cluster, or an existing cluster."""
    reservations: Section[DnsLabel, ReservationSpec] = Field(default_factory=dict)
    """Reservations of machines by key."""
    pools: Section[PoolName, PoolSpec] = Field(default_factory=dict)
    """Pools of machines by name."""
    compute_classes: Section[ClassName, ComputeClassSpec] = Field(default_factory=dict)
    """Compute classes by name: ways to get nodes, tried in order."""
    workers: Section[WorkerName, WorkerSpec] = Field(default_factory=dict, max_length=20)
    """Clusters by name that run the jobs of this one's queues (MultiKueue)."""


TeamAllowances = Section[str, Reason]
"""What a team may have beyond its own, each with a reason."""


class AnyFleetSpec(Model):
    """Keys of a fleet on any cloud: the queues, and the teams that use them.

    `placeholders` stand for required keys that are missing or faulty, to parse the rest. Other pools than those of
    `pools` are in `machine_sections`. `stack_noun` is what messages call a stack without the keys of Google Cloud.
    """

    placeholders: ClassVar[Mapping[str, object]] = {}
    machine_sections: ClassVar[tuple[str, ...]] = ()
    stack_noun: ClassVar[str | None] = None
    base: str | None = None
    """The file with what several stacks have in common, from the directory of the nearest Pulumi.yaml above the stack
    file. The stack file overrides it (docs/how-to/environments.md)."""
    without: Sequence[str] = ()
    """What the stack leaves out of its base, as paths such as `pools.h100` or `teams.vision.queues.batch`."""
    protect: bool = True
    """Protect clusters, reservations, accelerator pools and queues with a guarantee from replacement and deletion."""
    flavors: Section[DnsName, Entry[FlavorSpec]] = Field(default_factory=dict)
    """Settings of flavors by name. A flavor exists without an entry here."""
    priorities: Section[DnsName, PrioritySpec] = Field(default_factory=dict)
    """Priorities by name. Each becomes a PriorityClass and a WorkloadPriorityClass."""
    cohorts: Section[DnsName, Entry[CohortSpec]] = Field(default_factory=dict)
    """Cohorts by name: queues in a cohort use each other's idle quota."""
    teams: Section[DnsLabel, TeamSpec] = Field(default_factory=dict)
    """Teams by name, each with its namespaces, identity and queues."""
    team_files: Sequence[str] = ()
    """Globs of files with a `teams:` mapping, relative to the directory of the nearest Pulumi.yaml above the stack
    file."""
    team_defaults: TeamDefaults = Field(default_factory=dict)
    """Keys that every team has unless it writes them itself."""
    cluster_queues: Section[DnsName, SharedQueueSpec] = Field(default_factory=dict)
    """Cluster queues that several teams share, by name."""
    allow_teams: Section[DnsLabel, TeamAllowances] = Field(default_factory=dict)
    """What teams may have beyond their own, by team, each with a reason: `namespaces.<name>` for an existing or shared
    namespace, `queues.<name>` for a queue of every namespace, `podSecurity` for `privileged`, and privileged roles."""
    accept_loss: AcceptLoss = ()
    """Unsupported settings that you accept to lose on this backend (docs/backends.md)."""
    accept_warnings: Section[str, Reason] = Field(default_factory=dict)
    """Warnings that you accept, by the code at the end of their line, each with a reason: they become notes. What is
    unknown, and a placeholder, stays a warning."""


class FleetSpec(FleetMachines, AnyFleetSpec):
    """A fleet of accelerators on GKE, and the Kueue queues of its teams."""

    model_config: ClassVar[Mapping[str, Any]] = {**Model.model_config, "json_schema_extra": _FRAME}
    placeholders: ClassVar[Mapping[str, object]] = {"project": "unknown-project", "region": "us-central1"}
    machine_sections: ClassVar[tuple[str, ...]] = ("workers",)

    kueue: Entry[KueueSpec] = default_field(KueueSpec)
    """Kueue, and its own Configuration."""
    jobset: Entry[ControllerSpec] = default_field(ControllerSpec)
    """The JobSet controller."""
    nvidia_dra_driver: Entry[ControllerSpec] | None = None
    """NVIDIA's DRA driver, with which the pods of a job reach each other over the NVLink of their nodes
    (ComputeDomain), on machines that form NVLink domains. `{}` installs it. By default there is none."""
    operators: Sequence[OperatorName] | None = None
    """Operators in the cluster that Berth does not install, for kinds of jobs beside Job and JobSet, and for dynamic
    slices (`slice-controller`). `[]` says that there is none. By default not known."""
    monitoring: Entry[MonitoringSpec] = default_field(MonitoringSpec)
    """Dashboards and alerts."""
    platform: Entry[PlatformSpec] = default_field(PlatformSpec)
    """The owners of the fleet."""
    allow_replacement: Section[str, Reason] = Field(default_factory=dict)
    """Protected resources that may be replaced, each with a reason: a pool's name, `reservations.<name>`,
    `clusterQueues.<Kueue's name>` or `cluster` (with the queues in it)."""
    allow_deletion: Section[str, Reason] = Field(default_factory=dict)
    """Protected resources that may be deleted, each with a reason, by the names of `allowReplacement`."""
    allow_change: Section[str, Reason] = Field(default_factory=dict)
    """Changes in place that the guard would block (docs/diff.md#the-guard), each with a reason: `protect`, `cluster`,
    `network` or a pool's name."""
