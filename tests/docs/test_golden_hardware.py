"""docs/hardware.md is written from the hardware table, so that it cannot disagree with it."""

from __future__ import annotations

import os
import pathlib

from berth import catalog
from berth.catalog import Machine

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "hardware.md"

HEAD = """\
# Hardware

The accelerator machines that Berth knows, from `berth/catalog/accelerators.yaml` (its head names the sources).
Written by `make golden`. Counts are per node.

"""


def page() -> str:
    """Return the page as the table says it."""
    known = [m for m in catalog.machines().values() if m.status != "unsupported"]
    tpus = [_tpu(m) for m in known if m.kind == "tpu"]
    gpus = [_gpu(m) for m in known if m.kind == "gpu"]
    tpu_head = ["machine type", "chips", "vCPU", "GB", "slice topologies", "boot disk"]
    gpu_head = ["machine type", "GPUs", "`gke-accelerator`", "vCPU", "GB", "boot disk", "GPUDirect"]
    return f"{HEAD}## TPU\n\n{_table(tpu_head, tpus)}\n## GPU\n\n{_table(gpu_head, gpus)}"


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
    """`make golden` writes it anew."""
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "the hardware table changed: run `make golden`, and read the difference"
