"""JSON values of unknown shape, as a pod template of a person's own has them."""

from __future__ import annotations

from typing import Any, TypeGuard, cast


def as_mapping(value: object) -> dict[str, Any]:
    """Return a mapping as it is, and an empty one for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a list as it is, and an empty one for any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a mapping, with the keys that JSON has."""
    return isinstance(value, dict)
