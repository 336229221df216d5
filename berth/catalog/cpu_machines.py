"""Machines without accelerators: their sizes (`cpu_machines.yaml`), and the cores that pods can request on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from berth.catalog.allocatable import Allocatable, node_allocatable
from berth.catalog.rows import Machine, Provisioning
from berth.yaml_loader import load_table

CPU: Final = "cpu"
"""The resource that pods request, and the kind of these machines."""
CORES: Final = "cores"
"""What quotas of these machines count."""

_SYSTEM_PODS = Allocatable(cpu=500, memory=2**30)
"""What Berth leaves to the system DaemonSets of a node: a choice, because GKE documents no sum of their requests."""

_CUSTOM = re.compile(r"([a-z0-9]+)-custom-([1-9][0-9]{0,2})-([1-9][0-9]{2,7})(-ext)?")
_MB_PER_GB = 1024

_YamlRow = dict[str, Any]


@cache
def cpu_machine_types() -> Mapping[str, Machine]:
    """Return the predefined machine types by name."""
    return MappingProxyType({machine.name: machine for machine in _predefined()})


def cpu_machine(machine_type: str) -> Machine | None:
    """Return a predefined or custom machine type; None if the table does not know its size."""
    custom = _CUSTOM.fullmatch(machine_type)
    if custom and _series_rows().get(custom[1], {}).get("custom"):
        return cpu_machine_of_size(machine_type, int(custom[2]), int(custom[3]) / _MB_PER_GB)
    return cpu_machine_types().get(machine_type)


def cpu_machine_of_size(machine_type: str, vcpu: int, memory_gb: float) -> Machine:
    """Return a machine type with this size, and the facts of its series, if the table has it."""
    series = _series_rows().get(machine_type.partition("-")[0], {})
    return _machine(machine_type, vcpu, memory_gb, series, {})


def _predefined() -> Iterator[Machine]:
    for series_name, series in _series_rows().items():
        rows: dict[str, _YamlRow] = series["classes"]
        for class_name, row in rows.items():
            exceptions: dict[int, float] = row.get("gb_of", {})
            for vcpu in row["vcpus"]:
                memory_gb = exceptions[vcpu] if vcpu in exceptions else vcpu * row["gb"]
                yield _machine(f"{series_name}-{class_name}-{vcpu}", vcpu, memory_gb, series, row)


def _machine(name: str, vcpu: int, memory_gb: float, series: _YamlRow, row: _YamlRow) -> Machine:
    return Machine(
        name=name,
        kind="cpu",
        accelerator="",
        resource=CPU,
        noun=CORES,
        accelerators=_room(vcpu, memory_gb).cpu // 1000,
        vcpu=vcpu,
        memory_gb=float(memory_gb),
        arch=series.get("arch", "amd64"),
        boot_disk_types=tuple(series.get("boot_disk_types", ())),
        confidential=tuple(row.get("confidential", series.get("confidential", ()))),
        provisioning=_provisioning(),
    )


def memory_per_core(machine: Machine) -> int:
    """Return the bytes of memory, in whole MiB, that pods can request with each core that quotas count."""
    return _room(machine.vcpu, machine.memory_gb).memory // machine.accelerators // 2**20 * 2**20


def _room(vcpu: int, memory_gb: float) -> Allocatable:
    """Return what jobs can request on a node, beside GKE's reservation and the system's pods."""
    size = node_allocatable(vcpu, memory_gb) or _SYSTEM_PODS
    return Allocatable(max(0, size.cpu - _SYSTEM_PODS.cpu), max(0, size.memory - _SYSTEM_PODS.memory))


@cache
def _provisioning() -> Provisioning:
    return Provisioning(name=CPU, **_load_table()["provisioning"])


def _series_rows() -> Mapping[str, _YamlRow]:
    return _load_table()["series"]


@cache
def _load_table() -> _YamlRow:
    return load_table(Path(__file__).with_name("cpu_machines.yaml"))
