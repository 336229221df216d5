"""What a pool's machines are: the row of the hardware table, hosts per slice, how many nodes and accelerators."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine, SliceShape
from berth.diagnostics import FieldPath, did_you_mean, format_value
from berth.plan.nodes import Bounds
from berth.planner.context import PlanningContext
from berth.spec.amounts import Range
from berth.spec.machines.compute_classes import ClassPrioritySpec
from berth.spec.machines.pools import PoolSpec
from berth.spec.machines.reservations import AcceleratorSpec, ReservationSpec

MAX_SLICES = 1000
"""More slices in one pool than any fleet holds: a typing error, refused before it becomes a thousand node pools."""

_NO_ACCELERATORS = re.compile(r"[cehmntxz][0-9][a-z]?-")
"""Google's machine families without accelerators (n2-, e2-, c3d-, …); none of those with some is spelt like this."""


class Hardware(Struct, frozen=True):
    """The machines of one pool. `shape` and `slices` are None for GPU machines."""

    machine: Machine
    shape: SliceShape | None
    slices: Bounds | None
    nodes: Bounds
    per_node: int
    """Chips or GPUs that one node offers: of shared or partitioned GPUs, as many as jobs can ask for."""

    @property
    def accelerators(self) -> Bounds:
        """Chips or GPUs of the whole pool."""
        per_node = self.per_node
        return Bounds(min=self.nodes.min * per_node, max=self.nodes.max * per_node)

    @property
    def unit(self) -> int:
        """The accelerators that cannot be divided: those of a slice, or 1."""
        return self.shape.chips if self.shape else 1


_HardwareFault = tuple[str, str, str]
"""Code, key within the entry, message."""


class _HardwareError(Exception):
    """A pool or reservation that cannot exist; carries its faults."""

    def __init__(self, *faults: _HardwareFault) -> None:
        super().__init__(faults)
        self.faults = faults

    def report(self, context: PlanningContext, section: str, name: str) -> None:
        """Report the faults and set the entry aside."""
        for code, key, message in self.faults:
            context.reject(section, name, code, (section, name, key), message)


def pool_hardware(context: PlanningContext, name: str, spec: PoolSpec) -> Hardware | None:
    """The hardware of one pool, or None after a fault."""
    path: FieldPath = ("pools", name)
    try:
        machine = find_machine(spec.machine_type, spec.accelerator)
        result = _tpu_hardware(context, path, machine, spec) if machine.kind == "tpu" else _gpu_hardware(machine, spec)
    except _HardwareError as error:
        error.report(context, "pools", name)
        return None
    return result


def machine_and_shape(
    context: PlanningContext, part: tuple[str, str], path: FieldPath, spec: ClassPrioritySpec
) -> tuple[Machine, SliceShape | None] | None:
    """The machine of one priority of a compute class, `part` being the class, and its slice; None after a fault."""
    try:
        machine = find_machine(spec.machine_type, spec.accelerator)
        if machine.kind == "gpu" and spec.topology:
            message = f"'{machine.name}' has GPUs, and TPUs have topology; leave topology out"
            raise _HardwareError(("bad-size", "topology", message))
        if machine.kind == "tpu" and not spec.topology:
            raise _HardwareError(("missing-key", "topology", f"is missing; {_topology_hint(machine)}"))
        return machine, _slice_shape(context, path, machine, spec.topology, accepted=False) if spec.topology else None
    except _HardwareError as error:
        for code, key, message in error.faults:
            context.reject(*part, code, (*path, key), message)
        return None


def accelerator_types() -> frozenset[str]:
    """Every accelerator, by the value of its node label."""
    machines = catalog.machines().values()
    return frozenset(m.accelerator for m in machines if m.status != "unsupported") | frozenset(
        catalog.attachable_gpus().gpus
    )


def reservation_machine(context: PlanningContext, name: str, spec: ReservationSpec) -> Machine | None:
    """The machine that a reservation holds, or None after a fault."""
    try:
        return find_machine(spec.machine_type, spec.accelerator)
    except _HardwareError as error:
        error.report(context, "reservations", name)
        return None


def known_machine(spec: ReservationSpec) -> Machine | None:
    """The machine that a reservation holds; None where that is a fault of the reservation, which is reported there."""
    try:
        return find_machine(spec.machine_type, spec.accelerator)
    except _HardwareError:
        return None


def find_machine(machine_type: str, accelerator: AcceleratorSpec | None) -> Machine:
    """The table's row for a machine type, with the GPUs attached to it. Raises _Refused."""
    if accelerator:
        return _machine_with_gpus(machine_type, accelerator)
    if machine_type in catalog.attachable_gpus().hosts:
        message = f"is missing: '{machine_type}' has none of its own; write {{type: nvidia-tesla-t4, count: 1}}"
        raise _HardwareError(("missing-key", "accelerator", message))
    known_machines = catalog.machines()
    if machine_type not in known_machines:
        raise _HardwareError(("unknown-machine", "machineType", _unknown_machine_message(machine_type)))
    machine = known_machines[machine_type]
    if machine.status == "unsupported":
        message = f"'{machine_type}' is not supported: {machine.note.rstrip('.')}"
        raise _HardwareError(("unknown-machine", "machineType", message))
    return machine


