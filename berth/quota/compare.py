"""What a fleet needs against what its projects have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem, Severity
from berth.quota.answers import UNLIMITED, Answers, QuotaLimit
from berth.quota.required import QuotaNeed, RequiredQuota

Status = Literal["short", "uncertain", "upgrade", "in-use", "enough", "optional", "not-listed"]
"""How a limit compares with the need.

short: below what the fleet needs at its largest. uncertain: below it only by what is in doubt. upgrade: too little for
the nodes that an upgrade adds. in-use: too little if something else than this fleet uses what is in use. optional: too
little, and the fleet works without it. not-listed: no answer has it.
"""


class QuotaComparison(Struct, frozen=True, kw_only=True):
    """One quota with its limit (None: no answer has it).

    `moved` are preemptible quotas of which the project has none, so that their machines count here.
    """

    required: RequiredQuota
    limit: QuotaLimit | None
    moved: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """The first that is so."""
        if self.limit is None:
            return "not-listed"
        if self.limit.limit == UNLIMITED:
            return "enough"
        return self._status_below(self.limit.limit, self.limit.usage or 0)

    def _status_below(self, limit: int, usage: int) -> Status:
        required = self.required
        if limit < required.certain_maximum:
            return "short"
        if limit < required.maximum:
            return "optional" if required.is_optional else "uncertain"
        if limit < required.maximum + required.upgrade:
            return "upgrade"
        return "in-use" if limit < required.maximum + usage else "enough"

    @property
    def short_by(self) -> int:
        """What is missing at the fleet's largest; 0 where nothing is, or no answer has the quota."""
        return self._missing(self.required.maximum)

    @property
    def short_at_first(self) -> int:
        """What is missing for the nodes that always exist: the first `pulumi up` fails."""
        return self._missing(self.required.minimum)

    def _missing(self, amount: int) -> int:
        if self.limit is None or self.limit.limit == UNLIMITED:
            return 0
        return max(0, amount - self.limit.limit)


def contradicting_answers(required: Iterable[RequiredQuota], answers: Answers) -> tuple[Problem, ...]:
    """Return a fault for each two answers about one quota, or the one that its machines count against, that differ."""
    wanted = {
        (metric.name, each.project, each.location): metric
        for each in required
        for metric in (each.metric, *(use.fallback for use in each.uses if use.fallback is not None))
    }
    return tuple(
        problem
        for (_, project, location), metric in wanted.items()
        for problem in _contradictions(answers.best_of(metric, project, location), f"{metric.name} in {location}")
    )


def _contradictions(best: Sequence[QuotaLimit], quota: str) -> Iterator[Problem]:
    for first, other in ((best[0], each) for each in best[1:]):
        for noun, one, two in (("limit", first.limit, other.limit), ("usage", first.usage, other.usage)):
            if None not in (one, two) and one != two:
                shown, also = ("unlimited" if each == UNLIMITED else str(each) for each in (two, one))
                message = f"the {noun} of {quota} is {shown}, and {also} in {first.place}; give the newer answer alone"
                yield Problem(Severity.FAULT, "quota-answer", (), message, other.place)
                break


def compare_with_limits(required: Iterable[RequiredQuota], answers: Answers) -> tuple[QuotaComparison, ...]:
    """Each quota with its limit. Machines whose preemptible quota is 0 count against the standard one instead."""
    by_place = {(each.project, each.location, each.metric.name): each for each in required}
    moved: dict[tuple[str, str, str], list[str]] = {}
    for each in [*by_place.values()]:
        limit = answers.limit_of(each.metric, each.project, each.location)
        for use in each.uses if limit is not None and limit.limit == 0 else ():
            if use.fallback is not None:
                key = (each.project, each.location, use.fallback.name)
                by_place[key] = _with_use(by_place.get(key), each, use)
                moved.setdefault(key, []).append(each.metric.name)
                by_place.pop((each.project, each.location, each.metric.name), None)
    return tuple(
        QuotaComparison(
            required=each,
            limit=answers.limit_of(each.metric, each.project, each.location),
            moved=tuple(dict.fromkeys(moved.get(key, ()))),
        )
        for key, each in by_place.items()
    )


def _with_use(standard: RequiredQuota | None, preemptible: RequiredQuota, use: QuotaNeed) -> RequiredQuota:
    """The standard quota with what one use needs of the preemptible one."""
    assert use.fallback is not None
    moved = replace(use, metric=use.fallback, fallback=None)
    if standard is None:
        return replace(preemptible, metric=use.fallback, uses=(moved,))
    return replace(standard, uses=(*standard.uses, moved))
