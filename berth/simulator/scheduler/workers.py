"""Workers of a manager: a job holds its quota there, and runs on one of them, or never."""

from __future__ import annotations

from msgspec.structs import replace

from berth.simulator.pending_reasons import NEVER_WORKER, Why, why
from berth.simulator.scheduler.model import RUNNING, Setup
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import Stand, Work


class Workers:
    """The workers of a setup, each with all of its queues admitting and nobody there."""

    def __init__(self, setup: Setup) -> None:
        self._setups = setup.workers
        self._workers: dict[str, Simulator] = {}
        self._known: dict[object, Why | None] = {}

    def never(self, work: Work) -> Why | None:
        """Why no worker could ever run a job, worker by worker; None where one could, or where there are none."""
        key = work.job.queue, work.shape
        if key not in self._known:
            self._known[key] = self._refused(work)
        return self._known[key]

    def _refused(self, work: Work) -> Why | None:
        found: list[tuple[str, Why]] = []
        for name, setup in self._setups.items():
            if any(queue.name == work.job.queue for queue in setup.queues):
                reason = _alone(self._worker(name), work)
                if reason is None:
                    return None
                found.append((name, reason))
        return Why(NEVER_WORKER, workers=tuple(found)) if self._setups else None

    def _worker(self, name: str) -> Simulator:
        """A worker, made when it is first asked: most jobs fit the first."""
        if name not in self._workers:
            setup = self._setups[name]
            queues = tuple(replace(queue, stop=RUNNING) for queue in setup.queues)
            self._workers[name] = Simulator(replace(setup, queues=queues))
        return self._workers[name]


def _alone(worker: Simulator, work: Work) -> Why | None:
    """Why a worker with nobody there does not admit a job."""
    worker.submit(work.job)
    there = worker.works[work.job.name]
    stands = there.stand in (Stand.ADMITTED, Stand.RESERVED)
    reason = None if stands else why(worker.trees[work.job.queue], there, worker.setup.nodes)
    worker.finish(work.job.name)
    return reason
