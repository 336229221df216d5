"""From what somebody asks, and where, to a workload whose every number is the pool's own.

What Kueue adds to the pods when it admits them (a flavor's node labels and tolerations) is not written, so that a
workload may get any flavor of its queue.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.diagnostics import Problem, Problems, did_you_mean, join_quoted
from berth.names import is_dns_1035_label, shorten
from berth.plan.admission_checks import QUEUED_CLASS, RUN_DURATION_PARAMETER
from berth.plan.fleet import FleetPlan
from berth.plan.nodes import Toleration
from berth.plan.workloads import (
    JobPlan,
    JobSetPlan,
    PodPlan,
    ProvisioningRequestPlan,
    PyTorchJobPlan,
    SubmissionPlan,
    WorkloadPlan,
)
from berth.workloads import names
from berth.workloads.notes import workload_notes
from berth.workloads.options import TRIAL_COMMAND, TRIAL_IMAGE, WorkloadOptions
from berth.workloads.placement import placement_annotations
from berth.workloads.pod_resources import pod_cpu_and_memory
from berth.workloads.run_duration import RUN_DURATION, run_limit
from berth.workloads.target import WorkloadTarget, find_target

PLACEMENT_GROUP = "cloud.google.com/gke-placement-group"
TPU_PORTS = (8471, 8080)
"""Where the hosts of a slice talk to each other, and the slices of a multislice."""


class DerivedWorkload(Struct, frozen=True):
    """The workload and what is to be said about it, or the faults that keep it from being one."""

    workload: WorkloadPlan | None
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]


def derive_workload(plan: FleetPlan, team: str, queue: str, options: WorkloadOptions) -> DerivedWorkload:
    """The workload that is asked for, for a team's queue (the name of the local queue or of the cluster queue)."""
    problems = Problems()
    target = find_target(plan, team, queue, options.flavor, problems)
    if target is None:
        return DerivedWorkload(None, (), tuple(problems.entries))
    derived = _WorkloadBuilder(target, options, problems).build()
    if derived is None or problems.has_faults():
        return DerivedWorkload(None, (), tuple(problems.entries))
    return DerivedWorkload(derived, tuple(workload_notes(target, derived)), tuple(problems.entries))


