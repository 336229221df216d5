"""Schema of MultiKueue: worker clusters, and how a manager sends jobs to them, with Kueue's own keys."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.diagnostics import join_words
from berth.spec.amounts import Seconds
from berth.spec.base import (
    DnsLabel,
    DnsName,
    Entry,
    Model,
    NonEmptyText,
    ProjectId,
    ProjectNumber,
    Region,
    Section,
    Sequence,
    Text,
    validation_fault,
)
from berth.spec.cluster import ClusterSpec
from berth.spec.machines.compute_classes import ClassName, ComputeClassSpec
from berth.spec.machines.pools import PoolName, PoolSpec, Reason
from berth.spec.machines.reservations import ReservationSpec
from berth.spec.model import Field, check_model

WorkerName = Annotated[
    str,
    Text(
        r"(?=.{1,20}$)[a-z][a-z0-9]*(-[a-z0-9]+)*",
        "a worker's name: lower-case letters, digits and single '-', starting with a letter, at most 20 characters",
    ),
]
StackName = Annotated[
    str,
    Text(
        r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+",
        "a full stack name such as acme/berth/prod (organization/project/stack)",
    ),
]
WorkerIdentifier = Annotated[
    str,
    Text(
        r"berth:[A-Za-z][A-Za-z0-9_-]*|[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+",
        "an earlier value of stack (acme/berth/prod), or an earlier kubeconfig with berth: before it (berth:east)",
    ),
]
TokenDate = Annotated[
    str,
    Text(
        r"20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", 'a date of the form YYYY-MM-DD in quotes, such as "2026-11-22"'
    ),
]
"""Renames the token of the manager's account, so that Kubernetes issues a new one."""
ConfigKey = Annotated[
    str,
    Text(r"[A-Za-z][A-Za-z0-9_-]*", "the name of a Pulumi config key, written without 'berth:', such as kubeconfig"),
]


class WorkerSpec(Model):
    """A cluster that runs jobs of the manager's queues: one that is created, or an existing one."""

    formerly: WorkerName | None = None
    """First key of the worker, after a rename: its cluster and every object in it keep the names that begin with it."""
    project: ProjectId | None = None
    """Project of the worker. By default the fleet's."""
    project_number: ProjectNumber | None = None
    """Number of the worker's project. By default the fleet's."""
    region: Region | None = None
    """Region of the worker. By default the fleet's."""
    cluster: Entry[ClusterSpec | None] = None
    """Settings of a cluster that this stack creates. By default its name is `<stack>-<worker>`."""
    stack: StackName | None = None
    """Instead of `cluster`: `organization/project/stack` of the stack that creates the cluster and installs Kueue; its
    output `kubeconfig` is used. With state in a bucket or directory the organization is `organization`."""
    kubeconfig: ConfigKey | None = None
    """Instead of `cluster`: key of a secret config value (`pulumi config set --secret berth:<key>`) with a
    kubeconfig."""
    identifier: WorkerIdentifier | None = None
    """What identified the cluster when its objects were created: the earlier `stack`, or `berth:<kubeconfig>`. Write it
    when `stack` or `kubeconfig` changes and the cluster remains; otherwise every object in it is replaced. By default
    `stack`, or `berth:<kubeconfig>`."""
    cluster_profile: DnsName | None = None
    """ClusterProfile with which the manager connects, not with an account that Berth creates in the worker."""
    token_date: TokenDate | None = None
    """Date of the manager's token on the worker, in quotes (`"2026-11-22"`). The token does not expire; a new date
    replaces it (docs/security.md#tokens-of-workers)."""
    reservations: Section[DnsLabel, ReservationSpec] = Field(default_factory=dict)
    """Reservations of the worker by key."""
    pools: Section[PoolName, PoolSpec] = Field(default_factory=dict)
    """Machines of the worker by name; for an existing cluster a description of them."""
    compute_classes: Section[ClassName, ComputeClassSpec] = Field(default_factory=dict)
    """Compute classes of the worker by name."""
    allow_replacement: Section[str, Reason] = Field(default_factory=dict)
    """What `allowReplacement` of the fleet allows, for the worker's cluster, pools and reservations."""
    allow_deletion: Section[str, Reason] = Field(default_factory=dict)
    """What `allowDeletion` of the fleet allows, for the worker's cluster, pools and reservations."""
    allow_change: Section[str, Reason] = Field(default_factory=dict)
    """What `allowChange` of the fleet allows, for the worker's cluster, pools and reservations."""

    @check_model
    def _check_one_connection(self) -> WorkerSpec:
        """Check that exactly one connection is set."""
        ways = [key for key in ("cluster", "stack", "kubeconfig") if getattr(self, key) is not None]
        if len(ways) > 1:
            raise validation_fault(
                "contradiction",
                f"{join_words(ways)}: a worker is either created here or existing; write only one of these keys",
            )
        if self.cluster_profile is not None and self.token_date is not None:
            raise validation_fault(
                "contradiction", "tokenDate: with clusterProfile Berth creates no token in the worker; remove tokenDate"
            )
        if self.identifier is not None and self.made_here:
            message = "identifier: a cluster that is created here is identified by its project, region and name; remove"
            raise validation_fault("contradiction", f"{message} identifier")
        if self.cluster is not None and self.cluster.existing is not None:
            raise validation_fault(
                "contradiction", "cluster.existing is not possible in a worker; write kubeconfig: <config key>"
            )
        return self

    @property
    def made_here(self) -> bool:
        """Whether this stack creates the cluster."""
        return self.stack is None and self.kubeconfig is None


Dispatcher = Literal[
    "kueue.x-k8s.io/multikueue-dispatcher-all-at-once", "kueue.x-k8s.io/multikueue-dispatcher-incremental"
]


class IncrementalSpec(Model):
    """Settings of the incremental dispatcher."""

    step_size: int = Field(default=3, ge=1)
    """Number of additional clusters of each round."""


class AccessProviderSpec(Model):
    """A program in Kueue's container that gets credentials."""

    name: NonEmptyText
    """Name of the provider."""
    command: NonEmptyText
    """The program."""
    args: Sequence[str] = ()
    """Arguments of the program."""


class ClusterProfileSpec(Model):
    """How Kueue gets credentials for clusters of a ClusterProfile."""

    access_providers: Sequence[AccessProviderSpec] = Field(min_length=1)
    """Programs in Kueue's container that get credentials."""


class MultiKueueSpec(Model):
    """How jobs are sent to workers. Keys that are left out have Kueue's defaults."""

    dispatcher_name: Dispatcher | None = None
    """Name of the dispatcher: all workers at once, or some more in each round."""
    incremental_dispatcher_config: IncrementalSpec | None = None
    """Settings of the incremental dispatcher."""
    gc_interval: Seconds | None = None
    """Interval at which orphaned objects on workers are deleted."""
    origin: str | None = None
    """Name of this manager in labels on workers."""
    worker_lost_timeout: Seconds | None = None
    """Time after which a worker without connection is lost."""
    cluster_profile: ClusterProfileSpec | None = None
    """How Kueue gets credentials for clusters of a ClusterProfile."""
