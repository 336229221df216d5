"""The accelerator types of xpk, by the names of its flags (`xpk_types.yaml`)."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from berth.yaml_loader import load_table

_LARGEST_SIDE, _CUBE, _CHIPS_OF_A_HOST = 256, 4, 4


class XpkType(Struct, frozen=True):
    """An accelerator type: its machines, and for a TPU the topology and hosts of a slice, else GPUs of a node."""

    machine_type: str
    kind: str
    topology: str | None = None
    hosts: int = 1
    gpu: str = ""
    gpus: int = 0
    blueprint_pool: str = ""
    compact: tuple[str, ...] = ()
    has_policy: bool = False
    dranet: bool = False


@cache
def xpk_types() -> Mapping[str, XpkType]:
    """Return every type that xpk knows, by name."""
    table = load_table(pathlib.Path(__file__).with_name("xpk_types.yaml"))
    types: dict[str, XpkType] = {}
    for row in table["tpus"]:
        for name, each in _tpu_types(row, table["small"]):
            is_named = each.topology in row.get("named", ())
            if name not in types or is_named or name.endswith(f"-{each.topology}"):
                types[name] = each
    for name, row in table["gpus"].items():
        types[name] = XpkType(
            row["machine"], "gpu", gpu=row["gpu"], gpus=row["count"], blueprint_pool=row.get("blueprint", ""),
            compact=tuple(row.get("compact", ())), has_policy=row.get("policy", False), dranet=row.get("dranet", False),
        )  # fmt: skip
    for machine, sizes in table["cpus"].items():
        types |= {f"{machine}-{hosts}": XpkType(machine, "cpu", hosts=hosts) for hosts in sizes}
    return MappingProxyType(types)


def _tpu_types(row: Mapping[str, Any], small: list[str]) -> Iterator[tuple[str, XpkType]]:
    """Yield the names of each topology of a row: with the topology, and with its TensorCores."""
    for topology in row.get("topologies") or [*small, *_topologies(row["cubes"], ordered=row["ordered"])]:
        chips = math.prod(map(int, topology.split("x")))
        hosts = 1 if chips == 1 else chips // _CHIPS_OF_A_HOST
        made = XpkType(
            row["machine"], "tpu", topology, hosts, dranet=row.get("dranet", False),
            has_policy=row.get("policy", False) and hosts > 1,
        )  # fmt: skip
        yield f"{row['prefix']}-{topology}", made
        yield f"{row['prefix']}-{chips * row['cores']}", made


def _topologies(cubes: int, *, ordered: bool) -> Iterator[str]:
    """Yield three-dimensional topologies of whole cubes, the smallest sides first."""
    sides = range(_CUBE, _LARGEST_SIDE + 1, _CUBE)
    for x in sides:
        for y in (side for side in sides if side >= x or not ordered):
            for z in (side for side in sides if side >= y or not ordered):
                if (x // _CUBE) * (y // _CUBE) * (z // _CUBE) <= cubes:
                    yield f"{x}x{y}x{z}"
