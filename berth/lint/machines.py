"""Checks of a job's pods against the queue's machines: slices and hosts, node sizes, labels, taints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from berth import catalog
from berth.diagnostics import join_quoted, join_words
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import pod_spec
from berth.jobs.quantities import format_quantity
from berth.jobs.values import SourceValue, as_list, as_mapping, get_nested
from berth.lint.fleet import SubmittedJob
from berth.names import is_label_key
from berth.simulator.scheduler.nodes import can_run_on
from berth.workloads.node_identity import has_grants, keep_identity_remedy, node_account
from berth.workloads.node_shapes import NodeShape
from berth.workloads.placement import SLICE_SIZE, SLICE_TOPOLOGY

EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_PROVIDER_PREFIXES = ("cloud.google.com/", "kubernetes.io/", "topology.kubernetes.io/", "node.kubernetes.io/")
_NODE_POOL = "cloud.google.com/gke-nodepool"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"


class JobPods(Struct, frozen=True):
    """One pod set of a job, with its template and the number of child jobs."""

    submitted: SubmittedJob
    template: SourceValue
    pod_set: PodSet
    replicas: int

    @property
    def pods_per_replica(self) -> int:
        """The number of pods of one child job."""
        return self.pod_set.count // self.replicas if self.replicas else 0

    def spec_field(self, *keys: str) -> SourceValue:
        """Locate a field of the pod's spec; its value is None if it is not written."""
        source = (pod_spec(self.template) or {}).get(keys[0], self.template.child("spec", {}).child(keys[0], None))
        for key in keys[1:]:
            source = source.child(key, as_mapping(source.value).get(key))
        return source

    def request_source(self, resource: str) -> SourceValue:
        """Locate the request for a resource; the pod's spec if no container requests it."""
        spec = self.template.child("spec", {})
        for key in ("containers", "initContainers"):
            for index, container in enumerate(as_list(get_nested(self.template.value, "spec", key))):
                for section in ("requests", "limits"):
                    amounts = as_mapping(get_nested(container, "resources", section))
                    if resource in amounts:
                        amounts_source = (
                            spec.child(key, {}).child(index, {}).child("resources", {}).child(section, amounts)
                        )
                        return amounts_source.child(resource, amounts[resource])
        return spec


def list_job_pods(job: SubmittedJob) -> list[JobPods]:
    """List the pod sets of a job whose templates could be read."""
    pod_sets = job.job.pod_sets or ()
    return [
        JobPods(job, *each) for each in zip(job.job.templates, pod_sets, job.job.replicas, strict=True) if each[1].count
    ]


def check_node_shapes(job: SubmittedJob) -> None:
    """Report pods that no machine of the queue can run."""
    node_shapes, all_pods = job.context.node_shapes(job.queue), list_job_pods(job)
    if all_pods and not any(_requested_accelerators(each) for each in all_pods):
        resources = join_words(list(dict.fromkeys(shape.flavor.resource for shape in node_shapes)))
        message = f"its pods request no accelerator, but {job.queue_name} is for {resources}"
        job.warn("no-accelerator", all_pods[0].spec_field("containers").path, message)
    for pods in all_pods:
        requested = _requested_accelerators(pods)
        candidates = [shape for shape in node_shapes if shape.flavor.resource in requested]
        if candidates:
            _check_fit(pods, candidates)


def _requested_accelerators(pods: JobPods) -> list[str]:
    return [resource for resource in _accelerators() if pods.pod_set.requests.get(resource)]


def _accelerators() -> tuple[str, ...]:
    return catalog.extended_resource("tpu"), catalog.extended_resource("gpu")


def _check_fit(pods: JobPods, candidates: list[NodeShape]) -> None:
    nodes = pods.submitted.context.simulated.setup.resource_flavors
    eligible = [shape for shape in candidates if can_run_on(pods.pod_set, nodes[shape.flavor.name])]
    if not eligible:
        _report_unmatched(pods, candidates)
        return
    for source, message in _unsatisfiable_selectors(pods):
        source.fault("no-nodes", message)
    fitting = [shape for shape in eligible if next(_find_misfits(pods, shape), None) is None]
    if fitting:
        _check_slice_placement(pods, fitting[0])
        _check_placement_group(pods, fitting[0])
        return
    for source, message in _find_misfits(pods, eligible[0]):
        source.fault("no-shape", message)


def check_assigned_flavors(job: SubmittedJob, assigned: Mapping[str, str]) -> None:
    """Report flavors that Kueue assigns but whose nodes are too small: Kueue checks quota and labels, not node sizes.

    `assigned` is pod set → flavor in an empty fleet: a fault. Other flavors, which it may get later, are a warning.
    """
    nodes = job.context.simulated.setup.resource_flavors
    for pods in list_job_pods(job):
        misfits: dict[str, tuple[SourceValue, str] | None] = {}
        for shape in job.context.node_shapes(job.queue):
            if pods.pod_set.requests.get(shape.flavor.resource) and can_run_on(pods.pod_set, nodes[shape.flavor.name]):
                name = shape.flavor.name
                misfits[name] = next(_find_misfits(pods, shape), None) if misfits.get(name, ()) is not None else None
        for flavor, misfit in misfits.items():
            if misfit is not None:
                source, message = misfit
                consequence = f"where they never run: {message}; write a node selector for the intended nodes"
                if assigned.get(pods.pod_set.name) == flavor:
                    source.fault("no-shape", f"Kueue assigns '{flavor}' to its pods, {consequence}")
                else:
                    job.warn("no-shape", source.path, f"Kueue may assign '{flavor}' to its pods, {consequence}")


