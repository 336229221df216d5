"""What a pool's machines are: the row of the hardware table, hosts per slice, how many nodes and accelerators."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine, SliceShape
from berth.diagnostics import Path, near_miss, shown
from berth.plan.nodes import Bounds
from berth.planner.context import Draft
from berth.spec.amounts import Range
from berth.spec.machines.compute_classes import ClassPrioritySpec
from berth.spec.machines.pools import PoolSpec
from berth.spec.machines.reservations import AcceleratorSpec, ReservationSpec

MOST_SLICES = 1000
"""More slices in one pool than any fleet holds: a typing error, refused before it becomes a thousand node pools."""

_ORDINARY = re.compile(r"[cehmntxz][0-9][a-z]?-")
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
        each = self.per_node
        return Bounds(min=self.nodes.min * each, max=self.nodes.max * each)

    @property
    def unit(self) -> int:
        """The accelerators that cannot be divided: those of a slice, or 1."""
        return self.shape.chips if self.shape else 1


_Fault = tuple[str, str, str]
"""Code, key within the entry, message."""


class _Refused(Exception):
    """A pool or reservation that cannot exist; carries its faults."""

    def __init__(self, *faults: _Fault) -> None:
        super().__init__(faults)
        self.faults = faults

    def drop(self, draft: Draft, section: str, name: str) -> None:
        """Report the faults and set the entry aside."""
        for code, key, message in self.faults:
            draft.drop(section, name, code, (section, name, key), message)


def hardware(draft: Draft, name: str, spec: PoolSpec) -> Hardware | None:
    """The hardware of one pool, or None after a fault."""
    path: Path = ("pools", name)
    try:
        machine = machine_of(spec.machine_type, spec.accelerator)
        found = _tpu(draft, path, machine, spec) if machine.kind == "tpu" else _gpu(machine, spec)
    except _Refused as refused:
        refused.drop(draft, "pools", name)
        return None
    return found


def machine_and_shape(
    draft: Draft, part: tuple[str, str], path: Path, spec: ClassPrioritySpec
) -> tuple[Machine, SliceShape | None] | None:
    """The machine of one priority of a compute class, `part` being the class, and its slice; None after a fault."""
    try:
        machine = machine_of(spec.machine_type, spec.accelerator)
        if machine.kind == "gpu" and spec.topology:
            message = f"'{machine.name}' has GPUs, and TPUs have topology; leave topology out"
            raise _Refused(("bad-size", "topology", message))
        if machine.kind == "tpu" and not spec.topology:
            raise _Refused(("missing-key", "topology", f"is missing; {_choices(machine)}"))
        return machine, _shape(draft, path, machine, spec.topology, accepted=False) if spec.topology else None
    except _Refused as refused:
        for code, key, message in refused.faults:
            draft.drop(*part, code, (*path, key), message)
        return None


def accelerator_types() -> frozenset[str]:
    """Every accelerator, by the value of its node label."""
    machines = catalog.machines().values()
    return frozenset(m.accelerator for m in machines if m.status != "unsupported") | frozenset(
        catalog.attachable().gpus
    )


def reservation_machine(draft: Draft, name: str, spec: ReservationSpec) -> Machine | None:
    """The machine that a reservation holds, or None after a fault."""
    try:
        return machine_of(spec.machine_type, spec.accelerator)
    except _Refused as refused:
        refused.drop(draft, "reservations", name)
        return None


def machine_of(machine_type: str, accelerator: AcceleratorSpec | None) -> Machine:
    """The table's row for a machine type, with the GPUs attached to it. Raises _Refused."""
    if accelerator:
        return _attached(machine_type, accelerator)
    if machine_type in catalog.attachable().hosts:
        message = f"is missing: '{machine_type}' has none of its own; write {{type: nvidia-tesla-t4, count: 1}}"
        raise _Refused(("missing-key", "accelerator", message))
    known = catalog.machines()
    if machine_type not in known:
        raise _Refused(("unknown-machine", "machineType", _unknown(machine_type)))
    machine = known[machine_type]
    if machine.status == "unsupported":
        message = f"'{machine_type}' is not supported: {machine.note.rstrip('.')}"
        raise _Refused(("unknown-machine", "machineType", message))
    return machine


def _unknown(machine_type: str) -> str:
    word = shown(machine_type)
    if _ORDINARY.match(machine_type):
        return f"'{word}' has no accelerators, and pools are of machines that have; write one such as g2-standard-24"
    hint = near_miss(machine_type, catalog.machines()) or "; the table of machines is in docs/hardware.md"
    return f"no accelerator machine type '{word}'{hint}"


