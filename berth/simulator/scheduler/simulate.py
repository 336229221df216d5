"""The simulation: jobs arrive and end, queues are held and resumed, and after each step everything comes to rest.

Between steps time passes: whoever was pushed out has given its quota back, and everybody was looked at again. Recorded
cases look sooner, at what is so while those pushed out still hold their quota: `lagging` is for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.simulator.lenders import Take, takes
from berth.simulator.scheduler.build_queues import plant
from berth.simulator.scheduler.cycle import Cycle, Entry, Outcome
from berth.simulator.scheduler.model import HOLD, HOLD_AND_DRAIN, RUNNING, Job, Setup
from berth.simulator.scheduler.preemption import Victim
from berth.simulator.scheduler.state import Line, Shape, Stand, Work
from berth.simulator.scheduler.tree import Tree

DRAINED = "ClusterQueueStopped"
"""Kueue's word for jobs that lose their place because their queue is stopped."""

_SETTLING = 1
_STEP = 10
"""Seconds, more or less: Kueue looks again at those it set aside a second after something was given back."""


class Move(Struct, frozen=True):
    """What happened to a job in a step: `what` is 'admitted', 'reserved' (a check holds it), 'pushed out', 'drained' or
    'restless' (it is pushed out and gets back in without end).

    `takes` is what it took, `by` the job it was pushed out for, `reason` Kueue's word for the rule.
    """

    what: str
    work: Work
    takes: tuple[Take, ...] = ()
    by: Work | None = None
    reason: str = ""