# --- labels and taints ------------------------------------------------------------------------------------------------


def _report_unmatched(pods: JobPods, candidates: list[NodeShape]) -> None:
    """Report the selector, expression or taint that excludes every flavor."""
    place = pods.submitted.queue_name
    for key, value in pods.pod_set.node_selector.items():
        known = sorted({shape.flavor.node_labels[key] for shape in candidates if key in shape.flavor.node_labels})
        if len(known) and all(shape.flavor.node_labels.get(key, value) != value for shape in candidates):
            message = f"no flavor of {place} has nodes with {key}: '{value}'; they have {join_quoted(known)}"
            pods.spec_field("nodeSelector", key).fault("no-nodes", message)
            return
    flavors = join_quoted(dict.fromkeys(shape.flavor.name for shape in candidates))
    constraint = "node affinity" if pods.pod_set.affinity_terms else "node selector"
    source = pods.spec_field("affinity" if pods.pod_set.affinity_terms else "nodeSelector")
    source.fault("no-nodes", f"its {constraint} excludes every flavor of {place}; the flavors are {flavors}")


def _unsatisfiable_selectors(pods: JobPods) -> Iterator[tuple[SourceValue, str]]:
    """Yield node selectors that no node of the queue's pools can satisfy, with a message.

    Nodes that GKE creates, and existing nodes, may have unknown labels.
    """
    submitted = pods.submitted
    pools = [shape.pool for shape in submitted.context.node_shapes(submitted.queue)]
    if submitted.context.plan.cluster.mode != "standard" or any(pool.made_by != "berth" for pool in pools):
        return
    node_pools = [node_pool for pool in pools for node_pool in pool.node_pools]
    known = {
        _NODE_POOL: sorted(each.name for each in node_pools),
        _INSTANCE_TYPE: sorted({each.machine_type for each in node_pools}),
    }
    for key, value in pods.pod_set.node_selector.items():
        source = pods.spec_field("nodeSelector", key)
        if key in known and value not in known[key]:
            place = submitted.queue_name
            yield source, f"no nodes of {place} have {key}: '{value}'; values are {join_quoted(known[key][:6])}"
        elif is_label_key(key) and not key.startswith(_PROVIDER_PREFIXES) and not _has_labelled_pool(pods, key, value):
            yield source, f"no pool of {pods.submitted.queue_name} has nodes with the label {key}: '{value}'"


def _has_labelled_pool(pods: JobPods, key: str, value: str) -> bool:
    shapes = pods.submitted.context.node_shapes(pods.submitted.queue)
    labels = [each.labels for shape in shapes for each in shape.pool.node_pools]
    return any(each.get(key) == value for each in (*labels, *(shape.flavor.node_labels for shape in shapes)))


# --- sizes ------------------------------------------------------------------------------------------------------------


def _find_misfits(pods: JobPods, shape: NodeShape) -> Iterator[tuple[SourceValue, str]]:
    """Yield why the pods do not fit on the nodes of a shape; only the first reason is reported."""
    number, noun, topology = pods.pod_set.requests[shape.flavor.resource], shape.flavor.noun, shape.pool.topology
    source = pods.request_source(shape.flavor.resource)
    if number > shape.per_pod:
        yield source, f"a pod requests {number} {noun}, but a node of {shape.pool.machine_type} has {shape.per_pod}"
    elif shape.is_multi_host and number != shape.per_node:
        yield (
            source,
            f"a pod requests {number} {noun}; in a multi-host slice it must request all {shape.per_node} of its host",
        )
    if shape.is_multi_host and pods.pods_per_replica % shape.hosts:
        pods_text = "1 pod is" if pods.pods_per_replica == 1 else f"{pods.pods_per_replica} pods are"
        message = f"{pods_text} not a whole number of {topology} slices, which have {shape.hosts} hosts each"
        yield _pod_count_source(pods), message
    elif shape.is_multi_host and pods.pods_per_replica > shape.hosts and _is_exclusive(pods):
        message = (
            f"{pods.pods_per_replica} pods of one child job share a node "
            f"pool, and a {topology} slice has {shape.hosts} hosts"
        )
        yield _pod_count_source(pods), f"{message}; write a child job for each slice (replicas)"
    yield from _allocatable_misfits(pods, shape)


def check_capacity(job: SubmittedJob) -> None:
    """Report pods that are within quota but exceed the machines; quota can be above capacity."""
    for pods in list_job_pods(job):
        requests = pods.pod_set.requests
        flavors = [shape.flavor for shape in job.context.node_shapes(job.queue) if requests.get(shape.flavor.resource)]
        largest = max(flavors, key=lambda each: each.capacity.max, default=None)
        total = pods.pod_set.count * requests.get(largest.resource, 0) if largest else 0
        if largest and total > largest.capacity.max:
            capacity_text = f"{job.queue_name} has at most {largest.capacity.max}"
            pods.request_source(largest.resource).fault(
                "no-nodes", f"requests {total} {largest.noun}, but {capacity_text}"
            )


