"""How far the model agrees with recorded cases.

Lists every step in which it does not, job by job, and ends with one line: `agreement: A of B steps, C of D cases`.
A step is compared whole: the state of every unfinished job, its flavors, how often it was evicted, and why last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from berth.simulator.recorded_cases import Case, Then, replay


class Difference(Struct, frozen=True):
    """A step (from 0) of a case in which the model says something else than was recorded."""

    case: str
    step: int
    what: str
    recorded: Then
    said: Then

    def lines(self) -> Iterator[str]:
        """The difference in words, a job a line."""
        yield f"{self.case}, step {self.step} ({self.what}):"
        for name in sorted(self.recorded.keys() | self.said.keys()):
            recorded, said = self.recorded.get(name), self.said.get(name)
            if recorded != said:
                yield f"  {name}: recorded {_words(recorded)}; the model says {_words(said)}"


def differences(cases: Iterable[Case]) -> Iterator[Difference]:
    """Every step that differs."""
    for case in cases:
        for index, (step, said) in enumerate(zip(case["steps"], replay(case), strict=True)):
            if step.get("then", {}) != said:
                yield Difference(case["case"], index, _what(step), step.get("then", {}), said)


def summary(cases: Sequence[Case], found: Sequence[Difference]) -> str:
    """The last line."""
    steps = sum(len(case["steps"]) for case in cases)
    wrong = len({difference.case for difference in found})
    return f"agreement: {steps - len(found)} of {steps} steps, {len(cases) - wrong} of {len(cases)} cases"


def _what(step: dict[str, Any]) -> str:
    return f"submit {step['submit']['name']}" if "submit" in step else f"finish {step['finish']}"


def _words(state: dict[str, Any] | None) -> str:
    if state is None:
        return "nothing"
    flavors = state.get("flavors", {})
    on = " on " + ", ".join(f"{flavor} ({resource})" for resource, flavor in sorted(flavors.items())) if flavors else ""
    times = state.get("evicted", 0)
    evicted = f", evicted {times} time{'s' if times > 1 else ''}" if times else ""
    return f"{state['state']}{on}{evicted}" + (f" ({state['reason']})" if "reason" in state else "")
