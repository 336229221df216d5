"""What a cloud resource is registered with, as data: components pass it to the provider, the diff compares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from berth.names import to_camel

FREE_MAPPINGS: Final = frozenset({"labels", "resource_labels", "sysctls", "tags", "user_labels", "values"})
"""Arguments whose keys are values of the user and not names of the provider."""


class Reference(Struct, frozen=True):
    """A place in the arguments for an output of another resource.

    `kind` and `key` are what people call the resource. `output` has the role of the resource among those of the same
    kind and key, and then the output: subnet.id. `value` is what the plan knows of it. Components pass the live output
    instead of the reference.
    """

    kind: str
    key: str
    output: str
    value: str | None = None

    @property
    def role(self) -> str:
        """The role of the resource among those of the same kind and key."""
        return self.output.partition(".")[0]


class Registration(Struct, frozen=True, kw_only=True):
    """The arguments and options of one resource.

    `type` is the provider's type token, such as gcp:container/nodePool:NodePool. `arguments` are those of the SDK's
    class, as nested dictionaries with the SDK's spelling (machine_type) and without None; values may be references.
    `ignore_changes` and `replace_on_changes` are paths as the provider spells them (nodeConfig.machineType). `timeout`
    applies to creation, updates and deletion (2h), `create_timeout` to creation alone.
    """

    type: str
    arguments: Mapping[str, Any]
    protect: bool = False
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    delete_before_replace: bool = False
    retain_on_delete: bool = False
    timeout: str | None = None
    create_timeout: str | None = None


def without_none(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested arguments without None, which the SDK would send as null inside a block."""
    return {key: _inner_without_none(each) for key, each in value.items() if each is not None}


def _inner_without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_none(cast("Mapping[str, Any]", value))
    if isinstance(value, (list, tuple)):
        return [_inner_without_none(each) for each in cast("Sequence[Any]", value)]
    return value


def provider_inputs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as the provider receives them: with its spelling (machineType), except in FREE_MAPPINGS."""
    return {
        to_camel(key): dict(cast("Mapping[str, Any]", value))
        if key in FREE_MAPPINGS and isinstance(value, Mapping)
        else _provider_value(value)
        for key, value in arguments.items()
    }


def _provider_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return provider_inputs(cast("Mapping[str, Any]", value))
    if isinstance(value, (list, tuple)):
        return [_provider_value(each) for each in cast("Sequence[Any]", value)]
    return value
