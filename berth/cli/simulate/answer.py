"""The runs of `berth simulate`: reads stacks and the trace, and simulates each stack."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from berth.cli.arguments import exit_with_problems
from berth.cost.fleet import fleet_cost
from berth.cost.prices import Prices
from berth.diagnostics import Problem, Severity, did_you_mean, join_quoted
from berth.evaluate import Evaluation, evaluate_stack, require_offer
from berth.jobs.files import read_kubectl_json
from berth.jobs.values import read_time
from berth.lint.fleet import LintContext
from berth.loader.locate import display_path
from berth.loader.text_file import read_bytes
from berth.overview.losses import LossError, Losses, losses_of
from berth.plan.fleet import FleetPlan
from berth.simulator.fleet import SimulatedFleet, nameless_warnings, unmodelled_warnings, with_topology_nodes
from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.story import gc_paused
from berth.simulator.timed.figures import unit_of
from berth.simulator.timed.generator import generate_trace
from berth.simulator.timed.kueue_trace import read_finished
from berth.simulator.timed.read_trace import MAX_TRACE_BYTES, TraceReader
from berth.simulator.timed.summary import TraceSummary, simulate_trace
from berth.simulator.timed.trace import Outage, Outages, Timing, Trace, parse_duration

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


class Request(Struct, frozen=True, kw_only=True):
    """What to simulate: one or two stacks, the trace's file, `FLAVOR=TIME` of each flavor that takes time, and what
    fails."""

    stacks: tuple[str, ...]
    trace: pathlib.Path
    is_kueue: bool = False
    startup: tuple[str, ...] = ()
    provisioning: tuple[str, ...] = ()
    lose: tuple[str, ...] = ()
    prices: Prices | None = None


class TraceResult(Struct, frozen=True):
    """The figures of each stack, what failed meanwhile, and the problems; no figures with a fault."""

    summaries: tuple[TraceSummary, ...]
    problems: tuple[Problem, ...]
    currency: str | None = None
    lost: tuple[str, ...] = ()


def simulate(request: Request, root: pathlib.Path, known: Evaluation | None = None) -> TraceResult:
    """Simulate the trace on each stack; a single one may be evaluated already."""
    summaries: list[TraceSummary] = []
    problems: list[Problem] = []
    for stack in request.stacks:
        evaluation, found = load_run(stack, root, known)
        problems += found
        summary = None if evaluation is None else simulate_evaluation(evaluation, request, root, problems)
        if summary is not None:
            summaries.append(summary)
    unique = tuple(dict.fromkeys(problems))
    currency = request.prices.currency if request.prices else None
    return TraceResult(() if _has_faults(unique) else tuple(summaries), unique, currency, request.lose)


def simulate_evaluation(
    evaluation: Evaluation, request: Request, root: pathlib.Path, problems: list[Problem]
) -> TraceSummary | None:
    """Simulate the trace on a stack without faults, and add to `problems`; None if one of them is a fault."""
    plan = evaluation.fleet
    fleet = with_topology_nodes(plan, LintContext(plan).node_classes)
    trace, found = read_timed_jobs(request.trace, fleet, root, is_kueue=request.is_kueue)
    timing, faults = _timing(plan, request)
    problems += [*found, *faults, *nameless_warnings(fleet, (each.job for each in trace.jobs))]
    timing = replace(timing, outages=read_outages(plan, request.lose, trace, problems))
    if _has_faults(problems):
        return None
    prices = None
    if request.prices is not None:
        exact = fleet_cost(plan, request.prices).accelerators
        prices = {flavor: None if price is None else float(price) for flavor, price in exact.items()}
    with gc_paused():
        return simulate_trace(fleet, trace.jobs, timing, prices)


def generated_trace(stack: str, root: pathlib.Path, seed: int, days: int, load: float) -> str:
    """Return a generated trace of a stack as CSV; exit 1 with the stack's faults."""
    evaluation, problems = load_run(stack, root)
    if evaluation is None or evaluation.fleet_plan is None:
        exit_with_problems(problems)
    plan = evaluation.fleet_plan
    return generate_trace(with_topology_nodes(plan, LintContext(plan).node_classes), seed, days, load)


