"""Devices of a node: sharing, partitions, drivers, local SSDs, confidential nodes."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Severity
from berth.google.node_config import DRIVER_VERSIONS
from berth.rules.gke.gpu import (
    GpuCounts,
    gpu_counts,
    gpu_labels,
)
from berth.spec.machines.pools import GpuSharingSpec
from tests.berth.rules.gke.pool_requests import AUTOPILOT, READY, codes, ephemeral_ssds, message, pool, shared

GPUS = ["n1", *(m.name for m in catalog.machines().values() if m.kind == "gpu")]
TPUS = [m.name for m in catalog.machines().values() if m.kind == "tpu" and m.status != "unsupported"]

# --- counts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "partition", "clients", "allocatable"),
    [
        ("a2-highgpu-2g", None, None, 2),
        ("a2-highgpu-2g", "1g.5gb", None, 14),
        ("a2-highgpu-2g", "1g.5gb", 4, 56),
        ("g2-standard-24", None, 48, 96),
        ("a3-ultragpu-8g", "3g.71gb", None, 16),
    ],
)
def test_allocatable_is_gpus_times_partitions_times_clients(
    name: str, partition: str | None, clients: int | None, allocatable: int
) -> None:
    sharing = shared(max_shared_clients=clients) if clients else None
    assert gpu_counts(pool(name, gpu_partition=partition, gpu_sharing=sharing)).allocatable == allocatable


@settings(deadline=None)
@given(st.sampled_from(GPUS), st.data())
def test_every_partition_and_client_count_of_the_table_is_accepted_and_counted(name: str, data: st.DataObject) -> None:
    sizes = catalog.mig_partitions(pool(name).machine.accelerator)
    partition = data.draw(st.sampled_from([None, *sizes]))
    clients = data.draw(st.none() | st.integers(2, 48))
    request = pool(
        name,
        gpu_partition=partition,
        gpu_sharing=shared(max_shared_clients=clients) if clients else None,
    )
    assert not codes(request, Severity.FAULT)
    assert gpu_counts(request) == GpuCounts(
        request.machine.accelerators, sizes[partition] if partition else 1, clients or 1
    )


def test_labels_follow_from_sharing_and_partition() -> None:
    request = pool("a2-highgpu-1g", gpu_partition="1g.5gb", gpu_sharing=shared(max_shared_clients=3))
    assert gpu_labels(request) == {
        "cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
        "cloud.google.com/gke-gpu-partition-size": "1g.5gb",
        "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "3",
    }
    assert gpu_labels(pool("ct6e-standard-4t")) == {}
    labels = gpu_labels(pool("g2-standard-4", gpu_sharing=shared(strategy="mps", max_shared_clients=2)))
    assert labels["cloud.google.com/gke-gpu-sharing-strategy"] == "mps"


@pytest.mark.parametrize("driver", list(DRIVER_VERSIONS))
def test_driver_versions_are_those_of_the_provider(driver: str) -> None:
    assert DRIVER_VERSIONS[driver] in catalog.limits().driver_versions


def test_sharing_strategies_are_those_of_the_provider() -> None:
    """engine.md: only the API refuses another strategy, at `up`."""
    words = get_args(GpuSharingSpec.model_fields["strategy"].annotation)
    assert [word.upper().replace("-", "_") for word in words] == list(catalog.limits().sharing_strategies)


# --- partitions and sharing -------------------------------------------------------------------------------------------


def test_a_partition_is_one_of_its_gpu() -> None:
    assert message(pool("a2-ultragpu-1g", gpu_partition="1g.5gb")) == (
        "gpuPartition: '1g.5gb' is not a partition of nvidia-a100-80gb; write one of 1g.10gb, 2g.20gb, 3g.40gb, 7g.80gb"
    )
    assert message(pool("g2-standard-4", gpu_partition="1g.5gb")) == (
        "gpuPartition: 'nvidia-l4' cannot be partitioned; remove gpuPartition"
    )


def test_a_fractional_partition_is_a_warning() -> None:
    request = pool("g4-standard-6", gpu_partition="1g.24gb")
    assert codes(request, Severity.WARNING) == {"partition-fraction"} == codes(request)


@pytest.mark.parametrize(("clients", "fine"), [(1, False), (2, True), (48, True), (49, False)])
def test_a_gpu_has_2_to_48_clients(clients: int, fine: bool) -> None:
    request = pool("g2-standard-4", gpu_sharing=shared(max_shared_clients=clients))
    assert codes(request) == (set() if fine else {"shared-clients"})


def test_mps_with_partitions_or_on_autopilot_is_worth_a_warning() -> None:
    mps = shared(strategy="mps", max_shared_clients=2)
    assert codes(pool("a2-highgpu-1g", gpu_sharing=mps)) == set()
    assert codes(pool("a2-highgpu-1g", gpu_sharing=mps, gpu_partition="1g.5gb"), Severity.WARNING) == {"mps-partition"}
    assert codes(pool("a2-highgpu-1g", gpu_sharing=mps, cluster=AUTOPILOT), Severity.WARNING) == {"mps-autopilot"}
    sliced = shared(max_shared_clients=2)
    assert codes(pool("a2-highgpu-1g", gpu_sharing=sliced, gpu_partition="1g.5gb", cluster=AUTOPILOT)) == set()


@pytest.mark.parametrize(
    "changes",
    [
        {"gpu_sharing": shared(strategy="mps", max_shared_clients=2)},
        {"gpu_partition": "1g.5gb"},
        {"driver_version": "latest"},
    ],
)
def test_tpus_are_neither_shared_nor_partitioned_and_have_no_driver(changes: dict[str, Any]) -> None:
    assert codes(pool("ct6e-standard-4t", **changes)) == {"gpu-only"}


# --- drivers ----------------------------------------------------------------------------------------------------------


def test_an_own_gpu_driver_disables_the_managed_gpu_metrics() -> None:
    request = pool("g2-standard-4", driver_version="disabled", cluster=replace(READY, dcgm=True))
    assert codes(request, Severity.WARNING) == {"driver-dcgm"} == codes(request)
    assert codes(pool("g2-standard-4", driver_version="disabled")) == set()
    assert codes(pool("g2-standard-4", cluster=replace(READY, dcgm=True))) == set()


# --- local SSDs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*GPUS, *TPUS])
def test_a_machine_takes_the_local_ssds_of_the_table_and_no_other_count(name: str) -> None:
    row = pool(name).machine
    fine = {count for count in range(40) if "local-ssds" not in codes(pool(name, local_ssd=ephemeral_ssds(count)))}
    assert fine == {row.ssd_automatic, *row.ssd_options}


def test_a_rejected_local_ssd_count_lists_the_allowed_ones() -> None:
    assert message(pool("a2-highgpu-2g", local_ssd=ephemeral_ssds(1))).endswith("local SSDs; write one of 0, 2, 4, 8")
    assert message(pool("a2-ultragpu-2g", local_ssd=ephemeral_ssds(1))).endswith(
        "remove localSsd, because the machine includes 2"
    )
    assert message(pool("ct6e-standard-4t", local_ssd=ephemeral_ssds(1))).endswith(
        "remove localSsd, because the machine supports none"
    )


# --- confidential nodes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GPUS)
def test_gpus_are_confidential_on_two_machines(name: str) -> None:
    """Facts 2.1: TDX on a3-highgpu-1g, SEV on g4-standard-48."""
    kinds = {"a3-highgpu-1g": {"TDX"}, "a3-highgpu-1g-nolssd": {"TDX"}, "g4-standard-48": {"SEV"}}
    fine = {
        kind for kind in ("SEV", "SEV_SNP", "TDX") if not codes(pool(name, confidential_nodes=kind), Severity.FAULT)
    }
    assert fine == kinds.get(name, set())


def test_a_rejected_confidential_type_names_the_machines_that_have_it() -> None:
    assert message(pool("g4-standard-48", confidential_nodes="TDX")) == (
        "confidentialNodes: 'TDX' confidential nodes are not available with g4-standard-48; write "
        "confidentialNodes: SEV"
    )
    assert message(pool("g2-standard-4", confidential_nodes="TDX")).endswith(
        "remove confidentialNodes, or write a machineType such as a3-highgpu-1g"
    )


def test_confidential_tpus_are_a_warning() -> None:
    request = pool("ct6e-standard-4t", confidential_nodes="SEV")
    assert codes(request, Severity.WARNING) == {"confidential"} == codes(request)
