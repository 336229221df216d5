"""The words in which changes of a team's own stack are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.diagnostics import join_words
from berth.diff.kinds import ChangeKind
from berth.diff.team_stacks import CONFIG, FilesChange, WorkloadChange

_EMPHASIZED = {ChangeKind.REPLACED: "REPLACED", ChangeKind.DELETED: "DELETED"}
_MAX_NAMES = 3
"""Entries that a headline names; of more it gives the number."""


def headline_parts(workloads: Sequence[WorkloadChange], files: Sequence[FilesChange]) -> Iterator[str]:
    """What becomes of workloads, then of files, the same in one part."""
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
    """`workload evaluation (Job evaluation) is REPLACED: it begins anew`."""
    name = f"{change.workload} ({change.kind} {change.name})"
    more = {
        ChangeKind.REPLACED: ": it begins anew, and waits in its queue",
        ChangeKind.DELETED: ": what runs of it ends",
    }.get(change.what, "")
    return f"workload {name} is {_EMPHASIZED.get(change.what, change.what)}{more}"


def workload_details(change: WorkloadChange) -> Iterator[str]:
    """Why it is replaced, where it waits, and what it asks for."""
    if change.because:
        yield f"because {join_words(list(change.because))} cannot change"
    before, after = change.queue
    if before != after or change.what not in (ChangeKind.CHANGED, ChangeKind.REPLACED):
        yield f"in queue {' → '.join(each for each in (before, after) if each is not None) or '–'}"
    for request in change.asks:
        least, most = sorted((request.amount.before, request.amount.after))
        if request.amount.delta:
            number = f"{request.amount.before} → {request.amount.after}" if least else str(most)
            verb = "asked" if change.what == ChangeKind.DELETED else "asks"
            yield f"{verb} for {number} {request.resource}, all its pods together"


def describe_files(change: FilesChange) -> str:
    """`config evaluation is changed: the pods of evaluation see it while they run`."""
    sentence = f"{change.kind} {change.name} is {_EMPHASIZED.get(change.what, change.what)}"
    if not change.workloads:
        return f"{sentence}; no workload reads it"
    readers = join_words(list(change.workloads))
    sees = change.kind == CONFIG and change.what == ChangeKind.CHANGED
    return f"{sentence}; read by {readers}" + (", whose pods see it while they run" if sees else "")
