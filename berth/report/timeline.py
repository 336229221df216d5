"""Jobs by time as a picture: admitted, waiting, preempted. The table beside it has the same content."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from berth.document import Block


class LaneState(StrEnum):
    """The state of a job in the picture; the words are CSS classes."""

    ADMITTED = "admitted"
    """It is admitted."""
    CHECKS_PENDING = "held"
    """It holds its quota, and an admission check is pending."""
    PENDING = "waits"
    """It is pending."""
    PREEMPTED = "out"
    """It was preempted or evicted, and is pending again."""


STATE_LABELS = {
    LaneState.ADMITTED: "admitted",
    LaneState.CHECKS_PENDING: "waiting for an admission check",
    LaneState.PENDING: "pending",
    LaneState.PREEMPTED: "preempted, pending again",
}
"""States of a job as text."""

MAX_LANES, MAX_STEPS = 80, 200
"""Maximum of jobs in a picture; the table has all of them."""

MAX_NUMBERED_STEPS = 12
"""Maximum of steps that each have a number."""


class StateSpan(Struct, frozen=True):
    """A state of a job from step `begin` up to, and without, step `end`."""

    state: LaneState
    start: int
    end: int


class JobLane(Struct, frozen=True):
    """A job, its queue, and its states in order; between and after them it was not in the queue."""

    job: str
    queue: str
    spans: tuple[StateSpan, ...]

    @property
    def description(self) -> str:
        """Return `a in q: pending from step 1, admitted from step 3`."""
        phrases = [f"{STATE_LABELS[state_span.state]} from step {state_span.start}" for state_span in self.spans]
        return f"{self.job} in {self.queue}: {', '.join(phrases)}"


class Timeline(Struct, frozen=True):
    """A run of jobs: a lane for each, from step `first` up to, and without, `end`; `document` has all events."""

    lanes: tuple[JobLane, ...]
    first: int
    end: int
    document: tuple[Block, ...]

    @property
    def steps(self) -> int:
        """Number of steps."""
        return max(1, self.end - self.first)

    def percent(self, steps: int) -> str:
        """Return the width of some steps, as CSS."""
        return f"{100 * steps / self.steps:.3f}%"

    @property
    def ticks(self) -> range:
        """Return the steps that have a number: all, or of many every fifth."""
        return range(self.first, self.end, 1 if self.steps <= MAX_NUMBERED_STEPS else 5)

    @property
    def min_step(self) -> str:
        """Return the smallest width of a step, as CSS: numbers must not overlap."""
        return "1.3rem" if self.steps <= MAX_NUMBERED_STEPS else ".28rem"

    @property
    def state_labels(self) -> dict[LaneState, str]:
        """Return the states that the lanes have, with their labels."""
        states = {state_span.state for lane in self.lanes for state_span in lane.spans}
        return {state: label for state, label in STATE_LABELS.items() if state in states}

    @property
    def description(self) -> str:
        """Return the content of the picture as text."""
        return "; ".join(lane.description for lane in self.lanes)

    @property
    def is_drawable(self) -> bool:
        """Return whether it is small enough for a picture."""
        return 0 < len(self.lanes) <= MAX_LANES and self.end - self.first <= MAX_STEPS
