"""How a pool gets its machines, as people write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import PlainValidator

from stacks.problems import near_miss, shown
from stacks.spec.amounts import seconds
from stacks.spec.base import JsonSchema, fault


@dataclass(frozen=True, slots=True)
class Capacity:
    """How a pool gets its machines.

    `kind` is on-demand, spot, reservation, flex-start or queued. A `reservation` is one of the fleet's by its key; None
    with that kind is any that fits. `max_run_seconds` bounds the life of flex-start and queued nodes. `check` and
    `config` name the objects through which a queued pool is asked for, where somebody depends on them.
    """

    kind: str
    reservation: str | None = None
    max_run_seconds: int | None = None
    check: str | None = None
    config: str | None = None


ON_DEMAND = Capacity("on-demand")

_WORDS = {
    "on-demand": ON_DEMAND,
    "spot": Capacity("spot"),
    "any-reservation": Capacity("reservation"),
    "flex-start": Capacity("flex-start"),
    "queued": Capacity("queued"),
}
_OPTIONS = {
    "flexStart": ("flex-start", ("maxRunDuration",)),
    "queued": ("queued", ("maxRunDuration", "admissionCheck", "provisioningRequestConfig")),
}
_WAYS = "write on-demand, spot, {reservation: <name>}, any-reservation, flex-start or queued"


def _capacity(value: Any) -> Capacity:
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if isinstance(value, dict):
        return _mapping(cast("dict[str, Any]", value))
    hint = near_miss(value, _WORDS) if isinstance(value, str) else ""
    found = "is empty" if value is None else f"'{shown(cast('object', value))}' is no way to get capacity"
    raise fault("bad-capacity", f"{found}; {_WAYS}{hint}")


def _mapping(value: dict[str, Any]) -> Capacity:
    name, inside = next(iter(value.items())) if len(value) == 1 else ("", None)
    if name == "reservation" and isinstance(inside, str):
        return Capacity("reservation", inside)
    if name in _OPTIONS and isinstance(inside, dict):
        return _with_options(name, cast("dict[str, Any]", inside))
    raise fault("bad-capacity", f"'{shown(value)}' is no way to get capacity; {_WAYS}")


def _with_options(name: str, options: dict[str, Any]) -> Capacity:
    kind, known = _OPTIONS[name]
    for key, given in options.items():
        if key not in known:
            hint = near_miss(key, known) or f"; one of {', '.join(known)}"
            raise fault("unknown-key", f"'{shown(key)}' is no option of {name}{hint}")
        if not isinstance(given, str):
            raise fault("bad-type", f"'{shown(given)}' is no {key}; write text, such as maxRunDuration: 24h")
    duration = options.get("maxRunDuration")
    return Capacity(
        kind,
        max_run_seconds=None if duration is None else seconds(duration),
        check=options.get("admissionCheck"),
        config=options.get("provisioningRequestConfig"),
    )


_TEXT = {"type": "string"}
CapacityField = Annotated[
    Capacity,
    PlainValidator(_capacity),
    JsonSchema(
        {
            "anyOf": [
                {"enum": list(_WORDS)},
                *(
                    {
                        "type": "object",
                        "properties": {name: inside},
                        "required": [name],
                        "additionalProperties": False,
                    }
                    for name, inside in [
                        ("reservation", _TEXT),
                        *(
                            (
                                name,
                                {
                                    "type": "object",
                                    "properties": dict.fromkeys(keys, _TEXT),
                                    "additionalProperties": False,
                                },
                            )
                            for name, (_, keys) in _OPTIONS.items()
                        ),
                    ]
                ),
            ]
        }
    ),
]