def _attached(machine_type: str, accelerator: AcceleratorSpec) -> Machine:
    if machine_type in catalog.machines():
        message = f"'{machine_type}' has accelerators of its own; leave accelerator out"
        raise _Refused(("bad-accelerator", "accelerator", message))
    hosts = catalog.attachable().hosts
    if machine_type not in hosts:
        hint = near_miss(machine_type, hosts) or "; write an n1 machine such as n1-standard-4"
        message = f"'{shown(machine_type)}' takes no attached GPU{hint}"
        raise _Refused(("bad-accelerator", "machineType", message))
    try:
        return catalog.attached(machine_type, accelerator.type, accelerator.count)
    except ValueError as error:
        raise _Refused(("bad-accelerator", "accelerator", str(error))) from None


def _tpu(draft: Draft, path: Path, machine: Machine, spec: PoolSpec) -> Hardware:
    faults = list(_tpu_faults(machine, spec))
    if spec.topology is None or spec.slices is None or faults:
        raise _Refused(*faults)
    shape = _shape(draft, path, machine, spec.topology, spec.accept_topology)
    if shape.multi_host and spec.slices.max > MOST_SLICES:
        message = f"'{spec.slices.max}' slices are as many node pools; the most is {MOST_SLICES}"
        raise _Refused(("bad-size", "slices", message))
    slices = _bounds(spec.slices)
    nodes = Bounds(min=slices.min * shape.hosts, max=slices.max * shape.hosts)
    return Hardware(machine, shape, slices, nodes, machine.accelerators)


def _tpu_faults(machine: Machine, spec: PoolSpec) -> Iterator[_Fault]:
    if spec.topology is None:
        yield "missing-key", "topology", f"is missing; {_choices(machine)}"
    if spec.nodes is not None:
        yield "bad-size", "nodes", "the nodes of TPU slices are derived; write slices instead of nodes"
    elif spec.slices is None:
        yield "missing-key", "slices", "is missing; write how many slices there are, such as slices: 3"


def _shape(draft: Draft, path: Path, machine: Machine, topology: str, accepted: bool) -> SliceShape:
    if shape := catalog.slice_shape(machine, topology):
        return shape
    wrong = f"'{topology}' is not a {machine.generation} slice of {machine.name}; {_choices(machine)}"
    shape = catalog.divisible_shape(machine, topology)
    if not shape:
        raise _Refused(("bad-topology", "topology", wrong))
    if not accepted:
        raise _Refused(("bad-topology", "topology", f"{wrong}; if GKE offers it, accept it: acceptTopology: true"))
    draft.problems.warning(
        "unknown-topology",
        (*path, "topology"),
        f"'{topology}' is not in the table of {machine.generation} slices; accepted as {shape.chips} chips on "
        f"{shape.hosts} hosts",
    )
    return shape


def _choices(machine: Machine) -> str:
    known = catalog.topologies(machine)
    some = known if len(known) <= 12 else (*known[:11], f"… ({len(known)} in all)")
    return f"one of {', '.join(some)}"


def _gpu(machine: Machine, spec: PoolSpec) -> Hardware:
    faults = list(_gpu_faults(machine, spec))
    if spec.nodes is None or faults:
        raise _Refused(*faults)
    return Hardware(machine, None, None, _bounds(spec.nodes), _offered(machine, spec))


def _offered(machine: Machine, spec: PoolSpec) -> int:
    """GPUs × partitions × clients; what is unknown counts as one, for the rules to report."""
    partitions = catalog.mig_partitions(machine.accelerator).get(spec.gpu_partition or "", 1)
    return machine.accelerators * partitions * (spec.gpu_sharing.max_shared_clients if spec.gpu_sharing else 1)


def _gpu_faults(machine: Machine, spec: PoolSpec) -> Iterator[_Fault]:
    for key, value in (("topology", spec.topology), ("slices", spec.slices)):
        if value is not None:
            yield "bad-size", key, f"'{machine.name}' has GPUs, and TPUs have {key}; leave {key} out, and write nodes"
    if spec.nodes is None and spec.slices is None:
        yield "missing-key", "nodes", "is missing; write a number, or {min: 0, max: 24}"


def _bounds(written: Range) -> Bounds:
    return Bounds(min=written.min, max=written.max)
