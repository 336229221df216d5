"""Derive the machines of a pool: machine type, hosts per slice, numbers of nodes and accelerators."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine, SliceShape
from berth.diagnostics import FieldPath, did_you_mean, format_value
from berth.plan.node_settings import Bounds
from berth.planner.context import PlanningContext
from berth.planner.machines.cpu_machines import (
    MachineSize,
    check_size,
    find_cpu_machine,
    is_accelerator_family,
    n1_remedy,
    stated_size,
    unknown_machine,
    usable,
)
from berth.planner.machines.hardware_error import HardwareError, HardwareFault
from berth.planner.machines.unlisted import is_misspelt, unlisted_machine
from berth.spec.amounts import FixedCount, Range
from berth.spec.machines.compute_classes import ClassPrioritySpec
from berth.spec.machines.pools import PoolSpec
from berth.spec.machines.reservations import AcceleratorSpec, ReservationSpec

MAX_SLICES = 1000
"""Maximum slices of one pool; each slice of several hosts is a node pool."""


class Hardware(Struct, frozen=True):
    """The machines of one pool. `shape` and `slices` are None for machines without slices."""

    machine: Machine
    shape: SliceShape | None
    slices: Bounds | None
    nodes: Bounds
    per_node: int
    """Chips, GPUs or cores that jobs can request on one node; shared GPUs count as often as they are shared."""

    @property
    def is_cpu(self) -> bool:
        """Whether the machines have no accelerators, so that quotas count cores."""
        return self.machine.kind == catalog.CPU

    @property
    def accelerators(self) -> Bounds:
        """Chips or GPUs of the whole pool."""
        per_node = self.per_node
        return Bounds(min=self.nodes.min * per_node, max=self.nodes.max * per_node)

    @property
    def unit(self) -> int:
        """Accelerators that cannot be divided: those of a slice, or 1."""
        return self.shape.chips if self.shape else 1

    @property
    def spare_unit(self) -> int:
        """Accelerators of what is kept spare: a slice, or a node of machines without slices."""
        return self.shape.chips if self.shape else self.per_node


def cpu_rate(hardware: Hardware) -> Fraction:
    """Return the milli-cpu that come with each chip or GPU of a machine; with a core, 1000."""
    return Fraction(1000) if hardware.is_cpu else Fraction(hardware.machine.vcpu * 1000, hardware.per_node)


def memory_rate(hardware: Hardware) -> Fraction:
    """Return the bytes of memory that come with each chip or GPU; with a core, whole MiB that pods can request."""
    machine = hardware.machine
    if hardware.is_cpu:
        return Fraction(catalog.memory_per_core(machine))
    return Fraction(machine.memory_gb) * 2**30 / hardware.per_node


def pool_hardware(context: PlanningContext, name: str, spec: PoolSpec) -> Hardware | None:
    """Return the hardware of one pool; None after a fault."""
    path: FieldPath = ("pools", name)
    try:
        machine = find_machine(spec.machine_type, spec.accelerator, MachineSize(spec.cpu, spec.memory))
        if spec.threads_per_core == 1:
            machine = catalog.with_one_thread(machine)
            machine = usable(machine) if machine.kind == catalog.CPU else machine
        if machine.kind == "tpu":
            result = _tpu_hardware(context, path, machine, spec)
        elif (faults := list(_node_faults(machine, spec))) or spec.nodes is None:
            raise HardwareError(*faults)
        else:
            result = Hardware(machine, None, None, _to_bounds(spec.nodes), _gpus_per_node(machine, spec))
        _check_spares(spec, result)
    except HardwareError as error:
        error.report(context, "pools", name)
        return None
    report_unknown(context, (*path, "machineType"), machine)
    return result


def _check_spares(spec: PoolSpec, hardware: Hardware) -> None:
    """Raise an error if so many machines cannot be spare: they are there only in a pool of a fixed number."""
    key, count = ("slices", hardware.slices) if hardware.slices is not None else ("nodes", hardware.nodes)
    if spec.spares and not isinstance(spec.slices or spec.nodes, FixedCount):
        message = (
            f"{key} scale from {count.min} to {count.max}, so a spare machine is there only while jobs need it; write "
            f"a fixed number, such as {key}: {count.max}, or remove spares"
        )
        raise HardwareError(("bad-size", "spares", message))
    if spec.spares > count.max:
        message = f"'{spec.spares}' is more than the {count.max} {key} of the pool; write {count.max} or less"
        raise HardwareError(("bad-size", "spares", message))


def report_unknown(context: PlanningContext, path: FieldPath, machine: Machine) -> None:
    """Warn of a machine that Berth's tables do not have."""
    if message := unknown_machine(machine):
        context.problems.unknown("machine-unknown", path, message)


