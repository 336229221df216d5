"""Tables of facts that are older than their life, as one warning of a fleet on Google Cloud."""

from __future__ import annotations

from berth.catalog import fact_tables
from berth.clock import as_of
from berth.diagnostics import Problem, Severity, join_words


def old_tables() -> tuple[Problem, ...]:
    """Return one warning that lists the tables of facts that are older than their life; nothing without any."""
    today = as_of()
    old = [table for table in fact_tables().values() if table.good_until < today]
    if not old:
        return ()
    listed = join_words([f"{table.dated_name} (good until {table.good_until})" for table in old])
    message = f"on {today} these facts are older than they may be: {listed}; update Berth"
    return (Problem(Severity.WARNING, "tables-old", (), message),)
