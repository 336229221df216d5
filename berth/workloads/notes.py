"""What is worth knowing about a workload before it is submitted: why it says what it says, and what Kueue adds."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import join_words
from berth.plan.workloads import JobPlan, JobSetPlan, ProvisioningRequestPlan, PyTorchJobPlan, WorkloadPlan
from berth.workloads.target import WorkloadTarget

AUTOSCALING_PREFIX = "autoscaling.x-k8s.io"
"""The prefix of the annotations by which pods take the machines of a request."""


def workload_notes(target: WorkloadTarget, plan: WorkloadPlan) -> Iterator[str]:
    """One sentence each."""
    yield _request_note(target, plan)
    if isinstance(plan, ProvisioningRequestPlan):
        yield "Kueue has no part in this: the machines count towards no quota. Pods take them by the annotations"
        yield f"  {AUTOSCALING_PREFIX}/consume-provisioning-request: {plan.name}"
        yield f"  {AUTOSCALING_PREFIX}/provisioning-class-name: {plan.class_name}"
        yield "  and must start within 10 minutes of Provisioned=True."
        return
    yield from _kueue_notes(target)
    yield from _worker_notes(target, plan)
    if plan.pod.node_selector:
        yield f"The node selector is this workload's own: it keeps it on {join_words(target.flavors)}."
    if isinstance(plan, JobSetPlan):
        yield from _slice_notes(plan)
    if count_pods(plan) > 1:
        yield from _network_notes(target)
    if isinstance(plan, PyTorchJobPlan):
        yield "Needs Kubeflow's training operator in the cluster (kubeflow.org/v1), which Berth does not install."
    if plan.submission.priority:
        yield f"Priority '{plan.submission.priority}' orders the queue by its label, and the pods by their class."


def count_pods(plan: WorkloadPlan) -> int:
    """The pods of a workload."""
    match plan:
        case JobSetPlan():
            return plan.replicas * plan.pods
        case PyTorchJobPlan():
            return plan.workers + 1
        case JobPlan() | ProvisioningRequestPlan():
            return plan.pods


def _request_note(target: WorkloadTarget, plan: WorkloadPlan) -> str:
    shape, pods = target.shape, count_pods(plan)
    per_pod = plan.pod.resources[shape.flavor.resource]
    ceiling = sum(target.team.ceiling.get(flavor, 0) for flavor in target.flavors)
    slices = f"{_pluralize(pods // shape.hosts, 'slice')} of {shape.pool.topology}, " if shape.is_multi_host else ""
    return (
        f"{target.name}: {slices}{_pluralize(pods, 'pod')} of {per_pod}, {pods * per_pod} {shape.flavor.noun} in all "
        f"(the team can reach {ceiling} there{_worker_limit_note(target)})."
    )


def _worker_limit_note(target: WorkloadTarget) -> str:
    """Of a manager: a job runs on one worker, whatever all of them hold together."""
    capacities = [
        sum(flavor.capacity.max for flavor in worker.plan.flavors if flavor.name in target.flavors)
        for worker in target.plan.workers
    ]
    return f", and no worker holds more than {max(capacities)}" if capacities else ""


def _worker_notes(target: WorkloadTarget, plan: WorkloadPlan) -> Iterator[str]:
    """Of a manager: what comes to a worker with a job, which is the job (MultiKueue copies nothing else)."""
    worker_names = [
        worker.name
        for worker in target.plan.workers
        if any(queue.name == target.queue.name for queue in worker.plan.cluster_queues)
    ]
    if worker_names:
        service = "the Service below, " if isinstance(plan, JobPlan) and plan.pods > 1 else ""
        destination = f"one of {join_words(worker_names)}" if worker_names[1:] else worker_names[0]
        yield (
            f"It runs on {destination}, and the job alone is sent there: "
            f"apply {service}ConfigMaps and Secrets there too."
        )


def _kueue_notes(target: WorkloadTarget) -> Iterator[str]:
    """What Kueue gives the pods, flavor by flavor."""
    yield "Kueue adds what belongs to the flavor it chooses:"
    for flavor in dict.fromkeys(each.flavor.name for each in target.shapes):
        flavor_plan = next(each.flavor for each in target.shapes if each.flavor.name == flavor)
        labels = ", ".join(f"{key}={value}" for key, value in flavor_plan.node_labels.items()) or "no node selector"
        tolerated_keys = ", ".join(each.key or "" for each in flavor_plan.tolerations)
        yield f"  {flavor}: {labels}" + (f"; tolerates {tolerated_keys}" if tolerated_keys else "")


def _slice_notes(plan: JobSetPlan) -> Iterator[str]:
    if plan.exclusive_topology:
        yield "Exclusive topology: each slice's pods get a node pool, which is one slice, to themselves."
    if plan.pod.host_network:
        yield "Host network: slices talk to each other over the network of their nodes."


def _network_notes(target: WorkloadTarget) -> Iterator[str]:
    """Interfaces of the nodes that no pod gets unasked: which of them a job needs is its own to say."""
    pools = {each.pool.name for each in target.shapes}
    devices = [
        subnet.device
        for networks in target.plan.accelerator_networks
        if pools & set(target.plan.pools_on(networks.key))
        for vpc in networks.vpcs
        for subnet in vpc.subnets
    ]
    if devices:
        yield "Pods have the node's first network alone, unless their annotation networking.gke.io/interfaces names:"
        yield f"  {join_words(devices)}"


def _pluralize(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
