"""The figures of `berth usage` as a section of the report."""

from __future__ import annotations

from msgspec.structs import replace

from berth.cli.usage import tables
from berth.document import Note
from berth.report.usage_plot import UsageRow, UsageView
from berth.usage.accounts import UsageReport


def usage_view(report: UsageReport) -> UsageView:
    """Return a row of the picture for each team and flavor with samples, and the text of `berth usage`."""
    used, waiting = tables.usage_tables(report)
    accounts = [account for team in report.teams for account in team.flavors]
    return UsageView(
        period=tables.period(report),
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
            Note([*tables.sentences(report), *tables.FOOTER]),
        ),
    )
