"""The context of lint: local queues, their machines, the kinds that Kueue manages; a submitted job with its pods."""

from __future__ import annotations

from copy import copy
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from berth.jobs.claims import Claims
from berth.jobs.job_manifests import JobManifest
from berth.jobs.namespaces import KnownObjects
from berth.jobs.pod_set import FieldSteps, PodSet
from berth.jobs.pod_settings import PodSettings
from berth.jobs.values import SourceValue
from berth.jobs.volume_zones import VolumeZones
from berth.nodes import FleetNodes, fleet_nodes
from berth.placement.node_classes import NodeClass, installed_daemons, node_classes
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, LocalQueuePlan
from berth.simulator.fleet import SimulatedFleet, build_simulated_fleet
from berth.simulator.integrations import Integrations
from berth.simulator.scheduler.model import RUNNING
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.workers import WorkerSimulators
from berth.workloads.node_shapes import NodeShape, list_node_shapes


class LintContext:
    """A planned fleet. Jobs are tried one at a time on `simulator`, in which no queue is held."""

    def __init__(self, plan: FleetPlan) -> None:
        self.plan = plan
        self.claims, self.objects, self.volume_zones = Claims(plan), KnownObjects(), VolumeZones()
        self.simulated: SimulatedFleet = build_simulated_fleet(plan)
        self.queues = {queue.name: queue for queue in plan.cluster_queues}
        self._node_shapes: dict[str, list[NodeShape]] = {}
        self.local_queues = {(door.namespace, door.name): door for q in plan.cluster_queues for door in q.local_queues}

    @cached_property
    def simulator(self) -> Simulator:
        """A simulator without held queues, because holding is temporary."""
        setup = self.simulated.setup
        return Simulator(replace(setup, queues=tuple(replace(queue, stop_policy=RUNNING) for queue in setup.queues)))

    @cached_property
    def workers(self) -> WorkerSimulators:
        """Empty simulators of a manager's workers."""
        return WorkerSimulators(self.simulated.setup)

    @cached_property
    def worker_contexts(self) -> dict[str, LintContext]:
        """The workers of a manager by name, each a fleet with queues and nodes of its own."""
        return {each.name: LintContext(each.plan) for each in self.plan.workers}

    @cached_property
    def nodes(self) -> FleetNodes:
        """The nodes of the fleet, and what its cluster offers beside them."""
        return fleet_nodes(self.plan)

    @cached_property
    def node_classes(self) -> tuple[NodeClass, ...]:
        """The nodes of the cluster, empty."""
        return node_classes(self.nodes, self.claims.resource_of, installed_daemons(self.plan))

    def on_nodes(self, classes: tuple[NodeClass, ...]) -> LintContext:
        """Return the same fleet with other nodes."""
        other = copy(self)
        other.node_classes = classes
        return other

    @property
    def integrations(self) -> Integrations:
        """The kinds of jobs that Kueue manages, by namespace."""
        return self.simulated.integrations

    def fate_without_queue(self, namespace: str, *, has_suspend: bool = True) -> str:
        """Describe what happens to a job without a queue; Kueue may be configured to hold jobs of teams' namespaces."""
        if self.holds_unqueued(namespace):
            return f"Kueue would {'suspend the job' if has_suspend else 'gate its pods'} forever"
        return "the job would start at once, outside all quota"

    def holds_unqueued(self, namespace: str) -> bool:
        """Whether Kueue suspends jobs without a queue in a namespace."""
        kueue = self.plan.kueue
        teams = {each.name for team in self.plan.teams for each in team.namespaces}
        return kueue is not None and kueue.manage_jobs_without_queue_name and namespace in teams

    def holds_unqueued_pods(self, namespace: str, framework: str) -> bool:
        """Whether Kueue gates pods without a queue, because an integration is on (Kueue 0.19.2, webhooks)."""
        is_known = self.integrations.frameworks is not None
        return is_known and self.integrations.manages(framework, namespace) and self.holds_unqueued(namespace)

    def node_shapes(self, queue: ClusterQueuePlan) -> list[NodeShape]:
        """List the machines of a queue, in its order of preference."""
        if queue.name not in self._node_shapes:
            self._node_shapes[queue.name] = list_node_shapes(self.plan, [entry.flavor for entry in queue.flavors])
        return self._node_shapes[queue.name]


class SubmittedJob(Struct, frozen=True):
    """A job and its queue."""

    context: LintContext
    job: JobManifest
    local_queue: LocalQueuePlan
    queue: ClusterQueuePlan

    @property
    def queue_name(self) -> str:
        """`vision/train`."""
        return f"{self.local_queue.team}/{self.local_queue.name}"

    def warn(self, code: str, path: tuple[str | int, ...], message: str) -> None:
        """Add a warning about a path of the manifest."""
        self.job.source.problems.warning(code, path, message)


class JobPods(Struct, frozen=True):
    """One pod set of a job, with the other facts of its template."""

    submitted: SubmittedJob
    settings: PodSettings
    pod_set: PodSet

    @property
    def pods_per_replica(self) -> int:
        """The number of pods of one child job, or of all groups if they use slices together."""
        job = self.submitted.job
        if job.row is not None and job.row.together:
            selectors = [(each.node_selector, each.count) for each in job.pod_sets or ()]
            return sum(count for selector, count in selectors if selector == self.pod_set.node_selector)
        return self.pod_set.count // self.pod_set.child_jobs if self.pod_set.child_jobs else 0

    def request_source(self, resource: str) -> SourceValue:
        """Locate the request for a resource; the pod's spec if no container requests it."""
        return self.at(self.pod_set.request_path(resource))

    def at(self, path: FieldSteps) -> SourceValue:
        """Locate a field of the template, without its value."""
        return self.settings.at(path)


def list_job_pods(job: SubmittedJob) -> list[JobPods]:
    """List the pod sets of a job that could be read."""
    pod_sets = job.job.pod_sets or ()
    return [JobPods(job, *each) for each in zip(job.job.settings, pod_sets, strict=True) if each[1].count]
