"""The quota table: every name that Google's API description has, and a row for every machine that Berth offers."""

from __future__ import annotations

import pytest

from berth import catalog
from berth.catalog.quotas import QuotaMetric, quota_table, series_of, series_quotas
from tests.stack_files import ROOT

DESCRIBED = frozenset(
    (ROOT / "tests" / "vendored" / "google" / "quota_metrics.txt").read_text(encoding="utf-8").split("\n")[1:-1]
)
"""Values of Quota.metric, from Google's description of the Compute Engine API."""

_NOT_DESCRIBED = {
    "GPUS_PER_GPU_FAMILY",
    "TPUS_PER_TPU_FAMILY",
    "CPUS_PER_VM_FAMILY",
    "LOCAL_SSD_TOTAL_STORAGE_PER_VM_FAMILY",
    "PREEMPTIBLE_NVIDIA_H100_MEGA_GPUS",
    "PREEMPTIBLE_NVIDIA_H200_GPUS",
    "PREEMPTIBLE_NVIDIA_B200_GPUS",
    "PREEMPTIBLE_NVIDIA_GB200_GPUS",
    "PREEMPTIBLE_NVIDIA_GB300_GPUS",
    "PREEMPTIBLE_NVIDIA_RTX_PRO_6000_GPUS",
    "TPU_V5P",
    "PREEMPTIBLE_TPU_V5P",
    "PREEMPTIBLE_TPU_V6E",
    "PREEMPTIBLE_TPU7X",
    "ACTIVE_RESIZE_REQUESTS",
    "SERVICE_ACCOUNTS",
    "NODES_PER_CLUSTER",
}
"""Metrics of other sources: the enum of the API has only the older ones, and `regions describe` prints no others."""


def _metrics() -> list[QuotaMetric]:
    table = quota_table()
    accelerators = [q for row in table.accelerators.values() for q in (row.standard, row.preemptible, row.commitment)]
    series = [q for row in table.series.values() for q in (row.cpus, row.local_ssd)]
    others = [table.preemptible_cpus, table.preemptible_local_ssd, *table.disks.values(), *table.counts.values()]
    return [metric for metric in (*accelerators, *series, *others) if metric is not None]


def test_each_metric_is_described_by_google_or_known_not_to_be() -> None:
    assert {metric.metric for metric in _metrics()} - DESCRIBED == _NOT_DESCRIBED


def test_each_accelerator_that_berth_offers_has_its_quotas() -> None:
    offered = {machine.accelerator for machine in catalog.machines().values() if machine.status != "unsupported"}
    assert set(quota_table().accelerators) == offered | set(catalog.attachable_gpus().gpus)


def test_each_series_that_berth_offers_has_a_row() -> None:
    names = [name for name, machine in catalog.machines().items() if machine.status != "unsupported"]
    assert {series_of(name) for name in (*names, *catalog.attachable_gpus().hosts)} <= set(quota_table().series)


@pytest.mark.parametrize("accelerator", sorted(quota_table().accelerators))
def test_the_preemptible_metric_of_a_gpu_is_its_own_and_counts_the_same_unit(accelerator: str) -> None:
    row = quota_table().accelerators[accelerator]
    assert row.preemptible.metric.startswith("PREEMPTIBLE_")
    assert row.standard.unit == row.preemptible.unit == ("GPUs" if accelerator.startswith("nvidia") else "chips")


def test_a_metric_has_the_spellings_of_all_apis() -> None:
    l4, ssd = quota_table().accelerators["nvidia-l4"].standard, quota_table().disks["pd-balanced"]
    assert (l4.name, l4.usage_metric, l4.quota_id) == (
        "NVIDIA_L4_GPUS",
        "compute.googleapis.com/nvidia_l4_gpus",
        "NVIDIA-L4-GPUS-per-project-region",
    )
    assert (ssd.usage_metric, ssd.quota_id) == (
        "compute.googleapis.com/ssd_total_storage",
        "SSD-TOTAL-GB-per-project-region",
    )
    h100, accounts = quota_table().accelerators["nvidia-h100-80gb"].standard, quota_table().counts["service_accounts"]
    assert h100.name == "GPUS_PER_GPU_FAMILY gpu_family=NVIDIA_H100"
    assert quota_table().counts["gpus"].quota_id == "GPUS-ALL-REGIONS-per-project"
    assert (accounts.name, accounts.quota_id) == ("iam.googleapis.com/quota/service-account-count", "")


def test_values_without_a_clear_source_are_marked_doubtful() -> None:
    assert series_quotas("a3-highgpu-8g").cpus == QuotaMetric(
        metric="CPUS_PER_VM_FAMILY",
        unit="vCPUs",
        dimensions=(("vm_family", "A3"),),
        doubt="no source names the vCPU quota of this series",
    )
    assert series_quotas("ct6e-standard-4t").cpus is None
    assert series_quotas("z9-standard-4").cpus == QuotaMetric(
        metric="CPUS",
        unit="vCPUs",
        doubt=catalog.fact_tables()["quotas"].unknown("the quota of z9 machines", "this one is"),
    )
