"""A run told step by step: what changed for whom in each, and where everybody stands in the end."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from berth.simulator.fleet import Book
from berth.simulator.lenders import Take
from berth.simulator.pending_reasons import Why, why
from berth.simulator.scenario import FINISH, PROVISIONED, SUBMIT, Step
from berth.simulator.scheduler.simulate import Move, Simulator
from berth.simulator.scheduler.state import Stand, Work
from berth.simulator.scheduler.workers import Workers

ADMITTED, RESERVED, WAITS, NEVER, PUSHED_OUT, DRAINED, RESTLESS, FINISHED = (
    "admitted",
    "reserved",
    "waits",
    "never",
    "pushed out",
    "drained",
    "restless",
    "finished",
)

START = "start"


class Start(Protocol):
    """What is there before the first step."""

    def begin(self, simulator: Simulator) -> dict[str, str]:
        """Put jobs in place; what to call each of them."""
        ...


class Loss(Struct, frozen=True):
    """A place that was lost: whose, by whom (None: its queue was drained), and Kueue's word for the rule."""

    job: str
    queue: str
    by: str | None
    by_queue: str | None
    reason: str
    same_priority: bool = False


class Row(Struct, frozen=True):
    """How a job came out of a step: one of the words above, what it took, who had to go for it or who took its place.

    `admitted` beside `lost` says that it lost one place and got another.
    """

    job: str
    queue: str
    verdict: str
    takes: tuple[Take, ...] = ()
    lost: Loss | None = None
    pushed: tuple[Loss, ...] = ()
    why: Why | None = None


class Moment(Struct, frozen=True):
    """A step and what it changed; `number` counts from 1, 0 is what was before the first. `book`: the fleet by then."""

    number: int
    kind: str
    said: str
    rows: tuple[Row, ...]
    book: Book


class Story(Struct, frozen=True):
    """A whole run, and the fleet it began with. `shown`: job → the name to show; `standing`: who is left in the end."""

    book: Book
    moments: tuple[Moment, ...]
    standing: tuple[Row, ...]
    shown: Mapping[str, str]


@contextmanager
def undisturbed() -> Generator[None]:
    """Keep Python's cycle collector away: it would look through all jobs again and again, and finds next to nothing."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def tell(book: Book, steps: Iterable[Step], start: Start | None = None) -> Story:
    """Run the steps, from an empty cluster or from `start`."""
    with undisturbed():
        return _told(book, steps, start)


def _told(book: Book, steps: Iterable[Step], start: Start | None) -> Story:
    simulator, workers = Simulator(book.setup), Workers(book.setup)
    moments: list[Moment] = []
    shown: dict[str, str] = {}
    if start is not None:
        shown |= start.begin(simulator)
        moments.append(
            Moment(0, START, "as it is", tuple(_rows(simulator, workers, None, None, simulator.settle())), book)
        )
    now = book
    for number, step in enumerate(steps, 1):
        own = step.name if step.kind in (SUBMIT, FINISH, PROVISIONED) else None
        if step.arrival is not None:
            shown[step.name] = step.arrival.shown
        if step.book is not None:
            now, workers = step.book, Workers(step.book.setup)
        gone = simulator.works.get(step.name) if step.kind == FINISH else None
        moves = _act(simulator, step)
        moments.append(Moment(number, step.kind, step.said, tuple(_rows(simulator, workers, own, gone, moves)), now))
    standing = tuple(_row(simulator, workers, work, []) for work in simulator.works.values())
    return Story(book, tuple(moments), standing, _unique(shown))


def _act(simulator: Simulator, step: Step) -> list[Move]:
    match step.kind:
        case "submit":
            assert step.arrival is not None
            return simulator.submit(step.arrival.job)
        case "finish":
            return simulator.finish(step.name)
        case "provisioned":
            return simulator.provision(step.name)
        case "change":
            assert step.book is not None
            return simulator.change(step.book.setup)
        case "resume":
            return simulator.resume(step.name)
        case _:
            return simulator.hold(step.name, drain=step.kind == "drain")


def _rows(
    simulator: Simulator, workers: Workers, own: str | None, gone: Work | None, moves: list[Move]
) -> Iterable[Row]:
    """The step's own job first, then the others as things happened to them."""
    touched: dict[Work, list[Move]] = {}
    if own is not None and own in simulator.works:
        touched[simulator.works[own]] = []
    for move in moves:
        touched.setdefault(move.work, []).append(move)
        if move.by is not None:
            touched.setdefault(move.by, [])
    if gone is not None:
        yield Row(gone.job.name, gone.line.queue.name, FINISHED)
    for work, own_moves in touched.items():
        caused = tuple(_loss(move) for move in moves if move.by is work)
        yield _row(simulator, workers, work, own_moves, caused)


def _row(simulator: Simulator, workers: Workers, work: Work, moves: list[Move], pushed: tuple[Loss, ...] = ()) -> Row:
    name, queue = work.job.name, work.line.queue.name
    takes = next((move.takes for move in reversed(moves) if move.takes), ())
    lost = next((_loss(move) for move in reversed(moves) if move.what in ("pushed out", "drained")), None)
    if any(move.what == "restless" for move in moves):
        return Row(name, queue, RESTLESS, takes, lost, pushed)
    if work.stand == Stand.ADMITTED and not work.evicted:
        return Row(name, queue, ADMITTED, takes, lost, pushed)
    reason = why(simulator.trees[queue], work, simulator.setup.nodes)
    if work.stand == Stand.RESERVED:
        never = workers.never(work)
        return Row(name, queue, NEVER if never else RESERVED, takes, lost, pushed, never or reason)
    if lost is not None:
        return Row(name, queue, DRAINED if lost.by is None else PUSHED_OUT, (), lost, pushed, reason)
    return Row(name, queue, NEVER if reason.code.startswith("never") else WAITS, (), None, pushed, reason)


def _loss(move: Move) -> Loss:
    by = move.by
    return Loss(
        job=move.work.job.name,
        queue=move.work.line.queue.name,
        by=by.job.name if by else None,
        by_queue=by.line.queue.name if by else None,
        reason=move.reason,
        same_priority=by is not None and by.priority == move.work.priority,
    )


def _unique(shown: Mapping[str, str]) -> dict[str, str]:
    """What to call each job: what its owner does, unless two are called so."""
    called = Counter(shown.values())
    return {name: short if called[short] == 1 else name for name, short in shown.items()}
