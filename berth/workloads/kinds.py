"""The kinds of objects that `berth workload` writes, as rows of `kinds.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from berth.yaml_loader import load_table


class WorkloadKind(Struct, frozen=True, forbid_unknown_fields=True):
    """One kind; `kinds.yaml` explains the fields."""

    machines: tuple[str, ...]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    operator: str = ""


@cache
def workload_kinds() -> Mapping[str, WorkloadKind]:
    """Read `kinds.yaml`: kind → row."""
    return msgspec.convert(load_table(Path(__file__).with_suffix(".yaml")), dict[str, WorkloadKind])
