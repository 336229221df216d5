"""`berth diff`: what a change of a stack file means, for a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import asdict

from berth.cli.tables import table
from berth.diagnostics import in_words
from berth.diff import team_stack_text
from berth.diff import text as words
from berth.diff.compare import Changes
from berth.diff.entitlements import Entitlements
from berth.diff.headline import headline
from berth.diff.pools import ADDED, CHANGED
from berth.diff.resources import DELETED, ThingChange
from berth.planner.queueing.preemption import PushOut
from berth.text import some

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""

# --- for machines -----------------------------------------------------------------------------------------------------


def as_json(changes: Changes, old: str, new: str) -> dict[str, Any]:
    """The changes as docs/diff.md says; `old` and `new` are what was compared."""
    told = cast("dict[str, Any]", plain(changes))
    compared = {"version": VERSION, "old": old, "new": new, "headline": headline(changes)}
    return {**compared, **told, "guarded": plain(changes.guarded)}


def plain(value: object) -> object:
    """Plans as mappings with camelCase keys; a range as `{min, max}`, a step as `{before, after}`."""
    if isinstance(value, Struct):
        return {words.camel(name): plain(inner) for name, inner in asdict(value).items()}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in cast("list[object]", value)]
    return value


# --- for people -------------------------------------------------------------------------------------------------------


def text(changes: Changes) -> str:
    """The changes as paragraphs: the answer, entitlements, capacity, what is guarded, objects."""
    told = changes.entitlements
    parts = [
        headline(changes),
        *entitlements(told),
        table(["Workers", "flavor", "capacity", "guaranteed", ""], list(worker_rows(changes)), right=(2, 3)),
        table(["Shares", "worker", "flavor", "guaranteed", ""], list(share_rows(changes)), right=(3,)),
        _block("Workloads", workloads(changes)),
        _block("Files", files(changes)),
        _block("Capacity", capacity(changes)),
        _block("Guarded: this is not done unless it is allowed", guarded(changes)),
        _block("Allowed", allowed(changes)),
        _block("Allowances", (words.idle(each) for each in changes.idle)),
        _block(f"Kubernetes objects ({len(changes.objects)})", objects(changes)),
    ]
    return "\n\n".join(part for part in parts if part)


def _block(head: str, lines: Iterator[str]) -> str:
    found = [f"  {line}" for line in lines]
    return "\n".join([head, *found]) if found else ""


def entitlements(told: Entitlements) -> Iterator[str]:
    """Paragraphs on teams, cohorts, flavors and relations; empty ones among them."""
    yield _block("Teams", team_lines(told))
    rows = [[e.team, e.flavor, words.step(e.guaranteed), words.step(e.ceiling), e.noun] for e in told.entitlements]
    yield table(["Entitlements", "flavor", "guaranteed", "ceiling", ""], rows, right=(2, 3))
    rows = [[c.cohort, c.flavor, words.step(c.guaranteed), c.noun] for c in told.cohorts]
    yield table(["Cohorts", "flavor", "guaranteed", ""], rows, right=(2,))
    rows = [
        [n.node, words.step(n.minimum), words.step(n.maximum), words.step(n.lent), n.resource] for n in told.quota_tree
    ]
    yield table(["Quota tree", "min", "max", "lent", ""], rows, right=(1, 2, 3))
    rows = [
        [f.flavor, words.step(f.capacity), words.step(f.promised), oversubscription(f.oversubscription), f.noun]
        for f in told.flavors
    ]
    yield table(["Flavors", "capacity", "promised", "oversubscription", ""], rows, right=(1, 2, 3))
    yield _block("Who can push out whom", relations(told))


def worker_rows(changes: Changes) -> Iterator[list[str]]:
    """What each worker holds, and its share of what is guaranteed; where a worker comes or goes that is said too."""
    for each in changes.workers:
        name = each.worker if each.what == CHANGED else f"{each.worker} ({each.what})"
        yield from ([name, f.flavor, words.step(f.capacity), words.step(f.guaranteed), f.noun] for f in each.flavors)


def share_rows(changes: Changes) -> Iterator[list[str]]:
    """The shares of each queue whose guarantee is divided otherwise."""
    found = [(share, each.worker) for each in changes.workers for share in each.shares]
    for share, worker in sorted(found, key=lambda row: (row[0].queue, row[0].flavor, row[1])):
        yield [share.queue, worker, share.flavor, words.step(share.guaranteed), share.noun]


def oversubscription(factors: tuple[float, float]) -> str:
    """The accepted factor before and after."""
    before, after = (f"{factor:g}" for factor in factors)
    return after if before == after else f"{before} → {after}"


def team_lines(told: Entitlements) -> Iterator[str]:
    """Teams added, held, drained, resumed and removed, a line each."""
    for change in told.teams:
        yield f"{change.team} is {change.what}{_same('team', change.what, change.renamed)}"


def _same(kind: str, what: str, other: str | None) -> str:
    """What it was called before; of what comes, how it could have stayed."""
    if other is None:
        return ""
    if what not in (ADDED, "removed", DELETED):
        return f" (called {other} before)"
    keep = f"; formerly: {other} would keep it" if what == ADDED else ""
    return f" (the same {kind} as {other}, under another key{keep})"


def relations(told: Entitlements) -> Iterator[str]:
    """New relations with a +, lifted ones with a -; queues that have the same one share a line. Then priorities."""
    for sign, found in (("+", told.new_relations), ("-", told.lifted_relations)):
        groups: dict[tuple[str, tuple[str, ...]], list[PushOut]] = {}
        for one in found:
            groups.setdefault((one.whom, one.flavors), []).append(one)
        for (whom, flavors), same in groups.items():
            on = f", on {in_words(list(flavors))}" if flavors else ""
            yield f"{sign} {some([one.queue for one in same])} ▸ {whom}{on}"
    yield from map(words.priority, told.priorities)


def capacity(changes: Changes) -> Iterator[str]:
    """Every pool with its reasons and those behind it, then everything else in Google Cloud."""
    for pool in changes.pools:
        yield f"pool {pool.pool} {words.pool(pool)}{_same('pool', pool.what, pool.renamed)}"
        for field in pool.because:
            yield f"    because {words.reason(field)}"
        for field in pool.fields:
            if field not in pool.because:
                yield f"    {words.effect(field)}"
        if pool.queues and pool.hit_nodes:
            yield f"    behind it: {some(list(pool.queues))}"
    for thing in changes.things:
        yield from _thing(thing)


def _thing(thing: ThingChange) -> Iterator[str]:
    yield words.thing(thing)
    for field in thing.fields:
        yield f"    {'because ' + words.reason(field) if field in thing.because else words.effect(field)}"


def workloads(changes: Changes) -> Iterator[str]:
    """The workloads of a team's own stack, with where they wait and what they ask for."""
    for change in changes.workloads:
        yield team_stack_text.workload(change)
        yield from (f"    {line}" for line in team_stack_text.details(change))


def files(changes: Changes) -> Iterator[str]:
    """The files that its pods read."""
    yield from map(team_stack_text.files, changes.files)


def guarded(changes: Changes) -> Iterator[str]:
    """What would be lost and may not be, and what to do."""
    for loss in changes.guarded:
        yield words.loss(loss)
        yield f"    {words.remedy(loss)}"


def allowed(changes: Changes) -> Iterator[str]:
    """What is lost and may be."""
    for loss in changes.losses:
        if loss.allowed is not None:
            yield f"{words.loss(loss)}: {loss.allowed}"


def objects(changes: Changes) -> Iterator[str]:
    """Every object with the fields that change."""
    for each in changes.objects:
        yield words.object_(each)
        for field in each.fields:
            yield f"    {words.field(field)}"