def _unknown_machine_message(machine_type: str) -> str:
    quoted_type = format_value(machine_type)
    if _NO_ACCELERATORS.match(machine_type):
        return (
            f"'{quoted_type}' has no accelerators, and pools are of "
            "machines that have; write one such as g2-standard-24"
        )
    hint = did_you_mean(machine_type, catalog.machines()) or "; the table of machines is in docs/hardware.md"
    return f"no accelerator machine type '{quoted_type}'{hint}"


def _machine_with_gpus(machine_type: str, accelerator: AcceleratorSpec) -> Machine:
    if machine_type in catalog.machines():
        message = f"'{machine_type}' has accelerators of its own; leave accelerator out"
        raise _HardwareError(("bad-accelerator", "accelerator", message))
    hosts = catalog.attachable_gpus().hosts
    if machine_type not in hosts:
        hint = did_you_mean(machine_type, hosts) or "; write an n1 machine such as n1-standard-4"
        message = f"'{format_value(machine_type)}' takes no attached GPU{hint}"
        raise _HardwareError(("bad-accelerator", "machineType", message))
    try:
        return catalog.attach_gpus(machine_type, accelerator.type, accelerator.count)
    except ValueError as error:
        raise _HardwareError(("bad-accelerator", "accelerator", str(error))) from None


def _tpu_hardware(context: PlanningContext, path: FieldPath, machine: Machine, spec: PoolSpec) -> Hardware:
    faults = list(_tpu_faults(machine, spec))
    if spec.topology is None or spec.slices is None or faults:
        raise _HardwareError(*faults)
    shape = _slice_shape(context, path, machine, spec.topology, spec.accept_topology)
    if shape.multi_host and spec.slices.max > MAX_SLICES:
        message = f"'{spec.slices.max}' slices are as many node pools; the most is {MAX_SLICES}"
        raise _HardwareError(("bad-size", "slices", message))
    slices = _to_bounds(spec.slices)
    nodes = Bounds(min=slices.min * shape.hosts, max=slices.max * shape.hosts)
    return Hardware(machine, shape, slices, nodes, machine.accelerators)


def _tpu_faults(machine: Machine, spec: PoolSpec) -> Iterator[_HardwareFault]:
    if spec.topology is None:
        yield "missing-key", "topology", f"is missing; {_topology_hint(machine)}"
    if spec.nodes is not None:
        yield "bad-size", "nodes", "the nodes of TPU slices are derived; write slices instead of nodes"
    elif spec.slices is None:
        yield "missing-key", "slices", "is missing; write how many slices there are, such as slices: 3"


def _slice_shape(
    context: PlanningContext, path: FieldPath, machine: Machine, topology: str, accepted: bool
) -> SliceShape:
    if shape := catalog.slice_shape(machine, topology):
        return shape
    message = f"'{topology}' is not a {machine.generation} slice of {machine.name}; {_topology_hint(machine)}"
    shape = catalog.divisible_shape(machine, topology)
    if not shape:
        raise _HardwareError(("bad-topology", "topology", message))
    if not accepted:
        raise _HardwareError(
            ("bad-topology", "topology", f"{message}; if GKE offers it, accept it: acceptTopology: true")
        )
    context.problems.warning(
        "unknown-topology",
        (*path, "topology"),
        f"'{topology}' is not in the table of {machine.generation} slices; accepted as {shape.chips} chips on "
        f"{shape.hosts} hosts",
    )
    return shape


def _topology_hint(machine: Machine) -> str:
    topologies = catalog.slice_topologies(machine)
    listed = topologies if len(topologies) <= 12 else (*topologies[:11], f"… ({len(topologies)} in all)")
    return f"one of {', '.join(listed)}"


def _gpu_hardware(machine: Machine, spec: PoolSpec) -> Hardware:
    faults = list(_gpu_faults(machine, spec))
    if spec.nodes is None or faults:
        raise _HardwareError(*faults)
    return Hardware(machine, None, None, _to_bounds(spec.nodes), _gpus_per_node(machine, spec))


def _gpus_per_node(machine: Machine, spec: PoolSpec) -> int:
    """GPUs × partitions × clients; what is unknown counts as one, for the rules to report."""
    partitions = catalog.mig_partitions(machine.accelerator).get(spec.gpu_partition or "", 1)
    return machine.accelerators * partitions * (spec.gpu_sharing.max_shared_clients if spec.gpu_sharing else 1)


def _gpu_faults(machine: Machine, spec: PoolSpec) -> Iterator[_HardwareFault]:
    for key, value in (("topology", spec.topology), ("slices", spec.slices)):
        if value is not None:
            yield "bad-size", key, f"'{machine.name}' has GPUs, and TPUs have {key}; leave {key} out, and write nodes"
    if spec.nodes is None and spec.slices is None:
        yield "missing-key", "nodes", "is missing; write a number, or {min: 0, max: 24}"


def _to_bounds(count: Range) -> Bounds:
    return Bounds(min=count.min, max=count.max)
