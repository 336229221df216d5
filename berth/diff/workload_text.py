"""Text for changes of a team's own stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.diagnostics import join_words
from berth.diff.kinds import ChangeKind
from berth.diff.workloads import CONFIG, FilesChange, WorkloadChange

_EMPHASIZED = {ChangeKind.REPLACED: "REPLACED", ChangeKind.DELETED: "DELETED"}
_MAX_NAMES = 3
"""Maximum number of names in a headline; more are counted instead."""


def headline_parts(workloads: Sequence[WorkloadChange], files: Sequence[FilesChange]) -> Iterator[str]:
    """Yield a phrase for each kind and change: workloads first, then files."""
    changes = [("workload", change.workload, change.what) for change in workloads]
    changes += [(change.kind, change.name, change.what) for change in files]
    for kind, what in dict.fromkeys((kind, what) for kind, _, what in changes):
        names = [name for entry_kind, name, entry_change in changes if (entry_kind, entry_change) == (kind, what)]
        plural = kind if kind.endswith("s") else f"{kind}s"
        if len(names) > _MAX_NAMES:
            yield f"{len(names)} {plural} are {_EMPHASIZED.get(what, what)}"
        else:
            verb = "are" if names[1:] else "is"
            yield f"{plural if names[1:] else kind} {join_words(names)} {verb} {_EMPHASIZED.get(what, what)}"


def describe_workload(change: WorkloadChange) -> str:
    """Return `workload evaluation (Job evaluation) is REPLACED: it stops, and starts again from its queue`."""
    name = f"{change.workload} ({change.kind} {change.name})"
    more = {
        ChangeKind.REPLACED: ": it stops, and starts again from its queue",
        ChangeKind.DELETED: ": it stops if it runs",
    }.get(change.what, "")
    return f"workload {name} is {_EMPHASIZED.get(change.what, change.what)}{more}"


def workload_details(change: WorkloadChange) -> Iterator[str]:
    """Yield why it is replaced, its queue, and its requests."""
    if change.because:
        yield f"because {join_words(list(change.because))} cannot change"
    before, after = change.queue
    if before != after or change.what not in (ChangeKind.CHANGED, ChangeKind.REPLACED):
        yield f"in queue {' → '.join(each for each in (before, after) if each is not None) or '–'}"
    for request in change.asks:
        least, most = sorted((request.amount.before, request.amount.after))
        if request.amount.delta:
            number = f"{request.amount.before} → {request.amount.after}" if least else str(most)
            verb = "requested" if change.what == ChangeKind.DELETED else "requests"
            yield f"{verb} {number} {request.resource} in total"


def describe_files(change: FilesChange) -> str:
    """Return `config evaluation is changed; read by evaluation, whose running pods see the change`."""
    sentence = f"{change.kind} {change.name} is {_EMPHASIZED.get(change.what, change.what)}"
    if not change.workloads:
        return f"{sentence}; no workload reads it"
    readers = join_words(list(change.workloads))
    sees = change.kind == CONFIG and change.what == ChangeKind.CHANGED
    return f"{sentence}; read by {readers}" + (", whose running pods see the change" if sees else "")
