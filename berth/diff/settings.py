"""Differences of two stack files as they are written: what is beside the fleet, and the fleet itself.

Values beside `berth:fleet` reach Pulumi and its providers without being planned: the account that a provider
impersonates, the key of the stack's secrets, an environment with more config. So none of them is harmless. Of the fleet
each path is listed; what it does is in the comparison of the plans.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from msgspec import Struct

from berth.diff.fields import compare_fields

ENCRYPTED: Final = "(encrypted)"
"""What is shown of an encrypted value."""
_KEYS: Final = ("encryptedkey", "encryptionsalt")
"""Keys of a stack file whose values are encrypted."""


class SettingChange(Struct, frozen=True):
    """One path of a stack file with another value; `before` or `after` is None if it is not written there."""

    path: str
    before: object
    after: object


def compare_settings(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[SettingChange, ...]:
    """Return every path that differs; of encrypted values only that they differ."""
    return tuple(_differences(old, new))


def _differences(old: Mapping[str, object], new: Mapping[str, object], prefix: str = "") -> Iterator[SettingChange]:
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key), new.get(key)
        path = f"{prefix}{key}"
        # As text: in YAML, 1 equals neither true nor 1.0.
        if len({json.dumps(each, sort_keys=True, default=str) for each in (before, after)}) == 1:
            continue
        if key in _KEYS or _is_encrypted(before) or _is_encrypted(after):
            yield SettingChange(path, before and ENCRYPTED, after and ENCRYPTED)
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(cast("dict[str, object]", before), cast("dict[str, object]", after), f"{path}.")
        else:
            changes = compare_fields(cast("object", before), cast("object", after), path)
            yield from (SettingChange(each.path, each.before, each.after) for each in changes)


def _is_encrypted(value: object) -> bool:
    return isinstance(value, dict) and "secure" in value
