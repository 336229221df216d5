"""The figures of `berth usage` as text, JSON and CSV (docs/usage.md). No figure without its period and coverage."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from berth.document import Block, Heading, Note, Table
from berth.report.usage_plot import UsageRow, UsageView
from berth.usage.accounts import MIN_COVERAGE, Figures, FlavorAccount, TeamAccount, UsageReport

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""

FOOTER = (
    "`used`, `borrowed`, `lent` and `idle` are averages; 95 % of the samples of `used` are at most p95.",
    "`can return` is the guarantee above p95, `lacks` the p95 of `borrowed`, both in whole slices (docs/usage.md).",
)


def usage_document(stack: str, report: UsageReport) -> Iterator[Block]:
    """Yield the period, the figures, and sentences for those who could return or lack capacity."""
    yield Heading(f"{stack}: {period(report)}")
    yield from usage_tables(report)
    if told := list(sentences(report)):
        yield Note(told)
    yield Note(FOOTER)


def usage_tables(report: UsageReport) -> tuple[Table, Table]:
    """Return what each team used of each flavor, and the waiting of teams whose workloads waited or could have."""
    figures = ("guaranteed", "used", "p95", "borrowed", "lent", "idle", "can return", "lacks", "coverage")
    rows = [_row(account) for team in report.teams for account in team.flavors]
    waiting = [
        [team.team, f"{wait.average:.1f}", f"{wait.p95:.0f}", f"{wait.maximum:.0f}", f"{team.waited_hours or 0.0:.1f}"]
        for team in report.teams
        if (wait := team.waiting) is not None
    ]
    return (
        Table("Team", ("team", "flavor", *figures, ""), rows, numbers=range(2, 11)),
        Table(
            "Waiting workloads",
            ("team", "on average", "p95", "most", "workload hours"),
            waiting,
            numbers=range(1, 5),
        ),
    )


def period(report: UsageReport) -> str:
    """Return the period and the distance of its samples."""
    start, end = (datetime.fromtimestamp(each, UTC).strftime("%Y-%m-%d %H:%M") for each in (report.start, report.end))
    hours = (report.end - report.start) / 3600
    length = f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"  # two days
    return f"{start} to {end} UTC ({length}), a sample every {report.step} s"


def _row(account: FlavorAccount) -> list[str]:
    if account.used is None:
        unknown = ["–"] * 7
        return [account.team, account.flavor.name, str(account.guaranteed), *unknown, "0%", account.flavor.noun]
    others = (account.borrowed, account.lent, account.idle)
    averages = [account.used.average, account.used.p95, *(each.average if each else None for each in others)]
    return [
        account.team,
        account.flavor.name,
        str(account.guaranteed),
        *("–" if value is None else f"{value:.1f}" for value in averages),
        str(account.can_return or "–"),
        str(account.lacks or "–"),
        f"{account.coverage:.0%}",
        account.flavor.noun,
    ]


def sentences(report: UsageReport) -> Iterator[str]:
    """Yield what a team could return, and what it uses above its guarantee."""
    for team in report.teams:
        for account in team.flavors:
            if account.coverage < MIN_COVERAGE:
                yield (
                    f"{team.team} gets no advice on {account.flavor.name}: {account.coverage:.0%} of the period is "
                    f"known, and {MIN_COVERAGE:.0%} are needed."
                )
            if account.can_return:
                kept = account.guaranteed - account.can_return
                yield (
                    f"{team.team} could return {account.can_return} of {account.guaranteed} {account.flavor.noun} of "
                    f"{account.flavor.name}: 95 % of the time {kept} are enough."
                )
            if account.lacks:
                yield (
                    f"{team.team} borrowed up to {account.lacks} {account.flavor.noun} of {account.flavor.name} above "
                    f"its {account.guaranteed}; their owners can reclaim them at any time."
                )


# --- for machines -----------------------------------------------------------------------------------------------------


def usage_as_json(stack: str, report: UsageReport) -> dict[str, Any]:
    """Return the figures as data; figures are null where there is no sample."""
    return {
        "version": VERSION,
        "stack": stack,
        "start": _iso(report.start),
        "end": _iso(report.end),
        "stepSeconds": report.step,
        "teams": [_team(team) for team in report.teams],
        "unknownQueues": list(report.unknown_queues),
    }


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _team(team: TeamAccount) -> dict[str, Any]:
    return {
        "team": team.team,
        "waitingWorkloads": _figures(team.waiting),
        "waitedWorkloadHours": team.waited_hours,
        "flavors": [_account(each) for each in team.flavors],
    }


def _account(account: FlavorAccount) -> dict[str, Any]:
    has_samples = account.used is not None
    return {
        "flavor": account.flavor.name,
        "resource": account.flavor.resource,
        "guaranteed": account.guaranteed,
        "guaranteedInStackFile": account.planned,
        "coverage": account.coverage,
        "used": _figures(account.used),
        "borrowed": _figures(account.borrowed),
        "lent": _figures(account.lent),
        "idle": _figures(account.idle),
        "canReturn": account.can_return if has_samples else None,
        "lacks": account.lacks if has_samples else None,
    }


def _figures(figures: Figures | None) -> dict[str, float] | None:
    if figures is None:
        return None
    return {"average": figures.average, "p95": figures.p95, "maximum": figures.maximum}


def csv_text(report: UsageReport) -> str:
    """Return a line for each team and flavor, with the period in every line."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    names = [
        f"{figure}_{part}" for figure in ("used", "borrowed", "lent", "idle") for part in ("average", "p95", "maximum")
    ]
    writer.writerow(
        ["start", "end", "team", "flavor", "resource", "guaranteed", *names, "can_return", "lacks", "coverage"]
    )
    for team in report.teams:
        for each in team.flavors:
            figures = [
                value
                for part in (each.used, each.borrowed, each.lent, each.idle)
                for value in (("", "", "") if part is None else (part.average, part.p95, part.maximum))
            ]
            ends = [each.can_return, each.lacks] if each.used is not None else ["", ""]
            head = [_iso(report.start), _iso(report.end), each.team, each.flavor.name, each.flavor.resource]
            writer.writerow([*head, each.guaranteed, *figures, *ends, f"{each.coverage:.4f}"])
    return output.getvalue()


def usage_view(report: UsageReport) -> UsageView:
    """Return a row of the picture for each team and flavor with samples, and the text of `berth usage`."""
    used, waiting = usage_tables(report)
    accounts = [account for team in report.teams for account in team.flavors]
    return UsageView(
        period=period(report),
        start=report.start,
        end=report.end,
        step=report.step,
        rows=tuple(
            UsageRow(
                team=each.team,
                flavor=each.flavor.name,
                noun=each.flavor.noun,
                guaranteed=each.guaranteed,
                points=tuple(sorted(each.used_samples.items())),
            )
            for each in accounts
            if each.used is not None
        ),
        document=(
            replace(used, title="Used, borrowed, lent, idle"),
            waiting,
            Note([*sentences(report), *FOOTER]),
        ),
    )
