"""Which quotas one machine counts against, and with how much."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.catalog import QuotaMetric, quota_table, quotas_of_accelerator, series_quotas
from berth.quota.machines import PREEMPTIBLE, Machines


class MachineQuota(Struct, frozen=True, kw_only=True):
    """What one machine needs of a quota. `fallback` is used instead where the project has none of it."""

    metric: QuotaMetric
    per_node: int
    fallback: QuotaMetric | None = None
    is_optional: bool = False


def machine_quotas(machines: Machines) -> Iterator[MachineQuota]:
    """The quotas that a machine counts against; none twice, and none with an amount of 0."""
    if machines.holds_quota:
        yield from filter(_counts, (*_accelerator_quotas(machines), *_core_quotas(machines), *_ssd_quotas(machines)))
    if machines.is_running:
        yield from _running_quotas(machines)


def _counts(quota: MachineQuota) -> bool:
    return quota.per_node > 0


def _accelerator_quotas(machines: Machines) -> Iterator[MachineQuota]:
    if machines.accelerator is None:
        return
    table = quota_table()
    quotas, amount = quotas_of_accelerator(machines.accelerator), machines.accelerators
    if machines.capacity in PREEMPTIBLE:
        yield MachineQuota(metric=quotas.preemptible, per_node=amount, fallback=quotas.standard)
    else:
        yield MachineQuota(metric=quotas.standard, per_node=amount)
    if quotas.standard.unit == "GPUs":
        yield MachineQuota(metric=table.counts["gpus"], per_node=amount)
    if not machines.is_running and quotas.commitment is not None:
        yield MachineQuota(metric=quotas.commitment, per_node=amount, is_optional=True)


def _core_quotas(machines: Machines) -> Iterator[MachineQuota]:
    table, cpus = quota_table(), series_quotas(machines.machine_type).cpus
    if cpus is None:
        return
    if machines.capacity in PREEMPTIBLE:
        yield MachineQuota(metric=table.preemptible_cpus, per_node=machines.vcpus, fallback=cpus)
    else:
        yield MachineQuota(metric=cpus, per_node=machines.vcpus)
    yield MachineQuota(metric=table.counts["vcpus"], per_node=machines.vcpus)


def _ssd_quotas(machines: Machines) -> Iterator[MachineQuota]:
    table, standard = quota_table(), series_quotas(machines.machine_type).local_ssd
    amount = machines.local_ssds * table.local_ssd_gb
    if standard is None:
        return
    if machines.capacity in PREEMPTIBLE:
        yield MachineQuota(metric=table.preemptible_local_ssd, per_node=amount, fallback=standard)
    else:
        yield MachineQuota(metric=standard, per_node=amount)


def _running_quotas(machines: Machines) -> Iterator[MachineQuota]:
    """What a VM counts against whether or not a reservation holds its machine."""
    table = quota_table()
    yield MachineQuota(metric=table.counts["nodes"], per_node=1)
    yield MachineQuota(metric=table.counts["nodes_per_cluster"], per_node=1)
    if (disk := table.disks.get(machines.disk_type)) is not None:
        yield MachineQuota(metric=disk, per_node=machines.disk_gb)
    if machines.is_public:
        yield MachineQuota(metric=table.counts["public_addresses"], per_node=1)
