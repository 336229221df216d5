"""Compare capacity buffers: what stays ready for services, before and after."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.manifests.capacity_buffers import describe_units
from berth.plan.capacity_buffers import CapacityBufferPlan
from berth.plan.teams import QueueingPlan
from berth.text import pluralize


class BufferChange(Struct, frozen=True):
    """What a capacity buffer keeps ready, before and after; None without it. `less` is whether it keeps less."""

    buffer: str
    before: str | None
    after: str | None
    less: bool

    @property
    def text(self) -> str:
        """The change in one sentence."""
        if self.before is None:
            return f"{self.buffer} keeps {self.after} ready"
        if self.after is None:
            return f"{self.buffer} no longer keeps {self.before} ready: pods of services wait for nodes"
        return f"{self.buffer} keeps {self.after} ready instead of {self.before}"


def compare_buffers(old: QueueingPlan, new: QueueingPlan) -> Iterator[BufferChange]:
    """Yield the buffers that come, go, or keep something else."""
    before, after = (
        {f"{team.name}/{buffer.name}": buffer for team in plan.teams for buffer in team.buffers} for plan in (old, new)
    )
    for name in sorted(before.keys() | after.keys()):
        one, two = before.get(name), after.get(name)
        texts = [None if each is None else _describe(each) for each in (one, two)]
        if texts[0] != texts[1]:
            yield BufferChange(name, *texts, less=_keeps_less(one, two))


def _describe(buffer: CapacityBufferPlan) -> str:
    kept = describe_units(buffer)
    if buffer.pool is None:
        return f"{kept} on standby"
    nodes = "nodes" if buffer.nodes is None else pluralize(buffer.nodes, "node")
    return f"{kept} ({nodes} of {buffer.pool})"


def _keeps_less(old: CapacityBufferPlan | None, new: CapacityBufferPlan | None) -> bool:
    """Return whether services may find less ready than before: it is not more of the same."""
    if old is None or new is None:
        return new is None
    alike = (old.pool, old.requests, old.settings.scalable_ref) == (new.pool, new.requests, new.settings.scalable_ref)
    sizes = [each.settings.percentage or each.units or 0 for each in (old, new)]
    is_slower = new.is_standby and not old.is_standby
    return not alike or is_slower or sizes[1] < sizes[0]
