"""What of a machine pods may have: GKE keeps a part of every node for itself.

Source: GKE docs, "Plan GKE Standard node sizes" (the same fractions for every machine above 1 GiB). Daemons of the
system take some of the rest, so this is the most that can be had, never a promise.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from berth.catalog.table import attachable, machines

_CPU = ((1, "0.06"), (1, "0.01"), (2, "0.005"), (None, "0.0025"))
"""Cores, one after the other, and the part of them that is kept; None is all the rest."""
_MEMORY = ((4, "0.25"), (4, "0.2"), (8, "0.1"), (112, "0.06"), (None, "0.02"))
"""The same for memory in GiB."""
_EVICTION = 100 * 2**20
"""Bytes below which the kubelet evicts pods."""


class Allocatable(Struct, frozen=True):
    """The most that the pods of one node can have: cpu in milli, memory in bytes."""

    cpu: int
    memory: int


def allocatable(machine_type: str) -> Allocatable | None:
    """What pods can have of a machine with accelerators; None where the table does not know its size."""
    hosts = attachable().hosts
    row = machines().get(machine_type)
    cores, gib = (row.vcpu, row.memory_gb) if row else hosts.get(machine_type, (0, 0))
    if not (cores and gib):
        return None
    cpu = (cores - _kept(Fraction(cores), _CPU)) * 1000
    memory = (Fraction(gib) - _kept(Fraction(gib), _MEMORY)) * 2**30 - _EVICTION
    return Allocatable(int(cpu), int(memory))


def _kept(whole: Fraction, parts: tuple[tuple[int | None, str], ...]) -> Fraction:
    kept, left = Fraction(0), whole
    for size, part in parts:
        here = left if size is None else min(left, Fraction(size))
        kept += here * Fraction(part)
        left -= here
    return kept
