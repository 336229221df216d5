"""A run in the words of people: what a job took and from whom, why it waits, who pushed it out and by what right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from berth.diagnostics import in_words
from berth.jobs.quantities import written
from berth.simulator import pending_reasons as reasons
from berth.simulator.lenders import Take
from berth.simulator.pending_reasons import Short, Why
from berth.simulator.scheduler.preemption import IN_QUEUE, RECLAIMED, WHILE_BORROWING
from berth.simulator.story import ADMITTED, RESERVED, RESTLESS, Loss, Moment, Row, Story

NOT_MODELLED = "Quota only: fair sharing, topology and the placing of pods on nodes are not modelled."
ON_A_MANAGER = "Of workers only whether one could ever run a job: which one does, and when, is not modelled."

_MANY = 4
"""More names than one reads in a cell."""


class Words:
    """Words for the rows of one moment: names as the fleet has them by then, and as the jobs' owners do."""

    def __init__(self, story: Story, moment: Moment | None = None) -> None:
        last = story.moments[-1].book if story.moments else story.book
        self.book = moment.book if moment else last
        self.shown = story.shown

    def job(self, name: str) -> str:
        """What to call a job."""
        return self.shown.get(name, name)

    def queue(self, name: str) -> str:
        """What to call a queue."""
        return self.book.labels.get(name, name)

    def details(self, row: Row) -> str:
        """All that is to be said of a row after its verdict."""
        return "; ".join(part for part in self._parts(row) if part)

    def _parts(self, row: Row) -> Iterator[str]:
        stopped = row.lost is not None and row.lost.by is None
        if row.lost is not None and not stopped:
            yield self.lost(row.lost)
        if row.verdict == RESTLESS:
            yield "gets back in and is pushed out again, without end"
        if row.takes:
            again = "back on " if row.lost is not None and row.verdict in (ADMITTED, RESERVED) else ""
            yield again + self.took(row.takes, row.queue)
        if row.verdict == ADMITTED and not (row.takes or row.pushed):
            yield "its checks are met"
        if row.why is not None:
            yield ("now " if row.lost is not None and not stopped else "") + self.why(row.why)
        if row.pushed:
            yield self.pushed(row.pushed)

    def took(self, takes: Sequence[Take], queue: str) -> str:
        """`v5e 24 (8 own, 16 borrowed from speech)`, flavor by flavor; only accelerators where there are any."""
        by_flavor: dict[str, list[Take]] = {}
        for take in takes:
            by_flavor.setdefault(take.cell[0], []).append(take)
        return ", ".join(f"{flavor} {self._took(of, queue)}" for flavor, of in by_flavor.items())

    def _took(self, takes: list[Take], queue: str) -> str:
        telling = [take for take in takes if take.cell in self.book.nouns and take.amount] or takes
        bare = len(telling) == 1 and telling[0].cell in self.book.nouns
        return " and ".join(self._take(take, bare, queue) for take in telling)

    def _take(self, take: Take, bare: bool, queue: str) -> str:
        resource = take.cell[1]
        text = written(resource, take.amount) if bare else self.amount(take.cell, take.amount)
        if not take.borrowed:
            return text
        lenders = self._listed(self._lender(lender, queue) for lender in take.lenders)
        of_whom = f" from {lenders}" if lenders else ""
        if not take.own:
            return f"{text} (borrowed{of_whom})"
        return f"{text} ({written(resource, take.own)} own, {written(resource, take.borrowed)} borrowed{of_whom})"

    def _lender(self, lender: str, queue: str) -> str:
        """Whose idle quota it is: a team, or the queue where it is the borrower's own team."""
        owner = self.book.owners.get(lender, lender)
        return self.queue(lender) if owner == self.book.owners.get(queue) else owner

    def amount(self, cell: tuple[str, str], number: int) -> str:
        """`24 chips`, `4 L4`, `500m cpu`."""
        return f"{written(cell[1], number)} {self.book.nouns.get(cell, cell[1])}"

    def lost(self, lost: Loss) -> str:
        """By whom and by what right a place was lost."""
        return f"by {self.job(lost.by or '')} ({self.right(lost)})"

    def pushed(self, pushed: Sequence[Loss]) -> str:
        """Whom a job pushed out, rule by rule."""
        by_right: dict[str, list[str]] = {}
        for loss in pushed:
            by_right.setdefault(self.right(loss), []).append(self.job(loss.job))
        return "; ".join(f"pushes out {self._listed(jobs)} ({right})" for right, jobs in by_right.items())

    def right(self, loss: Loss) -> str:
        """The rule in words."""
        owner = self.book.owners.get(loss.by_queue or "", loss.by_queue or "")
        if loss.reason == IN_QUEUE:
            return "it came first in their queue" if loss.same_priority else "higher priority in their queue"
        if loss.reason == RECLAIMED:
            return f"{owner} takes back what it is owed"
        return f"higher priority, while {owner} borrows" if loss.reason == WHILE_BORROWING else loss.reason

    def why(self, why: Why) -> str:
        """Why a job waits."""
        others = self._listed(self.job(name) for name in why.others)
        names = self._listed(why.names)
        match why.code:
            case reasons.CHECK:
                return f"holds its quota, and waits for {names}"
            case reasons.HELD:
                return f"its queue is {names or 'held'}"
            case reasons.NEVER_COVERED:
                return f"its queue has no quota of {names}"
            case reasons.NEVER_NODES:
                return f"its pods do not accept the nodes of {names}"
            case reasons.NEVER_FITS:
                return "larger than its ceiling, " + self._shorts(why.short)
            case reasons.NEVER_WORKER:
                return f"holds its quota for ever: no worker can run it ({self._workers(why)})"
            case reasons.BEHIND:
                return f"behind {others} (StrictFIFO)" + self._though(why.free)
            case reasons.KEPT:
                return (
                    f"there is room, but it is kept for {others}" if others else "there is room, but others come first"
                )
            case reasons.VICTIMS:
                return f"waits until {others} {'have' if len(why.others) > 1 else 'has'} given way"
            case _:
                return "no room for " + self._shorts(why.short)

    def _workers(self, why: Why) -> str:
        """Why each worker refuses, those with the same reason together."""
        by_reason: dict[str, list[str]] = {}
        for worker, reason in why.workers:
            by_reason.setdefault(self.why(reason), []).append(worker)
        return "; ".join(f"{self._listed(workers)}: {reason}" for reason, workers in by_reason.items())

    def _though(self, free: Sequence[Short]) -> str:
        telling = [short for short in free if short.cell in self.book.nouns] or list(free)
        parts = [f"{written(s.cell[1], s.free)} of {self.amount(s.cell, s.most)}" for s in telling]
        return f", though {in_words(parts)} are free" if parts else ""

    def _shorts(self, shorts: Sequence[Short]) -> str:
        """`4 L4: reserved 0 of 4 free, on-demand at most 2`; of a flavor only accelerators where these are short."""
        telling = {short.cell[0] for short in shorts if short.cell in self.book.nouns}
        parts: dict[str, list[str]] = {}
        for short in shorts:
            if short.cell in self.book.nouns or short.cell[0] not in telling:
                parts.setdefault(self.amount(short.cell, short.wants), []).append(self._short(short))
        return "; ".join(f"{wants}: {', '.join(of)}" for wants, of in parts.items())

    def _short(self, short: Short) -> str:
        (flavor, resource), most = short.cell, written(short.cell[1], short.most)
        if short.wants > short.most:
            return f"{flavor} at most {most}"
        return f"{flavor} {written(resource, short.free)} of {most} free"

    def _listed(self, names: Iterable[str]) -> str:
        listed = list(dict.fromkeys(names))
        rest = len(listed) - _MANY
        return in_words([*listed[:_MANY], f"{rest} more"] if rest > 0 else listed)
