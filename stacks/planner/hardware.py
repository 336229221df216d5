"""What a pool's machines are: the row of the hardware table, hosts per slice, how many nodes and accelerators."""

from __future__ import annotations

from dataclasses import dataclass

from components.plan.nodes import Bounds
from stacks import accelerators
from stacks.accelerators import Machine, SliceShape
from stacks.planner.draft import Draft
from stacks.problems import Path, near_miss
from stacks.spec.amounts import Range
from stacks.spec.pools import AcceleratorSpec, PoolSpec, ReservationSpec

MOST_SLICES = 1000
"""More slices in one pool than any fleet holds: a typing error, refused before it becomes a thousand node pools."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machines of one pool. `shape` and `slices` are None for GPU machines."""

    machine: Machine
    shape: SliceShape | None
    slices: Bounds | None
    nodes: Bounds

    @property
    def accelerators(self) -> Bounds:
        """Chips or GPUs of the whole pool."""
        each = self.machine.accelerators
        return Bounds(min=self.nodes.min * each, max=self.nodes.max * each)

    @property
    def unit(self) -> int:
        """The accelerators that cannot be divided: those of a slice, or 1."""
        return self.shape.chips if self.shape else 1


class _Refused(Exception):
    """A pool that cannot exist; carries code, key within the pool and message."""


def hardware(draft: Draft, name: str, spec: PoolSpec) -> Hardware | None:
    """The hardware of one pool, or None after a fault."""
    path: Path = ("pools", name)
    try:
        machine = machine_of(spec.machine_type, spec.accelerator)
        found = _tpu(draft, path, machine, spec) if machine.kind == "tpu" else _gpu(machine, spec)
    except _Refused as refused:
        code, key, message = refused.args
        draft.drop("pools", name, code, (*path, *key), message)
        return None
    return found


def reservation_machine(draft: Draft, name: str, spec: ReservationSpec) -> Machine | None:
    """The machine that a reservation holds, or None after a fault."""
    try:
        return machine_of(spec.machine_type, spec.accelerator)
    except _Refused as refused:
        code, key, message = refused.args
        draft.drop("reservations", name, code, ("reservations", name, *key), message)
        return None


def machine_of(machine_type: str, accelerator: AcceleratorSpec | None) -> Machine:
    """The table's row for a machine type, with the GPUs attached to it. Raises _Refused."""
    if accelerator:
        return _attached(machine_type, accelerator)
    known = accelerators.machines()
    if machine_type not in known:
        hint = near_miss(machine_type, known) or "; the table of machines is in docs/hardware.md"
        raise _Refused("unknown-machine", ("machineType",), f"no accelerator machine type '{machine_type}'{hint}")
    machine = known[machine_type]
    if machine.status == "unsupported":
        raise _Refused("unknown-machine", ("machineType",), f"'{machine_type}' is not supported: {machine.note}")
    return machine


def _attached(machine_type: str, accelerator: AcceleratorSpec) -> Machine:
    try:
        return accelerators.attached(machine_type, accelerator.type, accelerator.count)
    except ValueError as error:
        raise _Refused("bad-accelerator", ("accelerator",), str(error)) from None


def _tpu(draft: Draft, path: Path, machine: Machine, spec: PoolSpec) -> Hardware:
    if spec.nodes is not None:
        raise _Refused("bad-size", ("nodes",), "the nodes of TPU slices are derived; write slices instead of nodes")
    if spec.topology is None:
        raise _Refused("missing-key", ("topology",), f"is missing; {_choices(machine)}")
    if spec.slices is None:
        raise _Refused("missing-key", ("slices",), "is missing; write how many slices there are, such as slices: 3")
    if spec.slices.max > MOST_SLICES:
        raise _Refused("bad-size", ("slices",), f"'{spec.slices.max}' slices are more than {MOST_SLICES}")
    shape = _shape(draft, path, machine, spec.topology, spec.accept_topology)
    slices = _bounds(spec.slices)
    return Hardware(machine, shape, slices, Bounds(min=slices.min * shape.hosts, max=slices.max * shape.hosts))


def _shape(draft: Draft, path: Path, machine: Machine, topology: str, accepted: bool) -> SliceShape:
    if shape := accelerators.slice_shape(machine, topology):
        return shape
    wrong = f"'{topology}' is not a {machine.generation} slice of {machine.name}; {_choices(machine)}"
    shape = accelerators.divisible_shape(machine, topology)
    if not shape:
        raise _Refused("bad-topology", ("topology",), wrong)
    if not accepted:
        raise _Refused("bad-topology", ("topology",), f"{wrong}; if GKE offers it, accept it: acceptTopology: true")
    draft.problems.warning(
        "unknown-topology",
        (*path, "topology"),
        f"'{topology}' is not in the table of {machine.generation} slices; accepted as {shape.chips} chips on "
        f"{shape.hosts} hosts",
    )
    return shape


def _choices(machine: Machine) -> str:
    known = accelerators.topologies(machine)
    shown = known if len(known) <= 12 else (*known[:11], f"… ({len(known)} in all)")
    return f"one of {', '.join(shown)}"


def _gpu(machine: Machine, spec: PoolSpec) -> Hardware:
    for key, value in (("topology", spec.topology), ("slices", spec.slices)):
        if value is not None:
            raise _Refused("bad-size", (key,), f"{machine.name} has GPUs, and {key} is for TPU slices; write nodes")
    if spec.nodes is None:
        raise _Refused("missing-key", ("nodes",), "is missing; write a number, or {min: 0, max: 24}")
    return Hardware(machine, None, None, _bounds(spec.nodes))


def _bounds(written: Range) -> Bounds:
    if written.min > written.max:
        raise _Refused("bad-size", ("nodes",), f"min {written.min} is above max {written.max}")
    return Bounds(min=written.min, max=written.max)
