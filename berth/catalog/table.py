"""Reads the hardware table, `accelerators.yaml`, once and only when it is first asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import yaml
from msgspec.structs import replace

from berth.catalog.rows import Attachable, Generation, GpuDirect, Labels, Limits, Machine, Provisioning, Taints
from berth.plan.nodes import Taint

_Row = dict[str, Any]


@cache
def machines() -> Mapping[str, Machine]:
    """Every machine type that has accelerators, by name; with `-nolssd` variants and unsupported ones, without n1."""
    families: Iterable[_Row] = _table()["families"].values()
    return MappingProxyType({machine.name: machine for family in families for machine in _family(family)})


@cache
def generations() -> Mapping[str, Generation]:
    """The TPU generations Berth supports, by name (v4, v5e, v5p, v6e, tpu7x)."""
    rows: dict[str, _Row] = _table()["generations"]
    return MappingProxyType({name: Generation(name=name, **_tuples(row)) for name, row in rows.items()})


@cache
def attachable() -> Attachable:
    """The GPUs that can be attached to n1 machines, and those machines."""
    table = _tuples(_table()["attachable"])
    series: dict[str, _Row] = table["hosts"]
    sizes = ((name, vcpu, row["gb_per_vcpu"]) for name, row in series.items() for vcpu in row["vcpus"])
    hosts = {f"{name}-{vcpu}": (vcpu, round(vcpu * gb, 2)) for name, vcpu, gb in sizes}
    return Attachable(
        gpus=table["gpus"],
        hosts=MappingProxyType(hosts),
        ssd_options=table["ssd_options"],
        provisioning=provisioning()[table["provisioning"]],
    )


@cache
def provisioning() -> Mapping[str, Provisioning]:
    """The rows of GKE's provisioning matrix, by name."""
    rows: dict[str, _Row] = _table()["provisioning"]
    return MappingProxyType({name: Provisioning(name=name, **_tuples(row)) for name, row in rows.items()})


@cache
def gpudirect() -> Mapping[str, GpuDirect]:
    """What each kind of GPUDirect wants (tcpx, tcpxo, rdma); a machine without one says none."""
    rows: dict[str, _Row] = _table()["gpudirect"]
    return MappingProxyType({name: GpuDirect(**row) for name, row in rows.items()})


@cache
def labels() -> Labels:
    """The keys of GKE's node labels."""
    return Labels(**_table()["labels"])


@cache
def taints() -> Taints:
    """The taints GKE sets by itself; adding them again is a fault."""
    return Taints(**{name: Taint(**row) for name, row in _table()["taints"].items()})


@cache
def limits() -> Limits:
    """What GKE and the provider accept for run times, GPU sharing and drivers."""
    return Limits(**_tuples(_table()["limits"]))


def noun(accelerator: str) -> str:
    """What people say after a count of this accelerator: "v5e chips", "L4". KeyError if the table has no such label."""
    return _table()["accelerators"][accelerator]["noun"]


def resource(kind: str) -> str:
    """The extended resource of a kind (tpu or gpu)."""
    return _table()["resources"][kind]


@cache
def mig_partitions(accelerator: str) -> Mapping[str, int]:
    """Partitions per GPU by `gpu_partition_size`, for a node-label value; empty where it cannot be partitioned."""
    return MappingProxyType(_table()["accelerators"].get(accelerator, {}).get("mig", {}))


def _family(family: _Row) -> Iterator[Machine]:
    """The machines of one family: its fields, overridden by each row's."""
    shared = {key: value for key, value in family.items() if key not in ("machines", "nolssd")}
    rows: dict[str, _Row] = family["machines"]
    for name, row in rows.items():
        yield (machine := _machine(name, {**shared, **row}))
        if family.get("nolssd"):
            yield replace(machine, name=f"{name}-nolssd", ssd_automatic=0, explicit_only=True)


def _machine(name: str, row: _Row) -> Machine:
    fields: _Row = {"noun": noun(row["accelerator"]), "resource": resource(row["kind"]), **_tuples(row)}
    fields["memory_gb"] = float(row["memory_gb"])
    if "topology_levels" in row:
        fields["topology_levels"] = tuple(_table()["topology_levels"][row["topology_levels"]])
    if "provisioning" in row:
        fields["provisioning"] = provisioning()[row["provisioning"]]
    return Machine(name=name, **fields)


def _tuples(row: _Row) -> _Row:
    """The row with tuples for lists: what is cached is shared, and must not change."""
    return {key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for key, value in row.items()}


@cache
def _table() -> _Row:
    text = Path(__file__).with_name("accelerators.yaml").read_text(encoding="utf-8")
    return yaml.load(text, yaml.CSafeLoader)