class _WorkloadBuilder(Struct, frozen=True):
    target: WorkloadTarget
    options: WorkloadOptions
    problems: Problems

    def build(self) -> WorkloadPlan | None:
        """The workload, or None after a fault."""
        self._check_options()
        match self.kind:
            case "jobset":
                derived = self._job_set()
            case "job":
                derived = JobPlan(
                    submission=self._submission(names.job_name_limit(self._pod_count())),
                    pod=self._pod(restart_policy="Never"),
                    pods=self._pod_count(),
                    backoff_limit=self.options.backoff_limit,
                )
            case "pytorchjob":
                workers = self._pod_count() - 1
                derived = PyTorchJobPlan(
                    submission=self._submission(names.pytorch_name_limit(workers)),
                    pod=self._pod(restart_policy="OnFailure"),
                    workers=workers,
                    backoff_limit=self.options.backoff_limit,
                )
            case _:
                derived = self._provisioning_request()
        return derived

    @property
    def kind(self) -> str:
        """What was asked for, or what goes with the machines."""
        return self.options.kind or ("jobset" if self.target.shape.is_tpu else "job")

    # --- kinds --------------------------------------------------------------------------------------------------------

    def _job_set(self) -> JobSetPlan:
        """Of slices: a child job for each, on a node pool of its own. Of GPUs: one child job with all pods."""
        shape = self.target.shape
        replicated_job = "slice" if shape.is_tpu else "worker"
        replicas, pods = (self._slice_count(), shape.hosts) if shape.is_tpu else (1, self._pod_count())
        exclusive = shape.is_multi_host and shape.flavor.topology is None
        return JobSetPlan(
            submission=self._submission(names.job_set_name_limit(replicated_job, replicas, pods)),
            pod=self._pod(),
            replicated_job=replicated_job,
            replicas=replicas,
            pods=pods,
            max_restarts=self.options.max_restarts,
            restart_strategy=self.options.restart_strategy,
            exclusive_topology=catalog.labels().nodepool if exclusive else None,
        )

    def _provisioning_request(self) -> ProvisioningRequestPlan:
        """The machines of a job of one slice, or of so many pods; nobody adds selectors and tolerations for it."""
        shape = self.target.shape
        seconds = self._run_seconds()
        parameters = {} if seconds is None else {RUN_DURATION_PARAMETER: str(seconds)}
        if shape.is_tpu and shape.is_multi_host:
            parameters["tpu-topology"] = str(shape.pool.topology)
        return ProvisioningRequestPlan(
            name=self._name(names.job_name_limit(1)),
            namespace=self.target.local_queue.namespace,
            team=self.target.team.name,
            pod=self._pod(restart_policy="Never"),
            pods=shape.hosts if shape.is_tpu else self._pod_count(),
            class_name=QUEUED_CLASS,
            parameters=parameters,
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
        """How long the workload keeps queued machines: as asked, else the queue's maximum; None of other machines."""
        is_queued = any(each.pool.capacity == "queued" for each in self.target.shapes)
        limit = run_limit(self.target.plan, self.target.queue) if is_queued else None
        return self.options.max_run_seconds or limit

    def _name(self, longest: int) -> str:
        name = self.options.name
        if name is None:
            queue_name = self.target.local_queue.name
            return shorten(queue_name if is_dns_1035_label(queue_name) else f"job-{queue_name}", longest)
        if not is_dns_1035_label(name):
            message = f"'{name}' is no name for a workload: lower-case letters, digits and '-', a letter first"
            self._fault("bad-name", "--name", message)
        elif len(name) > longest:
            message = (
                f"'{name}' has {len(name)} characters; with at most {longest} the names made of it fit into 63: "
                f"'{shorten(name, longest)}' would"
            )
            self._fault("long-name", "--name", message)
        return name

    def _pod(self, restart_policy: str | None = None) -> PodPlan:
        shape, options = self.target.shape, self.options
        number = shape.per_pod if shape.is_tpu else options.gpus or shape.per_pod
        selector, tolerations = self._node_constraints()
        identity = self.target.team.identity
        return PodPlan(
            image=options.image or TRIAL_IMAGE,
            command=options.command or (() if options.image else TRIAL_COMMAND),
            resources={**pod_cpu_and_memory(self.target, options, number), shape.flavor.resource: number},
            ports=options.ports or (TPU_PORTS if shape.is_tpu and self.kind == "jobset" else ()),
            node_selector=selector,
            tolerations=tolerations,
            host_network=self._needs_host_network(),
            restart_policy=restart_policy,
            service_account=options.service_account or (identity.service_account if identity else None),
            annotations=placement_annotations(self.target, self._group_size())
            if self.kind != "provisioning-request"
            else {},
        )

    def _group_size(self) -> int:
        """The pods that belong near each other: those of a slice, or all."""
        return self.target.shape.hosts if self.target.shape.is_tpu else self._pod_count()

    def _node_constraints(self) -> tuple[dict[str, str], tuple[Toleration, ...]]:
        """Selectors and tolerations of the pods; to what Kueue admits it adds the tolerations of the flavor itself."""
        flavor = self.target.shape.flavor
        if self.kind == "provisioning-request":
            return dict(flavor.node_labels), flavor.tolerations
        selector = self._distinguishing_labels()
        if self.options.placement_group is not None:
            selector[PLACEMENT_GROUP] = self.options.placement_group
        return selector, ()

    def _distinguishing_labels(self) -> dict[str, str]:
        """The labels by which the chosen flavors differ from the queue's others, if it has others."""
        labels = self.target.shape.flavor.node_labels
        shared_labels = {
            k: v for k, v in labels.items() if all((k, v) in s.flavor.node_labels.items() for s in self.target.shapes)
        }
        other_labels = [each.flavor.node_labels for each in self.target.other_shapes]
        return {k: v for k, v in shared_labels.items() if any(other.get(k, v) != v for other in other_labels)}

    def _needs_host_network(self) -> bool:
        """Slices talk to each other over the nodes' own network, where GKE does not wire another into the pods.

        Autopilot takes no pods on the nodes' network, and does without.
        """
        shape = self.target.shape
        is_multislice = shape.is_tpu and self.kind == "jobset" and self._slice_count() > 1
        return is_multislice and not shape.has_pod_network and self.target.plan.cluster.mode != "autopilot"

    def _slice_count(self) -> int:
        return self.options.slices or 1

    def _pod_count(self) -> int:
        return self._slice_count() if self.target.shape.is_tpu else self.options.pods or 1

    # --- what does not go together ------------------------------------------------------------------------------------

    def _check_options(self) -> None:
        shape, options = self.target.shape, self.options
        if shape.is_tpu:
            self._check_tpu_options()
        else:
            self._check_gpu_options()
        if self.kind != "jobset" and options.restart_strategy is not None:
            self._fault("wrong-kind", "--restart-strategy", f"a {self.kind} has none; leave it out")
        if options.priority is not None:
            self._check_priority(options.priority)
        is_queued = shape.pool.capacity == "queued"
        if self.kind == "provisioning-request" and not is_queued:
            message = f"flavor '{shape.flavor.name}' is {shape.pool.capacity}; only queued machines are requested so"
            self._fault("wrong-kind", "--kind", message)
        self._check_run_duration(any(each.pool.capacity == "queued" for each in self.target.shapes))
        if options.placement_group is not None and shape.pool.made_by == "berth":
            message = f"pool '{shape.pool.name}' has its nodes already; only nodes that GKE makes are grouped for a job"
            self._fault("wrong-kind", "--placement-group", message)

    def _check_tpu_options(self) -> None:
        shape, options = self.target.shape, self.options
        for option, value in (("--pods", options.pods), ("--gpus", options.gpus)):
            if value is not None:
                message = f"'{value}': the machines of {self.target.name} are {shape.description}; write --slices"
                self._fault("wrong-shape", option, message)
        if self.kind == "pytorchjob":
            message = f"a pytorchjob is for GPUs, and {self.target.name} has {shape.flavor.noun}; write jobset"
            self._fault("wrong-kind", "--kind", message)
        elif self.kind == "job" and shape.is_multi_host:
            message = f"the {shape.hosts} pods of a Job could land in two slices; a jobset keeps them in one"
            self._fault("wrong-kind", "--kind", message)
        elif self.kind == "provisioning-request" and self._slice_count() > 1:
            self._fault("wrong-shape", "--slices", f"'{options.slices}': a request is for one slice; make one for each")

    def _check_gpu_options(self) -> None:
        shape, options = self.target.shape, self.options
        if options.slices is not None:
            message = f"'{options.slices}': the machines of {self.target.name} are {shape.description}; write --pods"
            self._fault("wrong-shape", "--slices", message)
        if (options.gpus or 0) > shape.per_pod:
            message = f"'{options.gpus}': a pod of {self.target.name} can have {shape.per_pod} {shape.flavor.noun}"
            self._fault("wrong-shape", "--gpus", f"{message}; write more --pods instead")

    def _check_priority(self, name: str) -> None:
        known = [each.name for each in self.target.plan.priorities]
        required = self.target.queue.priority
        if name not in known:
            suggestion = did_you_mean(name, known) or (
                f"; there is {join_quoted(known)}" if known else "; the fleet has none"
            )
            self._fault("no-priority", "--priority", f"no priority '{name}'{suggestion}")
        elif required is not None and name != required:
            message = f"'{name}': {self.target.name} is for '{required}'; leave it out"
            self._fault("wrong-priority", "--priority", message)
        elif name not in (self.target.team.pod_priorities(self.target.local_queue.namespace) or known):
            message = f"'{name}': pods of {self.target.team.name} may not have it; leave it out, or add podPriorities"
            self._fault("wrong-priority", "--priority", message)

    def _check_run_duration(self, is_queued: bool) -> None:
        seconds = self.options.max_run_seconds
        if seconds is None:
            return
        minimum, maximum = catalog.limits().min_run_seconds, catalog.limits().max_run_seconds
        limit = run_limit(self.target.plan, self.target.queue) or maximum
        if not is_queued:
            message = f"'{seconds}s': the machines of {self.target.name} are not queued ones; leave it out"
            self._fault("wrong-shape", "--max-run-duration", message)
        elif not minimum <= seconds <= maximum:
            message = f"'{seconds}s' is not between {minimum}s (10 minutes) and {maximum}s (7 days)"
            self._fault("bad-value", "--max-run-duration", message)
        elif seconds > limit:
            message = f"'{seconds}s' is more than the {limit}s that {self.target.name} allows; write {limit}s or less"
            self._fault("above-run-limit", "--max-run-duration", message)

    def _fault(self, code: str, option: str, message: str) -> None:
        self.problems.fault(code, (option,), message)
