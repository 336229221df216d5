"""Derives a workload from options and the machines of a queue.

The node labels and tolerations of a flavor are omitted, because Kueue adds them on admission; a workload can so get
any flavor of its queue.
"""

from __future__ import annotations

import shlex

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Problem, Problems
from berth.manifests.workloads.pods import pod_template
from berth.names import is_dns_1035_label, shorten
from berth.plan.admission_checks import QUEUED_CLASS, RUN_DURATION_PARAMETER
from berth.plan.fleet import FleetPlan
from berth.plan.workloads import (
    DeploymentPlan,
    JobPlan,
    JobSetPlan,
    LeaderWorkerSetPlan,
    MPIJobPlan,
    ProvisioningRequestPlan,
    PyTorchJobPlan,
    RayPlan,
    SubmissionPlan,
    TrainJobPlan,
    WorkloadPlan,
)
from berth.workloads import names
from berth.workloads.checks import check_options, check_workload_name
from berth.workloads.notes import workload_notes
from berth.workloads.options import WorkloadOptions
from berth.workloads.pod_templates import check_template
from berth.workloads.pods import LAUNCHER_RESOURCES, PodBuilder
from berth.workloads.rollout import DEFAULT_STEP, rollout_steps, room_for
from berth.workloads.run_duration import RUN_DURATION, run_limit
from berth.workloads.target import WorkloadTarget, find_target

DEFAULT_RUNTIME = "torch-distributed"
"""A ClusterTrainingRuntime that Kubeflow Trainer 2.2 installs (manifests/base/runtimes)."""
HEAD_RESOURCES = {"cpu": 1000, "memory": 4 * 2**30}
"""A Ray head that schedules no tasks (cpu in milli, memory in bytes)."""
SUBMITTER_RESOURCES = {"cpu": 500, "memory": 2**30}
"""A pod that runs a Ray job's entrypoint, as KubeRay's own (1.6.2, `GetDefaultSubmitterContainer`)."""


class DerivedWorkload(Struct, frozen=True):
    """The workload and notes on it, or the faults that prevent it."""

    workload: WorkloadPlan | None
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]


def derive_workload(plan: FleetPlan, team: str, queue: str, options: WorkloadOptions) -> DerivedWorkload:
    """Derive the workload of the options for a queue, given by its local queue's or its cluster queue's name."""
    problems = Problems()
    target = find_target(plan, team, queue, options.flavor, problems, topology=options.topology)
    if target is None:
        return DerivedWorkload(None, (), tuple(problems.entries))
    builder = _WorkloadBuilder(target, options, problems)
    derived = builder.build()
    if problems.has_faults():
        return DerivedWorkload(None, (), tuple(problems.entries))
    return DerivedWorkload(derived, tuple(workload_notes(target, builder.kind, derived)), tuple(problems.entries))


