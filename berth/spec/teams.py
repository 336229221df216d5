"""Schema of queueing: priorities, cohorts, teams, queues. Keys are terms of Kueue."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic_core import CoreSchema

from berth.spec.amounts import ZERO_AMOUNT, AmountField, Bytes, LimitField, MilliCpu
from berth.spec.base import (
    DnsLabel,
    DnsName,
    Model,
    NullIsEmpty,
    Section,
    Sequence,
    Text,
    default_field,
    unique_items,
)
from berth.spec.cluster import Recurrence
from berth.spec.core import AfterValidator, Handler, SchemaBuilder, with_json_schema
from berth.spec.machines.capacity_buffers import CapacityBufferSpec
from berth.spec.model import Field
from berth.spec.sentences import key_sentences
from berth.spec.tenancy import TenancySpec

QueueName = DnsLabel


class CompletedByDefaults:
    """Metadata of a team's queue: `teamDefaults` may have its required keys, and an empty entry removes a default."""

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Change only the JSON Schema: Berth validates a queue with its defaults."""
        return with_json_schema(inner(), self._json_schema)

    def _json_schema(self, core: Any, generate: Handler) -> Any:
        return {"anyOf": [generate(core), {"type": "null"}]}


class PrioritySpec(Model):
    """A priority of pods and of queueing: a PriorityClass and a WorkloadPriorityClass of one name."""

    value: int = Field(ge=-1_000_000_000, le=1_000_000_000)
    """A higher value is admitted first."""
    default: bool = False
    """Make it the priority of pods that name none. At most one."""
    preempts: bool = True
    """Let its pods preempt pods of lower priority, beside Kueue: also those of other teams' guaranteed jobs, so write
    `false` where teams share machines."""
    description: str = Field(default="", max_length=2048)
    """Description of the PriorityClass."""


class PerAcceleratorSpec(Model):
    """The cpu and memory quota that comes with each accelerator. By default the machine's share."""

    cpu: MilliCpu | None = None
    """Cores for each accelerator, such as `8` or `"500m"`."""
    memory: Bytes | None = None
    """Memory for each accelerator, such as `64Gi`."""


Moment = Annotated[
    str,
    Text(
        r"20[0-9]{2}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?",
        'a day or a time, in quotes, such as "2026-12-05" or "2026-12-05T18:00"',
    ),
]
TimeZone = Annotated[str, Text(r"[A-Za-z][A-Za-z0-9_+/-]*", "a time zone such as Europe/Berlin, or UTC")]


class GuaranteeWindowSpec(Model):
    """A time in which another amount is guaranteed."""

    guaranteed: AmountField
    """What is guaranteed in the window, instead of the `guaranteed` beside `windows`."""
    from_: Moment | None = Field(default=None, alias="from")
    """Begin, in quotes: a day (its beginning) or a time, in `timeZone` unless it ends in `Z` or an offset. By default
    the window has always been open."""
    until: Moment | None = None
    """End, in quotes, as `from`: the first instant after the window. By default the window stays open."""
    time_zone: TimeZone = "UTC"
    """Time zone of `from` and `until`, such as `Europe/Berlin`. A recurring window keeps its time of day there when
    clocks change."""
    recurrence: Recurrence | None = None
    """Recurrence rule (RFC 5545) of a window whose first time is `from` to `until`, spelled as that of
    `cluster.maintenance.window`: `FREQ=WEEKLY;BYDAY=SA,SU`, daily or weekly, with `UNTIL=20270331` to end it."""


class QuotaSpec(Model):
    """A quota of one pool or flavor."""

    pool: str | None = None
    """Name of the pool. Exactly one of `pool` and `flavor`."""
    flavor: str | None = None
    """Name of the flavor."""
    guaranteed: AmountField = Field(default_factory=lambda: ZERO_AMOUNT, json_schema_extra={"default": 0})
    """Guaranteed amount: a number of accelerators, or text such as `2 slices`, `4 nodes`, `25%` or `all`."""
    borrow: LimitField | None = None
    """Maximum of what may be borrowed, as `guaranteed`, or `unlimited`. By default nothing."""
    lend: AmountField | None = None
    """Maximum of what may be lent, as `guaranteed`. By default all."""
    windows: Sequence[GuaranteeWindowSpec] = Field(default=(), max_length=64)
    """Times in which another amount is guaranteed; they must not overlap. A boundary takes effect with the `pulumi up`
    after it (docs/how-to/guarantees-in-time.md)."""
    per_accelerator: PerAcceleratorSpec | None = None
    """Quota of cpu and memory that comes with each accelerator of this quota. By default the queue's or cohort's."""


class CohortSpec(Model):
    """A cohort of queues, and of cohorts below it, that use each other's idle quota."""

    parent: DnsName | None = None
    """The parent cohort."""
    flavors: Sequence[QuotaSpec] = Field(default=(), max_length=64)
    """Limits for everything below together. A flavor without an entry has no limit here. `guaranteed` is by default the
    sum below; more is the cohort's own, for any queue below."""
    per_accelerator: PerAcceleratorSpec | None = None
    """Quota of cpu and memory that comes with each accelerator of the cohort's own quota."""
    fair_share_weight: float | None = Field(default=None, ge=0, le=1_000_000)
    """Weight among the cohorts and queues below its parent, under fair sharing. By default Kueue's 1."""


