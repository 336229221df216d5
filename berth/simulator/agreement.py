"""Comparison of the model with recorded cases.

Lists every step that differs, job by job, then the features of Kueue that the cases use, and ends with one line:
`agreement: A of B steps, C of D cases`. A step agrees if the state of every unfinished job, its flavors, the domains of
its pods, its number of evictions and the last reason are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from berth.simulator.recorded_cases import ExpectedStates, RecordedCase, replay

_QUOTA = "quota and preemption"
_FLAT_LEVELS = 2


class CaseMismatch(Struct, frozen=True):
    """A step of a case, counted from 0, in which the model differs from the recording."""

    case: str
    step: int
    action: str
    recorded: ExpectedStates
    simulated: ExpectedStates

    def lines(self) -> Iterator[str]:
        """Yield the difference as text, one line for each job."""
        yield f"{self.case}, step {self.step} ({self.action}):"
        for name in sorted(self.recorded.keys() | self.simulated.keys()):
            recorded, simulated = self.recorded.get(name), self.simulated.get(name)
            if recorded != simulated:
                yield f"  {name}: recorded {_describe_state(recorded)}; simulated {_describe_state(simulated)}"


def find_mismatches(cases: Iterable[RecordedCase]) -> Iterator[CaseMismatch]:
    """Yield every step that differs."""
    for case in cases:
        for index, (step, simulated) in enumerate(zip(case["steps"], replay(case), strict=True)):
            if step.get("then", {}) != simulated:
                event = f"submit {step['submit']['name']}" if "submit" in step else f"finish {step['finish']}"
                yield CaseMismatch(case["case"], index, event, step.get("then", {}), simulated)


def find_late_steps(case: RecordedCase) -> tuple[set[int], int]:
    """Return the steps read after preempted jobs had stopped, and the number of steps that agree with these.

    A step counts as read late if only that explains it.
    """
    recorded = [step.get("then", {}) for step in case["steps"]]
    late: set[int] = set()
    while True:
        differing = [index for index, states in enumerate(replay(case, late)) if states != recorded[index]]
        if not differing or replay(case, late | {differing[0]})[differing[0]] != recorded[differing[0]]:
            return late, len(recorded) - len(differing)
        late.add(differing[0])


def format_late_steps(cases: Iterable[RecordedCase]) -> str:
    """Return how many steps agree if any may be read after preempted jobs have stopped; "" without such steps."""
    found = [(*find_late_steps(case), len(case["steps"])) for case in cases]
    late = sum(len(steps) for steps, _, _ in found)
    agreeing, total = sum(each[1] for each in found), sum(each[2] for each in found)
    if not late:
        return ""
    return f"{late} steps were read after preempted jobs had stopped; with these, {agreeing} of {total} steps agree"


def format_features(cases: Sequence[RecordedCase], mismatches: Iterable[CaseMismatch]) -> Iterator[str]:
    """Yield, for each feature of Kueue and release, how many steps of the cases with it agree.

    A case counts for each feature that it uses. Nothing for cases of one release without any.
    """
    differing = Counter(each.case for each in mismatches)
    steps: Counter[tuple[str, str]] = Counter()
    agreeing: Counter[tuple[str, str]] = Counter()
    for case in cases:
        release = f"Kueue {case['kueue']}" if "kueue" in case else "a release that is not stated"
        for feature in case_features(case):
            steps[feature, release] += len(case["steps"])
            agreeing[feature, release] += len(case["steps"]) - differing[case["case"]]
    if steps.keys() - {(_QUOTA, release) for _, release in steps}:
        for feature, release in sorted(steps):
            key = feature, release
            yield f"  {feature}, {release}: {agreeing[key]} of {steps[key]} steps"


def case_features(case: RecordedCase) -> Iterator[str]:
    """Yield the features that a case uses, which are recorded apart."""
    strategies = case.get("fairSharing")
    if strategies is not None:
        yield f"fair sharing with {'both strategies' if len(strategies) > 1 else 'one strategy'}"
    if "admissionFairSharing" in case:
        yield "admission fair sharing"
    asked = [step["submit"].get("topology", {}) for step in case["steps"] if "submit" in step]
    if "topology" in case:
        words = {
            "required": "required",
            "preferred": "preferred",
            "unconstrained": "unconstrained",
            "sliceSize": "slices",
        }
        yield from (f"topology, {word}" for key, word in words.items() if any(key in each for each in asked))
        if any("evicted" in state for step in case["steps"] for state in step.get("then", {}).values()):
            yield "topology, preemption"
    if _cohort_levels(case) > _FLAT_LEVELS:
        yield f"{_cohort_levels(case)} levels of cohorts"
    if strategies is None and not {"topology", "admissionFairSharing"} & case.keys():
        yield _QUOTA


def _cohort_levels(case: RecordedCase) -> int:
    parents = {cohort["name"]: cohort.get("parent") for cohort in case.get("cohorts", ())}

    def depth(name: str | None) -> int:
        return 0 if name is None else 1 + depth(parents.get(name))

    return max((depth(queue.get("cohort")) for queue in case["clusterQueues"]), default=0)


def format_summary(cases: Sequence[RecordedCase], mismatches: Sequence[CaseMismatch]) -> str:
    """Return the summary line."""
    steps = sum(len(case["steps"]) for case in cases)
    failed = len({difference.case for difference in mismatches})
    return f"agreement: {steps - len(mismatches)} of {steps} steps, {len(cases) - failed} of {len(cases)} cases"


def _describe_state(state: dict[str, Any] | None) -> str:
    if state is None:
        return "nothing"
    flavors = state.get("flavors", {})
    on_flavors = (
        " on " + ", ".join(f"{flavor} ({resource})" for resource, flavor in sorted(flavors.items())) if flavors else ""
    )
    count = state.get("evicted", 0)
    evicted_text = f", evicted {count} time{'s' if count > 1 else ''}" if count else ""
    return f"{state['state']}{on_flavors}{evicted_text}" + (f" ({state['reason']})" if "reason" in state else "")
