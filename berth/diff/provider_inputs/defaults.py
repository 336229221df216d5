"""Inputs that a provider sets itself where a program does not: the table is defaults.yaml."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from functools import cache
from typing import Final, cast

from berth.yaml_loader import load_table

_FILE: Final = pathlib.Path(__file__).with_name("defaults.yaml")


@cache
def _table() -> Mapping[str, Mapping[str, object]]:
    return cast("Mapping[str, Mapping[str, object]]", load_table(_FILE))


def default_inputs(resource_type: str) -> Mapping[str, object]:
    """Return the values that the provider sets, by the path of the input without indexes; none for an unknown type."""
    return _table().get(resource_type, {})
