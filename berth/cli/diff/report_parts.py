"""The changes of `berth diff` as parts of the report's page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from berth.cli.diff import plain_text
from berth.diff import text
from berth.diff.compare import Changes
from berth.diff.headline import headline
from berth.report.view import Changed, Part
from berth.text import many


def changed(changes: Changes, since: str, more: Iterable[Part] = ()) -> Changed:
    """What changed since a revision, in the order of `berth diff`, and `more`; empty parts are left out."""
    found = [*_parts(changes), *more]
    return Changed(since, headline(changes), [part for part in found if not part.empty])


def _parts(changes: Changes) -> Iterator[Part]:
    told = changes.entitlements
    yield Part("Guarded: this is not done unless it is allowed", lines=list(plain_text.guarded(changes)))
    yield Part("Teams that come, go or are held", lines=list(plain_text.team_lines(told)))
    rows = [[e.team, e.flavor, text.step(e.guaranteed), text.step(e.ceiling), e.noun] for e in told.entitlements]
    yield Part("Who gains and who loses", ("team", "flavor", "guaranteed", "ceiling", "of"), rows, (2, 3))
    rows = [[c.cohort, c.flavor, text.step(c.guaranteed), c.noun] for c in told.cohorts]
    yield Part("Totals of cohorts", ("cohort", "flavor", "guaranteed", "of"), rows, (2,))
    rows = [
        [n.node, text.step(n.minimum), text.step(n.maximum), text.step(n.lent), n.resource] for n in told.quota_tree
    ]
    yield Part("Quota tree", ("node", "min", "max", "lent", "of"), rows, (1, 2, 3))
    head = ("flavor", "capacity", "promised", "oversubscription", "of")
    rows = [
        [
            f.flavor,
            text.step(f.capacity),
            text.step(f.promised),
            plain_text.oversubscription(f.oversubscription),
            f.noun,
        ]
        for f in told.flavors
    ]
    yield Part("Flavors", head, rows, (1, 2, 3))
    head = ("worker", "flavor", "capacity", "guaranteed", "of")
    yield Part("Workers", head, list(plain_text.worker_rows(changes)), (2, 3))
    head = ("queue", "worker", "flavor", "guaranteed", "of")
    yield Part("Shares of workers", head, list(plain_text.share_rows(changes)), (3,))
    yield Part("Preemption that is new or lifted", lines=list(plain_text.relations(told)))
    yield Part("Workloads", lines=list(plain_text.workloads(changes)))
    yield Part("Files that pods read", lines=list(plain_text.files(changes)))
    yield Part("Machines and everything else in the cloud", lines=list(plain_text.capacity(changes)))
    yield Part("Allowed", lines=list(plain_text.allowed(changes)))
    yield Part("Allowances without a use", lines=[text.idle(each) for each in changes.idle])
    count = many(len(changes.objects), "Kubernetes object")
    yield Part(f"{count} created, changed or deleted", lines=list(plain_text.objects(changes)), folded=True)
