"""What may be asked of reservations and pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, PlainValidator

from stacks.problems import near_miss, shown
from stacks.spec.amounts import MOST, Count
from stacks.spec.base import (
    DnsName,
    JsonSchema,
    MachineType,
    Model,
    Section,
    Sequence,
    Text,
    Zone,
    Zones,
    fault,
)

LabelKey = Annotated[
    str,
    Text(
        r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
        "a Kubernetes label key",
    ),
]
LabelValue = Annotated[
    str,
    Text(
        r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?",
        "a Kubernetes label value: 63 letters, digits, '-', '_' and '.'",
    ),
]
PoolName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?",
        "a pool name: lower-case letters, digits and '-', a letter first, 30 at most",
    ),
]

ReservationName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a reservation's name: lower-case letters, digits and '-', a letter first, 63 at most",
    ),
]
Topology = Annotated[str, Text(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}", "a slice topology such as 2x4 or 4x4x8")]


@dataclass(frozen=True, slots=True)
class Capacity:
    """How a pool gets its machines: `kind` is on-demand, spot or reservation (named by `reservation`)."""

    kind: str
    reservation: str | None = None


ON_DEMAND = Capacity("on-demand")
_WAYS = "write on-demand, spot or {reservation: <name>}"


def _capacity(value: Any) -> Capacity:
    if isinstance(value, str) and value in ("on-demand", "spot"):
        return Capacity(value)
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        if list(named) == ["reservation"] and isinstance(named["reservation"], str):
            return Capacity("reservation", named["reservation"])
    hint = near_miss(value, ("on-demand", "spot")) if isinstance(value, str) else ""
    found = "is empty" if value is None else f"'{shown(cast('object', value))}' is no way to get capacity"
    raise fault("bad-capacity", f"{found}; {_WAYS}{hint}")


def _reason(value: str) -> str:
    if not value.strip():
        raise fault("missing-key", "is empty; write why, for those who read it next")
    return value


Reason = Annotated[str, AfterValidator(_reason), JsonSchema({"type": "string", "pattern": r"\S"})]
"""Why something is accepted that Berth would otherwise refuse."""


CapacityField = Annotated[
    Capacity,
    PlainValidator(_capacity),
    JsonSchema(
        {
            "anyOf": [
                {"enum": ["on-demand", "spot"]},
                {
                    "type": "object",
                    "properties": {"reservation": {"type": "string"}},
                    "required": ["reservation"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


class AcceleratorSpec(Model):
    """GPUs attached to a machine that has none of its own (N1)."""

    type: str
    count: int = Field(ge=1, le=MOST)


class ReservationSpec(Model):
    """A zonal reservation that the fleet owns; `count` is in machines."""

    machine_type: MachineType
    accelerator: AcceleratorSpec | None = None
    zone: Zone
    count: int = Field(ge=1, le=MOST)
    name: ReservationName | None = None


class TaintSpec(Model):
    """A node taint of the owner's own, in Kubernetes' spelling."""

    key: LabelKey
    value: LabelValue
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class PoolSpec(Model):
    """Machines of one kind: TPU slices (`topology` and `slices`) or GPU nodes (`nodes`, a total over all zones).

    `autoProvisioned` pools are made by GKE when jobs ask for them; their maximum is what the fleet counts on.
    """

    machine_type: MachineType
    topology: Topology | None = None
    accept_topology: bool = False
    accelerator: AcceleratorSpec | None = None
    slices: Count | None = None
    nodes: Count | None = None
    zone: Zone | None = None
    zones: Zones = ()
    capacity: CapacityField = Field(default=ON_DEMAND, json_schema_extra={"default": "on-demand"})
    auto_provisioned: bool = False
    flavor: DnsName | None = None
    labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    taints: Sequence[TaintSpec] = ()
    driver_version: Literal["default", "latest"] = "default"
    disk_size_gb: int = Field(default=100, ge=10, le=65536)


class FlavorSpec(Model):
    """What is said of a flavor beyond its pools: how far it may be promised more than once, and why."""

    oversubscription: float = Field(default=1, ge=1, le=100)
    reason: Reason | None = None