def machine_and_shape(
    context: PlanningContext, part: tuple[str, str], path: FieldPath, spec: ClassPrioritySpec
) -> tuple[Machine, SliceShape | None] | None:
    """Return the machine and slice of one priority of the compute class `part`; None after a fault."""
    try:
        machine = find_machine(spec.machine_type, spec.accelerator)
        if machine.kind == catalog.CPU:
            message = (
                f"'{machine.name}' has no accelerators, which Berth's compute classes are for; write another machine"
            )
            raise HardwareError(("gke-cpu", "machineType", message))
        if machine.kind == "gpu" and spec.topology:
            message = f"'{machine.name}' has GPUs, but topology is for TPUs; remove topology"
            raise HardwareError(("bad-size", "topology", message))
        if machine.kind == "tpu" and not spec.topology:
            raise HardwareError(("missing-key", "topology", f"is missing; {_topology_hint(machine)}"))
        return machine, _slice_shape(context, path, machine, spec.topology, accepted=False) if spec.topology else None
    except HardwareError as error:
        for code, key, message in error.faults:
            context.reject(*part, code, (*path, key), message)
        return None


def accelerator_types() -> frozenset[str]:
    """Return the accelerators of all machines, as values of their node label."""
    machines = catalog.machines().values()
    return frozenset(m.accelerator for m in machines if m.status != "unsupported") | frozenset(
        catalog.attachable_gpus().gpus
    )


def reservation_machine(context: PlanningContext, name: str, spec: ReservationSpec) -> Machine | None:
    """Return the machine type of a reservation; None after a fault."""
    try:
        machine = find_machine(spec.machine_type, spec.accelerator)
    except HardwareError as error:
        error.report(context, "reservations", name)
        return None
    report_unknown(context, ("reservations", name, "machineType"), machine)
    return machine


def known_machine(spec: ReservationSpec | PoolSpec) -> Machine | None:
    """The machine of a reservation or pool; None where that is a fault of the entry, which is reported there."""
    try:
        return find_machine(spec.machine_type, spec.accelerator)
    except HardwareError:
        return None


def find_machine(machine_type: str, accelerator: AcceleratorSpec | None, size: MachineSize | None = None) -> Machine:
    """Return the row of a machine type, with attached GPUs; raise HardwareError if it cannot be used.

    `size` is that of a machine that Berth's tables do not have.
    """
    if accelerator:
        machine = _machine_with_gpus(machine_type, accelerator, size)
        check_size(machine, size)
        return machine
    if (cpu_machine := find_cpu_machine(machine_type, size)) is not None:
        return cpu_machine
    if machine_type in catalog.attachable_gpus().hosts:
        message = f"is missing, but '{machine_type}' has no GPU of its own; write {{type: nvidia-tesla-t4, count: 1}}"
        if size is not None:
            message = f"{message}, {n1_remedy(machine_type)}"
        raise HardwareError(("missing-key", "accelerator", message))
    known_machines = catalog.machines()
    if machine_type not in known_machines:
        raise HardwareError(unlisted_machine(machine_type, is_pool=size is not None))
    machine = known_machines[machine_type]
    if machine.status == "unsupported":
        message = f"'{machine_type}' is not supported: {machine.note.rstrip('.')}"
        raise HardwareError(("unknown-machine", "machineType", message))
    check_size(machine, size)
    return machine


def _machine_with_gpus(machine_type: str, accelerator: AcceleratorSpec, size: MachineSize | None) -> Machine:
    if machine_type in catalog.machines():
        message = f"'{machine_type}' includes its accelerators; remove accelerator"
        raise HardwareError(("bad-accelerator", "accelerator", message))
    hosts = catalog.attachable_gpus().hosts
    if machine_type not in hosts and is_accelerator_family(machine_type) and not is_misspelt(machine_type):
        cpu, memory = stated_size(machine_type, size)
        return catalog.machine_of_size(machine_type, accelerator.type, accelerator.count, cpu, memory)
    if machine_type not in hosts:
        hint = did_you_mean(machine_type, hosts) or "; write an n1 machine such as n1-standard-4"
        message = f"'{format_value(machine_type)}' does not support attached GPUs{hint}"
        raise HardwareError(("bad-accelerator", "machineType", message))
    try:
        return catalog.attach_gpus(machine_type, accelerator.type, accelerator.count)
    except ValueError as error:
        raise HardwareError(("bad-accelerator", "accelerator", str(error))) from None


