"""From what somebody asks, and where, to a workload whose every number is the pool's own.

What Kueue adds to the pods when it admits them (a flavor's node labels and tolerations) is not written, so that a
workload may get any flavor of its queue.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.diagnostics import Problem, Problems, near_miss, quoted
from berth.names import is_dns_1035_label, shorten
from berth.plan.admission_checks import QUEUED_CLASS
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
from berth.workloads.notes import notes
from berth.workloads.options import TRIAL, TRIAL_IMAGE, Asked
from berth.workloads.placement import placement
from berth.workloads.pod_resources import room_of_a_pod
from berth.workloads.target import Ground, ground

RUN_DURATION = "provreq.kueue.x-k8s.io/maxRunDurationSeconds"
"""Kueue hands what follows the prefix on to the ProvisioningRequest it makes."""
PLACEMENT_GROUP = "cloud.google.com/gke-placement-group"
TPU_PORTS = (8471, 8080)
"""Where the hosts of a slice talk to each other, and the slices of a multislice."""


class Draft(Struct, frozen=True):
    """The workload and what is to be said about it, or the faults that keep it from being one."""

    workload: WorkloadPlan | None
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]


def workload(plan: FleetPlan, team: str, queue: str, asked: Asked) -> Draft:
    """The workload that is asked for, for a team's queue (the name of the local queue or of the cluster queue)."""
    problems = Problems()
    stands = ground(plan, team, queue, asked.flavor, problems)
    if stands is None:
        return Draft(None, (), tuple(problems.found))
    made = _Making(stands, asked, problems).made()
    if made is None or problems.refused():
        return Draft(None, (), tuple(problems.found))
    return Draft(made, tuple(notes(stands, made)), tuple(problems.found))


