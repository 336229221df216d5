"""The quota table (`quotas.yaml`): which quota of Google Cloud machines, disks and other resources count against."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from berth.catalog.tables import fact_tables
from berth.yaml_loader import load_table

QuotaScope = Literal["region", "global", "cluster"]
"""What one value of a quota counts: one region, all regions of a project, or one cluster."""

_DIMENSIONS = ("gpu_family", "tpu_family", "vm_family")
_COMPUTE = "compute.googleapis.com"
_QUOTA_ID_SUFFIX: Mapping[tuple[str, str], str] = {
    (_COMPUTE, "region"): "-per-project-region",
    (_COMPUTE, "global"): "-per-project",
}


class QuotaMetric(Struct, frozen=True, kw_only=True):
    """One quota of Google Cloud.

    `metric` is as `gcloud compute regions describe` spells it (NVIDIA_L4_GPUS); `service_metric` is that of Service
    Usage without its service, where it is not the metric in small letters. `dimensions` tell apart the families that
    share a metric. `doubt` says what no source settles.
    """

    metric: str
    unit: str
    service: str = _COMPUTE
    service_metric: str = ""
    scope: QuotaScope = "region"
    dimensions: tuple[tuple[str, str], ...] = ()
    doubt: str = ""

    @property
    def name(self) -> str:
        """The metric with its dimensions: GPUS_PER_GPU_FAMILY gpu_family=NVIDIA_H100."""
        metric = self.metric if self.service == _COMPUTE else self.usage_metric
        return " ".join([metric, *(f"{key}={value}" for key, value in self.dimensions)])

    @property
    def usage_metric(self) -> str:
        """The metric as Service Usage and Cloud Quotas spell it: compute.googleapis.com/nvidia_l4_gpus."""
        return f"{self.service}/{self.service_metric or self.metric.lower()}"

    @property
    def quota_id(self) -> str:
        """The id as Cloud Quotas spells it: NVIDIA-L4-GPUS-per-project-region; empty where no source has it."""
        suffix = _QUOTA_ID_SUFFIX.get((self.service, self.scope))
        return self.metric.replace("_", "-") + suffix if suffix else ""


class AcceleratorQuotas(Struct, frozen=True, kw_only=True):
    """The quotas of one accelerator, in GPUs or chips; `commitment` is that of a resource-based commitment."""

    standard: QuotaMetric
    preemptible: QuotaMetric
    commitment: QuotaMetric | None = None


class SeriesQuotas(Struct, frozen=True, kw_only=True):
    """The standard quotas of one machine series; None where its machines count against none."""

    cpus: QuotaMetric | None = None
    local_ssd: QuotaMetric | None = None


class QuotaTable(Struct, frozen=True, kw_only=True):
    """The whole table: by node-label value, machine series, type of disk, and what Berth counts."""

    accelerators: Mapping[str, AcceleratorQuotas]
    series: Mapping[str, SeriesQuotas]
    preemptible_cpus: QuotaMetric
    preemptible_local_ssd: QuotaMetric
    disks: Mapping[str, QuotaMetric]
    counts: Mapping[str, QuotaMetric]
    local_ssd_gb: int = field(default=375)


@cache
def quota_table() -> QuotaTable:
    """The quota table of this release, read once."""
    return build_quota_table(load_table(Path(__file__).with_name("quotas.yaml")))


def build_quota_table(data: Mapping[str, Any]) -> QuotaTable:
    """The table that the content of `quotas.yaml` describes."""
    return QuotaTable(
        accelerators=MappingProxyType(
            {label: _accelerator_quotas(label, row) for label, row in data["accelerators"].items()}
        ),
        series=MappingProxyType({name: _series_quotas(name, row) for name, row in data["series"].items()}),
        preemptible_cpus=_metric(data["preemptible_cpus"], "vCPUs"),
        preemptible_local_ssd=_metric(data["preemptible_local_ssd"], "GB"),
        disks=MappingProxyType({name: _metric(row, "GB") for name, row in data["disks"].items()}),
        counts=MappingProxyType({name: _metric(row, row["unit"]) for name, row in data["counts"].items()}),
        local_ssd_gb=data["local_ssd_gb"],
    )


def series_quotas(machine_type: str) -> SeriesQuotas:
    """The quotas of a machine's series; of one that the table does not have, a doubtful quota of vCPUs."""
    series = series_of(machine_type)
    if (row := quota_table().series.get(series)) is not None:
        return row
    doubt = fact_tables()["quotas"].unknown(f"the quota of {series} machines", "this one is")
    return SeriesQuotas(cpus=QuotaMetric(metric="CPUS", unit="vCPUs", doubt=doubt))


def quotas_of_accelerator(label: str) -> AcceleratorQuotas:
    """The quotas of an accelerator; of one that the table does not have, a doubtful quota of its family."""
    if (row := quota_table().accelerators.get(label)) is not None:
        return row
    doubt = fact_tables()["quotas"].unknown(f"the quota of {label}", "this one is")
    family, unit = ("TPUS_PER_TPU_FAMILY", "chips") if label.startswith("tpu") else ("GPUS_PER_GPU_FAMILY", "GPUs")
    metric = QuotaMetric(metric=family, unit=unit, doubt=doubt)
    return AcceleratorQuotas(standard=metric, preemptible=metric)


def series_of(machine_type: str) -> str:
    """The series of a machine type: a3 of a3-highgpu-8g."""
    return machine_type.partition("-")[0]


def _accelerator_quotas(label: str, row: Mapping[str, Any]) -> AcceleratorQuotas:
    unit = "GPUs" if label.startswith("nvidia") else "chips"
    quotas = {kind: _metric(cast("Mapping[str, Any]", quota), unit) for kind, quota in row.items()}
    return AcceleratorQuotas(**quotas)


def _series_quotas(series: str, row: Mapping[str, Any]) -> SeriesQuotas:
    units = {"cpus": "vCPUs", "local_ssd": "GB"}
    quotas = {kind: _metric(cast("Mapping[str, Any]", quota), units[kind]) for kind, quota in row.items()}
    # A metric that families share has the series as its family where the row names none.
    for kind, quota in quotas.items():
        if quota.metric.endswith("_PER_VM_FAMILY") and not quota.dimensions:
            quotas[kind] = replace(quota, dimensions=(("vm_family", series.upper()),))
    return SeriesQuotas(**quotas)


def _metric(row: Mapping[str, Any], unit: str) -> QuotaMetric:
    dimensions = tuple((key, row[key]) for key in _DIMENSIONS if key in row)
    fields = {key: value for key, value in row.items() if key not in (*_DIMENSIONS, "unit")}
    return QuotaMetric(unit=unit, dimensions=dimensions, **fields)