class _WorkloadBuilder(Struct, frozen=True):
    target: WorkloadTarget
    options: WorkloadOptions
    problems: Problems

    def build(self) -> WorkloadPlan:
        """Check the options and derive the workload; it is incomplete after a fault."""
        check_options(self.target, self.options, self.kind, self.problems)
        build = {
            "jobset": self._job_set,
            "job": self._job,
            "pytorchjob": self._pytorch_job,
            "mpijob": self._mpi_job,
            "trainjob": self._train_job,
            "rayjob": self._ray,
            "raycluster": self._ray,
            "leaderworkerset": self._leader_worker_set,
            "deployment": self._deployment,
            "provisioning-request": self._provisioning_request,
        }[self.kind]
        derived = build()
        if self.options.template is not None:
            if isinstance(derived, ProvisioningRequestPlan):
                submission = SubmissionPlan(name=derived.name, namespace=derived.namespace, team=derived.team, queue="")
            else:
                submission = derived.submission
            without = replace(derived.pod, template=None)
            check_template(self.options.template, pod_template(submission, without), self.problems)
        return derived

    @property
    def pods(self) -> PodBuilder:
        """The builder of the workload's pods."""
        return PodBuilder(self.target, self.options, self.kind)

    @property
    def kind(self) -> str:
        """The requested kind, or the default for the machines."""
        return self.options.kind or ("jobset" if self.target.shape.is_tpu else "job")

    # --- kinds --------------------------------------------------------------------------------------------------------

    def _job_set(self) -> JobSetPlan:
        """A JobSet has a child job for each TPU slice, on a node pool of its own; for GPUs it has one child job."""
        shape = self.target.shape
        replicated_job = "slice" if shape.is_tpu else "worker"
        replicas, pods = (self.pods.slice_count(), self.pods.hosts) if shape.is_tpu else (1, self.pods.pod_count())
        exclusive = shape.is_multi_host and shape.flavor.topology is None
        return JobSetPlan(
            submission=self._submission(names.job_set_name_limit(replicated_job, replicas, pods)),
            pod=self.pods.pod(restart_policy="Never"),
            replicated_job=replicated_job,
            replicas=replicas,
            pods=pods,
            max_restarts=self.options.max_restarts,
            restart_strategy=self.options.restart_strategy,
            exclusive_topology=catalog.labels().nodepool if exclusive else None,
        )

    def _job(self) -> JobPlan:
        return JobPlan(
            submission=self._submission(names.job_name_limit(self.pods.pod_count())),
            pod=self.pods.pod(restart_policy="Never"),
            pods=self.pods.pod_count(),
            backoff_limit=self.options.backoff_limit,
        )

    def _pytorch_job(self) -> PyTorchJobPlan:
        workers = self.pods.pod_count() - 1
        return PyTorchJobPlan(
            submission=self._submission(names.pytorch_name_limit(workers)),
            pod=self.pods.pod(restart_policy="OnFailure"),
            workers=workers,
            backoff_limit=self.options.backoff_limit,
        )

    def _mpi_job(self) -> MPIJobPlan:
        """The launcher of an MPIJob runs the command in the workers' image, with one process for each GPU or core."""
        workers = self.pods.pod_count()
        pod = self.pods.pod(restart_policy="Never")
        rdma = self.target.shape.rdma if pod.capabilities else None
        return MPIJobPlan(
            submission=self._submission(names.pytorch_name_limit(workers)),
            pod=replace(pod, command=()),
            workers=workers,
            slots=max(1, pod.resources[self.target.shape.flavor.resource] // self.target.shape.flavor.scale),
            launcher=self.pods.controller(pod, LAUNCHER_RESOURCES, command=pod.command),
            implementation=rdma.mpi if rdma is not None else "",
            backoff_limit=self.options.backoff_limit,
        )

    def _train_job(self) -> TrainJobPlan:
        return TrainJobPlan(
            submission=self._submission(names.job_set_name_limit("node", 1, self.pods.pod_count())),
            pod=self.pods.pod(),
            nodes=self.pods.pod_count(),
            runtime=self.options.runtime or DEFAULT_RUNTIME,
        )

    def _ray(self) -> RayPlan:
        pod = self.pods.pod()
        head = self.pods.controller(pod, HEAD_RESOURCES)
        is_job = self.kind == "rayjob"
        submitter = replace(head, resources=SUBMITTER_RESOURCES, restart_policy="Never", ports=())
        return RayPlan(
            submission=self._submission(names.RAY_NAME_LIMIT),
            pod=replace(pod, command=()),
            workers=self.pods.pod_count(),
            head=head,
            entrypoint=shlex.join(pod.command) if is_job else None,
            submitter=submitter if is_job and self.pods.has_plain_machines else None,
        )

    def _leader_worker_set(self) -> LeaderWorkerSetPlan:
        """A LeaderWorkerSet has a group for each TPU slice, on a node pool of its own; for GPUs it has one group."""
        shape = self.target.shape
        groups, size = (self.pods.slice_count(), self.pods.hosts) if shape.is_tpu else (1, self.pods.pod_count())
        exclusive = shape.is_multi_host and shape.flavor.topology is None
        return LeaderWorkerSetPlan(
            submission=self._submission(names.leader_worker_set_name_limit(groups, size)),
            pod=self.pods.pod(),
            groups=groups,
            size=size,
            exclusive_topology=catalog.labels().nodepool if exclusive else None,
        )

    def _deployment(self) -> DeploymentPlan:
        pod, replicas = self.pods.pod(), self.pods.pod_count()
        steps = rollout_steps(replicas, DEFAULT_STEP, DEFAULT_STEP)
        room = room_for(self.target.plan, self.target.queue, pod.resources, pod.node_selector)
        return DeploymentPlan(
            submission=self._submission(names.DEPLOYMENT_NAME_LIMIT),
            pod=pod,
            replicas=replicas,
            stops_first=steps is not None and room < replicas + steps[0],
        )

    def _provisioning_request(self) -> ProvisioningRequestPlan:
        """A request is for one slice or several pods; it has selectors and tolerations, because Kueue adds none."""
        shape = self.target.shape
        seconds = self._run_seconds()
        parameters = {} if seconds is None else {RUN_DURATION_PARAMETER: str(seconds)}
        kueue = self.target.plan.kueue
        if shape.is_tpu and shape.is_multi_host:
            parameters["tpu-topology"] = str(shape.pool.topology)
        return ProvisioningRequestPlan(
            name=self._name(names.job_name_limit(1)),
            namespace=self.target.local_queue.namespace,
            team=self.target.team.name,
            pod=self.pods.pod(restart_policy="Never"),
            pods=shape.hosts if shape.is_tpu else self.pods.pod_count(),
            class_name=QUEUED_CLASS,
            parameters=parameters,
            with_job=kueue is not None and not kueue.manage_jobs_without_queue_name,
        )

    # --- parts --------------------------------------------------------------------------------------------------------

    def _submission(self, longest: int) -> SubmissionPlan:
        seconds = self._run_seconds()
        return SubmissionPlan(
            name=self._name(longest),
            namespace=self.target.local_queue.namespace,
            team=self.target.team.name,
            queue=self.target.local_queue.name,
            priority=self.options.priority or self.target.queue.priority,
            annotations={} if seconds is None else {RUN_DURATION: str(seconds)},
        )

    def _run_seconds(self) -> int | None:
        """Run duration in seconds on queued machines: the option, or the queue's maximum; None for other machines."""
        is_queued = any(each.pool.capacity == "queued" for each in self.target.shapes)
        limit = run_limit(self.target.plan, self.target.queue) if is_queued else None
        return self.options.max_run_seconds or limit

    def _name(self, longest: int) -> str:
        name = self.options.name
        if name is None:
            queue_name = self.target.local_queue.name
            return shorten(queue_name if is_dns_1035_label(queue_name) else f"job-{queue_name}", longest)
        check_workload_name(name, longest, self.problems)
        return name

    def _fault(self, code: str, option: str, message: str) -> None:
        self.problems.fault(code, (option,), message)
