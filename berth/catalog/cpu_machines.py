"""Machines without accelerators: their sizes (`cpu_machines.yaml`), and the cores that pods can request on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import convert
from msgspec.structs import replace

from berth.catalog.allocatable import SYSTEM_PODS, Allocatable, node_allocatable
from berth.catalog.rows import Machine, Provisioning
from berth.catalog.table import attachable_gpus
from berth.yaml_loader import load_table

CPU: Final = "cpu"
"""The resource that pods request, and the kind of these machines."""
CORES: Final = "cores"
"""What quotas of these machines count."""

_CUSTOM = re.compile(r"([a-z0-9]+)-custom-([1-9][0-9]{0,2})-([1-9][0-9]{2,7})(-ext)?")
_MB_PER_GB = 1024

_YamlRow = dict[str, Any]


@cache
def cpu_machine_types() -> Mapping[str, Machine]:
    """Return the predefined machine types by name."""
    return MappingProxyType({name: _predefined(name) for name in _rows()})


def cpu_machine_names() -> tuple[str, ...]:
    """Return the names of the predefined machine types, in the order of the table."""
    return tuple(_rows())


@cache
def cpu_machine(machine_type: str) -> Machine | None:
    """Return a predefined or custom machine type; None if the table does not know its size."""
    custom = _CUSTOM.fullmatch(machine_type)
    series = _series_rows().get(custom[1], {}) if custom else {}
    if custom and series.get("custom"):
        return _machine(machine_type, int(custom[2]), int(custom[3]) / _MB_PER_GB, series, {})
    return _predefined(machine_type) if machine_type in _rows() else None


def cpu_boot_disk_types() -> frozenset[str]:
    """Return every type of boot disk that a series without accelerators takes."""
    return frozenset(disk for series in _series_rows().values() for disk in series["boot_disk_types"])


def host_without_gpus(machine_type: str) -> Machine:
    """Return an N1 machine, to which GPUs could be attached, without any. Raises KeyError for another machine type."""
    table = attachable_gpus()
    machine = _machine(machine_type, *table.hosts[machine_type], {"boot_disk_types": table.boot_disk_types}, {})
    return replace(machine, ssd_options=table.ssd_options)


def cpu_machine_of_size(machine_type: str, vcpu: int, memory_gb: float) -> Machine:
    """Return a machine type that the table does not have, with this size and the facts of its series, if any."""
    series = _series_rows().get(machine_type.partition("-")[0])
    machine = _machine(machine_type, vcpu, memory_gb, series or {}, {})
    return replace(machine, known="nothing" if series is None else "series")


@cache
def _rows() -> Mapping[str, tuple[str, str, int]]:
    """Return the series, the key of the type and the vCPUs of every predefined machine type."""
    return {
        f"{series}-{key.replace('N', vcpus)}": (series, key, int(vcpus))
        for series, facts in _series_rows().items()
        for key, row in facts["types"].items()
        for vcpus in str(row["vcpus"]).split()
    }


def _predefined(name: str) -> Machine:
    series_name, key, vcpu = _rows()[name]
    series = _series_rows()[series_name]
    row: _YamlRow = series["types"][key]
    exact, gb = _by_size(row.get("gb_of", "")), vcpu * row["gb"]
    # GB by vCPU, which Google rounds down to whole GB except for shared cores.
    by_vcpu: float = gb if row.get("shared_core") else gb // 1
    return _machine(name, vcpu, exact.get(vcpu, by_vcpu), series, row)


def _machine(name: str, vcpu: int, memory_gb: float, series: _YamlRow, row: _YamlRow) -> Machine:
    shared_core: bool = row.get("shared_core", False)
    confidential: tuple[str, ...] = tuple(row.get("confidential", series.get("confidential", ())))
    return Machine(
        name=name,
        kind="cpu",
        accelerator="",
        resource=CPU,
        noun=CORES,
        accelerators=_room(vcpu, memory_gb, shared_core=shared_core).cpu // 1000,
        vcpu=vcpu,
        memory_gb=float(memory_gb),
        shared_core=shared_core,
        arch=series.get("arch", "amd64"),
        boot_disk_types=tuple(series.get("boot_disk_types", ())),
        ssd_automatic=int(_by_size(row.get("ssd", "")).get(vcpu, 0)),
        ssd_options=() if "ssd" in row else _options(series.get("ssd_options", {}), vcpu),
        compact_max_nodes=series.get("compact_max_nodes", 0),
        gpudirect=series.get("gpudirect", "none"),
        additional_networks=series.get("additional_networks", 0),
        confidential=() if _lists(row.get("not_confidential"), vcpu) else confidential,
        one_thread=series.get("one_thread", False),
        only_cos=series.get("only_cos", False),
        explicit_only=_lists(row.get("explicit_only"), vcpu),
        provisioning=_provisioning(series.get("provisioning", CPU)),
    )


def _by_size(text: str) -> dict[int, float]:
    """Return vCPUs → number of a text such as `4=1 8=2`."""
    return {int(size): float(number) for size, _, number in (each.partition("=") for each in text.split())}


def _options(by_size: Mapping[int, object], vcpu: int) -> tuple[int, ...]:
    """Return the numbers of the greatest size that is at most `vcpu`."""
    sizes = [size for size in by_size if size <= vcpu]
    return tuple(map(int, str(by_size[max(sizes)]).split())) if sizes else ()


def _lists(value: object, vcpu: int) -> bool:
    """Return whether a column means this size: true means all, a text lists the vCPUs."""
    return value is True or str(vcpu) in str(value).split()


def with_one_thread(machine: Machine) -> Machine:
    """Return a machine whose cores have one thread each: half of the vCPUs, if it has threads at all."""
    if not machine.has_threads:
        return machine
    vcpu = machine.vcpu // 2
    cores = _room(vcpu, machine.memory_gb, shared_core=False).cpu // 1000
    return replace(machine, vcpu=vcpu, accelerators=cores if machine.kind == CPU else machine.accelerators)


def memory_per_core(machine: Machine) -> int:
    """Return the bytes of memory, in whole MiB, that pods can request with each core that quotas count."""
    room = _room(machine.vcpu, machine.memory_gb, shared_core=machine.shared_core)
    return room.memory // machine.accelerators // 2**20 * 2**20


def _room(vcpu: int, memory_gb: float, *, shared_core: bool) -> Allocatable:
    """Return what jobs can request on a node, beside GKE's reservation and the system's pods."""
    size = node_allocatable(vcpu, memory_gb, shared_core=shared_core) or SYSTEM_PODS
    return Allocatable(max(0, size.cpu - SYSTEM_PODS.cpu), max(0, size.memory - SYSTEM_PODS.memory))


@cache
def _provisioning(name: str) -> Provisioning:
    return convert({"name": name, **_load_table()["provisioning"][name]}, Provisioning)


def _series_rows() -> Mapping[str, _YamlRow]:
    return _load_table()["series"]


@cache
def _load_table() -> _YamlRow:
    return load_table(Path(__file__).with_name("cpu_machines.yaml"))
