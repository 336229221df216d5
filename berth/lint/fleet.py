"""A fleet as a manifest meets it: its doors, the machines behind them, and what its Kueue looks after."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from berth.jobs.job_manifests import JobManifest
from berth.plan.configuration import JOB_FRAMEWORKS
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, LocalQueuePlan
from berth.simulator.fleet import Book, of_plan
from berth.simulator.scheduler.model import RUNNING
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.workers import Workers
from berth.workloads.node_shapes import Shape, shapes

KUEUE = "kueue"


class Fleet:
    """What is known of a planned fleet. Jobs are tried on `simulator` one at a time, with every queue admitting."""

    def __init__(self, plan: FleetPlan) -> None:
        self.plan = plan
        self.book: Book = of_plan(plan)
        self.queues = {queue.name: queue for queue in plan.cluster_queues}
        self.doors = {(door.namespace, door.name): door for q in plan.cluster_queues for door in q.local_queues}

    @cached_property
    def simulator(self) -> Simulator:
        """Every queue admits, for whether one is held today says nothing about a job."""
        setup = self.book.setup
        return Simulator(replace(setup, queues=tuple(replace(queue, stop=RUNNING) for queue in setup.queues)))

    @cached_property
    def workers(self) -> Workers:
        """The workers of a manager, with nobody there."""
        return Workers(self.book.setup)

    @cached_property
    def frameworks(self) -> tuple[str, ...] | None:
        """The kinds of jobs that Kueue queues; None where somebody else set it up."""
        if self.plan.kueue is not None:
            return self.plan.kueue.frameworks
        return JOB_FRAMEWORKS if any(chart.name == KUEUE for chart in self.plan.charts) else None

    def without_queue(self, namespace: str) -> str:
        """What becomes of a job that names no queue: Kueue may hold all jobs of the teams' namespaces."""
        kueue = self.plan.kueue
        teams = {each.name for team in self.plan.teams for each in team.namespaces}
        if kueue is not None and kueue.manage_jobs_without_queue_name and namespace in teams:
            return "Kueue would hold the job for ever"
        return "the job would start at once, outside every quota"

    def shapes(self, queue: ClusterQueuePlan) -> list[Shape]:
        """The machines behind a queue, in its order of preference."""
        return shapes(self.plan, [entry.flavor for entry in queue.flavors])


class Submitted(Struct, frozen=True):
    """A job at its queue's door."""

    fleet: Fleet
    job: JobManifest
    door: LocalQueuePlan
    queue: ClusterQueuePlan

    @property
    def place(self) -> str:
        """`vision/train`."""
        return f"{self.door.team}/{self.door.name}"

    def warn(self, code: str, path: tuple[str | int, ...], message: str) -> None:
        """Add a warning about something in the manifest."""
        self.job.at.problems.warning(code, path, message)