def load_run(
    stack: str, root: pathlib.Path, known: Evaluation | None = None
) -> tuple[Evaluation | None, list[Problem]]:
    """Return the evaluation of a stack to simulate, None with faults, and what is not modelled."""
    evaluation = require_offer(known or evaluate_stack(stack, root))
    plan = evaluation.fleet_plan
    if evaluation.faults or plan is None:
        return None, list(evaluation.faults)
    return evaluation, [*evaluation.unknown_releases, *unmodelled_warnings(plan)]


def read_timed_jobs(
    file: pathlib.Path, fleet: SimulatedFleet, root: pathlib.Path, *, is_kueue: bool = False
) -> tuple[Trace, list[Problem]]:
    """Return the jobs of a trace for a fleet, and its problems; output of kubectl is known by its content."""
    shown = display_path(file, root)
    if is_kueue or _is_from_kubectl(file):
        documents, problems = read_kubectl_json(file, shown)
        trace, found = read_finished(documents, fleet) if not problems else (Trace(jobs=[]), [])
        return trace, [*problems, *(each if each.place else each.with_place(shown) for each in found)]
    data = read_bytes(file, shown, "name a trace", "split the trace by time", MAX_TRACE_BYTES)
    if isinstance(data, Problem):
        return Trace(jobs=[]), [data]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = "is not UTF-8; save the file as UTF-8"
        return Trace(jobs=[]), [Problem(Severity.FAULT, "bad-text", (), message, f"{shown}:{line}")]
    reader = TraceReader(fleet, shown)
    jobs = reader.read(text)
    return Trace(jobs=jobs, began=reader.began), reader.problems.entries


def _is_from_kubectl(file: pathlib.Path) -> bool:
    """Whether a file is output of kubectl, which begins with one of the keys of an object."""
    if not os.path.isfile(file):
        return False  # opening a pipe would wait for a writer; reading the trace says what is wrong with it
    try:
        with file.open(encoding="utf-8") as text:
            return re.match(r'\s*\{\s*"(apiVersion|items|kind)"', text.read(1000)) is not None
    except (OSError, UnicodeDecodeError):
        return False  # reading the trace says what is wrong with it


def _timing(plan: FleetPlan, request: Request) -> tuple[Timing, list[Problem]]:
    """Return what takes time: the options, and when Kueue gives up on pods that are not ready."""
    problems: list[Problem] = []
    flavors = [flavor.name for flavor in plan.flavors]
    startup = _read_times("--startup", request.startup, flavors, problems)
    provisioning = _read_times("--provisioning", request.provisioning, flavors, problems)
    pods_ready = plan.kueue.pods_ready if plan.kueue is not None else None
    if pods_ready is not None and pods_ready.block_admission:
        message = "blockAdmission is not modelled: jobs are admitted while the pods of others are not ready"
        problems.append(Problem(Severity.WARNING, "not-modelled", (), message))
    return Timing(startup=startup, provisioning=provisioning, pods_ready=pods_ready), problems


def _read_times(option: str, written: Iterable[str], flavors: list[str], problems: list[Problem]) -> dict[str, int]:
    times: dict[str, int] = {}
    for each in written:
        flavor, _, text = each.partition("=")
        seconds = parse_duration(text)
        if flavor not in flavors:
            hint = did_you_mean(flavor, flavors) or f"; the flavors are {join_quoted(flavors)}"
            problems.append(Problem(Severity.FAULT, "unknown-name", (option,), f"no flavor '{flavor}'{hint}"))
        elif seconds is None:
            message = f"'{text}' is not a duration; write {option} {flavor}=5m"
            problems.append(Problem(Severity.FAULT, "bad-value", (option,), message))
        else:
            times[flavor] = seconds
    return times


def _has_faults(problems: Iterable[Problem]) -> bool:
    return any(each.severity == Severity.FAULT for each in problems)
