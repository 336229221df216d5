"""Notes on a workload, printed as comments: what its settings mean, and what Kueue adds."""

from __future__ import annotations

import json
from collections.abc import Iterator

from berth import catalog
from berth.diagnostics import join_words
from berth.manifests.quantities import quantity
from berth.manifests.workloads.pods import CHECKPOINTS_FOLDER, list_additions, pod_template
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.configuration import OPERATORS
from berth.plan.dynamic_slices import SLICE_TOPOLOGY_ANNOTATION
from berth.plan.fleet import FleetPlan
from berth.plan.node_settings import INTERFACES
from berth.plan.workloads import (
    DeploymentPlan,
    JobPlan,
    JobSetPlan,
    LeaderWorkerSetPlan,
    MPIJobPlan,
    PodPlan,
    ProvisioningRequestPlan,
    RayPlan,
    TrainJobPlan,
    WorkloadPlan,
)
from berth.workloads.node_identity import has_grants, keep_identity_remedy, node_account
from berth.workloads.node_shapes import pod_networks
from berth.workloads.options import workload_kinds
from berth.workloads.target import WorkloadTarget


def workload_notes(target: WorkloadTarget, kind: str, plan: WorkloadPlan) -> Iterator[str]:
    """Yield the notes, one line each."""
    yield _request_note(target, plan)
    if isinstance(plan, ProvisioningRequestPlan):
        yield from _machine_notes(plan)
        return
    yield from _kueue_notes(target)
    yield from _worker_notes(target, plan)
    if plan.pod.template is not None:
        filled = pod_template(plan.submission, plan.pod)
        yield "Added to the template:"
        for path, value in list_additions(plan.pod.template, filled):
            yield f"  {path}: {json.dumps(value)}"
    if plan.pod.node_selector.keys() - {catalog.labels().placement_group}:
        yield f"The node selector keeps this workload on {join_words(target.flavors)}."
    yield from _dynamic_notes(target, plan)
    yield from _class_notes(target, plan.pod)
    if target.shape.pool.grouped:
        yield "GKE creates its nodes close to each other, in a placement group of this job."
    if isinstance(plan, JobSetPlan):
        yield from _slice_notes(target, plan)
    if plan.pod_count > 1:
        yield from _network_notes(target, plan.pod)
    operator = workload_kinds()[kind].operator
    if operator and operator not in (target.plan.operators or ()):
        yield (
            f"Needs {OPERATORS[operator]} in the cluster, which Berth does not install; once it is there, write "
            f"operators: [{operator}] in the stack file."
        )
    yield from _kind_notes(plan)
    if plan.submission.priority:
        yield f"Priority '{plan.submission.priority}' orders the queue by its label, and the pods by their class."


def _machine_notes(plan: ProvisioningRequestPlan) -> Iterator[str]:
    yield "Kueue does not manage this request, and its machines use no quota. Pods use them by the annotations"
    yield from (f"  {key}: {value}" for key, value in plan.consuming_annotations.items())
    yield "  and must start within 10 minutes of Provisioned=True."
    if plan.with_job:
        yield "The Job has them: apply it when `kubectl get provreq` shows Provisioned, or with the request."
    else:
        yield "Kueue may hold jobs without a queue here; kueue: {manageJobsWithoutQueueName: false} lets them start."


def _request_note(target: WorkloadTarget, plan: WorkloadPlan) -> str:
    shape, pods = target.shape, plan.pod_count
    per_pod = plan.pod.resources[shape.flavor.resource]
    total = quantity(shape.flavor.resource, pods * per_pod) if shape.is_cpu else pods * per_pod
    of_pod = quantity(shape.flavor.resource, per_pod) if shape.is_cpu else per_pod
    ceiling = sum(target.team.ceiling.get(flavor, 0) for flavor in target.flavors)
    topology, hosts = _slice_of(target, plan)
    slices = f"{_pluralize(pods // hosts, 'slice')} of {topology}, " if topology else ""
    # A job runs on one worker.
    on_workers = [_ceiling_on(worker.plan, target) for worker in target.plan.workers]
    on_one = f", and at most {max(on_workers)} on one worker" if on_workers else ""
    return (
        f"{target.name}: {slices}{_pluralize(pods, 'pod')} of {of_pod}, {total} {shape.flavor.noun} in total "
        f"(the team's ceiling is {ceiling}{on_one})."
    )


def _slice_of(target: WorkloadTarget, plan: WorkloadPlan) -> tuple[str | None, int]:
    """Return the topology and the hosts of each slice; None of machines without slices of several hosts."""
    shape = target.shape
    if shape.flavor.slicing is None:
        return (shape.pool.topology if shape.is_multi_host else None), shape.hosts
    formed = shape.flavor.slicing.formed(plan.pod.annotations.get(SLICE_TOPOLOGY_ANNOTATION, ""))
    return (None, 1) if formed is None else (formed.topology, formed.nodes)


def _dynamic_notes(target: WorkloadTarget, plan: WorkloadPlan) -> Iterator[str]:
    slicing = target.shape.flavor.slicing
    formed = slicing and slicing.formed(plan.pod.annotations.get(SLICE_TOPOLOGY_ANNOTATION, ""))
    if slicing is None or formed is None:
        return
    slices = _pluralize(formed.at_once, "slice")
    yield f"The fleet can have {slices} of {formed.topology} at once, if nothing else runs."
    if slicing.controller is not None:
        yield "Kueue's slice controller forms its slices once it has quota, and its pods start when they are active."