class _Making(Struct, frozen=True):
    ground: Ground
    asked: Asked
    problems: Problems

    def made(self) -> WorkloadPlan | None:
        """The workload, or None after a fault."""
        self._refuse()
        match self.kind:
            case "jobset":
                made = self._job_set()
            case "job":
                made = JobPlan(
                    submission=self._submission(names.job(self._pods())),
                    pod=self._pod(restart_policy="Never"),
                    pods=self._pods(),
                    backoff_limit=self.asked.backoff_limit,
                )
            case "pytorchjob":
                workers = self._pods() - 1
                made = PyTorchJobPlan(
                    submission=self._submission(names.pytorch_job(workers)),
                    pod=self._pod(restart_policy="OnFailure"),
                    workers=workers,
                    backoff_limit=self.asked.backoff_limit,
                )
            case _:
                made = self._request()
        return made

    @property
    def kind(self) -> str:
        """What was asked for, or what goes with the machines."""
        return self.asked.kind or ("jobset" if self.ground.shape.tpu else "job")

    # --- kinds --------------------------------------------------------------------------------------------------------

    def _job_set(self) -> JobSetPlan:
        """Of slices: a child job for each, on a node pool of its own. Of GPUs: one child job with all pods."""
        shape = self.ground.shape
        called = "slice" if shape.tpu else "worker"
        replicas, pods = (self._slices(), shape.hosts) if shape.tpu else (1, self._pods())
        exclusive = shape.multi_host and shape.flavor.topology is None
        return JobSetPlan(
            submission=self._submission(names.job_set(called, replicas, pods)),
            pod=self._pod(),
            replicated_job=called,
            replicas=replicas,
            pods=pods,
            max_restarts=self.asked.max_restarts,
            restart_strategy=self.asked.restart_strategy,
            exclusive_topology=catalog.labels().nodepool if exclusive else None,
        )

    def _request(self) -> ProvisioningRequestPlan:
        """The machines of a job of one slice, or of so many pods; nobody adds selectors and tolerations for it."""
        shape = self.ground.shape
        seconds = self.asked.max_run_seconds
        parameters = {} if seconds is None else {"maxRunDurationSeconds": str(seconds)}
        if shape.tpu and shape.multi_host:
            parameters["tpu-topology"] = str(shape.pool.topology)
        return ProvisioningRequestPlan(
            name=self._name(names.job(1)),
            namespace=self.ground.door.namespace,
            team=self.ground.team.name,
            pod=self._pod(restart_policy="Never"),
            pods=shape.hosts if shape.tpu else self._pods(),
            class_name=QUEUED_CLASS,
            parameters=parameters,
        )

    # --- parts --------------------------------------------------------------------------------------------------------

    def _submission(self, longest: int) -> SubmissionPlan:
        seconds = self.asked.max_run_seconds
        return SubmissionPlan(
            name=self._name(longest),
            namespace=self.ground.door.namespace,
            team=self.ground.team.name,
            queue=self.ground.door.name,
            priority=self.asked.priority or self.ground.queue.priority,
            annotations={} if seconds is None else {RUN_DURATION: str(seconds)},
        )

    def _name(self, longest: int) -> str:
        name = self.asked.name
        if name is None:
            door = self.ground.door.name
            return shorten(door if is_dns_1035_label(door) else f"job-{door}", longest)
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
        shape, asked = self.ground.shape, self.asked
        number = shape.per_pod if shape.tpu else asked.gpus or shape.per_pod
        selector, tolerations = self._nodes()
        identity = self.ground.team.identity
        return PodPlan(
            image=asked.image or TRIAL_IMAGE,
            command=asked.command or (() if asked.image else TRIAL),
            resources={**room_of_a_pod(self.ground, asked, number), shape.flavor.resource: number},
            ports=asked.ports or (TPU_PORTS if shape.tpu and self.kind == "jobset" else ()),
            node_selector=selector,
            tolerations=tolerations,
            host_network=self._host_network(),
            restart_policy=restart_policy,
            service_account=asked.service_account or (identity.service_account if identity else None),
            annotations=placement(self.ground, self._together()) if self.kind != "provisioning-request" else {},
        )

    def _together(self) -> int:
        """The pods that belong near each other: those of a slice, or all."""
        return self.ground.shape.hosts if self.ground.shape.tpu else self._pods()

    def _nodes(self) -> tuple[dict[str, str], tuple[Toleration, ...]]:
        """Selectors and tolerations that Kueue does not add: it adds those of the flavor that it chooses."""
        flavor = self.ground.shape.flavor
        if self.kind == "provisioning-request":
            return dict(flavor.node_labels), flavor.tolerations
        selector = self._narrowing()
        if self.asked.placement_group is not None:
            selector[PLACEMENT_GROUP] = self.asked.placement_group
        taints = [taint for each in self.ground.shapes for taint in each.flavor.node_taints]
        given = {(each.key, each.effect) for each in flavor.tolerations}
        missing = [each for each in dict.fromkeys(taints) if (each.key, each.effect) not in given]
        return selector, tuple(each.tolerated for each in missing)

    def _narrowing(self) -> dict[str, str]:
        """The labels by which the chosen flavors differ from the queue's others, if it has others."""
        labels = self.ground.shape.flavor.node_labels
        shared = {
            k: v for k, v in labels.items() if all((k, v) in s.flavor.node_labels.items() for s in self.ground.shapes)
        }
        others = [each.flavor.node_labels for each in self.ground.others]
        return {k: v for k, v in shared.items() if any(other.get(k, v) != v for other in others)}

    def _host_network(self) -> bool:
        """Slices talk to each other over the nodes' own network, where GKE does not wire another into the pods.

        Autopilot takes no pods on the nodes' network, and does without.
        """
        shape = self.ground.shape
        several = shape.tpu and self.kind == "jobset" and self._slices() > 1
        return several and not shape.networked and self.ground.plan.cluster.mode != "autopilot"

    def _slices(self) -> int:
        return self.asked.slices or 1

    def _pods(self) -> int:
        return self._slices() if self.ground.shape.tpu else self.asked.pods or 1

    # --- what does not go together ------------------------------------------------------------------------------------

    def _refuse(self) -> None:
        shape, asked = self.ground.shape, self.asked
        if shape.tpu:
            self._refuse_for_slices()
        else:
            self._refuse_for_gpus()
        if self.kind != "jobset" and asked.restart_strategy is not None:
            self._fault("wrong-kind", "--restart-strategy", f"a {self.kind} has none; leave it out")
        if asked.priority is not None:
            self._priority(asked.priority)
        queued = shape.pool.capacity == "queued"
        if self.kind == "provisioning-request" and not queued:
            message = f"flavor '{shape.flavor.name}' is {shape.pool.capacity}; only queued machines are requested so"
            self._fault("wrong-kind", "--kind", message)
        self._run_duration(any(each.pool.capacity == "queued" for each in self.ground.shapes))
        if asked.placement_group is not None and shape.pool.made_by == "berth":
            message = f"pool '{shape.pool.name}' has its nodes already; only nodes that GKE makes are grouped for a job"
            self._fault("wrong-kind", "--placement-group", message)

    def _refuse_for_slices(self) -> None:
        shape, asked = self.ground.shape, self.asked
        for option, value in (("--pods", asked.pods), ("--gpus", asked.gpus)):
            if value is not None:
                message = f"'{value}': the machines of {self.ground.name} are {shape.words}; write --slices"
                self._fault("wrong-shape", option, message)
        if self.kind == "pytorchjob":
            message = f"a pytorchjob is for GPUs, and {self.ground.name} has {shape.flavor.noun}; write jobset"
            self._fault("wrong-kind", "--kind", message)
        elif self.kind == "job" and shape.multi_host:
            message = f"the {shape.hosts} pods of a Job could land in two slices; a jobset keeps them in one"
            self._fault("wrong-kind", "--kind", message)
        elif self.kind == "provisioning-request" and self._slices() > 1:
            self._fault("wrong-shape", "--slices", f"'{asked.slices}': a request is for one slice; make one for each")

    def _refuse_for_gpus(self) -> None:
        shape, asked = self.ground.shape, self.asked
        if asked.slices is not None:
            message = f"'{asked.slices}': the machines of {self.ground.name} are {shape.words}; write --pods"
            self._fault("wrong-shape", "--slices", message)
        if (asked.gpus or 0) > shape.per_pod:
            message = f"'{asked.gpus}': a pod of {self.ground.name} can have {shape.per_pod} {shape.flavor.noun}"
            self._fault("wrong-shape", "--gpus", f"{message}; write more --pods instead")

    def _priority(self, name: str) -> None:
        known = [each.name for each in self.ground.plan.priorities]
        wanted = self.ground.queue.priority
        if name not in known:
            there = near_miss(name, known) or (f"; there is {quoted(known)}" if known else "; the fleet has none")
            self._fault("no-priority", "--priority", f"no priority '{name}'{there}")
        elif wanted is not None and name != wanted:
            self._fault("wrong-priority", "--priority", f"'{name}': {self.ground.name} is for '{wanted}'; leave it out")

    def _run_duration(self, queued: bool) -> None:
        seconds = self.asked.max_run_seconds
        if seconds is None:
            return
        low, high = catalog.limits().min_run_seconds, catalog.limits().max_run_seconds
        if not queued:
            message = f"'{seconds}s': the machines of {self.ground.name} are not queued ones; leave it out"
            self._fault("wrong-shape", "--max-run-duration", message)
        elif not low <= seconds <= high:
            message = f"'{seconds}s' is not between {low}s (10 minutes) and {high}s (7 days)"
            self._fault("bad-value", "--max-run-duration", message)

    def _fault(self, code: str, option: str, message: str) -> None:
        self.problems.fault(code, (option,), message)
