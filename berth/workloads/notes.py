"""What is worth knowing about a workload before it is submitted: why it says what it says, and what Kueue adds."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import in_words
from berth.plan.workloads import JobPlan, JobSetPlan, ProvisioningRequestPlan, PyTorchJobPlan, WorkloadPlan
from berth.workloads.target import Ground

HERE = "autoscaling.x-k8s.io"
"""The prefix of the annotations by which pods take the machines of a request."""


def notes(ground: Ground, plan: WorkloadPlan) -> Iterator[str]:
    """One sentence each."""
    yield _asks(ground, plan)
    if isinstance(plan, ProvisioningRequestPlan):
        yield "Kueue has no part in this: the machines count towards no quota. Pods take them by the annotations"
        yield f"  {HERE}/consume-provisioning-request: {plan.name}"
        yield f"  {HERE}/provisioning-class-name: {plan.class_name}"
        yield "  and must start within 10 minutes of Provisioned=True."
        return
    yield from _added(ground)
    yield from _sent(ground, plan)
    if plan.pod.node_selector:
        yield f"The node selector is this workload's own: it keeps it on {in_words(ground.flavors)}."
    if isinstance(plan, JobSetPlan):
        yield from _of_slices(plan)
    if total(plan) > 1:
        yield from _unnamed(ground)
    if isinstance(plan, PyTorchJobPlan):
        yield "Needs Kubeflow's training operator in the cluster (kubeflow.org/v1), which Berth does not install."
    if plan.submission.priority:
        yield f"Priority '{plan.submission.priority}' orders the queue by its label, and the pods by their class."


def total(plan: WorkloadPlan) -> int:
    """The pods of a workload."""
    match plan:
        case JobSetPlan():
            return plan.replicas * plan.pods
        case PyTorchJobPlan():
            return plan.workers + 1
        case JobPlan() | ProvisioningRequestPlan():
            return plan.pods


def _asks(ground: Ground, plan: WorkloadPlan) -> str:
    shape, pods = ground.shape, total(plan)
    each = plan.pod.resources[shape.flavor.resource]
    ceiling = sum(ground.team.ceiling.get(flavor, 0) for flavor in ground.flavors)
    slices = f"{_number(pods // shape.hosts, 'slice')} of {shape.pool.topology}, " if shape.multi_host else ""
    return (
        f"{ground.name}: {slices}{_number(pods, 'pod')} of {each}, {pods * each} {shape.flavor.noun} in all "
        f"(the team can reach {ceiling} there{_on_one_worker(ground)})."
    )


def _on_one_worker(ground: Ground) -> str:
    """Of a manager: a job runs on one worker, whatever all of them hold together."""
    held = [
        sum(flavor.capacity.max for flavor in worker.plan.flavors if flavor.name in ground.flavors)
        for worker in ground.plan.workers
    ]
    return f", and no worker holds more than {max(held)}" if held else ""


def _sent(ground: Ground, plan: WorkloadPlan) -> Iterator[str]:
    """Of a manager: what comes to a worker with a job, which is the job (MultiKueue copies nothing else)."""
    there = [
        worker.name
        for worker in ground.plan.workers
        if any(queue.name == ground.queue.name for queue in worker.plan.cluster_queues)
    ]
    if there:
        service = "the Service below, " if isinstance(plan, JobPlan) and plan.pods > 1 else ""
        where = f"one of {in_words(there)}" if there[1:] else there[0]
        yield f"It runs on {where}, and the job alone is sent there: apply {service}ConfigMaps and Secrets there too."


def _added(ground: Ground) -> Iterator[str]:
    """What Kueue gives the pods, flavor by flavor."""
    yield "Kueue adds what belongs to the flavor it chooses:"
    for flavor in dict.fromkeys(each.flavor.name for each in ground.shapes):
        plan = next(each.flavor for each in ground.shapes if each.flavor.name == flavor)
        labels = ", ".join(f"{key}={value}" for key, value in plan.node_labels.items()) or "no node selector"
        tolerated = ", ".join(each.key for each in plan.tolerations)
        yield f"  {flavor}: {labels}" + (f"; tolerates {tolerated}" if tolerated else "")


def _of_slices(plan: JobSetPlan) -> Iterator[str]:
    if plan.exclusive_topology:
        yield "Exclusive topology: each slice's pods get a node pool, which is one slice, to themselves."
    if plan.pod.host_network:
        yield "Host network: slices talk to each other over the network of their nodes."


def _unnamed(ground: Ground) -> Iterator[str]:
    """Interfaces of the nodes that no pod gets unasked: which of them a job needs is its own to say."""
    pools = {each.pool.name for each in ground.shapes}
    devices = [
        subnet.device
        for networks in ground.plan.accelerator_networks
        if pools & set(ground.plan.pools_on(networks.key))
        for vpc in networks.vpcs
        for subnet in vpc.subnets
    ]
    if devices:
        yield "Pods have the node's first network alone, unless their annotation networking.gke.io/interfaces names:"
        yield f"  {in_words(devices)}"


def _number(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
