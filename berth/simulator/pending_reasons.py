"""Why a job waits, found out from what is so when everything is at rest."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from berth.simulator.scheduler.flavor_assignment import Assignment, Mode, Search
from berth.simulator.scheduler.model import HOLD_AND_DRAIN, Cell, Nodes
from berth.simulator.scheduler.preemption import remembered
from berth.simulator.scheduler.quota import Stock
from berth.simulator.scheduler.simulate import checks
from berth.simulator.scheduler.state import Stand, Work
from berth.simulator.scheduler.tree import Tree

NEVER_COVERED = "never-covered"
NEVER_NODES = "never-nodes"
NEVER_FITS = "never-fits"
NEVER_WORKER = "never-worker"
HELD = "held"
BEHIND = "behind"
NO_ROOM = "no-room"
KEPT = "kept"
VICTIMS = "victims"
CHECK = "check"


class Short(Struct, frozen=True):
    """A cell that is short: more is wanted than is `free` to the queue, or than it can ever have (`most`)."""

    cell: Cell
    wants: int
    free: int
    most: int


class Why(Struct, frozen=True):
    """Why a job waits: a code (the constants above), and what belongs to it.

    `others` are jobs (names): whom it stands behind, or who keeps the room. `names` are resources, flavors or checks.
    `free` says, of a job that only stands behind another, how much of what it wants is free. `workers` are those of a
    manager, each with why it can never run the job.
    """

    code: str
    short: tuple[Short, ...] = ()
    others: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    free: tuple[Short, ...] = ()
    workers: tuple[tuple[str, Why], ...] = ()


def why(tree: Tree, work: Work, nodes: Mapping[str, Nodes]) -> Why:
    """The first reason that keeps a job from being admitted."""
    line = work.line
    if work.stand == Stand.RESERVED:
        return Why(CHECK, names=tuple(checks(work)))
    if not line.running():
        state = "gone" if line.gone else "drained" if line.stop == HOLD_AND_DRAIN else "held"
        return Why(HELD, names=(state,))
    found = _searched(tree, work, nodes)
    never = _never(work, found)
    if never is not None:
        return never
    ahead = _ahead(work)
    if ahead is not None:
        return Why(BEHIND, others=(ahead.job.name,), free=_free(found))
    if tree.leaving and line.pusher is work:
        return Why(VICTIMS, others=tuple(other.job.name for other in tree.leaving))
    if found.mode == Mode.FIT:
        return Why(KEPT, others=tuple(other.job.name for other in tree.claimants if other is not work))
    return Why(NO_ROOM, short=_shorts(work, found))


def _searched(tree: Tree, work: Work, nodes: Mapping[str, Nodes]) -> Assignment:
    """What a search through all flavors finds now."""
    scan, work.scan = work.scan, None
    found = Search(work, tree.cycle, lambda w, stock, amount: remembered(tree, w, stock, amount), nodes).run()
    work.scan = scan
    return found


def _never(work: Work, found: Assignment) -> Why | None:
    """Why a job can never be admitted to its queue as it is."""
    if found.mode != Mode.NO_FIT:
        return None
    if work.uncovered:
        return Why(NEVER_COVERED, names=(work.uncovered,))
    flavors = {flavor for group in work.line.queue.groups for flavor in group.flavors}
    if flavors <= set(found.unmatched):
        return Why(NEVER_NODES, names=tuple(dict.fromkeys(found.unmatched)))
    short = tuple(each for each in _shorts(work, found) if each.wants > each.most)
    if len(work.asks) == 1 and flavors - set(found.unmatched) == {each.cell[0] for each in short}:
        return Why(NEVER_FITS, short=short)
    return None


def _ahead(work: Work) -> Work | None:
    """Who is tried first in a StrictFIFO queue, where nobody overtakes."""
    line = work.line
    if not line.queue.strict:
        return None
    first = min(line.ready.values(), key=lambda other: (-other.priority, other.order), default=None)
    return None if first is work else first


def _shorts(work: Work, found: Assignment) -> tuple[Short, ...]:
    """What is short, flavor by flavor, for the pod set that finds no place (of those that find one, the last)."""
    asks = work.asks[min(len(found.flavors), len(work.asks)) - 1]
    taken = found.usage if found.mode == Mode.NO_FIT else {}
    shorts: list[Short] = []
    for ask in asks:
        for offer in ask.offers:
            for resource, amount in ask.amounts:
                stock = offer.stocks[resource]
                wants = amount + taken.get(stock, 0)
                if wants > stock.left() and offer.flavor not in found.unmatched:
                    shorts.append(_short(stock, wants))
    return tuple(shorts)


def _free(found: Assignment) -> tuple[Short, ...]:
    """What a job would take that could be had at once."""
    if found.mode != Mode.FIT:
        return ()
    return tuple(_short(stock, amount) for stock, amount in found.usage.items())


def _short(stock: Stock, want: int) -> Short:
    return Short(stock.cell, want, stock.left(), stock.most)
