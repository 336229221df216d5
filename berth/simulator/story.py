"""A simulated run: the changes in each step, and the final status of each unfinished job."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import Problem
from berth.placement.beside import Room
from berth.simulator.fleet import SimulatedFleet, turn_warnings
from berth.simulator.lenders import QuotaUse
from berth.simulator.occupancy import NodeRoom, NodesOfFleet, Occupancy
from berth.simulator.pending_reasons import PendingReason, find_pending_reason
from berth.simulator.scenario import ScenarioStep, StepKind
from berth.simulator.scheduler.events import JobEvent, JobEventKind, required_checks
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import JobState, SimulatedWorkload
from berth.simulator.scheduler.workers import WorkerSimulators


class JobStatus(StrEnum):
    """The state of a job after a step, and how it got there."""

    ADMITTED = "admitted"
    """It is admitted."""
    UNPLACED = "unplaced"
    """It is admitted, and some of its pods get no node while other jobs have their pods on the nodes."""
    RESERVED = "reserved"
    """It holds its quota, and an admission check is pending."""
    PENDING = "pending"
    """It is pending, and can be admitted later."""
    NEVER_ADMITTED = "never-admitted"
    """It is pending, and no change of other jobs can admit it."""
    PREEMPTED = "preempted"
    """Another job preempted it, and it is pending again."""
    DRAINED = "drained"
    """Its queue was drained, and it is pending again."""
    PREEMPTION_LOOP = "preemption-loop"
    """It and other jobs preempt each other in an endless loop."""
    FINISHED = "finished"
    """It finished, and released its quota."""


class InitialState(Protocol):
    """The state before the first step."""

    def populate(self, simulator: Simulator) -> dict[str, str]:
        """Add jobs to the simulator; return job name → display name."""
        ...


class Preemption(Struct, frozen=True):
    """A preemption: the job, its preemptor (None if its queue was drained), and Kueue's reason for it."""

    job: str
    queue: str
    preemptor: str | None
    preemptor_queue: str | None
    reason: str
    same_priority: bool = False


class JobOutcome(Struct, frozen=True):
    """The result of a step for a job: its status, the quota it uses, the jobs it preempted and its own preemption.

    An admitted job with `preempted_by` was preempted and admitted again in the same step. One with `checks_completed`
    held its quota before, and waited for its admission checks. `room` is set for an admitted job whose pods are not
    certain to get nodes beside those of other jobs. `flavors` has the flavor of the accelerators of each pod set that
    has quota. `pods` is their number if Kueue starts the job with fewer than all.
    """

    job: str
    queue: str
    status: JobStatus
    quota_uses: tuple[QuotaUse, ...] = ()
    preempted_by: Preemption | None = None
    preempted: tuple[Preemption, ...] = ()
    pending_reason: PendingReason | None = None
    checks_completed: bool = False
    room: NodeRoom | None = None
    flavors: Mapping[str, str] = field(default_factory=dict[str, str])
    pods: int | None = None


NodesOf = Callable[[SimulatedFleet], NodesOfFleet]
"""Returns the empty nodes of a fleet."""


class StepResult(Struct, frozen=True):
    """A step and its changes; `number` counts from 1, 0 is the initial state. `fleet` is the fleet at that step."""

    number: int
    kind: StepKind
    text: str
    outcomes: tuple[JobOutcome, ...]
    fleet: SimulatedFleet


class SimulationRun(Struct, frozen=True):
    """A complete run and its initial fleet. `display_names`: job → name to show; `unfinished`: jobs left at the end.

    `doubtful_turns` are warnings about turns of local queues that depend on what is not known.
    """

    fleet: SimulatedFleet
    steps: tuple[StepResult, ...]
    unfinished: tuple[JobOutcome, ...]
    doubtful_turns: tuple[Problem, ...]
    display_names: Mapping[str, str]


