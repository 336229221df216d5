"""JSON values of unknown shape, as a pod template of a person's own has them."""

from __future__ import annotations

from typing import Any, TypeGuard, cast


def as_mapping(value: object) -> dict[str, object]:
    """Return a mapping as it is, and an empty one for any other value."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return a list as it is, and an empty one for any other value."""
    return cast("list[object]", value) if isinstance(value, list) else []


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a mapping, with the keys that JSON has."""
    return isinstance(value, dict)
