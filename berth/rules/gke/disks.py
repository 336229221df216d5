"""Boot disks of nodes: which types the machines of a series take.

Source: the tables of machines, which have GKE's autoscaler's lists.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import format_value, join_or
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, Violations, gke_fault, gke_warning

_SIMILAR = 0.8
"""Similarity to a known type from which an unknown one counts as misspelt."""


def boot_disk_types() -> tuple[str, ...]:
    """Return every type of boot disk that some machine takes, sorted."""
    with_accelerators = (disk for machine in catalog.machines().values() for disk in machine.boot_disk_types)
    return tuple(sorted({*with_accelerators, *catalog.cpu_boot_disk_types()}))


def boot_disk_violation(disk: str | None, machine: Machine) -> GkeViolation | None:
    """Return what is wrong with the type of the boot disk of a machine; None if nothing is, or if none is written."""
    if disk is None or disk in machine.boot_disk_types:
        return None
    if not machine.boot_disk_types:
        return boot_disk_type_violation(disk)
    message = f"'{format_value(disk)}' is not a boot disk of {machine.name}; write {join_or(machine.boot_disk_types)}"
    return gke_fault("boot-disk", "diskType", message)


def boot_disk_type_violation(disk: str) -> GkeViolation | None:
    """Return a fault for a misspelt type of disk, and a warning for one that no table has."""
    types = boot_disk_types()
    if disk in types:
        return None
    value = f"'{format_value(disk)}'"
    if close := difflib.get_close_matches(disk, types, n=1, cutoff=_SIMILAR):
        return gke_fault("boot-disk", "diskType", f"{value} is not a type of disk; write {close[0]}")
    unknown = catalog.fact_tables()["cpu-machines"].unknown(value, "whether nodes can boot from it is")
    return gke_warning("disk-unknown", "diskType", f"{unknown}; the table has {', '.join(types)}")


def shared_boot_disk_violation(disk: str, machines: Sequence[Machine]) -> GkeViolation | None:
    """Return what is wrong with one type of boot disk for all machines that GKE creates; None if all take it.

    A fault if none of them takes it, and a warning if some do: no source says which disk GKE gives the others.
    """
    listed = {machine.name: machine.boot_disk_types for machine in machines if machine.boot_disk_types}
    refusing = [name for name, types in listed.items() if disk not in types]
    if not refusing:
        return None
    message = f"'{disk}' is not a boot disk of {join_or(refusing)}"
    if len(refusing) == len(listed):
        common = [each for each in boot_disk_types() if all(each in types for types in listed.values())]
        return gke_fault(
            "boot-disk", "diskType", f"{message}; {f'write {join_or(common)}, or ' if common else ''}remove diskType"
        )
    dated = catalog.fact_tables()["cpu-machines"].dated_name
    others = f"no source says which disk GKE gives them, so theirs is unknown and not checked ({dated})"
    return gke_warning(
        "disk-unknown", "diskType", f"{message}, and {others}; create pools of them without autoProvisioned"
    )


def boot_disk_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the boot disk of a pool."""
    if not request.made_by_gke and (found := boot_disk_violation(request.settings.disk_type, request.machine)):
        yield found
