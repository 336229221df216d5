"""What a test expects: the forms of its assertions, and what a simulation answers to each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth.cli.simulate.output import format_time
from berth.jobs.forms import Form, items_form, text_form, values_form, whole_form
from berth.jobs.values import SourceValue
from berth.overview.losses import Losses
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.story import JobOutcome, JobStatus, SimulationRun
from berth.simulator.timed.summary import TraceSummary, WaitSummary
from berth.simulator.timed.trace import parse_duration

_PERCENTILES = ("p50", "p90", "p95", "longest")
_STATUSES = {
    "admitted": frozenset({JobStatus.ADMITTED, JobStatus.UNPLACED}),
    "pending": frozenset({JobStatus.PENDING, JobStatus.PREEMPTED, JobStatus.DRAINED}),
    "reserved": frozenset({JobStatus.RESERVED}),
    "never": frozenset({JobStatus.NEVER_ADMITTED}),
}
AT_END = (*_STATUSES, "preempted", "preemptions", "use", "flavors")
OF_TRACE = ("wait", "unfinished", "evictions", "lostHours")
OF_LOSS = ("breaks",)
"""Keys of `expect` for steps, for a trace, and for machines that are lost."""


def _check_limits(value: SourceValue) -> None:
    fields = value.known_fields((), (*_PERCENTILES, "team", "queue")) or {}
    for figure, longest in fields.items():
        if figure in _PERCENTILES and parse_duration(longest.value) is None:
            longest.fault("bad-value", f"'{longest.value}' is not a duration; write one such as 4h")
    if fields and not fields.keys() & set(_PERCENTILES):
        value.fault("bad-test", f"expects nothing; write one of {', '.join(_PERCENTILES)}")


_JOBS = items_form("a list of jobs", text_form("a job's name"))
_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(
        ("preemptions", "unfinished", "evictions", "lostHours"), whole_form("the largest number that is allowed")
    ),
    "use": values_form("a mapping of queues to accelerators", whole_form("the least number of accelerators")),
    "flavors": values_form("a mapping of jobs to their flavors", text_form("a flavor's name")),
    "wait": _check_limits,
    "breaks": items_form("a list of queues", text_form("a queue's name")),
}
"""Keys of `expect` whose values are no lists of jobs."""


def check_expected(key: str, value: SourceValue) -> None:
    """Add a fault if the expected value has another form."""
    _FORMS.get(key, _JOBS)(value)


def check_run(run: SimulationRun, expect: SourceValue) -> Iterator[tuple[str, str, bool, str]]:
    """Yield key, text, result and what was found for each assertion about the end of a scenario."""
    expected = expect.mapping("assertions") or {}
    status = {run.display_names.get(each.job, each.job): each.status for each in run.unfinished}
    lost = [row.preempted_by.job for moment in run.steps for row in moment.outcomes if row.preempted_by]
    preempted = sorted({run.display_names.get(job, job) for job in lost})
    for key, value in expected.items():
        if key in _STATUSES:
            for name in map(str, _items(value)):
                found = status.get(name)
                yield key, f"{name} is {key}", found in _STATUSES[key], str(found or "finished, or no such job")
        elif key == "preempted":
            names = sorted(map(str, _items(value)))
            yield key, f"preempted: {', '.join(names) or 'none'}", preempted == names, ", ".join(preempted) or "none"
        elif key == "preemptions":
            yield key, f"at most {value.value} preemptions", len(lost) <= _number(value), str(len(lost))
        elif key == "flavors":
            chosen = {run.display_names.get(each.job, each.job): set(each.flavors.values()) for each in run.unfinished}
            for name, flavor in (value.mapping("jobs") or {}).items():
                found = chosen.get(name, set())
                yield key, f"{name} uses {flavor.value}", found == {flavor.value}, ", ".join(sorted(found)) or "none"
        else:
            for queue, least in (value.mapping("queues") or {}).items():
                amount = _amount_in_use(run, queue)
                text = f"{queue} uses at least {least.value}"
                if amount is None:
                    yield key, text, False, "no such queue"
                else:
                    yield key, text, amount >= _number(least), str(amount)


def check_summary(summary: TraceSummary, expect: SourceValue) -> Iterator[tuple[str, str, bool, str]]:
    """Yield key, text, result and what was found for each assertion about a trace."""
    numbers = {
        "unfinished": ("unfinished jobs", len(summary.unfinished)),
        "evictions": ("evictions", sum(each.evictions for each in summary.evictions)),
        "lostHours": ("lost accelerator hours", round(sum(each.lost_hours for each in summary.flavors), 3)),
    }
    for key, value in (expect.mapping("assertions") or {}).items():
        if key in numbers:
            noun, count = numbers[key]
            yield key, f"at most {value.value} {noun}", count <= _number(value), f"{count:.12g}"
            continue
        fields = {name: each.value for name, each in (value.mapping("limits") or {}).items()}
        kind = next((kind for kind in ("queue", "team") if kind in fields), None)
        groups = [each for each in summary.waits if each.kind == (kind or "team")]
        if kind is not None:
            groups = [each for each in groups if each.name == fields[kind]]
        of = f" in {kind} {fields[kind]}" if kind else " in every team"
        for figure in _PERCENTILES:
            if figure in fields:
                yield (key, *_check_wait(groups, figure, parse_duration(fields[figure]) or 0, of))


def check_losses(losses: Losses, fleet: SimulatedFleet, expect: SourceValue) -> Iterator[tuple[str, str, bool, str]]:
    """Yield key, text, result and what was found: the queues whose guarantee then breaks, or may break.

    It does not hold where nobody knows which machines are lost.
    """
    found = sorted(
        {
            fleet.queue_display_names.get(each.owner.name, each.owner.name)
            for each in losses.guarantees
            if each.verdict != "holds"
        }
    )
    for key, value in (expect.mapping("assertions") or {}).items():
        names = sorted(map(str, _items(value)))
        same = sorted(fleet.queue_display_names.get(fleet.find_queue(name) or "", name) for name in names)
        text, answer = f"breaks: {', '.join(names) or 'no guarantee'}", ", ".join(found) or "none"
        if losses.unknown:
            answer += f"; unknown: zones of {', '.join(losses.unknown)}"
        yield key, text, same == found and not losses.unknown, answer


def _check_wait(groups: Sequence[WaitSummary], figure: str, limit: int, of: str) -> tuple[str, bool, str]:
    """Compare a percentile of each group with a limit; jobs that never start wait longer than any limit."""
    text = f"wait {figure} at most {format_time(limit)}{of}"
    waits = [wait for each in groups if (wait := getattr(each, figure)) is not None]
    if not waits or any(each.never for each in groups):
        return text, False, "jobs that never start" if groups else "no such jobs"
    return text, max(waits) <= limit, format_time(max(waits))


def _amount_in_use(run: SimulationRun, name: str) -> int | None:
    """Return the accelerators that the jobs of a queue hold at the end; None without such a queue."""
    fleet = run.steps[-1].fleet if run.steps else run.fleet
    queue = fleet.find_queue(name)
    if queue is None:
        return None
    last: dict[str, JobOutcome] = {}
    uses: dict[str, int] = {}
    for outcome in (row for moment in run.steps for row in moment.outcomes):
        last[outcome.job] = outcome
        if outcome.quota_uses:
            counted = [use for use in outcome.quota_uses if use.flavor_resource in fleet.accelerator_nouns]
            uses[outcome.job] = sum(use.amount for use in counted)
    holding = _STATUSES["admitted"] | _STATUSES["reserved"]
    return sum(uses.get(job, 0) for job, each in last.items() if each.queue == queue and each.status in holding)


def _items(value: SourceValue) -> list[object]:
    return [each.value for each in value.sequence("a list") or ()]


def _number(value: SourceValue) -> int:
    return value.value if isinstance(value.value, int) else 0
