"""The words in which changes of a team's own stack are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.diagnostics import in_words
from berth.diff.resources import DELETED, REPLACED
from berth.diff.team_stacks import CONFIG, FilesChange, WorkloadChange

_LOUD = {REPLACED: "REPLACED", DELETED: "DELETED"}
_NAMED = 3
"""Entries that a headline names; of more it gives the number."""


def headline(workloads: Sequence[WorkloadChange], files: Sequence[FilesChange]) -> Iterator[str]:
    """What becomes of workloads, then of files, the same in one part."""
    told = [("workload", change.workload, change.what) for change in workloads]
    told += [(change.kind, change.name, change.what) for change in files]
    for kind, what in dict.fromkeys((kind, what) for kind, _, what in told):
        names = [name for of, name, became in told if (of, became) == (kind, what)]
        many = kind if kind.endswith("s") else f"{kind}s"
        if len(names) > _NAMED:
            yield f"{len(names)} {many} are {_LOUD.get(what, what)}"
        else:
            verb = "are" if names[1:] else "is"
            yield f"{many if names[1:] else kind} {in_words(names)} {verb} {_LOUD.get(what, what)}"


def workload(change: WorkloadChange) -> str:
    """`workload evaluation (Job evaluation) is REPLACED: it begins anew`."""
    name = f"{change.workload} ({change.kind} {change.name})"
    more = {REPLACED: ": it begins anew, and waits in its queue", DELETED: ": what runs of it ends"}.get(
        change.what, ""
    )
    return f"workload {name} is {_LOUD.get(change.what, change.what)}{more}"


def details(change: WorkloadChange) -> Iterator[str]:
    """Why it is replaced, where it waits, and what it asks for."""
    if change.because:
        yield f"because {in_words(list(change.because))} cannot change"
    before, after = change.queue
    if before != after or change.what not in ("changed", REPLACED):
        yield f"in queue {' → '.join(each for each in (before, after) if each is not None) or '–'}"
    for asked in change.asks:
        least, most = sorted((asked.amount.before, asked.amount.after))
        if asked.amount.gain:
            number = f"{asked.amount.before} → {asked.amount.after}" if least else str(most)
            verb = "asked" if change.what == DELETED else "asks"
            yield f"{verb} for {number} {asked.resource}, all its pods together"


def files(change: FilesChange) -> str:
    """`config evaluation is changed: the pods of evaluation see it while they run`."""
    said = f"{change.kind} {change.name} is {_LOUD.get(change.what, change.what)}"
    if not change.workloads:
        return f"{said}; no workload reads it"
    readers = in_words(list(change.workloads))
    sees = change.kind == CONFIG and change.what == "changed"
    return f"{said}; read by {readers}" + (", whose pods see it while they run" if sees else "")
