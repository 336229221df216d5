"""Schema of queueing: priorities, cohorts, teams, queues. Keys are terms of Kueue."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic_core import CoreSchema

from berth.spec.amounts import ZERO_AMOUNT, AmountField, Bytes, LimitField, MilliCpu
from berth.spec.base import (
    DnsLabel,
    DnsName,
    JsonSchema,
    Model,
    NullIsEmpty,
    Section,
    Sequence,
    default_field,
    unique_items,
)
from berth.spec.core import AfterValidator, Handler, SchemaBuilder, with_json_schema
from berth.spec.model import Field
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
    """A priority, for pods and for queueing. A higher `value` is admitted first; one priority can be the `default`."""

    value: int = Field(ge=-1_000_000_000, le=1_000_000_000)
    default: bool = False
    preempts: bool = True
    description: str = Field(default="", max_length=2048)


class PerAcceleratorSpec(Model):
    """The cpu and memory quota for each accelerator, if it should not follow from the machines."""

    cpu: MilliCpu | None = None
    memory: Bytes | None = None


class QuotaSpec(Model):
    """A quota of one pool or flavor. Without `borrow` nothing is borrowed, without `lend` everything can be lent."""

    pool: str | None = None
    flavor: str | None = None
    guaranteed: AmountField = Field(default_factory=lambda: ZERO_AMOUNT, json_schema_extra={"default": 0})
    borrow: LimitField | None = None
    lend: AmountField | None = None
    per_accelerator: PerAcceleratorSpec | None = None


class CohortSpec(Model):
    """A cohort: queues, and cohorts below it, that can use each other's idle quota.

    An entry of `flavors` applies to all members together: how much is `guaranteed`, how much they may borrow from other
    children of the `parent`, and how much they lend. A flavor without an entry has no limits. `fairShareWeight` is
    relative to the other children of the parent.
    """

    parent: DnsName | None = None
    flavors: Sequence[QuotaSpec] = Field(default=(), max_length=64)
    per_accelerator: PerAcceleratorSpec | None = None
    fair_share_weight: float | None = Field(default=None, ge=0, le=1_000_000)


class BorrowWithinCohortSpec(Model):
    """When a queue may preempt workloads in order to borrow."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = Field(default=None, ge=-(2**31), le=2**31 - 1)


class PreemptionSpec(Model):
    """Workloads that a queue may preempt. By default a queue in a cohort reclaims its guarantee."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "LowerPriority"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] | None = None
    borrow_within_cohort: BorrowWithinCohortSpec | None = None


class FlavorFungibilitySpec(Model):
    """Whether a job borrows or preempts on a flavor before Kueue tries the next one, and which it prefers."""

    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] | None = None
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor"] | None = None
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class AdmissionScopeSpec(Model):
    """Whether local queues of this cluster queue take turns by past usage."""

    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]


class QueueSpec(Model):
    """A cluster queue. `flavors` are in order of preference; `name` and `localQueue` are its names in Kueue."""

    formerly: DnsName | None = None
    name: DnsName | None = None
    local_queue: DnsLabel | None = None
    flavors: Sequence[QuotaSpec] = Field(min_length=1, max_length=64)
    queueing_strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    preemption: PreemptionSpec = default_field(PreemptionSpec)
    flavor_fungibility: FlavorFungibilitySpec | None = None
    priority: str | None = None
    max_jobs: int | None = Field(default=None, ge=1, le=1_000_000_000)
    per_accelerator: PerAcceleratorSpec | None = None
    namespaces: Literal["all"] | None = None
    admission_scope: AdmissionScopeSpec | None = None
    stop_policy: Literal["None", "Hold", "HoldAndDrain"] | None = None
    fair_share_weight: float | None = Field(default=None, ge=0, le=1_000_000)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Handler) -> Any:
        """Return the schema; a team's queue may have its flavors from `teamDefaults`."""
        reference = handler(core)
        if cls is QueueSpec:
            cast("Any", handler).resolve_ref_schema(reference)["required"] = []
        return reference


class SharedQueueSpec(QueueSpec):
    """A cluster queue for several teams, with a local queue in the namespaces of each."""

    teams: Annotated[Sequence[str], AfterValidator(unique_items)] = Field(min_length=1)
    cohort: str | None = None


class TeamSpec(TenancySpec):
    """A team: its namespaces, people, identity of pods, and queues."""

    formerly: DnsLabel | None = None
    cohort: str | None = None
    queues: Section[QueueName, Annotated[QueueSpec, CompletedByDefaults()]] = Field(default_factory=dict)


def _completions(model: type[Model], **values: Any) -> dict[str, Any]:
    """Return a JSON Schema of the keys of a model, without their values."""
    keys = {field.alias: values.get(field.alias, {}) for field in model.model_fields.values()}
    return {"type": "object", "properties": keys, "additionalProperties": False}


TeamDefaults = Annotated[
    dict[str, Any],
    NullIsEmpty(),
    JsonSchema(
        _completions(TeamSpec, queues={"type": "object", "additionalProperties": _completions(QueueSpec)}),
    ),
]
"""Keys of a team that every team has unless it writes them itself. They are validated in each team, with its name."""
