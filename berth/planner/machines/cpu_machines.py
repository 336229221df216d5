"""Find machines without accelerators: in Berth's table, or with the size that the stack file states."""

from __future__ import annotations

import difflib
import re

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import did_you_mean, format_value
from berth.planner.machines.hardware_error import HardwareError, HardwareFault

_NO_ACCELERATORS = re.compile(r"[cehmntxz][0-9][a-z]?-")
"""Google's machine families without accelerators (n2-, e2-, c3d-, …); no family with accelerators matches."""
_MACHINE_TYPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_SIMILAR = 0.8
"""Similarity of two classes (standart, standard) from which a machine type counts as misspelt."""


_COMPARE = "; compare it with the documentation of Google"


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
        check_size(known, size)
        return usable(known)
    is_sized = size is not None and len(keys) == len(MachineSize.__struct_fields__)
    if machine_type in catalog.machines() or not (_NO_ACCELERATORS.match(machine_type) or is_sized):
        return None
    if not keys:
        check_spelling(machine_type)
    if size is None:
        return catalog.cpu_machine_of_size(machine_type, 0, 0)
    if size.cpu is None or size.memory is None or not _MACHINE_TYPE.fullmatch(machine_type):
        raise HardwareError(_missing_size(machine_type, size))
    return usable(catalog.cpu_machine_of_size(machine_type, size.cpu, size.memory / 2**30))


def is_accelerator_family(machine_type: str) -> bool:
    """Return whether a machine type has the form of one with accelerators: of no family of Google's without them."""
    return bool(_MACHINE_TYPE.fullmatch(machine_type)) and not _NO_ACCELERATORS.match(machine_type)


def stated_size(machine_type: str, size: MachineSize | None) -> tuple[int, float]:
    """Return the vCPUs and GB of a GPU machine that no table has; 0 where the entry has no keys for them.

    Raises HardwareError for a pool without its whole size.
    """
    if size is None:
        return 0, 0
    if size.cpu is None or size.memory is None:
        raise HardwareError(_missing_size(machine_type, size, "accelerators"))
    return size.cpu, size.memory / 2**30


def unknown_machine(machine: Machine) -> str:
    """Return the warning for a machine that Berth's tables do not have; empty for any other."""
    if machine.known == "type":
        return ""
    if machine.kind in ("gpu", "tpu"):
        chips = "GPUs" if machine.kind == "gpu" else "chips, topologies"
        unchecked = f"its {chips}, boot disk, local SSDs, networks, placement and provisioning are"
        message = catalog.fact_tables()["accelerators"].unknown(f"'{format_value(machine.name)}'", unchecked)
        return f"{message}{did_you_mean(machine.name, catalog.machines()) or _COMPARE}"
    unchecked = {
        "series": "whether GKE offers this size, and its local SSDs, are",
        "nothing": "its boot disk, local SSDs, placement, provisioning, confidential types and architecture are",
    }[machine.known]
    message = catalog.fact_tables()["cpu-machines"].unknown(f"'{format_value(machine.name)}'", unchecked)
    return f"{message}{_proposals(machine.name) or _COMPARE}"


def check_size(machine: Machine, size: MachineSize | None) -> None:
    """Raise HardwareError for a size that contradicts that of a machine type in Berth's tables."""
    if size is None:
        return
    written = {"cpu": size.cpu, "memory": size.memory}
    facts = {"cpu": machine.vcpu, "memory": int(machine.memory_gb * 2**30)}
    if wrong := [key for key in size.keys if written[key] != facts[key]]:
        has = {"cpu": f"cpu: {machine.vcpu}", "memory": f"memory: {_memory(machine.memory_gb)}"}
        message = (
            f"'{machine.name}' has {' and '.join(has[key] for key in wrong)}; remove {' and '.join(wrong)}, which "
            f"{'follows' if len(wrong) == 1 else 'follow'} from the machine type"
        )
        raise HardwareError(("machine-size", wrong[0], message))


def _host_without_gpus(machine_type: str, host: tuple[int, float], size: MachineSize) -> Machine:
    """Return an N1 machine, whose size in the stack file says that its GPUs are not forgotten."""
    if (size.cpu, size.memory) != (host[0], int(host[1] * 2**30)):
        message = (
            f"an '{machine_type}' without GPUs needs its size; write cpu: {host[0]} and memory: {_memory(host[1])}"
        )
        raise HardwareError(("machine-size", size.keys[0], message))
    return usable(catalog.host_without_gpus(machine_type))


def _memory(gb: float) -> str:
    """Return GB as an amount of memory: `360Gi`, `3840Mi`."""
    return f"{gb:g}Gi" if gb == int(gb) else f"{int(gb * 1024)}Mi"


def n1_remedy(machine_type: str) -> str:
    """Return what to write for an N1 machine without GPUs."""
    cpu, gb = catalog.attachable_gpus().hosts[machine_type]
    return f"or cpu: {cpu} and memory: {_memory(gb)} for nodes without GPUs"


def usable(machine: Machine) -> Machine:
    """Return a machine without accelerators; raise HardwareError if it has no whole core for jobs."""
    if not machine.accelerators or not catalog.memory_per_core(machine):
        message = (
            f"'{machine.name}' has no whole core and memory for jobs, because GKE and the system's pods use a part of "
            "each node; write a larger machine"
        )
        raise HardwareError(("machine-size", "machineType", message))
    return machine


def check_spelling(machine_type: str) -> None:
    """Raise HardwareError for a machine type of a series in the table whose class is misspelt: c3-standart-88."""
    series, _, rest = machine_type.partition("-")
    names = [name for name in catalog.cpu_machine_names() if name.startswith(f"{series}-")]
    classes = {_class_of(name.partition("-")[2]) for name in names}
    written = _class_of(rest)
    if written not in classes and difflib.get_close_matches(written, classes, n=1, cutoff=_SIMILAR):
        message = f"no machine type '{format_value(machine_type)}' in Berth's table{_proposals(machine_type)}"
        raise HardwareError(("unknown-machine", "machineType", message.removesuffix("?")))


def _class_of(type_name: str) -> str:
    """Return a machine type without its series and its size: standard-lssd of standard-88-lssd."""
    return re.sub(r"-[0-9]+", "", type_name)


def _proposals(machine_type: str) -> str:
    """Return the machine types of the same class, or the most similar one, for a message; empty without any."""
    names = catalog.cpu_machine_names()
    same_class = [name for name in names if _class_of(name) == _class_of(machine_type)]
    if same_class:
        return f"; the table has {', '.join(same_class)}"
    series, _, rest = machine_type.partition("-")
    of_series = [name for name in names if name.startswith(f"{series}-")]
    return did_you_mean(machine_type, of_series or [name for name in names if name.partition("-")[2] == rest])


def _missing_size(machine_type: str, size: MachineSize, table: str = "cpu-machines") -> HardwareFault:
    """Return the fault of a machine type that a table of machines does not have, without its whole size."""
    quoted, proposals = format_value(machine_type), _proposals(machine_type).removesuffix("?")
    missing = [key for key in ("cpu", "memory") if key not in size.keys]
    example = {"cpu": "cpu: 64", "memory": "memory: 256Gi"}
    written = " and ".join(example[key] for key in missing)
    dated = catalog.fact_tables()[table].dated_name
    message = f"is missing: '{quoted}' is unknown: it is not in {dated}{proposals}; write its size, such as {written}"
    return "missing-key", missing[0], message
