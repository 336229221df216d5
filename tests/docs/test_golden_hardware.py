"""docs/hardware.md is written from the hardware table, so that it cannot disagree with it."""

from __future__ import annotations

import os
import pathlib

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
for the system's DaemonSets, in whole cores. Custom types of E2, N2, N2D and N4 (`n2-custom-6-8192`) are known by their
names, and N1 machines by their size (`cpu`, `memory`). Any other machine type needs its size in the pool. Berth has no
table of the zones of these machines.

"""


def page() -> str:
    """Return the page as the table says it."""
    known = [m for m in catalog.machines().values() if m.status != "unsupported"]
    tpus = [_tpu(m) for m in known if m.kind == "tpu"]
    gpus = [_gpu(m) for m in known if m.kind == "gpu"]
    tpu_head = ["machine type", "chips", "vCPU", "GB", "slice topologies", "boot disk"]
    gpu_head = ["machine type", "GPUs", "`gke-accelerator`", "vCPU", "GB", "boot disk", "GPUDirect"]
    cpu_head = ["machine types", "vCPU", "GB per vCPU", "cores for jobs, such as", "CPU", "boot disk"]
    cpus = f"{CPU_HEAD}{_table(cpu_head, _without_accelerators())}"
    return f"{HEAD}## TPU\n\n{_table(tpu_head, tpus)}\n## GPU\n\n{_table(gpu_head, gpus)}\n{cpus}"


def _without_accelerators() -> list[list[str]]:
    classes: dict[str, list[Machine]] = {}
    for machine in catalog.cpu_machine_types().values():
        classes.setdefault(machine.name.rpartition("-")[0], []).append(machine)
    return [_cpu(name, machines) for name, machines in classes.items()]


def _cpu(name: str, machines: list[Machine]) -> list[str]:
    usable = [m for m in machines if m.accelerators]
    largest = usable[-1]
    cores = f"{largest.accelerators} of {largest.name}"
    sizes = ", ".join(str(m.vcpu) for m in usable)
    per_core = sorted({m.memory_gb / m.vcpu for m in usable})
    memory = " to ".join(f"{gb:g}" for gb in (per_core if len(per_core) == 1 else (per_core[0], per_core[-1])))
    return [name, sizes, memory, cores, largest.arch, largest.default_boot_disk]


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
