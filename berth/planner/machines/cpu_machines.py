"""Find machines without accelerators: in Berth's table, or with the size that the stack file states."""

from __future__ import annotations

import re

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import did_you_mean, format_value
from berth.planner.machines.hardware_error import HardwareError, HardwareFault

_NO_ACCELERATORS = re.compile(r"[cehmntxz][0-9][a-z]?-")
"""Google's machine families without accelerators (n2-, e2-, c3d-, …); no family with accelerators matches."""


class MachineSize(Struct, frozen=True):
    """The size of a machine as the stack file states it: vCPUs, and bytes of memory."""

    cpu: int | None = None
    memory: int | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are written."""
        return tuple(key for key, value in (("cpu", self.cpu), ("memory", self.memory)) if value is not None)


def find_cpu_machine(machine_type: str, size: MachineSize | None) -> Machine | None:
    """Return a machine without accelerators; None for another machine type. Raise HardwareError if it is unusable.

    `size` None: the entry has no keys for it (a reservation), so a machine that the table does not have may have any.
    """
    keys = size.keys if size else ()
    host = catalog.attachable_gpus().hosts.get(machine_type)
    if host is not None:
        return _host_without_gpus(machine_type, host, size) if size and keys else None
    known = catalog.cpu_machine(machine_type)
    if known is not None:
        check_no_size(known, size)
        return _usable(known)
    if not _NO_ACCELERATORS.match(machine_type):
        return None
    if not keys:
        _check_series(machine_type, with_size=size is not None)
    if size is None:
        return catalog.cpu_machine_of_size(machine_type, 0, 0)
    if size.cpu is None or size.memory is None:
        raise HardwareError(_missing_size(machine_type, size))
    return _usable(catalog.cpu_machine_of_size(machine_type, size.cpu, size.memory / 2**30))


def check_no_size(machine: Machine, size: MachineSize | None) -> None:
    """Raise HardwareError for a size beside a machine type that Berth's tables have."""
    if size and size.keys:
        facts = f"{machine.vcpu} vCPUs and {machine.memory_gb:g} GB"
        message = f"Berth knows the size of '{machine.name}' ({facts}); remove {' and '.join(size.keys)}"
        raise HardwareError(("machine-size", size.keys[0], message))


def _host_without_gpus(machine_type: str, host: tuple[int, float], size: MachineSize) -> Machine:
    """Return an N1 machine, whose size in the stack file says that its GPUs are not forgotten."""
    if (size.cpu, size.memory) != (host[0], int(host[1] * 2**30)):
        message = (
            f"an '{machine_type}' without GPUs needs its size; write cpu: {host[0]} and memory: {_memory(host[1])}"
        )
        raise HardwareError(("machine-size", size.keys[0], message))
    return _usable(catalog.cpu_machine_of_size(machine_type, *host))


def _memory(gb: float) -> str:
    """Return GB as an amount of memory: `360Gi`, `3840Mi`."""
    return f"{gb:g}Gi" if gb == int(gb) else f"{int(gb * 1024)}Mi"


def n1_remedy(machine_type: str) -> str:
    """Return what to write for an N1 machine without GPUs."""
    cpu, gb = catalog.attachable_gpus().hosts[machine_type]
    return f"or cpu: {cpu} and memory: {_memory(gb)} for nodes without GPUs"


def _usable(machine: Machine) -> Machine:
    if not machine.accelerators or not catalog.memory_per_core(machine):
        message = (
            f"'{machine.name}' has no whole core and memory for jobs, because GKE and the system's pods use a part of "
            "each node; write a larger machine"
        )
        raise HardwareError(("machine-size", "machineType", message))
    return machine


def _check_series(machine_type: str, *, with_size: bool) -> None:
    """Raise HardwareError for a machine type of a series that the table has, with the ones that it may mean."""
    series = machine_type.partition("-")[0]
    types = [name for name in catalog.cpu_machine_types() if name.startswith(f"{series}-")]
    if types:
        same_class = [name for name in types if name.rpartition("-")[0] == machine_type.rpartition("-")[0]]
        guess = did_you_mean(machine_type, types) if not same_class else ""
        hint = guess.removesuffix("?") if guess else f"; write one of {', '.join(same_class or types)}"
        remedy = ", or write its cpu and memory" if with_size else ""
        message = f"no machine type '{format_value(machine_type)}' in Berth's table{hint}{remedy}"
        raise HardwareError(("unknown-machine", "machineType", message))


def _missing_size(machine_type: str, size: MachineSize) -> HardwareFault:
    """Return the fault of a machine type that the table does not have, without its whole size."""
    missing = [key for key in ("cpu", "memory") if key not in size.keys]
    example = {"cpu": "cpu: 64", "memory": "memory: 256Gi"}
    written = " and ".join(example[key] for key in missing)
    quoted = format_value(machine_type)
    message = f"is missing: Berth's table has no machine type '{quoted}'; write its size, such as {written}"
    return "missing-key", missing[0], message