def _ceiling_on(worker: FleetPlan, target: WorkloadTarget) -> int:
    """Return the queue's guarantee on a worker and what it can borrow there, at most what the machines have."""
    flavors = {flavor.name: flavor for flavor in worker.flavors if flavor.name in target.flavors}
    quotas = [
        (flavors[entry.flavor].capacity.max, quota.counted)
        for queue in worker.cluster_queues
        if queue.name == target.queue.name
        for entry in queue.flavors
        for quota in entry.quotas
        if entry.flavor in flavors and quota.resource == flavors[entry.flavor].resource
    ]
    return sum(
        capacity if quota.borrowing_limit is None else min(capacity, quota.nominal + quota.borrowing_limit)
        for capacity, quota in quotas
    )


def _worker_notes(target: WorkloadTarget, plan: WorkloadPlan) -> Iterator[str]:
    """Yield notes for a manager: MultiKueue copies only the job to a worker."""
    worker_names = [
        worker.name
        for worker in target.plan.workers
        if any(queue.name == target.queue.name for queue in worker.plan.cluster_queues)
    ]
    if worker_names:
        service = "the Service below, " if isinstance(plan, JobPlan) and plan.pods > 1 else ""
        destination = f"one of {join_words(worker_names)}" if worker_names[1:] else worker_names[0]
        yield (
            f"It runs on {destination}. MultiKueue copies only the job: "
            f"also apply {service}ConfigMaps and Secrets there."
        )


def _kueue_notes(target: WorkloadTarget) -> Iterator[str]:
    """Yield what Kueue adds to the pods, by flavor."""
    yield "Kueue adds the settings of the flavor that it assigns:"
    for flavor in dict.fromkeys(each.flavor.name for each in target.shapes):
        flavor_plan = next(each.flavor for each in target.shapes if each.flavor.name == flavor)
        labels = ", ".join(f"{key}={value}" for key, value in flavor_plan.node_labels.items()) or "no node selector"
        tolerated_keys = ", ".join(each.key or "" for each in flavor_plan.tolerations)
        yield f"  {flavor}: {labels}" + (f"; tolerates {tolerated_keys}" if tolerated_keys else "")


def _slice_notes(target: WorkloadTarget, plan: JobSetPlan) -> Iterator[str]:
    if plan.pod.checkpoints:
        yield f"{CHECKPOINTS_FOLDER} is in the memory of the node. GKE copies it to other nodes and to the bucket."
    if plan.exclusive_topology:
        yield "Exclusive topology: the pods of each slice get their own node pool, which is one slice."
    if plan.pod.host_network:
        yield "Host network: slices communicate over the network of their nodes."
        account, pool = node_account(target.shape.pool), target.shape.pool
        spec = as_mapping(as_mapping(plan.pod.template).get("spec"))
        if account is not None:
            yield f"Its pods act as the nodes' service account {account}, not as the team's."
        elif has_grants(target.team, spec.get("serviceAccountName"), as_list(spec.get("volumes"))):
            remedy = keep_identity_remedy(pool)
            yield f"Its pods act as the nodes' service account, without the team's rights: {remedy}."


def _kind_notes(plan: WorkloadPlan) -> Iterator[str]:
    """Yield notes on the kind that its manifest does not show."""
    match plan:
        case RayPlan():
            yield f"The Ray head also uses {_cpu_and_memory(plan.head)} of the queue's quota."
        case MPIJobPlan():
            yield f"The launcher also uses {_cpu_and_memory(plan.launcher)} of the queue's quota."
        case TrainJobPlan():
            yield f"The pods come from the ClusterTrainingRuntime '{plan.runtime}'; --runtime names another."
        case DeploymentPlan():
            yield "Kueue admits each pod separately; a pod without quota waits while the others serve."
            if plan.stops_first:
                yield "The queue has no room for more pods, so an update stops a pod before it starts another."
        case LeaderWorkerSetPlan():
            yield "Kueue admits each group separately; a group without quota waits while the others serve."
        case _:
            return


def _cpu_and_memory(pod: PodPlan) -> str:
    return " and ".join(f"{quantity(resource, amount)} {resource}" for resource, amount in pod.resources.items())


def _network_notes(target: WorkloadTarget, pod: PodPlan) -> Iterator[str]:
    """Yield what NVLink between nodes needs, and the additional interfaces that pods can request by annotation."""
    if pod.domain_nodes is not None:
        yield (
            "The ComputeDomain gives its pods NVLink between their nodes. Apply it first: NVIDIA's DRA driver makes "
            "the template of their claims from it, without which Kueue does not admit them."
        )
    devices = list(pod_networks(target.plan, {each.pool.name for each in target.shapes}))
    if devices and INTERFACES in pod.annotations:
        yield f"Pods have the network card for RDMA ({join_words(devices)}), so each has a node to itself."
    elif devices:
        yield f"Pods have only the node's first network, unless their annotation {INTERFACES} names:"
        yield f"  {join_words(devices)}"


def _class_notes(target: WorkloadTarget, pod: PodPlan) -> Iterator[str]:
    """Yield on which nodes of a compute class the pods fit, where those of other priorities are too small."""
    planned = next((each for each in target.plan.compute_classes if each.name == target.shape.pool.compute_class), None)
    asked = pod.resources.get(target.shape.flavor.resource, 0)
    sizes = {} if planned is None else {number: each for number, each in enumerate(planned.priorities, 1) if each.gpu}
    fitting = [number for number, each in sizes.items() if each.gpu is not None and each.gpu.count >= asked]
    if planned is not None and 0 < len(fitting) < len(sizes):
        named = join_words([f"{number} ({sizes[number].machine_type})" for number in fitting])
        word = "priority" if len(fitting) == 1 else "priorities"
        yield f"Of compute class '{planned.name}' only nodes of {word} {named} have room for such a pod."


def _pluralize(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
