"""Plan the system pool: the nodes without accelerators that controllers run on."""

from __future__ import annotations

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import FieldPath
from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import SURGE_ONE, Bounds
from berth.planner.context import PlanningContext
from berth.planner.machines.accelerator_networks import default_node_network
from berth.planner.machines.cpu_machines import check_spelling
from berth.planner.machines.hardware import report_unknown
from berth.planner.machines.hardware_error import HardwareError
from berth.planner.machines.pools import SYSTEM
from berth.rules.gke.disks import boot_disk_violation
from berth.rules.gke.zones import lacking_zones
from berth.spec.machines.pools import NodeSettings


def system_pool_plan(context: PlanningContext) -> NodePoolPlan | None:
    """Return the pool without accelerators that controllers run on; None on Autopilot."""
    if context.spec.cluster.mode == "autopilot":
        return None
    spec = context.spec.cluster.system_pool
    path: FieldPath = ("cluster", "systemPool")
    context.check_zones((*path, "zones"), spec.zones)
    zones = tuple(sorted(spec.zones or context.spec.cluster.zones))
    is_fixed = spec.nodes.min == spec.nodes.max
    if spec.nodes.max == 0:
        context.problems.fault("bad-size", (*path, "nodes"), "'0' leaves no node for the controllers; write at least 1")
    elif is_fixed and (not zones or spec.nodes.max % len(zones)) and not context.is_set_aside("cluster", "zones"):
        context.problems.fault(
            "bad-size",
            (*path, "nodes"),
            f"a fixed number of '{spec.nodes.max}' nodes must divide evenly by the zones, which are "
            f"{', '.join(zones) or 'not set'}; write zones, or nodes: {{min: 1, max: {max(2, spec.nodes.max)}}}",
        )
    machine = _system_machine(context, path, spec.machine_type)
    if violation := boot_disk_violation(spec.disk_type, machine):
        context.problems.add(violation.severity, violation.code, (*path, "diskType"), violation.message)
    _check_confidential_pool(context, machine)
    if context.are_zones_comparable(zones) and (violation := lacking_zones(machine, zones, context.region)):
        context.problems.add(violation.severity, violation.code, (*path, violation.key), violation.message)
    return NodePoolPlan(
        key=SYSTEM,
        name=SYSTEM,
        machine_type=spec.machine_type,
        settings=NodeSettings.model_construct(
            disk_type=spec.disk_type or machine.default_boot_disk,
            disk_size_gb=spec.disk_size_gb,
            boot_disk_kms_key=context.spec.cluster.boot_disk_kms_key,
            tags=spec.tags,
            secure_boot=True,
            surge=SURGE_ONE,
        ),
        zones=zones,
        nodes_per_zone=spec.nodes.max // max(1, len(zones)) if is_fixed else None,
        total_nodes=None if is_fixed else Bounds(min=spec.nodes.min, max=spec.nodes.max),
        location_policy=None if is_fixed else "BALANCED",
        image_streaming=context.spec.cluster.image_streaming,
        network=default_node_network(context.spec.cluster),
    )


def _system_machine(context: PlanningContext, path: FieldPath, machine_type: str) -> Machine:
    """Return the machine of the system pool; report one with accelerators, a misspelt and an unknown one."""
    path = (*path, "machineType")
    if machine_type in catalog.machines():
        message = f"'{machine_type}' has accelerators, which controllers do not need; write a machine such as"
        context.problems.fault("bad-value", path, f"{message} e2-standard-4")
    elif machine_type in catalog.attachable_gpus().hosts:
        return catalog.host_without_gpus(machine_type)
    elif (known := catalog.cpu_machine(machine_type)) is not None:
        return known
    else:
        try:
            check_spelling(machine_type)
            report_unknown(context, path, catalog.cpu_machine_of_size(machine_type, 0, 0))
        except HardwareError as error:
            for code, _, message in error.faults:
                context.problems.fault(code, path, message)
    return catalog.cpu_machine_of_size(machine_type, 0, 0)


def _check_confidential_pool(context: PlanningContext, machine: Machine) -> None:
    kind = context.spec.cluster.confidential_nodes
    if kind is None or kind in machine.confidential or machine.known == "nothing":
        return
    others = [each for each in catalog.cpu_machine_types().values() if kind in each.confidential]
    if machine.name.partition("-")[0] not in {each.name.partition("-")[0] for each in others}:
        example = next((each for each in others if each.vcpu == _SMALL), others[0])
        message = f"'{machine.name}' does not support {kind} confidential nodes; write a machine such as {example.name}"
        context.problems.fault("confidential", ("cluster", "systemPool", "machineType"), message)


_SMALL = 4
"""vCPUs of a machine that messages propose for controllers."""
