"""The result of `berth simulate`, as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from berth.cli.simulate.answer import TraceResult
from berth.document import Block, Cell, Change, Heading, Note, Table
from berth.simulator.pending_reasons import PendingCode
from berth.simulator.timed.summary import TraceSummary
from berth.text import pluralize

VERSION = 1
"""Version of the JSON of `berth simulate`."""

_BARS = "▁▂▃▄▅▆▇█"
_MAX_NAMED = 6
WHY_UNFINISHED = {
    PendingCode.NEVER_COVERED: "never: the queue has no quota of a resource that they request",
    PendingCode.NEVER_NODES: "never: their pods accept the nodes of no flavor of the queue",
    PendingCode.NEVER_FITS: "never: they request more than the ceiling of the queue",
    PendingCode.NEVER_WORKER: "never: no worker can run them",
    PendingCode.QUEUE_STOPPED: "the queue is held",
    PendingCode.BEHIND_OTHER: "behind another job of a StrictFIFO queue",
    PendingCode.NO_ROOM: "other jobs hold the quota",
    PendingCode.NO_ROOM_ON_NODES: "no machines have room for their pods",
    PendingCode.RESERVED_FOR_OTHERS: "the free quota is kept for jobs before them",
    PendingCode.WAITS_FOR_VICTIMS: "the jobs that they preempt still run",
    PendingCode.ADMISSION_CHECK: "an admission check is pending",
    "deactivated": "their pods were too often not ready in time",
}
"""Why jobs did not finish, in words; the codes are those of `--json`."""
_DEFINITIONS = (
    "wait: from submission to the first admission; used, borrowed, lent and idle are averages (docs/simulate.md)."
)


def trace_as_json(result: TraceResult) -> dict[str, Any]:
    """Return the JSON values of a result (docs/simulate.md)."""
    return {
        "version": VERSION,
        "currency": result.currency,
        "stacks": [each.as_json() for each in result.summaries],
        "problems": [each.as_json() for each in result.problems],
    }


def trace_document(result: TraceResult) -> Iterator[Block]:
    """Yield the figures of one stack, or of two with those that differ as old → new."""
    summaries = result.summaries
    for each in summaries:
        yield Heading(_headline(each))
    yield _waits(summaries)
    yield _flavors(summaries)
    yield _guarantees(summaries)
    yield _teams(summaries, result.currency)
    yield _evictions(summaries)
    modelled = "Simulates quota over time, without the room on nodes."
    if result.lost:
        lost = "; ".join(result.lost)
        modelled = f"Simulates quota and machines over time, with loss of {lost}: whose jobs it hits is drawn."
    yield Note([*(line for each in summaries for line in _remarks(each)), _DEFINITIONS, modelled])


def _headline(summary: TraceSummary) -> str:
    unfinished = f", {len(summary.unfinished)} not" if summary.unfinished else ""
    jobs = pluralize(summary.jobs, "job")
    return f"{summary.stack}: {jobs} in {format_time(summary.seconds)}, {summary.finished} finished{unfinished}"


def _remarks(summary: TraceSummary) -> Iterator[str]:
    """Yield which jobs did not finish, and preemption without end."""
    for reason, number in sorted(Counter(each.reason for each in summary.unfinished).items()):
        names = [each.job for each in summary.unfinished if each.reason == reason]
        listed = ", ".join(names[:_MAX_NAMED]) + (f" and {number - _MAX_NAMED} more" if number > _MAX_NAMED else "")
        yield f"{summary.stack}: {pluralize(number, 'job')} never finished ({WHY_UNFINISHED[reason]}): {listed}"
    if summary.looping:
        yield f"{summary.stack}: jobs preempted each other without end: {', '.join(summary.looping[:_MAX_NAMED])}"


def _waits(summaries: Sequence[TraceSummary]) -> Table:
    keys = dict.fromkeys((each.kind, each.name) for summary in summaries for each in summary.waits)
    by_key = [{(each.kind, each.name): each for each in summary.waits} for summary in summaries]
    rows: list[list[Cell]] = []
    for kind, name in keys:
        found = [waits.get((kind, name)) for waits in by_key]
        cells = [
            _pair(
                format_time(value) if each and (value := getattr(each, figure)) is not None else "–" for each in found
            )
            for figure in ("p50", "p90", "p95", "longest")
        ]
        jobs = _pair(str(each.jobs) if each else "0" for each in found)
        never = _pair(str(each.never or "–") if each else "–" for each in found)
        rows.append([kind, name, jobs, *cells, never])
    return Table(
        "Waiting",
        ("waiting", "", "jobs", "p50", "p90", "p95", "longest", "never"),
        rows,
        numbers=range(2, 8),
        once=(0,),
    )


def _flavors(summaries: Sequence[TraceSummary]) -> Table:
    rows: list[list[Cell]] = []
    for index, first in enumerate(summaries[0].flavors):
        found = [summary.flavors[index : index + 1] for summary in summaries]
        each = [flavors[0] for flavors in found if flavors and flavors[0].flavor == first.flavor]
        rows.append(
            [
                first.flavor,
                _pair(str(of.quota) for of in each),
                _pair(f"{of.used:.1f}" for of in each),
                _pair(f"{of.used / of.quota:.0%}" if of.quota else "–" for of in each),
                _pair(f"{of.kept_hours:.1f}" for of in each),
                _pair(f"{of.lost_hours:.1f}" for of in each),
                _pair(f"{of.starting_hours:.1f}" for of in each),
                _bars(each[-1].series, max(max(of.series) for of in each)),
            ]
        )
    head = ("flavor", "quota", "used", "", "hours kept", "lost", "starting", "use over time")
    return Table("Flavors", head, rows, numbers=range(1, 7))


def _guarantees(summaries: Sequence[TraceSummary]) -> Table:
    by_key = [{(each.queue, each.flavor): each for each in summary.guarantees} for summary in summaries]
    rows: list[list[Cell]] = []
    for key in dict.fromkeys(key for each in by_key for key in each):
        found = [each.get(key) for each in by_key]
        figures = ("used", "borrowed", "lent", "idle")
        cells = [_pair(f"{getattr(each, figure):.1f}" if each else "–" for each in found) for figure in figures]
        rows.append([*key, _pair(str(each.guaranteed) if each else "–" for each in found), *cells])
    head = ("queue", "flavor", "guaranteed", "used", "borrowed", "lent", "idle")
    return Table("Guarantees", head, rows, numbers=range(2, 7))


def _teams(summaries: Sequence[TraceSummary], currency: str | None) -> Table:
    by_team = [{each.team: each for each in summary.teams} for summary in summaries]
    rows: list[list[Cell]] = []
    for team in dict.fromkeys(team for each in by_team for team in each):
        found = [each[team] for each in by_team if team in each]
        costs = (
            [_pair(_money(each.cost) for each in found), _pair(_money(each.lost_cost) for each in found)]
            if currency
            else []
        )
        rows.append(
            [
                team,
                _pair(f"{each.held_hours:.1f}" for each in found),
                _pair(f"{each.lost_hours:.1f}" for each in found),
                *costs,
                _bars(found[-1].series, max(max(each.series) for each in found)),
            ]
        )
    money = (f"cost ({currency})", "of lost work") if currency else ()
    head = ("team", "accelerator hours", "lost", *money, "waiting jobs over time")
    return Table("Teams", head, rows, numbers=range(1, 3 + len(money)))


def _evictions(summaries: Sequence[TraceSummary]) -> Table:
    by_key = [{(each.queue, each.reason): each.evictions for each in summary.evictions} for summary in summaries]
    rows = [
        [*key, _pair(str(each.get(key, 0)) for each in by_key)]
        for key in dict.fromkeys(key for each in by_key for key in each)
    ]
    return Table("Evictions", ("evicted from", "reason", "evictions"), rows, numbers=(2,))


def _pair(values: Iterable[str]) -> Cell:
    """Return one value, or those of two stacks as a change."""
    listed = list(values)
    return Change(listed[0], listed[-1]) if len(listed) > 1 else listed[0] if listed else "–"


def _money(cost: float | None) -> str:
    return "–" if cost is None else f"{cost:,.2f}"


def _bars(series: Sequence[float], highest: float) -> str:
    """Return a value over time as bars; the highest is a whole one, and nothing is a space."""
    if not highest:
        return ""
    return "".join(" " if not value else _BARS[min(7, int(value / highest * 8))] for value in series).rstrip()


def format_time(seconds: int) -> str:
    """Return `0s`, `45s`, `12m`, `3.5h` or `2.1d`."""
    for size, unit in ((86_400, "d"), (3600, "h")):
        if seconds >= size * 2 or (unit == "h" and seconds >= size):
            return f"{seconds / size:.1f}{unit}"
    return f"{seconds // 60}m" if seconds >= 60 else f"{seconds}s"
