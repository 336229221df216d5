"""An upgrade as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.diagnostics import join_words
from berth.document import Block, Heading, Line, Lines, Note, ProblemList
from berth.plan.grouping import grouped
from berth.text import pluralize
from berth.upgrade.evidence import Applicability
from berth.upgrade.findings import NO_DOWNGRADE, Upgrade, UpgradeAction
from berth.upgrade.gate_turns import GateTurn
from berth.upgrade.moves import phrases
from berth.upgrade.restarts import describe_restarts
from berth.upgrade.steps import steps_of
from berth.versions.fields import ABSENT, CrdChange
from berth.versions.standing import Standing, describe_standing, standing


def upgrade_headline(upgrade: Upgrade) -> str:
    """Return the answer in one line, without the stack's name."""
    parts = phrases(upgrade.moves, upgrade.workers)
    required = [finding for finding in upgrade.findings if finding.is_required]
    if required and required[0].is_back:
        parts.append(
            f"{pluralize(len(required), 'change')} of newer releases {'is' if len(required) == 1 else 'are'} taken back"
        )
    elif required:
        parts.append(f"of {pluralize(len(required), 'required action')} {_counts(required)}")
    changes = [
        each for each in upgrade.findings if each.key == "gke" and each.name != NO_DOWNGRADE and not each.is_back
    ]
    if changes:
        parts.append(f"of {pluralize(len(changes), 'change')} of Kubernetes {_counts(changes)}")
    for becomes, words in (("opened", "OPENED"), ("closed", "closed")):
        usable = sum(each.becomes == becomes and each.usable != Applicability.NOT for each in upgrade.holes)
        if usable:
            parts.append(f"{pluralize(usable, 'known hole')} {'is' if usable == 1 else 'are'} {words}")
    if upgrade.breaks:
        count = len(upgrade.breaking) + len(upgrade.faults)
        parts.append(f"{pluralize(count, 'cause')} BREAK{'S' if count == 1 else ''} what runs")
    if any(move.unknown for move in upgrade.moves):
        parts.append("what it changes is UNKNOWN")
    return "; ".join(parts)


def _counts(findings: Sequence[UpgradeAction]) -> str:
    """Return how many findings apply, may apply and do not."""
    counts = [sum(each.verdict == verdict for each in findings) for verdict in _COUNTED]
    return join_words(
        [f"{count} {words[count > 1]}" for count, words in zip(counts, _COUNTED.values(), strict=True) if count]
    )


_COUNTED = {
    Applicability.APPLIES: ("applies", "apply"),
    Applicability.UNKNOWN: ("may apply", "may apply"),
    Applicability.NOT: ("does not", "do not"),
}


_PARTS = (
    ("Applies", Applicability.APPLIES, False),
    ("May apply: look", Applicability.UNKNOWN, False),
    ("Taken back", Applicability.APPLIES, True),
    ("Taken back, and used perhaps: look", Applicability.UNKNOWN, True),
)
"""Parts of the document: title, verdict, and whether a downgrade takes the changes back."""


def upgrade_document(upgrade: Upgrade) -> Iterator[Block]:
    """Yield the headline, what breaks, what applies or may apply, jobs, what turns, holes, steps, and the rest."""
    yield Heading(f"{upgrade.stack}: {upgrade_headline(upgrade)}")
    unproven = [
        (each.key, each.after)
        for each in upgrade.moves
        if each.key != "gke" and standing(each.key, each.after) != Standing.RAN
    ]
    yield Note([describe_standing(*each) for each in unproven])
    yield Lines("Unknown", list(upgrade.unlisted), whole=True)
    yield ProblemList("Faults of the stack file with the old versions", upgrade.earlier, everything=True)
    yield Lines("Breaks what runs", [_line(each) for each in upgrade.breaking], whole=True)
    yield ProblemList("Faults of the stack with the new versions", upgrade.faults, everything=True)
    for title, verdict, is_back in _PARTS:
        found = [each for each in upgrade.of(verdict) if each.is_back == is_back and each not in upgrade.breaking]
        yield Lines(title, [_line(each) for each in found], whole=True)
    tasks = grouped(
        (name, finding.do or finding.says) for finding in upgrade.of(Applicability.APPLIES) for name in finding.objects
    )
    yield Lines("Jobs that must change", [(name, *dict.fromkeys(todo)) for name, todo in tasks.items()], whole=True)
    yield Lines("Defaults that turn", _turn_lines(upgrade.turns))
    yield Lines("Fields", list(_field_lines(upgrade.fields)))
    companions = [
        (
            f"{each.name} {each.after} ({each.before} before), which Berth does not install",
            *_turn_lines(each.turns),
            *_field_lines(each.fields),
        )
        for each in upgrade.companions
    ]
    yield Lines("What Kueue is built with", companions)
    yield Lines("Known holes", _hole_lines(upgrade))
    yield ProblemList("New warnings", upgrade.warnings, everything=True)
    yield Lines("Restarts, in this order", list(describe_restarts(upgrade.restarts)), whole=True)
    steps = steps_of(upgrade)
    yield Lines(
        "Steps", [(f"{number}. {step.says}", *step.commands) for number, step in enumerate(steps, 1)], whole=True
    )
    yield Lines("Does not apply", [_line(each) for each in upgrade.of(Applicability.NOT)], folded=False)
    if upgrade.source:
        others = f"; {pluralize(upgrade.others, 'object')} of other namespaces left out" if upgrade.others else ""
        yield Note([f"Read: {pluralize(upgrade.objects, 'object')} of {upgrade.source}{others}"])


