"""Every machine of GKE's autoscaler is in Berth's tables as it says: size, boot disks, local SSDs, placement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from berth import catalog
from tests.stack_files import ROOT

FACTS = ROOT / "tests" / "vendored" / "facts" / "gke_machines.txt"


class SourcedMachine(NamedTuple):
    """One line of the facts, with that of its series."""

    name: str
    series: str
    arch: str
    boot_disks: frozenset[str]
    compact_max_nodes: int
    vcpu: int
    gb: float
    ssd: str
    explicit_only: bool


def sourced() -> Iterator[SourcedMachine]:
    """The machines of the facts."""
    series, arch, disks, compact = "", "", "", ""
    for line in FACTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        if not line.startswith(" "):
            series, arch, disks, compact = words
            continue
        name, vcpu, gb, ssd = words[:4]
        boot = frozenset(disks.split(","))
        yield SourcedMachine(name, series, arch, boot, int(compact), int(vcpu), float(gb), ssd, len(words) > 4)


MACHINES = {machine.name: machine for machine in sourced()}
LEFT_OUT = {
    *(name for name, machine in MACHINES.items() if machine.series in ("e4", "e4a", "ek")),
    *("c3d-standard-60-6TB", "c3d-standard-90-12TB", "n2-highcpu-128", "f1-micro", "g1-small"),
    *(name for name in MACHINES if name.startswith("custom-")),
}
"""Machines that the head of cpu_machines.yaml says are not in Berth's tables."""
OTHER_SIZES = {
    "n2d-highmem-96": (96, 768),
    "g2-standard-24": (24, 96),
    "e2-micro": (2, 1),
    "e2-small": (2, 2),
    "e2-medium": (2, 4),
}
"""Sizes for which Google's pages are followed; of shared cores the autoscaler counts one of two vCPUs."""


def tabled(name: str) -> catalog.Machine | None:
    """The machine in any of Berth's tables."""
    host = catalog.attachable_gpus().hosts.get(name)
    if host is not None:
        return catalog.attach_gpus(name, "nvidia-tesla-t4", 4)
    return catalog.machines().get(name) or catalog.cpu_machine(name)


def test_the_tables_have_every_machine_of_the_source_and_no_other() -> None:
    assert {name for name in MACHINES if tabled(name) is None} == LEFT_OUT
    assert not {*catalog.cpu_machine_names()} - {*MACHINES}
    assert not {*catalog.machines()} - {*MACHINES}


@pytest.mark.parametrize("source", [m for m in MACHINES.values() if m.name not in LEFT_OUT], ids=lambda m: m.name)
def test_a_machine_is_as_the_source_says(source: SourcedMachine) -> None:
    machine = tabled(source.name)
    assert machine is not None
    if machine.status == "unsupported":
        return
    assert (machine.vcpu, machine.memory_gb) == OTHER_SIZES.get(source.name, (source.vcpu, source.gb))
    assert machine.arch == source.arch
    assert machine.explicit_only == source.explicit_only
    options = source.ssd.removeprefix("?").split(",") if source.ssd.startswith("?") else []
    assert (machine.ssd_automatic, machine.ssd_options) == (
        0 if options else int(source.ssd),
        tuple(map(int, options)),
    )
    only_hyperdisk = source.name.startswith("a3-ultragpu")  # its rows override the disks of the family
    assert {*machine.boot_disk_types} == ({"hyperdisk-balanced"} if only_hyperdisk else source.boot_disks)
    if machine.domain_topology is None and machine.kind != "tpu":
        assert machine.compact_max_nodes == source.compact_max_nodes
