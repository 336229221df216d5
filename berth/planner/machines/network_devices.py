"""The network devices that pods claim from GKE's DRANET, and what they count as in Kueue's quotas.

Sources: GKE docs, "Allocate network resources by using GKE managed DRANET"; Kueue 0.19.2 `pkg/dra`. Kueue refuses a
claim of all devices (`allocationMode: All`, as in GKE's example), so claims name a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from berth import catalog
from berth.catalog import Machine
from berth.plan.configuration import DeviceMappingPlan
from berth.plan.kueue import ClaimTemplatePlan, NetworkDevicesPlan
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool
from berth.spec.controllers import KueueSpec

_FIRST_RELEASE = (0, 18)
"""The first release of Kueue that counts claims by default (`pkg/features`: KueueDRAIntegration is beta)."""


def flavor_devices(context: PlanningContext, pools: Sequence[PlannedPool]) -> NetworkDevicesPlan | None:
    """Return the devices of a flavor's nodes; None without DRANET, or if its Kueue cannot count them.

    They are interfaces with RDMA if the machine has any. Claims fit on all of its pools: the devices are those of the
    machine with the fewest for each accelerator.
    """
    if not counts_claims(context.spec.kueue) or any(pool.spec.networking != "dranet" for pool in pools):
        return None
    machines = [pool.hardware.machine for pool in pools]
    for name in catalog.NETWORK_DEVICE_CLASSES:
        counts = [(_number(each, name), each.accelerators) for each in machines]
        number, accelerators = min(counts, key=lambda each: each[0] / each[1])
        if number:
            resource = counted_as(context.spec.kueue, name)
            return NetworkDevicesPlan(device_class=name, resource=resource, per_node=number, accelerators=accelerators)
    return None


def _number(machine: Machine, device_class: str) -> int:
    return machine.network_devices.by_class[device_class] if machine.network_devices is not None else 0


def counts_claims(spec: KueueSpec) -> bool:
    """Whether Berth configures this Kueue, and the release counts claims."""
    numbers = spec.version.split(".")[:2] if spec.version else []
    is_old = bool(numbers) and tuple(int(each) for each in numbers) < _FIRST_RELEASE
    return not spec.existing and not is_old


def counted_as(spec: KueueSpec, device_class: str) -> str:
    """Return the resource that counts a device class in quotas: that of the stack file, or one of its own."""
    mappings = spec.resources.device_class_mappings
    written = (mapping.name for mapping in mappings if device_class in mapping.device_class_names)
    return next(written, f"{device_class}/devices")


def device_mappings(spec: KueueSpec, devices: Iterable[NetworkDevicesPlan | None]) -> tuple[DeviceMappingPlan, ...]:
    """Return the mappings of the stack file, and one for each device class of the fleet's nodes that has none there."""
    written = tuple(
        DeviceMappingPlan(name=mapping.name, device_classes=tuple(mapping.device_class_names))
        for mapping in spec.resources.device_class_mappings
    )
    mapped = {name for mapping in written for name in mapping.device_classes}
    derived = {each.device_class: each.resource for each in devices if each is not None}
    return written + tuple(
        DeviceMappingPlan(name=resource, device_classes=(name,))
        for name, resource in sorted(derived.items())
        if name not in mapped
    )


def claim_templates(devices: Iterable[NetworkDevicesPlan | None]) -> tuple[ClaimTemplatePlan, ...]:
    """Return the templates with which pods claim the devices: all of a node, and those of one accelerator."""
    sizes = {(each.device_class, size) for each in devices if each is not None for size in each.claim_sizes}
    return tuple(ClaimTemplatePlan(device_class=name, count=size) for name, size in sorted(sizes, reverse=True))
