"""Schema of a pool's capacity."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from berth.diagnostics import did_you_mean, format_value
from berth.spec.amounts import Seconds
from berth.spec.base import Model, NonEmptyText, Sequence, unique_items, validation_fault
from berth.spec.core import AfterValidator, BeforeValidator
from berth.spec.model import Field

_INT32_MAX = 2**31 - 1


class FlexStartSpec(Model):
    """Flex-start nodes."""

    max_run_duration: Seconds | None = None
    """Maximum lifetime of a node, such as `24h`."""


class RetrySpec(Model):
    """How often, and after which pauses, a failed request is repeated. Keys and defaults as in Kueue."""

    backoff_limit_count: int = Field(default=3, ge=0, le=_INT32_MAX)
    """Number of retries."""
    backoff_base_seconds: int = Field(default=60, ge=0, le=_INT32_MAX)
    """First pause before a request is repeated, in seconds."""
    backoff_max_seconds: int = Field(default=1800, ge=0, le=_INT32_MAX)
    """Longest pause before a request is repeated, in seconds."""


class QueuedSpec(Model):
    """Nodes of queued provisioning (Dynamic Workload Scheduler), and how Kueue requests them."""

    max_run_duration: Seconds | None = None
    """The longest run that the queue allows, from 10 minutes, such as `7d`. A job sets its own with the annotation
    `provreq.kueue.x-k8s.io/maxRunDurationSeconds`; `berth lint` and an admission policy
    (docs/tenancy.md#admission-policies) reject a longer one and, if the maximum is below 7 days, a job without one. By
    default GKE's 7 days."""
    admission_check: NonEmptyText | None = None
    """Name of the AdmissionCheck. By default `dws-<flavor>`."""
    provisioning_request_config: NonEmptyText | None = None
    """Name of the ProvisioningRequestConfig. By default `dws-<flavor>`."""
    retry_strategy: RetrySpec | None = None
    """How a failed request is repeated. By default as Kueue does."""
    pod_set_merge_policy: Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] = (
        "IdenticalWorkloadSchedulingRequirements"
    )
    """Which pod sets are merged into one: those with equal requests, because GKE accepts one per request, or
    `IdenticalPodTemplates`."""
    managed_resources: Annotated[Sequence[str], AfterValidator(unique_items)] = ()
    """Resources that need a ProvisioningRequest: a job that requests none of them needs none. By default the
    accelerators."""


class Capacity(Model):
    """How machines are obtained: exactly one of the keys."""

    kind: Literal["on-demand", "spot", "reservation", "flex-start", "queued"]
    """The kind of capacity, which follows from the value in the stack file."""
    reservation: str | None = None
    """Key of one of the fleet's reservations."""
    then_fail: bool = False
    """Wait for a matching reservation: no on-demand machines take its place."""
    flex_start: FlexStartSpec | None = None
    """Flex-start nodes with a limit of their lifetime."""
    queued: QueuedSpec | None = None
    """Queued provisioning (Dynamic Workload Scheduler)."""

    @property
    def max_run_seconds(self) -> int | None:
        """Maximum lifetime of flex-start and queued nodes; None for other capacity."""
        bounded = self.flex_start or self.queued
        return bounded.max_run_duration if bounded else None

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        """Return the only key of the mapping; `kind` itself is not allowed in a stack file."""
        reference = handler(core)
        schema = handler.resolve_ref_schema(reference)
        schema["properties"] = {
            key: option["anyOf"][0] for key, option in schema["properties"].items() if "anyOf" in option
        }
        schema["required"] = []
        schema |= {"minProperties": 1, "maxProperties": 1}
        return reference


_CAPACITY_BY_WORD: dict[str, dict[str, Any]] = {
    "on-demand": {"kind": "on-demand"},
    "spot": {"kind": "spot"},
    "any-reservation": {"kind": "reservation"},
    "any-reservation-then-fail": {"kind": "reservation", "thenFail": True},
    "flex-start": {"kind": "flex-start"},
    "queued": {"kind": "queued", "queued": {}},
}
_FOREIGN_WORDS = {
    **dict.fromkeys(("preemptible", "preempt"), "spot"),
    **dict.fromkeys(("standard", "ondemand", "regular"), "on-demand"),
    **dict.fromkeys(("dws", "queuedprovisioning", "queued-provisioning"), "queued"),
    **dict.fromkeys(("dws-flex", "flex", "flexstart"), "flex-start"),
    **dict.fromkeys(("reserved", "reservation", "specific"), "{reservation: <name>}"),
    **dict.fromkeys(("any", "any-reserved"), "any-reservation"),
}
"""Words of other tools, in lower case → what to write."""
_KIND_BY_KEY = {"reservation": "reservation", "flexStart": "flex-start", "queued": "queued"}
"""The key of the mapping → the kind of capacity."""
_CAPACITY_FORMS = "write on-demand, spot, {reservation: <name>}, any-reservation, flex-start or queued"


def _parse_capacity(value: Any) -> Any:
    if isinstance(value, str) and value in _CAPACITY_BY_WORD:
        return _CAPACITY_BY_WORD[value]
    if isinstance(value, dict):
        subject = cast("dict[str, Any]", value)
        (key, inside), *more = list(subject.items()) or [("", cast("object", None))]
        if key in _KIND_BY_KEY and not more and isinstance(inside, str if key == "reservation" else dict):
            return {"kind": _KIND_BY_KEY[key], key: cast("object", inside)}
        word = _KIND_BY_KEY.get(key, key)
        if word in _CAPACITY_BY_WORD and inside is True and not more:
            raise validation_fault("bad-capacity", f"'{format_value(subject)}' is not a capacity; write {word}")
        hint = "" if key in _KIND_BY_KEY else did_you_mean(str(key), _KIND_BY_KEY)
        raise validation_fault("bad-capacity", f"'{format_value(subject)}' is not a capacity; {_CAPACITY_FORMS}{hint}")
    word = value.lower().replace("_", "-") if isinstance(value, str) else ""
    subject = "is empty" if value is None else f"'{format_value(value)}' is not a capacity"
    own = word if word in _CAPACITY_BY_WORD else _FOREIGN_WORDS.get(word)
    if own is not None:
        raise validation_fault("bad-capacity", f"{subject}; write {own}")
    hint = did_you_mean(word, _CAPACITY_BY_WORD) if word else ""
    raise validation_fault("bad-capacity", f"{subject}; {_CAPACITY_FORMS}{hint}")


CapacityField = Annotated[
    Capacity,
    BeforeValidator(
        _parse_capacity,
        json_schema_input_type=Literal[
            "on-demand", "spot", "any-reservation", "any-reservation-then-fail", "flex-start", "queued"
        ]
        | Capacity,
    ),
]
