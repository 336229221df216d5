"""Machines that fail while a trace runs: `--lose "2 nodes of v5e at 3h for 6h"`, or `every 2d for 1h`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from berth.diagnostics import Problem, Severity
from berth.jobs.values import read_time
from berth.overview.losses import LossError, Losses, losses_of
from berth.plan.fleet import FleetPlan
from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.timed.figures import unit_of
from berth.simulator.timed.trace import Outage, Outages, Trace, parse_duration

_WRITTEN = re.compile(r"(.+) (at|every) (\S+) for (\S+)")
_FORM = "write such as '2 nodes of POOL at 3h for 30m', 'zone=ZONE at 2d for 6h' or '1 node of POOL every 5d for 1h'"
_MAX_OUTAGES = 10_000


def read_outages(plan: FleetPlan, written: Iterable[str], trace: Trace, problems: list[Problem]) -> Outages | None:
    """Return what fails, None if nothing is written; adds a fault for each text that is wrong.

    `every` is repeated until the last job of the trace would have ended, had none waited.
    """
    end = max((each.submitted + each.seconds for each in trace.jobs), default=0)
    repeated: list[tuple[Outage, range]] = []
    for text in written:
        try:
            repeated.append(_read_outage(plan, text, trace, end))
        except LossError as error:
            problems.append(Problem(Severity.FAULT, "bad-loss", ("--lose",), str(error)))
    number = sum(len(times) for _, times in repeated)
    if number > _MAX_OUTAGES:
        message = f"{number:,} outages; write a longer time after every, for at most {_MAX_OUTAGES:,}"
        problems.append(Problem(Severity.FAULT, "bad-loss", ("--lose",), message))
        return None
    if not repeated:
        return None
    capacity = {(each.name, each.resource): each.capacity.max * unit_of(each.resource) for each in plan.flavors}
    outages = (replace(outage, time=time) for outage, times in repeated for time in times)
    return Outages(capacity, tuple(sorted(outages, key=lambda each: each.time)))


def _read_outage(plan: FleetPlan, text: str, trace: Trace, end: int) -> tuple[Outage, range]:
    """Return an outage, and every second at which it begins."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise LossError(f"'{text}' does not say when and for how long; {_FORM}")
    losses = losses_of(plan, [match[1]])
    if losses.unknown:
        message = f"'{text}': nobody knows which nodes of {', '.join(losses.unknown)} are there, because GKE chooses"
        raise LossError(f"{message} their zones; name a pool and a number of nodes")
    seconds = parse_duration(match[4])
    if not seconds:
        raise LossError(f"'{match[4]}' is not how long the machines are away; {_FORM}")
    first = _second(match[3], trace, is_repeated=match[2] == "every")
    times = range(first, max(end, first + 1) if match[2] == "every" else first + 1, first or 1)
    return Outage(time=first, seconds=seconds, machines=tuple(_machines(losses))), times


def _second(text: str, trace: Trace, *, is_repeated: bool) -> int:
    """Return the second of the run that a time from its first submission means, or a date."""
    number, moment = parse_duration(text), read_time(text)
    if moment is not None and not is_repeated:
        if trace.began is None:
            raise LossError(f"'{text}' is a date, and the trace has seconds; write the time since its first job, as 3h")
        number = int(moment.timestamp()) - trace.began
        if number < 0:
            raise LossError(f"'{text}' is before the first job of the trace; write a later time")
    if number is None or (is_repeated and not number):
        raise LossError(f"'{text}' is not a time; {_FORM}")
    return number


def _machines(losses: Losses) -> Iterator[tuple[FlavorResource, int]]:
    """Yield each thing that fails at once: a slice of several hosts, or a node."""
    by_flavor = {each.flavor.name: each.flavor for each in losses.flavors}
    for each in losses.pools:
        parts = each.slices or each.nodes
        if each.accelerators and parts:
            flavor = by_flavor[each.pool.flavor]
            size = each.accelerators // parts * unit_of(flavor.resource)
            yield from (((flavor.name, flavor.resource), size) for _ in range(parts))
