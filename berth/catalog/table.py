"""Load the hardware table, `accelerators.yaml`, once at first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from msgspec.structs import replace

from berth.catalog.network_rows import GpuDirect, NetworkDevices
from berth.catalog.rows import (
    AttachableGpus,
    DynamicSlicing,
    Generation,
    GkeLimits,
    GkeTaints,
    Machine,
    NodeLabelKeys,
    Provisioning,
)
from berth.plan.node_settings import Taint
from berth.yaml_loader import load_table

_YamlRow = dict[str, Any]


@cache
def machines() -> Mapping[str, Machine]:
    """Return machine types with accelerators by name, including `-nolssd` variants and unsupported ones, without N1."""
    families: Iterable[_YamlRow] = _load_table()["families"].values()
    return MappingProxyType({machine.name: machine for family in families for machine in _family_machines(family)})


@cache
def generations() -> Mapping[str, Generation]:
    """Return the TPU generations that Berth supports, by name (v4, v5e, v5p, v6e, tpu7x)."""
    rows: dict[str, _YamlRow] = _load_table()["generations"]
    fields = {name: _with_tuples(row) for name, row in rows.items()}
    for each in fields.values():
        if "dynamic_slicing" in each:
            each["dynamic_slicing"] = DynamicSlicing(**_with_tuples(each["dynamic_slicing"]))
    return MappingProxyType({name: Generation(name=name, **each) for name, each in fields.items()})


@cache
def attachable_gpus() -> AttachableGpus:
    """Return the GPUs that can be attached to N1 machines, and those machines."""
    table = _with_tuples(_load_table()["attachable"])
    series: dict[str, _YamlRow] = table["hosts"]
    sizes = ((name, vcpu, row["gb_per_vcpu"]) for name, row in series.items() for vcpu in row["vcpus"])
    hosts = {f"{name}-{vcpu}": (vcpu, round(vcpu * gb_per_vcpu, 2)) for name, vcpu, gb_per_vcpu in sizes}
    return AttachableGpus(
        gpus=table["gpus"],
        hosts=MappingProxyType(hosts),
        ssd_options=table["ssd_options"],
        boot_disk_types=table["boot_disk_types"],
        provisioning=provisioning()[table["provisioning"]],
    )


@cache
def provisioning() -> Mapping[str, Provisioning]:
    """Return the rows of GKE's provisioning matrix, by name."""
    rows: dict[str, _YamlRow] = _load_table()["provisioning"]
    return MappingProxyType({name: Provisioning(name=name, **_with_tuples(row)) for name, row in rows.items()})


@cache
def gpudirect() -> Mapping[str, GpuDirect]:
    """Return the requirements of each type of GPUDirect (tcpx, tcpxo, rdma), and of RDMA without GPUs (falcon)."""
    rows: dict[str, _YamlRow] = _load_table()["gpudirect"]
    return MappingProxyType({name: GpuDirect(**_with_tuples(row)) for name, row in rows.items()})


@cache
def labels() -> NodeLabelKeys:
    """Return the keys of GKE's node labels."""
    return NodeLabelKeys(**_load_table()["labels"])


@cache
def exclusive_keys() -> Mapping[str, tuple[str, ...]]:
    """Return domain of nodes (slice, domain, node) → the node labels by which a job has one of them to itself."""
    return {domain: tuple(keys) for domain, keys in _load_table()["exclusive_keys"].items()}


@cache
def taints() -> GkeTaints:
    """Return the taints that GKE sets by itself; a stack file must not repeat them."""
    return GkeTaints(**{name: Taint(**row) for name, row in _load_table()["taints"].items()})


@cache
def limits() -> GkeLimits:
    """Return limits of GKE and the provider for run times, GPU sharing and drivers."""
    return GkeLimits(**_with_tuples(_load_table()["limits"]))


def noun(accelerator: str) -> str:
    """Return an accelerator's name in messages: "v5e chips", "L4". Raises KeyError for an unknown label value."""
    return _load_table()["accelerators"][accelerator]["noun"]


def extended_resource(kind: str) -> str:
    """Return the extended resource of a kind (tpu or gpu)."""
    return _load_table()["resources"][kind]


@cache
def mig_partitions(accelerator: str) -> Mapping[str, int]:
    """Return partition size → partitions per GPU for a node-label value; empty if it cannot be partitioned."""
    return MappingProxyType(_load_table()["accelerators"].get(accelerator, {}).get("mig", {}))


def _family_machines(family: _YamlRow) -> Iterator[Machine]:
    """Yield the machines of one family: its fields, overridden by those of each row."""
    shared = {key: value for key, value in family.items() if key not in ("machines", "nolssd")}
    rows: dict[str, _YamlRow] = family["machines"]
    for name, row in rows.items():
        yield (machine := _machine(name, {**shared, **row}))
        if family.get("nolssd"):
            yield replace(machine, name=f"{name}-nolssd", ssd_automatic=0, explicit_only=True)


def _machine(name: str, row: _YamlRow) -> Machine:
    fields: _YamlRow = {
        "noun": noun(row["accelerator"]),
        "resource": extended_resource(row["kind"]),
        **_with_tuples(row),
    }
    fields["memory_gb"] = float(row["memory_gb"])
    if "topology_levels" in row:
        fields["topology_levels"] = tuple(_load_table()["topology_levels"][row["topology_levels"]])
    if "provisioning" in row:
        fields["provisioning"] = provisioning()[row["provisioning"]]
    if "network_devices" in row:
        fields["network_devices"] = NetworkDevices(**row["network_devices"])
    return Machine(name=name, **fields)


def _with_tuples(row: _YamlRow) -> _YamlRow:
    """Return the row with tuples instead of lists, because cached values are shared."""
    return {key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for key, value in row.items()}


@cache
def _load_table() -> _YamlRow:
    return load_table(Path(__file__).with_name("accelerators.yaml"))
