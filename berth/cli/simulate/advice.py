"""`berth simulate --advise`: single changes of a stack, ranked by what they do to waiting and cost on a trace.

Every change is planned, checked and simulated. Refused are those with faults, and those that make a team wait longer.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from berth.cli.simulate.answer import Request, load_run, simulate_evaluation
from berth.cli.simulate.changes import PlannedChange, list_changes
from berth.cli.simulate.output import format_time
from berth.diagnostics import Problem
from berth.evaluate import Evaluation, evaluate_changed
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.simulator.timed.summary import TraceSummary
from berth.text import pluralize

VERSION = 1
"""Version of the JSON of `berth simulate --advise`."""
MAX_TRIED = 300
"""Most changes that are tried; the number of those left out is shown."""
_SHOWN = 5
_WAITS_SECONDS = 60
"""Jobs of a queue wait if one in ten waits longer than this."""
_IDLE_PART = 0.5
"""A guarantee is idle if this part of it was not used on average."""


class Effect(Struct, frozen=True, rename="camel"):
    """What one change does: hours that jobs wait in all, and what the accelerators they hold cost, before and after.

    `worst_team` is the team whose jobs wait longer by the most seconds on average, or shorter by the fewest.
    """

    title: str
    difference: str
    waiting_hours: tuple[float, float]
    cost: tuple[float | None, float | None]
    worst_team: str
    worst_seconds: int
    evictions: tuple[int, int]


class Advice(Struct, frozen=True, rename="camel"):
    """All that was tried. `listed` changes exist, `refused` have faults, `worse` make a team wait longer than allowed.

    `changes` are the others that save waiting or cost, the best first.
    """

    stack: str
    jobs: int
    listed: int
    tried: int
    refused: int
    worse: int
    changes: tuple[Effect, ...]


def advise(
    request: Request, root: pathlib.Path, bound: int, most: int = MAX_TRIED
) -> tuple[Advice | None, tuple[Problem, ...]]:
    """Return advice for the stack of a request, or its faults; no team may wait `bound` seconds longer on average."""
    (stack,) = request.stacks
    evaluation, problems = load_run(stack, root)
    before = None if evaluation is None else simulate_evaluation(evaluation, request, root, problems)
    if evaluation is None or before is None:
        return None, tuple(problems)
    editor = YamlEditor.of(evaluation, root)
    changes = list_changes(editor, *_busy_and_idle(before, evaluation))
    found: list[tuple[tuple[object, ...], PlannedChange, Effect]] = []
    refused = worse = 0
    for change in changes[:most]:
        changed = evaluate_changed(evaluation, change.values, root)
        after = None if changed.faults else simulate_evaluation(changed, request, root, [])
        if after is None:
            refused += 1
            continue
        effect = _effect(change, before, after)
        if effect.worst_seconds > bound or len(after.unfinished) > len(before.unfinished) or after.looping:
            worse += 1
        elif (rank := _rank(change, effect)) is not None:
            found.append((rank, change, effect))
    found.sort(key=lambda each: each[0])
    shown = tuple(_with_edit(change, effect, editor) for _, change, effect in found)
    tried = min(most, len(changes))
    return Advice(before.stack, before.jobs, len(changes), tried, refused, worse, shown), tuple(problems)


def _busy_and_idle(before: TraceSummary, evaluation: Evaluation) -> tuple[set[str], set[str]]:
    """Return the cluster queues with idle guarantees, and those whose jobs wait."""
    from berth.simulator.fleet import build_simulated_fleet

    names = build_simulated_fleet(evaluation.fleet).queue_display_names
    cluster_queue = {shown: name for name, shown in names.items()}
    idle = {cluster_queue[g.queue] for g in before.guarantees if g.guaranteed and g.idle >= _IDLE_PART * g.guaranteed}
    waiting = {
        cluster_queue[each.name]
        for each in before.waits
        if each.kind == "queue" and (each.never or (each.p90 or 0) > _WAITS_SECONDS)
    }
    return idle, waiting


def _effect(change: PlannedChange, before: TraceSummary, after: TraceSummary) -> Effect:
    jobs = {each.name: each.jobs for each in before.waits if each.kind == "team"}
    earlier = {each.team: each.waiting_hours for each in before.teams}
    longer = {
        each.team: round((each.waiting_hours - earlier.get(each.team, 0)) * 3600 / jobs[each.team])
        for each in after.teams
        if jobs.get(each.team)
    }
    worst = max(longer, key=lambda team: longer[team], default="")
    return Effect(
        title=change.title,
        difference="",
        waiting_hours=(_waiting(before), _waiting(after)),
        cost=(_cost(before), _cost(after)),
        worst_team=worst,
        worst_seconds=longer.get(worst, 0),
        evictions=(sum(each.evictions for each in before.evictions), sum(each.evictions for each in after.evictions)),
    )


def _waiting(summary: TraceSummary) -> float:
    return round(sum(each.waiting_hours for each in summary.teams), 1)


def _cost(summary: TraceSummary) -> float | None:
    costs = [each.cost for each in summary.teams]
    return None if None in costs else round(sum(cost or 0 for cost in costs), 2)


def _rank(change: PlannedChange, effect: Effect) -> tuple[object, ...] | None:
    """Return the place of a change: those that buy nothing first, then the hours saved, then the cost; None if useless.

    Hours count in hundredths of all waiting, so that of changes that save as much the cheaper one comes first, and of
    these the one that edits fewer places.
    """
    old, new = effect.waiting_hours
    saved = round(100 * (old - new) / old) if old else 0
    old_cost, new_cost = effect.cost
    cheaper = 0.0 if old_cost is None or new_cost is None else old_cost - new_cost
    if saved < 0 or (saved == 0 and cheaper <= 0):
        return None
    return change.asks_for, -saved, -round(cheaper, 2), len(change.values), new


def _with_edit(change: PlannedChange, effect: Effect, editor: YamlEditor) -> Effect:
    try:
        difference = change.edit(editor).unified_diff(editor)
    except ManualEditRequired as error:
        difference = f"# {error}\n"
    return replace(effect, difference=difference)


def advice_as_json(advice: Advice) -> dict[str, Any]:
    """Return the JSON values (docs/simulate.md)."""
    return {"version": VERSION, **to_builtins(advice)}


def advice_lines(advice: Advice, bound: int) -> Iterator[str]:
    """Yield what was tried, and the best changes, each with its evidence and as a diff for `git apply`."""
    yield (
        f"{advice.stack}: tried {pluralize(advice.tried, 'single change')}"
        + (f" of {advice.listed}" if advice.tried < advice.listed else "")
        + f" on {pluralize(advice.jobs, 'job')}: {len(advice.changes)} help, {advice.refused} have faults, "
        f"{advice.worse} make a team wait more than {format_time(bound)} longer"
    )
    for number, each in enumerate(advice.changes[:_SHOWN], 1):
        yield f"\n# {number}. {each.title}"
        yield "# " + "; ".join(_evidence(each))
        yield each.difference.rstrip("\n")
    if len(advice.changes) > _SHOWN:
        yield f"\n# {len(advice.changes) - _SHOWN} more with --json"


def _evidence(effect: Effect) -> Iterator[str]:
    yield f"jobs wait {effect.waiting_hours[0]:,.1f} → {effect.waiting_hours[1]:,.1f} hours in all"
    if None not in effect.cost:
        yield f"accelerators that jobs hold cost {effect.cost[0]:,.2f} → {effect.cost[1]:,.2f}"
    yield f"evictions {effect.evictions[0]:,} → {effect.evictions[1]:,}"
    if effect.title.endswith(" spot"):
        yield "Google Cloud can take spot machines away, which is not simulated"
    if effect.worst_seconds > 0:
        yield f"{effect.worst_team} waits {format_time(effect.worst_seconds)} longer on average"
    else:
        yield "no team waits longer on average"
