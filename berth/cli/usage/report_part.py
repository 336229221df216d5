"""The figures of `berth usage` as a section of the report."""

from __future__ import annotations

from berth.cli.usage import tables
from berth.report.usage_plot import UsageRow, UsageView
from berth.report.view import Section
from berth.usage.accounts import UsageReport


def usage_view(report: UsageReport) -> UsageView:
    """Return a row of the picture for each team and flavor with samples, and the text of `berth usage`."""
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
        tables=(
            Section("Used, borrowed, lent, idle", tables.HEADER, tables.rows(report), tables.NUMBERS),
            Section("Waiting workloads", tables.WAITING_HEADER, tables.waiting_rows(report), range(1, 5)),
        ),
        notes=(*tables.sentences(report), *tables.FOOTER.splitlines()),
    )