def _tpu_hardware(context: PlanningContext, path: FieldPath, machine: Machine, spec: PoolSpec) -> Hardware:
    faults = list(_tpu_faults(machine, spec))
    if spec.topology is None or spec.slices is None or faults:
        raise HardwareError(*faults)
    shape = _slice_shape(context, path, machine, spec.topology, spec.accept_topology)
    if shape.multi_host and spec.slices.max > MAX_SLICES:
        message = f"'{spec.slices.max}' slices are more than the maximum of {MAX_SLICES}; write fewer"
        raise HardwareError(("bad-size", "slices", message))
    slices = _to_bounds(spec.slices)
    nodes = Bounds(min=slices.min * shape.hosts, max=slices.max * shape.hosts)
    return Hardware(machine, shape, slices, nodes, machine.accelerators)


def _tpu_faults(machine: Machine, spec: PoolSpec) -> Iterator[HardwareFault]:
    if spec.topology is None:
        yield "missing-key", "topology", f"is missing; {_topology_hint(machine)}"
    if spec.nodes is not None:
        yield (
            "bad-size",
            "nodes",
            "the size of a TPU pool is in slices; write slices instead of nodes",
        )
    elif spec.slices is None:
        yield "missing-key", "slices", "is missing; write the number of slices, such as slices: 3"


def _slice_shape(
    context: PlanningContext, path: FieldPath, machine: Machine, topology: str, accepted: bool
) -> SliceShape:
    if shape := catalog.slice_shape(machine, topology):
        return shape
    if machine.generation is None:
        message = (
            f"'{topology}' is not a number of chips that machines with {machine.accelerators} can form; write another"
        )
        raise HardwareError(("bad-topology", "topology", message))
    message = f"'{topology}' is not a {machine.generation} slice of {machine.name}"
    same, generation = catalog.reordered_topology(machine, topology), catalog.generations()[machine.generation]
    if same and not (accepted and generation.any_order):
        raise HardwareError(("bad-topology", "topology", f"{message}: GKE writes it as {same}; write {same}"))
    message = f"{message}; {_topology_hint(machine)}"
    shape = catalog.divisible_shape(machine, topology)
    if not shape:
        raise HardwareError(("bad-topology", "topology", message))
    if not accepted:
        raise HardwareError(("bad-topology", "topology", f"{message}; or write acceptTopology: true if GKE offers it"))
    table = catalog.fact_tables()["accelerators"]
    unknown = table.unknown(f"'{topology}'", f"whether GKE offers this {machine.generation} slice is")
    count = f"accepted by acceptTopology as {shape.chips} chips on {shape.hosts} hosts"
    context.problems.unknown("topology-unknown", (*path, "topology"), f"{unknown}; {count}")
    return shape


def _topology_hint(machine: Machine) -> str:
    topologies = catalog.slice_topologies(machine)
    listed = topologies if len(topologies) <= 12 else (*topologies[:11], f"… ({len(topologies)} in all)")
    return f"write one of {', '.join(listed)}" if listed else "write that of the slice, such as topology: 4x4"


def _gpus_per_node(machine: Machine, spec: PoolSpec) -> int:
    """Return GPUs × partitions × clients; an unknown value counts as 1 and is reported by the rules."""
    partitions = catalog.mig_partitions(machine.accelerator).get(spec.gpu_partition or "", 1)
    return machine.accelerators * partitions * (spec.gpu_sharing.max_shared_clients if spec.gpu_sharing else 1)


def _node_faults(machine: Machine, spec: PoolSpec) -> Iterator[HardwareFault]:
    has = "GPUs" if machine.kind == "gpu" else "no accelerators"
    for key, value in (("topology", spec.topology), ("slices", spec.slices)):
        if value is not None:
            yield "bad-size", key, f"'{machine.name}' has {has}, but {key} is for TPUs; remove {key}, and write nodes"
    if spec.nodes is None and spec.slices is None:
        yield "missing-key", "nodes", "is missing; write a number, or {min: 0, max: 24}"


def _to_bounds(count: Range) -> Bounds:
    return Bounds(min=count.min, max=count.max)
