"""docs/hardware.md is written from the hardware table, so that it cannot disagree with it."""

from __future__ import annotations

import os
import pathlib
import re

from berth import catalog
from berth.catalog import Machine

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "hardware.md"

HEAD = """\
# Hardware

The machines that Berth knows, from `berth/catalog/accelerators.yaml` and `berth/catalog/cpu_machines.yaml` (their heads
name the sources). Written by `make golden`. Counts are per node.

"""


CPU_HEAD = """\
## Without accelerators

Quotas of these machines count the cores that jobs can request: what GKE leaves of a node, minus 0.5 core and 1 GiB
for the system's DaemonSets, in whole cores. The vCPUs stand for N in the name. The first boot disk is the default of a
pool, and local SSDs are those that the type includes, by size, or counts to choose from. Custom types of E2, N2, N2D,
N4, N4A and N4D (`n2-custom-6-8192`) are known by their names, and N1 machines by their size (`cpu`, `memory`). Any
other machine type is unknown and needs its size in the pool. Berth has no table of the zones of these machines.

"""


def page() -> str:
    """Return the page as the table says it."""
    known = [m for m in catalog.machines().values() if m.status != "unsupported"]
    tpus = [_tpu(m) for m in known if m.kind == "tpu"]
    gpus = [_gpu(m) for m in known if m.kind == "gpu"]
    tpu_head = ["machine type", "chips", "vCPU", "GB", "slice topologies", "boot disk"]
    gpu_head = ["machine type", "GPUs", "`gke-accelerator`", "vCPU", "GB", "boot disk", "GPUDirect"]
    cpu_head = [
        *("machine types", "vCPU", "GB per vCPU", "cores for jobs, such as", "CPU", "boot disks", "local SSDs"),
        "compact placement",
    ]
    cpus = f"{CPU_HEAD}{_table(cpu_head, _without_accelerators())}"
    return f"{HEAD}## TPU\n\n{_table(tpu_head, tpus)}\n## GPU\n\n{_table(gpu_head, gpus)}\n{cpus}"


def _without_accelerators() -> list[list[str]]:
    types: dict[str, list[Machine]] = {}
    for machine in catalog.cpu_machine_types().values():
        types.setdefault(re.sub(rf"-{machine.vcpu}\b", "-N", machine.name), []).append(machine)
    return [_cpu(name, machines) for name, machines in types.items()]


def _cpu(name: str, machines: list[Machine]) -> list[str]:
    largest = machines[-1]
    cores = f"{largest.accelerators} of {largest.name}" if largest.accelerators else "none"
    sizes = ", ".join(str(m.vcpu) for m in machines)
    per_core = sorted({m.memory_gb / m.vcpu for m in machines})
    memory = " to ".join(f"{gb:g}" for gb in (per_core if len(per_core) == 1 else (per_core[0], per_core[-1])))
    disks = sorted(largest.boot_disk_types, key=lambda disk: (disk != largest.default_boot_disk, disk))
    compact = f"{largest.compact_max_nodes} nodes" if largest.compact_max_nodes else "none"
    return [name, sizes, memory, cores, largest.arch, ", ".join(disks), _local_ssds(machines), compact]


def _local_ssds(machines: list[Machine]) -> str:
    """Return the local SSDs of machines of one type, from the smallest to the largest."""
    if any(m.ssd_automatic for m in machines):
        return ", ".join(str(m.ssd_automatic) for m in machines)
    options = sorted({count for m in machines for count in m.ssd_options})
    return f"one of {', '.join(map(str, options))}" if options else "none"


def _tpu(machine: Machine) -> list[str]:
    shapes = catalog.slice_topologies(machine)
    shown = ", ".join(shapes if len(shapes) <= 12 else (*shapes[:8], f"… {shapes[-1]} ({len(shapes)} in all)"))
    return [machine.name, str(machine.accelerators), *_size(machine), shown, machine.default_boot_disk]


def _gpu(machine: Machine) -> list[str]:
    count = f"{machine.accelerators} {machine.noun}"
    return [machine.name, count, machine.accelerator, *_size(machine), machine.default_boot_disk, machine.gpudirect]


def _size(machine: Machine) -> list[str]:
    return [str(machine.vcpu), f"{machine.memory_gb:g}"]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def test_golden_hardware_page() -> None:
    """`make golden` rewrites it."""
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "the hardware table changed: run `make golden`, and read the difference"
