"""The order of an upgrade: what to do before, the update itself, and what to look at afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from berth.diagnostics import join_words
from berth.upgrade.evidence import Applicability
from berth.upgrade.findings import Upgrade
from berth.upgrade.moves import Move
from berth.versions.numbers import parse_release


class Step(Struct, frozen=True):
    """One step as a sentence, with the commands of it."""

    says: str
    commands: tuple[str, ...] = ()


_QUEUES: Final = "kubectl get clusterqueues -o custom-columns=NAME:.metadata.name,ACTIVE:.status.conditions[0].status"


def steps_of(upgrade: Upgrade) -> tuple[Step, ...]:
    """Return the steps in order: preparations, GKE minor by minor, JobSet, Kueue, what follows."""
    return tuple(_steps(upgrade))


def _steps(upgrade: Upgrade) -> Iterator[Step]:
    for move in upgrade.moves:
        if move.is_downgrade:
            yield Step(
                f"Try the downgrade in a stack of its own: {move.name} promises none, and objects of {move.before} may "
                f"have what {move.after} does not know"
            )
        yield from _better_release(upgrade, move)
    yield from _preparations(upgrade)
    yield from _update(upgrade)
    yield from dict.fromkeys(step for move in upgrade.moves for step in _of_move(move, upgrade.workers))
    for finding in upgrade.of(Applicability.APPLIES):
        if finding.do and finding.when == "after":
            yield Step(f"Afterwards, {finding.do}")


def _update(upgrade: Upgrade) -> Iterator[Step]:
    """Yield the edits of the stack file, and how to apply them."""
    if by_others := dict.fromkeys(move.name for move in upgrade.moves if move.origin == "others"):
        yield Step(f"Upgrade {join_words(list(by_others))} with what manages it: this stack does not")
    written = [move for move in upgrade.moves if move.is_written]
    if written:
        yield Step("Write the versions in the stack file, in a pull request of its own", tuple(map(_written, written)))
    if any(move.origin == "channel" for move in written):
        yield Step("A cluster without a version needs no edit: GKE upgrades it with its release channel")
    if written:
        commands = (f"berth check {upgrade.stack}", f"berth diff {upgrade.stack} --since main")
        yield Step("Check and compare", (*commands, f"make up STACK={upgrade.stack}"))


def _preparations(upgrade: Upgrade) -> Iterator[Step]:
    """Yield what to find out and to do before the update."""
    for verdict in (Applicability.UNKNOWN, Applicability.APPLIES):
        for finding in upgrade.of(verdict):
            if not finding.do or finding.when != "before":
                continue
            if verdict == Applicability.UNKNOWN:
                yield Step(f"Find out whether {finding.name} applies (see above); if so, {finding.do}")
            else:
                yield Step(
                    f"{finding.do[:1].upper()}{finding.do[1:]}", tuple(f"change {each}" for each in finding.objects)
                )
    if upgrade.faults:
        yield Step("Correct the faults of the stack with the new versions")


def _better_release(upgrade: Upgrade, move: Move) -> Iterator[Step]:
    """Yield the patch to take in place of one that opens a hole, if the minor has one without it."""
    opened = [each for each in upgrade.holes if each.becomes == "opened" and each.usable != Applicability.NOT]
    minor = move.after.rpartition(".")[0]
    fixes = [each.fixed_in for each in opened if each.fixed_in.rpartition(".")[0] == minor]
    if move.key == "kueue" and fixes:
        best = max(fixes, key=parse_release)
        yield Step(f"Take {best} or later in place of {move.after}: it does not have the holes that open")


def _of_move(move: Move, workers: Sequence[str]) -> Iterator[Step]:
    match move.key:
        case "gke":
            (major, before), (_, after) = (numbers[:2] for numbers in move.numbers)
            # The minors after `before` up to `after`, or down to it.
            between = range(before + 1, after + 1) if after >= before else range(before - 1, after - 1, -1)
            minors = [f"{major}.{minor}" for minor in between]
            if len(minors) > 1:
                yield Step(
                    f"Upgrade the control plane one minor at a time ({', then '.join(minors)}), each in an update of "
                    "its own; nodes may be at most two minors older than the control plane"
                )
            yield Step("Upgrade the node pools after the control plane: nodes are replaced, and their pods end")
        case "kueue":
            yield Step(
                "While Kueue's manager starts (up to a minute), new jobs are refused and nothing is admitted; running "
                "jobs continue. Afterwards every queue is Active again",
                (_QUEUES,),
            )
            if workers:
                yield Step(
                    f"The update upgrades the manager and {join_words(list(workers))} together; a worker whose cluster "
                    "another stack creates must have the same release before jobs are sent to it"
                )
        case "jobset":
            pass  # a finding of its own has the CRDs


def _written(move: Move) -> str:
    *sections, key = move.path
    text = f'{key}: "{move.after}"'
    for section in reversed(sections[1:]):
        text = f"{section}: {{{text}}}"
    return f"{sections[0]}: {{{text}}}"
