"""The same jobs under two stacks: who fares differently, and from which step on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from berth.simulator.lenders import Take
from berth.simulator.story import FINISHED, Moment, Row, Story


class Difference(Struct, frozen=True):
    """A job that fares differently from a step on. A row is None where the stack does not know the job."""

    number: int
    said: str
    job: str
    old: Row | None
    new: Row | None


def compare(old: Story, new: Story) -> Iterator[Difference]:
    """Every job whose lot differs after a step, and did not differ in the same way before it."""
    before, after = _Lots(), _Lots()
    told: dict[str, object] = {}
    for one, other in zip_longest(old.moments, new.moments):
        touched = list(dict.fromkeys([*before.take(one), *after.take(other)]))
        moment = one or other
        for job in touched:
            lots = before.lot(job), after.lot(job)
            if lots[0] != lots[1] and told.get(job) != lots:
                yield Difference(moment.number, moment.said, job, before.rows.get(job), after.rows.get(job))
            told[job] = lots


class _Lots:
    """How each job stands, as moments pass: its last row, with what it took last while it holds it."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.takes: dict[str, tuple[Take, ...]] = {}

    def take(self, moment: Moment | None) -> list[str]:
        """Take a moment in; the jobs it touched."""
        for row in moment.rows if moment else ():
            if row.verdict == FINISHED:
                self.rows.pop(row.job, None)
                continue
            self.rows[row.job] = row
            if row.takes:
                self.takes[row.job] = row.takes
        return [row.job for row in moment.rows] if moment else []

    def lot(self, job: str) -> object:
        """What counts of how a job stands: its verdict and flavors, and whether it lost a place."""
        row = self.rows.get(job)
        if row is None:
            return None
        takes = self.takes.get(job, ()) if row.why is None else ()
        return row.verdict, tuple(take.cell for take in takes), row.lost is not None
