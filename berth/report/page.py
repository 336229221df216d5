"""The report: one HTML page about a fleet that contains everything it needs and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import pathlib
from collections.abc import Iterator

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from berth.backends.interface import backend_of
from berth.cost import text as cost_words
from berth.cost.fleet import FleetCost
from berth.document import Block, Document
from berth.document.html import render_html
from berth.evaluate import Evaluation
from berth.overview.problems import problem_lists
from berth.report.preemption_matrix import MAX_QUEUES, RULE_MEANINGS
from berth.report.timeline import Timeline
from berth.report.usage_plot import UsageView, usage_svg
from berth.report.view import ChangeSummary, KeyFigure, ReportBody, ReportOrigin
from berth.text import pluralize

_OPEN_TEAM_BARS = 12
"""Maximum of teams whose bars are shown without a click."""

_OPEN_BOXES, _OPEN_QUEUES = 24, 30
"""Maximum of boxes of a quota tree, and of queues in all preemption matrices, that are shown without a click."""

_FOLDER = pathlib.Path(__file__).parent


def render_page(
    evaluation: Evaluation,
    cost: FleetCost | None = None,
    changed: ChangeSummary | None = None,
    timeline: Timeline | None = None,
    origin: ReportOrigin | None = None,
    usage: UsageView | None = None,
    live: LiveView | None = None,
    trace: TraceView | None = None,
) -> str:
    """Return the page of a stack: with its cost, changes, timeline, origin, use, live cluster and trace if given.

    For a stack with faults it shows the faults, and the plan of the valid part. Text from a stack file is escaped, and
    the page's content security policy forbids loading anything and running any script but the page's own filter.
    """
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    body = backend_of(evaluation).report(evaluation)
    # The filter field. The page's policy allows this script by its hash, and no other.
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    html = environment.get_template("page.html").render(
        stack=evaluation.stack,
        evaluation=evaluation,
        body=body,
        few=_OPEN_TEAM_BARS,
        most=MAX_QUEUES,
        meaning=RULE_MEANINGS,
        figures=list(_all_figures(evaluation, body, cost)),
        problems=list(problem_lists(evaluation)),
        changed=changed,
        timeline=timeline,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        open_boxes=_OPEN_BOXES,
        open_queues=_OPEN_QUEUES,
        usage=usage,
        trace=trace,
        trace_pictures=[Markup(each) for each in (trace.over_time, trace.waits)] if trace else [],
        live=live,
        # Every text in the picture is escaped when it is drawn.
        usage_picture=Markup(usage_svg(usage)) if usage and usage.is_drawable else "",
        origin=origin,
        cost=cost,
        costs=list(cost_words.cost_blocks(cost)) if cost else [],
        show=_show,
    )
    return html + "\n"


def _all_figures(evaluation: Evaluation, body: ReportBody | None, cost: FleetCost | None) -> Iterator[KeyFigure]:
    yield from body.figures if body is not None else ()
    if cost is not None:
        total = cost.fleet
        more = f"committed; at the ceiling {cost_words.format_money(total.ceiling)}"
        unpriced_note = f", {cost_words.describe_unpriced(total)}" if total.unpriced else ""
        yield KeyFigure(
            cost_words.format_money(total.committed), f"{cost.prices.currency} an hour", f"{more}{unpriced_note}"
        )
    faults, warnings = len(evaluation.faults), len(evaluation.warnings)
    number, _, label = pluralize(faults or warnings, "fault" if faults else "warning").partition(" ")
    what = backend_of(evaluation).noun
    yield KeyFigure(
        number,
        label,
        f"the {what} has faults" if faults else f"the {what} has no faults",
    )


def _show(document: Document) -> Markup:
    # Every text in a document is escaped when it is rendered.
    return Markup(render_html(document))


class LiveView(Struct, frozen=True):
    """The state of a cluster: where it is from and how old it is, and what it holds."""

    source: str
    document: tuple[Block, ...]


class TraceView(Struct, frozen=True):
    """What a trace met: use and waiting jobs over time, how long each team waits, and all figures as tables.

    Every text in the pictures was escaped when it was drawn.
    """

    trace: str
    over_time: str
    waits: str
    document: tuple[Block, ...]