def changed_versions(upgrade: Upgrade) -> Iterator[Block]:
    """Yield the part of an upgrade that a comparison of two stack files tells; `berth upgrade` has the whole."""
    yield Lines("Versions: unknown", list(upgrade.unlisted), whole=True)
    yield Lines("Versions: what breaks", [_line(each) for each in upgrade.breaking], whole=True)
    for title, verdict in (
        ("Versions: what applies", Applicability.APPLIES),
        ("Versions: what may apply", Applicability.UNKNOWN),
    ):
        found = [each for each in upgrade.of(verdict) if each.is_required and each not in upgrade.breaking]
        yield Lines(title, [_line(each) for each in found])
    usable = [
        line for each, line in zip(upgrade.holes, _hole_lines(upgrade), strict=True) if each.usable != Applicability.NOT
    ]
    yield Lines("Versions: known holes", usable)


def _line(finding: UpgradeAction) -> Line:
    head = f"{finding.key} {finding.source}: {finding.says}"
    where = f"in {join_words(list(finding.clusters))}: " if finding.clusters else ""
    below = [where + (f"because {finding.why}" if finding.verdict == Applicability.APPLIES else finding.why)]
    if finding.do and finding.verdict != Applicability.NOT:
        below.append(f"{finding.when}: {finding.do}")
    return head, *below


def _turn_lines(turns: Sequence[GateTurn]) -> list[str]:
    """Return the gates that turn, by what becomes of them."""
    groups = {
        "on by default": [each.gate for each in turns if each.after is True and each.before is not None],
        "off by default": [each.gate for each in turns if each.after is False and each.before is not None],
        "new, and on": [each.gate for each in turns if each.after is True and each.before is None],
        "gone, or no longer stated": [each.gate for each in turns if each.after is None],
    }
    return [f"{words}: {', '.join(names)}" for words, names in groups.items() if names]


def _field_lines(changes: Sequence[CrdChange]) -> Iterator[str]:
    """Yield the API versions of all kinds that change alike in one line, then each field."""
    served = grouped(((each.before, each.after), each.kind) for each in changes if each.fact == "served")
    for (before, after), names in served.items():
        verb = "is" if len(names) == 1 else "are"
        yield f"{join_words(names)} {verb} served as {_versions(after)} ({_versions(before)} before)"
    yield from (each.sentence for each in changes if each.fact != "served")


def _versions(served: str) -> str:
    return "nothing" if served == ABSENT else join_words(served.split())


def _hole_lines(upgrade: Upgrade) -> list[Line]:
    words = {"closed": "closed", "opened": "OPENED", "open": "stays open"}
    return [
        (
            f"{words[each.becomes]}: {each.says}",
            (
                f"in this stack it {_HAPPENS[each.usable]}"
                if each.chance
                else f"teams of this stack {_USABLE[each.usable]}"
            )
            + f", because {each.why}"
            + (f"; fixed in {each.fixed_in}" if each.becomes != "closed" and each.fixed_in else ""),
        )
        for each in upgrade.holes
    ]


_HAPPENS = {
    Applicability.APPLIES: "can happen",
    Applicability.UNKNOWN: "may happen",
    Applicability.NOT: "cannot happen",
}
_USABLE = {
    Applicability.APPLIES: "can use it",
    Applicability.UNKNOWN: "may be able to use it",
    Applicability.NOT: "cannot use it",
}
