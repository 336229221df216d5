"""Facts about Alibaba Cloud (`alibaba.yaml`): regions, minor versions of ACK, and machines with GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from berth.yaml_loader import load_table


class EcsMachine(Struct, frozen=True):
    """A machine with GPUs: vCPUs, memory in GiB, number of GPUs, and their model, None where no source names it."""

    cpu: int
    memory: int
    gpus: int
    gpu: str | None = None


@cache
def ecs_machines() -> Mapping[str, EcsMachine]:
    """Return the machines by instance type, such as `ecs.gn7e-c16g1.32xlarge`."""
    return MappingProxyType(
        {
            # A family alone is followed by a dot (ecs.gn8is.2xlarge), one with a form by a dash (ecs.gn8is-2x.8xlarge).
            f"ecs.{family}{'-' if '.' in size else '.'}{size}": EcsMachine(*contents, gpu=row.get("gpu"))
            for family, row in _table()["families"].items()
            for size, contents in row["sizes"].items()
        }
    )


@cache
def ack_regions() -> Mapping[str, bool]:
    """Return the regions of Alibaba Cloud, and of each whether ACK One has fleets in it."""
    regions = dict.fromkeys(_table()["other_regions"].split(), False)
    return MappingProxyType(regions | dict.fromkeys(_table()["fleet_regions"].split(), True))


@cache
def ack_minors() -> Mapping[str, date]:
    """Return the last day of ACK's support by minor version, the oldest first."""
    return MappingProxyType({minor: date.fromisoformat(day) for minor, day in _table()["minors"].items()})


@cache
def _table() -> dict[str, Any]:
    return load_table(Path(__file__).with_name("alibaba.yaml"))
