"""Machines without accelerators: their sizes against the autoscaler's price list, and their allocatable resources."""

from __future__ import annotations

import math

import pytest

from berth import catalog
from berth.catalog import cpu_machine, cpu_machine_types, memory_per_core

# From cloudprovider/gce/gce_price_info.go of the cluster autoscaler: USD an hour of a vCPU, of a GB, and of machines.
SERIES_PRICES = {
    "c2": (0.03398, 0.00455),
    "c2d": (0.029563, 0.003959),
    "c3": (0.03398, 0.00456),
    "c3d": (0.02956, 0.003956),
    "e2": (0.021811, 0.002923),
    "n2": (0.031611, 0.004237),
    "n2d": (0.027502, 0.003686),
    "t2d": (0.027502, 0.003686),
}
PRICES = {
    "c2-standard-30": 1.5660,
    "c2d-highcpu-56": 2.0989,
    "c2d-highmem-112": 6.8583,
    "c2d-standard-32": 1.4528,
    "c3-highcpu-22": 0.9482,
    "c3-highmem-44": 3.10024,
    "c3-standard-88": 4.59536,
    "c3d-highcpu-16": 0.59968,
    "c3d-highmem-90": 5.5116,
    "c3d-standard-180": 8.172,
    "e2-highcpu-8": 0.19788,
    "e2-highmem-16": 0.72320,
    "e2-standard-16": 0.53609,
    "n2-highcpu-48": 1.7207,
    "n2-highmem-80": 5.2406,
    "n2-highmem-128": 7.7069,
    "n2-standard-32": 1.5539,
    "n2d-highcpu-224": 6.9861,
    "n2d-highmem-96": 5.4711,
    "n2d-standard-128": 5.4075,
    "t2d-standard-60": 2.5348,
}


@pytest.mark.parametrize("name", PRICES)
def test_memory_is_what_the_price_of_a_machine_pays_for(name: str) -> None:
    """The price is that of the vCPUs and of the GB; the memory follows from it."""
    of_vcpu, of_gb = SERIES_PRICES[name.partition("-")[0]]
    machine = cpu_machine(name)
    assert machine is not None
    paid_gb = (PRICES[name] - machine.vcpu * of_vcpu) / of_gb
    assert machine.vcpu == int(name.rpartition("-")[2])
    assert machine.memory_gb == pytest.approx(paid_gb, rel=0.01)


@pytest.mark.parametrize("machine", cpu_machine_types().values(), ids=list(cpu_machine_types()))
def test_cores_and_memory_fit_on_a_node_with_system_pods(machine: catalog.Machine) -> None:
    """The reservation of GKE's page, added up in another way; DaemonSets have at least 0.5 core and 1 GiB."""
    if machine.accelerators == 0:
        assert machine.vcpu == 1 or machine.shared_core
        return
    cores = range(1, machine.vcpu + 1)
    reserved = sum(60 if n == 1 else 10 if n == 2 else 5 if n <= 4 else 2.5 for n in cores)
    free_milli = machine.vcpu * 1000 - reserved - 500
    assert machine.accelerators == math.floor(free_milli / 1000)
    bounds = ((4, 0.25), (8, 0.2), (16, 0.1), (128, 0.06), (math.inf, 0.02))
    taken, below = 0.0, 0.0
    for upper, fraction in bounds:
        taken += max(0.0, min(machine.memory_gb, upper) - below) * fraction
        below = upper
    free_mib = (machine.memory_gb - taken - 1) * 1024 - 100
    assert memory_per_core(machine) == math.floor(free_mib / machine.accelerators + 1e-9) * 2**20


def test_custom_machines_have_their_size_in_their_name() -> None:
    machine = cpu_machine("n2-custom-6-8192")
    assert machine is not None
    assert (machine.vcpu, machine.memory_gb, machine.accelerators) == (6, 8.0, 5)
    extended = cpu_machine("e2-custom-4-65536-ext")
    assert extended is not None
    assert extended.memory_gb == 64.0
    assert cpu_machine("c3-custom-6-8192") is None
    assert cpu_machine("n2-custom-6") is None


def test_no_machine_is_in_two_tables() -> None:
    accelerated = catalog.machines().keys() | catalog.attachable_gpus().hosts.keys()
    assert not accelerated & cpu_machine_types().keys()
    assert cpu_machine("g2-standard-24") is None
    assert cpu_machine("e4-standard-8") is None


def test_a_machine_with_shared_cores_has_no_core_for_jobs() -> None:
    """GKE reserves 1,060 milli-cpu of its two vCPUs, and DaemonSets take more than half of the rest."""
    for name, gb in (("e2-micro", 1), ("e2-small", 2), ("e2-medium", 4)):
        machine = cpu_machine(name)
        assert machine is not None
        assert (machine.vcpu, machine.memory_gb, machine.accelerators) == (2, gb, 0)
    assert catalog.node_allocatable(2, 4, shared_core=True) == catalog.Allocatable(940, 3 * 2**30 - 100 * 2**20)


def test_h4d_is_as_google_documents_it() -> None:
    """192 vCPUs; flex-start with compact placement of up to 150 nodes; ten local SSDs in the type with them."""
    machine = cpu_machine("h4d-highmem-192-lssd")
    assert machine is not None
    assert (machine.vcpu, machine.memory_gb, machine.ssd_automatic, machine.compact_max_nodes) == (192, 1488, 10, 150)
    assert (machine.provisioning.flex_start, machine.provisioning.queued) == ("offered", "doubtful")
    assert machine.supports_compact_flex_start
    assert machine.default_boot_disk == "hyperdisk-balanced"


def test_an_unlisted_size_has_the_facts_of_its_series() -> None:
    machine = catalog.cpu_machine_of_size("c4a-standard-96", 96, 384)
    assert (machine.arch, machine.default_boot_disk) == ("arm64", "hyperdisk-balanced")
    assert machine.provisioning.offered_models == ("on-demand", "spot", "reservation-any", "reservation-specific")
