"""The changes of `berth diff` as parts of the report's page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stacks.changes import words
from stacks.changes.headline import headline
from stacks.changes.whole import Changes
from stacks.cli import diff
from stacks.report.view import Changed, Part
from stacks.wording import many


def changed(changes: Changes, since: str, more: Iterable[Part] = ()) -> Changed:
    """What changed since a revision, in the order of `berth diff`, and `more`; empty parts are left out."""
    found = [*_parts(changes), *more]
    return Changed(since, headline(changes), [part for part in found if not part.empty])


def _parts(changes: Changes) -> Iterator[Part]:
    told = changes.entitlements
    yield Part("Guarded: this is not done unless it is allowed", lines=list(diff.guarded(changes)))
    yield Part("Teams that come, go or are held", lines=list(diff.team_lines(told)))
    rows = [[e.team, e.flavor, words.step(e.guaranteed), words.step(e.ceiling), e.noun] for e in told.entitlements]
    yield Part("Who gains and who loses", ("team", "flavor", "guaranteed", "ceiling", "of"), rows, (2, 3))
    rows = [[c.cohort, c.flavor, words.step(c.guaranteed), c.noun] for c in told.cohorts]
    yield Part("Totals of cohorts", ("cohort", "flavor", "guaranteed", "of"), rows, (2,))
    rows = [
        [n.node, words.step(n.minimum), words.step(n.maximum), words.step(n.lent), n.resource] for n in told.quota_tree
    ]
    yield Part("Quota tree", ("node", "min", "max", "lent", "of"), rows, (1, 2, 3))
    head = ("flavor", "capacity", "promised", "oversubscription", "of")
    rows = [
        [f.flavor, words.step(f.capacity), words.step(f.promised), diff.oversubscription(f.oversubscription), f.noun]
        for f in told.flavors
    ]
    yield Part("Flavors", head, rows, (1, 2, 3))
    head = ("worker", "flavor", "capacity", "guaranteed", "of")
    yield Part("Workers", head, list(diff.worker_rows(changes)), (2, 3))
    head = ("queue", "worker", "flavor", "guaranteed", "of")
    yield Part("Shares of workers", head, list(diff.share_rows(changes)), (3,))
    yield Part("Preemption that is new or lifted", lines=list(diff.relations(told)))
    yield Part("Workloads", lines=list(diff.workloads(changes)))
    yield Part("Files that pods read", lines=list(diff.files(changes)))
    yield Part("Machines and everything else in the cloud", lines=list(diff.capacity(changes)))
    yield Part("Allowed", lines=list(diff.allowed(changes)))
    yield Part("Allowances without a use", lines=[words.idle(each) for each in changes.idle])
    count = many(len(changes.objects), "Kubernetes object")
    yield Part(f"{count} created, changed or deleted", lines=list(diff.objects(changes)), folded=True)
