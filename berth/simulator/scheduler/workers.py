"""Workers of a manager: whether any worker can run a job that holds quota on the manager."""

from __future__ import annotations

from msgspec.structs import replace

from berth.simulator.pending_reasons import PendingCode, PendingReason, find_pending_reason
from berth.simulator.scheduler.model import RUNNING, SchedulerSetup
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import JobState, SimulatedWorkload


class WorkerSimulators:
    """Empty simulators of a setup's workers, with all queues active."""

    def __init__(self, setup: SchedulerSetup) -> None:
        self._setups = setup.workers
        self._simulators: dict[str, Simulator] = {}
        self._refusals: dict[object, PendingReason | None] = {}

    def find_refusal(self, workload: SimulatedWorkload) -> PendingReason | None:
        """Return why no worker can ever run a job, by worker; None if one can, or if there are no workers."""
        key = workload.job.queue, workload.shape
        if key not in self._refusals:
            self._refusals[key] = self._compute_refusal(workload)
        return self._refusals[key]

    def _compute_refusal(self, workload: SimulatedWorkload) -> PendingReason | None:
        refusals: list[tuple[str, PendingReason]] = []
        for name, setup in self._setups.items():
            if any(queue.name == workload.job.queue for queue in setup.queues):
                reason = _refusal_when_empty(self._worker_simulator(name), workload)
                if reason is None:
                    return None
                refusals.append((name, reason))
        return PendingReason(PendingCode.NEVER_WORKER, workers=tuple(refusals)) if self._setups else None

    def _worker_simulator(self, name: str) -> Simulator:
        """Return the simulator of a worker, created on first use, because most jobs fit the first worker."""
        if name not in self._simulators:
            setup = self._setups[name]
            queues = tuple(replace(queue, stop_policy=RUNNING) for queue in setup.queues)
            self._simulators[name] = Simulator(replace(setup, queues=queues))
        return self._simulators[name]


def _refusal_when_empty(worker: Simulator, workload: SimulatedWorkload) -> PendingReason | None:
    """Return why an empty worker does not admit a job, or None."""
    worker.submit(workload.job)
    worker_copy = worker.workloads[workload.job.name]
    is_admitted = worker_copy.state in (JobState.ADMITTED, JobState.RESERVED)
    reason = (
        None
        if is_admitted
        else find_pending_reason(worker.trees[workload.job.queue], worker_copy, worker.setup.resource_flavors)
    )
    worker.finish(workload.job.name)
    return reason
