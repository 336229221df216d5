"""What Kueue works with and Berth does not install, and what no table tells about a change of versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from berth.catalog import parse_version
from berth.upgrade.evidence import Evidence
from berth.upgrade.gate_turns import GateTurn, turns_between
from berth.upgrade.moves import Move
from berth.versions.changes import changelogs_read, companions, gke_changes_read
from berth.versions.fields import CrdChange, field_changes
from berth.versions.gates import companion_gates, kueue_gates
from berth.versions.numbers import minor_of, parse_release
from berth.versions.standing import component


class CompanionMove(Struct, frozen=True, kw_only=True):
    """An operator of jobs: the releases that the old and the new Kueue are built with, and what differs in them."""

    key: str
    name: str
    before: str
    after: str
    turns: tuple[GateTurn, ...] = ()
    fields: tuple[CrdChange, ...] = ()


def companion_moves(move: Move, evidence: Evidence) -> Iterator[CompanionMove]:
    """Yield the operators of kinds that the stack may queue whose release differs by what Kueue is built with."""
    from berth.jobs.kinds import kinds  # `berth check` asks for no kind

    built = [companions(minor_of(parse_release(version))) for version in (move.before, move.after)]
    queued = evidence.queued_frameworks
    mine = {row.operator for row in kinds().values() if queued is None or row.framework in queued}
    for key in sorted(built[0].keys() & built[1].keys() & mine):
        before, after = (releases[key] for releases in built)
        if before == after:
            continue
        gates = [companion_gates(key, version) for version in (before, after)]
        yield CompanionMove(
            key=key,
            name=component(key).name,
            before=before,
            after=after,
            turns=tuple(turns_between(*gates)),
            fields=field_changes(key, before, after) or (),
        )


def untold(move: Move) -> Iterator[str]:
    """Yield what no table tells about a move."""
    for version in move.unknown:
        yield f"no table has {move.name} {version}: what it changes and asks for is unknown"
    if move.unknown:
        return
    if move.key == "gke":
        yield from _unread_minors(move)
        return
    if field_changes(move.key, move.before, move.after) is None:
        yield f"the table of CRDs lacks {move.name} {move.before} or {move.after}: which fields change is unknown"
    if move.key == "kueue":
        yield from _unread_patches(move)
        yield from _partial_gates(move)
        return
    for version in (move.before, move.after):
        if companion_gates(move.key, version) is None:
            yield f"no tag tells the feature gates of {move.name} {version}: which of them are on is unknown"


def _partial_gates(move: Move) -> Iterator[str]:
    for version in (move.before, move.after):
        gates = kueue_gates(version)
        if gates is None or not gates.is_whole:
            minor = minor_of(parse_release(version))
            source = gates.source if gates else "no tag"
            yield f"the gates of Kueue {minor} are those of {source} and of its changelog: others are unknown"


def _unread_minors(move: Move) -> Iterator[str]:
    """Yield the minors of GKE on the way of which only the API versions that they remove were read."""
    (major, first), (_, last) = sorted(numbers[:2] for numbers in move.numbers)
    minors = [f"{major}.{minor}" for minor in range(first + 1, min(last + 1, parse_version(gke_changes_read())[1]))]
    if minors:
        yield (
            f"of GKE {_span(minors)} Berth has only the API versions that are no longer served: what else changes is "
            "unknown"
        )


def _unread_patches(move: Move) -> Iterator[str]:
    """Yield the patches of Kueue on the way whose release notes were not read to their end."""
    older, newer = sorted(parse_release(each) for each in (move.before, move.after))
    minor = minor_of(newer)
    if (whole := changelogs_read().get(minor)) is None:
        yield f"no changelog of Kueue {minor} was read: what it changes and asks for is unknown"
        return
    first = max(parse_release(whole)[2], older[2] if older[:2] == newer[:2] else 0) + 1
    patches = [f"{minor}.{patch}" for patch in range(first, newer[2] + 1)]
    if patches:
        yield (
            f"of the release notes of Kueue {_span(patches)} only the beginning was read: what else they change or "
            "ask for is unknown"
        )


def _span(versions: Sequence[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