class BorrowWithinCohortSpec(Model):
    """When a queue may preempt workloads in order to borrow."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    """Whether the queue may preempt at all in order to borrow."""
    max_priority_threshold: int | None = Field(default=None, ge=-(2**31), le=2**31 - 1)
    """Only workloads up to this priority are preempted."""


class PreemptionSpec(Model):
    """Which workloads a queue may preempt."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] | None = None
    """Preemption of workloads of the same queue. By default `LowerPriority`; `Never` in a stack without `priorities` if
    all flavors of the queue are queued machines, which a preempted job would have to wait for again."""
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] | None = None
    """Preemption of workloads that borrow the queue's quota. By default `Any` in a cohort."""
    borrow_within_cohort: BorrowWithinCohortSpec | None = None
    """Preemption of workloads in order to borrow."""


class FlavorFungibilitySpec(Model):
    """Whether a job borrows or preempts on a flavor before Kueue tries the next one."""

    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] | None = None
    """What happens where the job could borrow."""
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor"] | None = None
    """What happens where the job could preempt."""
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None
    """Which of the two is preferred if `TryNextFlavor` is set for both."""


class AdmissionScopeSpec(Model):
    """Whether local queues of a cluster queue take turns by past use."""

    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]
    """Turns by past use, or none."""


class QueueSpec(Model):
    """A cluster queue of a team, with a local queue in each of its namespaces."""

    formerly: DnsName | None = None
    """First key of the queue, after a rename."""
    name: DnsName | None = None
    """Name of the ClusterQueue, if others depend on it. By default `<team>-<queue>`."""
    local_queue: DnsLabel | None = None
    """Name of the LocalQueue, if others depend on it. By default the queue's key."""
    flavors: Sequence[QuotaSpec] = Field(min_length=1, max_length=64)
    """Quotas, in order of preference."""
    queueing_strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    """Order of admission."""
    preemption: PreemptionSpec = default_field(PreemptionSpec)
    """Which workloads the queue may preempt."""
    flavor_fungibility: FlavorFungibilitySpec | None = None
    """Whether a job borrows or preempts on a flavor before the next one is tried. By default Kueue's."""
    priority: str | None = None
    """The priority that workloads of the queue should have."""
    max_jobs: int | None = Field(default=None, ge=1, le=1_000_000_000)
    """Maximum of jobs that run at once; not supported by Kueue (docs/backends.md)."""
    per_accelerator: PerAcceleratorSpec | None = None
    """Quota of cpu and memory that comes with each accelerator of the queue. By default the machine's share."""
    namespaces: Literal["all"] | None = None
    """`all` admits from every namespace. By default the team's."""
    admission_scope: AdmissionScopeSpec | None = None
    """Whether local queues take turns by past use. By default Kueue's."""
    local_queue_weights: Section[DnsLabel, Annotated[float, Field(ge=0, le=1_000_000)]] = Field(default_factory=dict)
    """Weights of local queues by team or namespace, where they take turns by past use: with 2 the use counts half. By
    default Kueue's 1."""
    stop_policy: Literal["None", "Hold", "HoldAndDrain"] | None = None
    """`Hold` admits no new job, `HoldAndDrain` also evicts running jobs."""
    fair_share_weight: float | None = Field(default=None, ge=0, le=1_000_000)
    """Weight of the queue under fair sharing. By default Kueue's 1."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Handler) -> Any:
        """Return the schema; a team's queue may have its flavors from `teamDefaults`."""
        reference = handler(core)
        if cls is QueueSpec:
            cast("Any", handler).resolve_ref_schema(reference)["required"] = []
        return reference


class SharedQueueSpec(QueueSpec):
    """A cluster queue that several teams share, with a local queue in the namespaces of each."""

    teams: Annotated[Sequence[str], AfterValidator(unique_items)] = Field(min_length=1)
    """The teams that share the queue."""
    cohort: str | None = None
    """The cohort of the queue."""


class TeamSpec(TenancySpec):
    """A team with its namespaces, its people, the identity of its pods, and its queues."""

    formerly: DnsLabel | None = None
    """First key of the team, after a rename."""
    cohort: str | None = None
    """The cohort of all queues of the team."""
    queues: Section[QueueName, Annotated[QueueSpec, CompletedByDefaults()]] = Field(default_factory=dict)
    """Cluster queues of the team by name."""
    capacity_buffers: Section[DnsLabel, CapacityBufferSpec] = Field(default_factory=dict)
    """Room that GKE keeps on nodes for pods of the team's services, by name (docs/serving.md#capacity-buffers)."""


class TeamKeys:
    """Metadata of `teamDefaults`: the keys of a team and of its queues, without their values."""

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Change only the JSON Schema: Berth validates the defaults in each team, with its name."""
        return with_json_schema(inner(), self._json_schema)

    def _json_schema(self, core: Any, generate: Handler) -> Any:
        queues = {"type": "object", "additionalProperties": _keys(QueueSpec)}
        team = _keys(TeamSpec)
        return {**team, "properties": {**team["properties"], "queues": team["properties"]["queues"] | queues}}


def _keys(model: type[Model]) -> dict[str, Any]:
    keys = {key: {"description": text} for key, text in key_sentences(model).items()}
    return {"type": "object", "properties": keys, "additionalProperties": False}


TeamDefaults = Annotated[dict[str, Any], NullIsEmpty(), TeamKeys()]
"""Keys of a team that every team has unless it writes them itself."""