class Simulator:
    """Jobs in queues. Unknown names raise KeyError: whoever reads files knows them first."""

    def __init__(self, setup: Setup, lagging: bool = False) -> None:
        self.setup = setup
        self.lagging = lagging
        self.clock = 0
        self.works: dict[str, Work] = {}
        self.moves: list[Move] = []
        self._arrived = 0
        self._leaving: dict[Tree, None] = {}
        self._stirred: dict[Tree, None] = {}
        self.lines, self.trees = plant(setup)

    # --- steps --------------------------------------------------------------------------------------------------------

    def submit(self, job: Job) -> list[Move]:
        """A job arrives."""
        tree = self.trees[job.queue]
        self._begin(tree)
        work = self._arrive(job)
        work.line.join(work)
        return self._rest(tree)

    def finish(self, name: str) -> list[Move]:
        """A job ends, or is deleted while it waits."""
        tree = self.trees[self.works[name].line.queue.name]
        self._begin(tree)
        work = self.works.pop(name)
        if work.holds():
            self._vacate(work)
        else:
            work.line.leave(work)
        work.stand, work.known = Stand.FINISHED, None
        self._stirred[tree] = None
        return self._rest(tree)

    def hold(self, queue: str, drain: bool = False) -> list[Move]:
        """A queue admits nobody any more; drained, those it admitted lose their place too."""
        tree = self.trees[queue]
        self._begin(tree)
        self._stop(self.lines[queue], HOLD_AND_DRAIN if drain else HOLD)
        return self._rest(tree)

    def resume(self, queue: str) -> list[Move]:
        """A queue admits again."""
        tree = self.trees[queue]
        self._begin(tree)
        self._stop(self.lines[queue], RUNNING)
        self._stirred[tree] = None
        return self._rest(tree)

    def provision(self, name: str) -> list[Move]:
        """The checks that held a job are met."""
        work = self.works[name]
        tree = self.trees[work.line.queue.name]
        self._begin(tree)
        if work.stand == Stand.RESERVED:
            work.stand = Stand.ADMITTED
            self.moves.append(Move("admitted", work))
        return self._rest(tree)

    def change(self, setup: Setup) -> list[Move]:
        """Queues and quotas become others; nobody loses a place by it, and all that wait are looked at again.

        A queue that is gone stays, held, for as long as jobs of it are left; its quota with it while it admitted any.
        """
        self._begin(None)
        self.setup = setup
        stops = {name: line.stop for name, line in self.lines.items() if line.stop != line.queue.stop}
        gone = [line for name, line in self.lines.items() if name not in {q.name for q in setup.queues}]
        self.lines, self.trees = plant(setup, gone)
        for work in self.works.values():
            self._move_in(work)
        for name, line in self.lines.items():
            self._stop(line, stops.get(name, line.queue.stop))
        self._stirred = dict.fromkeys(self.trees.values())
        return self._rest(None)

    # --- what is there before the first step --------------------------------------------------------------------------

    def wait(self, job: Job) -> None:
        """A job that is in line already; those that came first must be put there first."""
        work = self._arrive(job)
        work.line.join(work)

    def settle(self) -> list[Move]:
        """Let what was put there come to rest."""
        self._begin(None)
        self._stirred = dict.fromkeys(self.trees.values())
        return self._rest(None)

    def place(self, job: Job, flavors: tuple[dict[str, str], ...], since: int, admitted: bool = True) -> Work:
        """A job that holds a place already, whatever the limits say: flavors for each pod set, and since when (≤ 0)."""
        work = self._arrive(job)
        work.flavors, work.since = flavors, since
        for pods, chosen in zip(job.pod_sets, flavors, strict=True):
            for resource, flavor in chosen.items():
                stock = work.line.node.stock((flavor, resource))
                work.usage[stock] = work.usage.get(stock, 0) + pods.count * pods.requests.get(resource, 0)
        work.stand = Stand.ADMITTED if admitted else Stand.RESERVED
        work.line.occupy(work)
        return work

    # --- coming to rest -----------------------------------------------------------------------------------------------

    def _begin(self, own: Tree | None) -> None:
        """A step begins, in one tree or in all: those pushed out in the last one give back what they held.

        A tree that found no rest goes on only with a step of its own.
        """
        self.clock += _STEP
        self.moves = []
        for tree in list(self._leaving):
            if self.lagging or own in (None, tree):
                self._release(tree)
                self._cycles(tree)

    def _rest(self, tree: Tree | None) -> list[Move]:
        if tree is not None:
            self._settle(tree)
        while self._stirred:
            self._settle(next(iter(self._stirred)))
        return self.moves

    def _settle(self, tree: Tree) -> None:
        """Cycle until nothing changes; what was set aside is looked at again once something was given back.

        Jobs may push one another out in a circle. A circle that closes only because time is even here is opened by
        letting one cycle more pass; one that closes all the same is left at that, and said.
        """
        seen: set[object] = set()
        uneven = False
        while True:
            self._cycles(tree)
            if tree.leaving and not self.lagging:
                state = tree.state()
                if state in seen and uneven:
                    self.moves.extend(Move("restless", work) for work in tree.leaving)
                    self._stirred.pop(tree, None)
                    return
                if state in seen:
                    seen, uneven = set[object](), True
                    self._cycle(tree)
                seen.add(state)
                self._release(tree)
            elif tree in self._stirred:
                del self._stirred[tree]
                self.clock += _SETTLING
                for line in tree.lines:
                    line.retry()
            else:
                return

    def _cycles(self, tree: Tree) -> None:
        """Cycle until nothing changes any more but how far searches came, and that repeats."""
        seen: set[object] = set()
        while tree.busy():
            outcome = self._cycle(tree)
            if outcome.progress():
                seen = set()
            elif outcome.searched is None or outcome.searched in seen:
                return
            else:
                seen.add(outcome.searched)

    def _cycle(self, tree: Tree) -> Outcome:
        outcome = Cycle(tree, self.setup.nodes, self._admit).run()
        for victim, pusher in outcome.pushed:
            self._evict(victim.work, _pushed(victim, pusher))
        return outcome

    def _release(self, tree: Tree) -> None:
        """Those pushed out give back what they held and go back in line."""
        for work in tree.leaving:
            self._vacate(work)
            work.stand, work.evicted, work.flavors, work.usage, work.scan = Stand.WAITING, False, (), {}, None
            work.line.join(work)
        tree.leaving = []
        self._leaving.pop(tree, None)
        self._stirred[tree] = None

    # --- jobs ---------------------------------------------------------------------------------------------------------

    def _arrive(self, job: Job) -> Work:
        line = self.lines[job.queue]
        work = Work(job, self._arrived, line, *line.asks_of(job), _shape(job), job.priority)
        self._arrived += 1
        self.works[job.name] = work
        return work

    def _admit(self, entry: Entry) -> None:
        work = entry.work
        took = takes(entry.found.usage)
        work.line.leave(work)
        work.since, work.scan = self.clock, None
        work.flavors, work.usage = tuple(entry.found.flavors), entry.found.usage
        work.stand = Stand.RESERVED if any(True for _ in checks(work)) else Stand.ADMITTED
        work.line.occupy(work)
        self.trees[work.line.queue.name].touch(work.cells)
        self.moves.append(Move("admitted" if work.stand == Stand.ADMITTED else "reserved", work, took))

    def _evict(self, work: Work, move: Move) -> None:
        """A job loses its place; what it holds it gives back later."""
        work.evicted = True
        work.evictions += 1
        work.reason = move.reason
        tree = self.trees[work.line.queue.name]
        tree.leaving.append(work)
        tree.touch(work.cells)
        self._leaving[tree] = None
        self.moves.append(move)

    def _vacate(self, work: Work) -> None:
        work.line.vacate(work)
        work.line.generation += 1
        self.trees[work.line.queue.name].touch(work.cells)

    def _stop(self, line: Line, policy: str) -> None:
        """Give a queue a stop policy; one that stops it takes the places that are not to be kept."""
        line.stop = policy
        self.trees[line.queue.name].touch()
        for work in list(line.holders.values()) if not line.running() else ():
            if not work.evicted and (policy == HOLD_AND_DRAIN or work.stand == Stand.RESERVED):
                self._evict(work, Move("drained", work, reason=DRAINED))

    def _move_in(self, work: Work) -> None:
        """A job takes its place, or waits, in the line of its queue's new setup."""
        work.line, work.scan, work.known = self.lines[work.line.queue.name], None, None
        work.asks, work.uncovered = work.line.asks_of(work.job)
        if work.holds():
            work.usage = {work.line.node.stock(stock.cell): amount for stock, amount in work.usage.items()}
            work.line.occupy(work)
        else:
            work.line.join(work)


def checks(work: Work) -> Iterator[str]:
    """The admission checks that come with what the job uses."""
    known = work.line.queue.checks
    yield from dict.fromkeys(check for stock in work.usage for check in known.get(stock.cell, ()))


def _pushed(victim: Victim, pusher: Work) -> Move:
    return Move("pushed out", victim.work, by=pusher, reason=victim.reason)


def _shape(job: Job) -> Shape:
    """What makes two jobs of one queue the same to the scheduler."""
    sets = (
        (p.name, p.count, *sorted(p.requests.items()), *sorted(p.selector.items()), p.affinity, p.tolerations)
        for p in job.pod_sets
    )
    return (job.priority, *sets)