@contextmanager
def gc_paused() -> Generator[None]:
    """Pause Python's garbage collector, which would scan all jobs repeatedly and free almost nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def run_steps(
    fleet: SimulatedFleet,
    steps: Iterable[ScenarioStep],
    start: InitialState | None = None,
    nodes_of: NodesOf | None = None,
) -> SimulationRun:
    """Run the steps, from an empty cluster or from `start`; pods take room on nodes if `nodes_of` knows those."""
    with gc_paused():
        return _Run(fleet, nodes_of).run(steps, start)


class _Run:
    """A run so far. A manager's jobs run on the nodes of workers, of which the simulation does not choose one."""

    def __init__(self, fleet: SimulatedFleet, nodes_of: NodesOf | None) -> None:
        self.fleet, self.nodes_of = fleet, nodes_of
        self.simulator, self.workers = Simulator(fleet.setup), WorkerSimulators(fleet.setup)
        self.occupancy = self._empty_nodes(fleet)

    def _empty_nodes(self, fleet: SimulatedFleet) -> Occupancy | None:
        return Occupancy(self.nodes_of(fleet)) if self.nodes_of is not None and not fleet.setup.workers else None

    def run(self, steps: Iterable[ScenarioStep], start: InitialState | None) -> SimulationRun:
        """Run the steps after an initial state."""
        results: list[StepResult] = []
        display_names: dict[str, str] = {}
        current_fleet = self.fleet
        if start is not None:
            display_names |= start.populate(self.simulator)
            present = list(self.simulator.workloads.values())
            outcomes = tuple(self._job_outcomes(None, None, self.simulator.settle(), present))
            results.append(StepResult(0, StepKind.START, "initial state", outcomes, current_fleet))
        for number, step in enumerate(steps, 1):
            own_job = step.name if step.kind in (StepKind.SUBMIT, StepKind.FINISH, StepKind.PROVISIONED) else None
            if step.arrival is not None:
                display_names[step.name] = step.arrival.display_name
            finished = self.simulator.workloads.get(step.name) if step.kind == StepKind.FINISH else None
            events = _apply_step(self.simulator, step)
            touched = [finished] if finished is not None else []
            if step.fleet is not None:
                current_fleet, self.workers = step.fleet, WorkerSimulators(step.fleet.setup)
                self.occupancy = self._empty_nodes(current_fleet)
                touched = list(self.simulator.workloads.values())
            outcomes = tuple(self._job_outcomes(own_job, finished, events, touched))
            results.append(StepResult(number, step.kind, step.text, outcomes, current_fleet))
        unfinished = tuple(self._job_outcome(work, []) for work in self.simulator.workloads.values())
        counts = Counter(display_names.values())
        unique_names = {name: short if counts[short] == 1 else name for name, short in display_names.items()}
        doubts = tuple(turn_warnings(current_fleet, self.simulator.queue_states))
        return SimulationRun(self.fleet, tuple(results), unfinished, doubts, unique_names)

    def _job_outcomes(
        self,
        own_job: str | None,
        finished: SimulatedWorkload | None,
        events: list[JobEvent],
        touched: Iterable[SimulatedWorkload],
    ) -> Iterable[JobOutcome]:
        """Return the outcomes of a step: its own job first, then other jobs in the order of events."""
        simulator = self.simulator
        events_by_workload: dict[SimulatedWorkload, list[JobEvent]] = {}
        if own_job is not None and own_job in simulator.workloads:
            events_by_workload[simulator.workloads[own_job]] = []
        for event in events:
            events_by_workload.setdefault(event.workload, []).append(event)
            if event.preemptor is not None:
                events_by_workload.setdefault(event.preemptor, [])
        if self.occupancy is not None:
            for workload in self.occupancy.follow(simulator, dict.fromkeys([*touched, *events_by_workload])):
                events_by_workload.setdefault(workload, [])
        if finished is not None:
            yield JobOutcome(finished.job.name, finished.queue_state.queue.name, JobStatus.FINISHED)
        for workload, own_events in events_by_workload.items():
            preemptions = tuple(_preemption(move) for move in events if move.preemptor is workload)
            yield self._job_outcome(workload, own_events, preemptions)

    def _job_outcome(
        self, workload: SimulatedWorkload, events: list[JobEvent], preempted: tuple[Preemption, ...] = ()
    ) -> JobOutcome:
        outcome = JobOutcome(
            job=workload.job.name,
            queue=workload.queue_state.queue.name,
            status=JobStatus.ADMITTED,
            quota_uses=next((event.quota_uses for event in reversed(events) if event.quota_uses), ()),
            preempted_by=next((_preemption(event) for event in reversed(events) if event.kind in _LOST_QUOTA), None),
            preempted=preempted,
            checks_completed=any(event.kind == JobEventKind.ADMITTED for event in events)
            and any(True for _ in required_checks(workload)),
            flavors={
                pod_set.name: flavor
                for pod_set, chosen in zip(workload.pod_sets, workload.flavors, strict=False)
                for resource, flavor in chosen.items()
                if (flavor, resource) in self.fleet.accelerator_nouns
            },
            pods=sum(workload.counts) or None,
        )
        if any(event.kind == JobEventKind.PREEMPTION_LOOP for event in events):
            return replace(outcome, status=JobStatus.PREEMPTION_LOOP)
        if workload.state == JobState.ADMITTED and not workload.is_evicted:
            room = self.occupancy.rooms.get(workload.job.name) if self.occupancy is not None else None
            status = JobStatus.UNPLACED if room is not None and room.room is Room.NONE else JobStatus.ADMITTED
            return replace(outcome, status=status, room=room)
        queue, resource_flavors = outcome.queue, self.simulator.setup.resource_flavors
        reason = find_pending_reason(self.simulator.trees[queue], workload, resource_flavors)
        if workload.state == JobState.RESERVED:
            refusal = self.workers.find_refusal(workload)
            status = JobStatus.NEVER_ADMITTED if refusal else JobStatus.RESERVED
            return replace(outcome, status=status, pending_reason=refusal or reason)
        if outcome.preempted_by is not None:
            status = JobStatus.DRAINED if outcome.preempted_by.preemptor is None else JobStatus.PREEMPTED
        else:
            status = JobStatus.NEVER_ADMITTED if reason.code.is_permanent else JobStatus.PENDING
        return replace(outcome, status=status, quota_uses=(), pending_reason=reason)


def _apply_step(simulator: Simulator, step: ScenarioStep) -> list[JobEvent]:
    match step.kind:
        case StepKind.SUBMIT:
            assert step.arrival is not None
            return simulator.submit(step.arrival.job)
        case StepKind.FINISH:
            return simulator.finish(step.name)
        case StepKind.PROVISIONED:
            return simulator.complete_checks(step.name)
        case StepKind.CHANGE:
            assert step.fleet is not None
            return simulator.replace_setup(step.fleet.setup)
        case StepKind.RESUME:
            return simulator.resume(step.name)
        case _:
            return simulator.hold(step.name, drain=step.kind == StepKind.DRAIN)


_LOST_QUOTA = (JobEventKind.PREEMPTED, JobEventKind.DRAINED)


def _preemption(event: JobEvent) -> Preemption:
    preemptor = event.preemptor
    return Preemption(
        job=event.workload.job.name,
        queue=event.workload.queue_state.queue.name,
        preemptor=preemptor.job.name if preemptor else None,
        preemptor_queue=preemptor.queue_state.queue.name if preemptor else None,
        reason=event.reason,
        same_priority=preemptor is not None and preemptor.priority == event.workload.priority,
    )