def _allocatable_misfits(pods: JobPods, shape: NodeShape) -> Iterator[tuple[SourceValue, str]]:
    allocatable = {"cpu": shape.allocatable.cpu, "memory": shape.allocatable.memory} if shape.allocatable else {}
    for resource, limit in allocatable.items():
        requested = pods.pod_set.requests.get(resource, 0)
        if requested > limit:
            limit_text = format_quantity(resource, limit) if resource == "cpu" else f"{limit // 2**30}Gi"
            remark = f"pods can use {limit_text} of each {shape.pool.machine_type}"
            yield (
                pods.request_source(resource),
                f"a pod requests {format_quantity(resource, requested)} {resource}, but {remark}",
            )


def _pod_count_source(pods: JobPods) -> SourceValue:
    """Locate the field with the number of pods."""
    source = pods.template
    path, value = source.path[:-1], pods.submitted.job.source.value
    for step in path[len(pods.submitted.job.source.path) :]:
        value = as_list(value)[step] if isinstance(step, int) else as_mapping(value).get(step)
    for key in ("completions", "parallelism", "replicas", "instances", "numNodes", "size"):
        if key in as_mapping(value):
            return SourceValue(as_mapping(value)[key], (*path, key), source.problems)
    return SourceValue(value, path, source.problems)


def _is_exclusive(pods: JobPods) -> bool:
    job = pods.submitted.job
    return EXCLUSIVE_TOPOLOGY in job.annotations or any(
        EXCLUSIVE_TOPOLOGY in as_mapping(get_nested(each, "template", "metadata", "annotations"))
        for each in as_list(get_nested(job.source.value, "spec", "replicatedJobs"))
    )


def _has_slice_placement(pods: JobPods, shape: NodeShape) -> bool:
    """Whether an annotation keeps slices apart: JobSet's, or Kueue's if Kueue places the pods."""
    if shape.flavor.topology is None:
        return _is_exclusive(pods)
    return SLICE_TOPOLOGY in as_mapping(get_nested(pods.template.value, "metadata", "annotations"))


def _check_slice_placement(pods: JobPods, shape: NodeShape) -> None:
    """Report a missing annotation that keeps the pods of a slice on the nodes of one slice."""
    has_many_slices = shape.pool.slices is not None and shape.pool.slices.max > 1
    if shape.is_multi_host and has_many_slices and not _has_slice_placement(pods, shape):
        remedy = f"a JobSet with the annotation {EXCLUSIVE_TOPOLOGY}: {_NODE_POOL}"
        if shape.flavor.topology is not None:
            remedy = f"the annotations {SLICE_TOPOLOGY}: {_NODE_POOL} and {SLICE_SIZE}: '{shape.hosts}' on its pods"
        message = f"nothing keeps the {shape.hosts} pods of a slice on one slice; write {remedy}"
        pods.submitted.warn("split-slice", pods.submitted.job.metadata.path, message)
    networked = shape.has_pod_network or pods.submitted.context.plan.cluster.mode == "autopilot"
    on_host = pods.spec_field("hostNetwork").value is True
    if shape.is_tpu and pods.replicas > 1 and not networked and not on_host:
        message = "slices communicate over the network of their nodes; write hostNetwork: true in the pods"
        pods.submitted.warn("no-host-network", pods.template.path, message)
    if on_host and pods.submitted.context.plan.cluster.mode == "autopilot":
        pods.spec_field("hostNetwork").fault("host-network", "Autopilot refuses pods with hostNetwork; remove it")
    elif on_host:
        _check_node_identity(pods, shape)


def _check_placement_group(pods: JobPods, shape: NodeShape) -> None:
    """Warn about several pods that select no placement group: GKE would create their nodes anywhere in the zone."""
    selector = catalog.labels().placement_group
    if shape.pool.grouped and pods.pod_set.count > 1 and selector not in pods.pod_set.node_selector:
        message = f"nothing keeps its {pods.pod_set.count} pods close to each other; write the node selector {selector}"
        pods.submitted.warn("no-placement-group", pods.template.path, f"{message} with a value of its own")


def _check_node_identity(pods: JobPods, shape: NodeShape) -> None:
    """Report host-network pods of a team with rights: their metadata server gives them the nodes' account.

    GKE docs: Workload Identity Federation for GKE, limitations.
    """
    submitted = pods.submitted
    team = next((each for each in submitted.context.plan.teams if each.name == submitted.local_queue.team), None)
    if team is None or not has_grants(team) or node_account(shape.pool) is not None:
        return
    message = (
        f"pods on the host network act as the nodes' service account, so the rights of team '{team.name}' "
        f"do not apply; {keep_identity_remedy(shape.pool)}"
    )
    submitted.warn("node-identity", pods.spec_field("hostNetwork").path, message)
