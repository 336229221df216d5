"""Checks of a job's pods against the queue's machines: slices and hosts, node sizes, labels, taints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth import catalog
from berth.diagnostics import join_quoted, join_words
from berth.jobs.quantities import format_quantity
from berth.jobs.values import SourceValue
from berth.lint.fleet import SubmittedJob
from berth.lint.job_pods import JobPods, list_job_pods
from berth.lint.placement import check_placement_group, check_slice_placement, is_exclusive
from berth.manifests.workloads.values import as_list, as_mapping
from berth.names import is_label_key
from berth.simulator.scheduler.nodes import can_run_on
from berth.workloads.node_shapes import NodeShape

_PROVIDER_PREFIXES = ("cloud.google.com/", "kubernetes.io/", "topology.kubernetes.io/", "node.kubernetes.io/")
_NODE_POOL = "cloud.google.com/gke-nodepool"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def check_node_shapes(job: SubmittedJob) -> None:
    """Report pods that no machine of the queue can run."""
    node_shapes, all_pods = job.context.node_shapes(job.queue), list_job_pods(job)
    counts_cores = any(shape.is_cpu for shape in node_shapes)
    for pods in all_pods if counts_cores else ():
        if "cpu" not in pods.pod_set.requests and not _requested_accelerators(pods):
            message = f"its pods request no cpu, so they use no quota of {job.queue_name}, which counts cores"
            job.warn("no-accelerator", pods.spec_field("containers").path, f"{message}; write requests: {{cpu: …}}")
    if all_pods and not counts_cores and not any(_requested_accelerators(each) for each in all_pods):
        resources = join_words(list(dict.fromkeys(shape.flavor.resource for shape in node_shapes)))
        message = f"its pods request no accelerator, but {job.queue_name} is for {resources}"
        job.warn("no-accelerator", all_pods[0].spec_field("containers").path, message)
    for pods in all_pods:
        candidates = [shape for shape in node_shapes if _is_for(pods, shape)]
        if candidates:
            _check_fit(pods, candidates)


def _requested_accelerators(pods: JobPods) -> list[str]:
    resources = (catalog.extended_resource("tpu"), catalog.extended_resource("gpu"))
    return [resource for resource in resources if pods.pod_set.requests.get(resource)]


def _is_for(pods: JobPods, shape: NodeShape) -> bool:
    """Whether pods request what a shape's flavor counts: its accelerators, or cores without any accelerator."""
    requested = _requested_accelerators(pods)
    return shape.flavor.resource in requested or (shape.is_cpu and not requested and "cpu" in pods.pod_set.requests)


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
        check_slice_placement(pods, fitting[0])
        check_placement_group(pods, fitting[0])
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
            if _is_for(pods, shape) and can_run_on(pods.pod_set, nodes[shape.flavor.name]):
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
    labels = [each.labels for each in node_pools]
    labels += [shape.flavor.node_labels for shape in submitted.context.node_shapes(submitted.queue)]
    known = {
        _NODE_POOL: sorted(each.name for each in node_pools),
        _INSTANCE_TYPE: sorted({each.machine_type for each in node_pools}),
    }
    for key, value in pods.pod_set.node_selector.items():
        source = pods.spec_field("nodeSelector", key)
        if key in known and value not in known[key]:
            place = submitted.queue_name
            yield source, f"no nodes of {place} have {key}: '{value}'; values are {join_quoted(known[key][:6])}"
        elif (
            is_label_key(key)
            and not key.startswith(_PROVIDER_PREFIXES)
            and all(each.get(key) != value for each in labels)
        ):
            yield source, f"no pool of {pods.submitted.queue_name} has nodes with the label {key}: '{value}'"


# --- sizes ------------------------------------------------------------------------------------------------------------


def _find_misfits(pods: JobPods, shape: NodeShape) -> Iterator[tuple[SourceValue, str]]:
    """Yield why the pods do not fit on the nodes of a shape; only the first reason is reported."""
    number, noun, topology = pods.pod_set.requests[shape.flavor.resource], shape.flavor.noun, shape.pool.topology
    source = pods.request_source(shape.flavor.resource)
    if number > shape.per_pod and not shape.is_cpu:
        yield source, f"a pod requests {number} {noun}, but a node of {shape.pool.machine_type} has {shape.per_pod}"
    elif shape.is_multi_host and number != shape.per_node:
        yield (
            source,
            f"a pod requests {number} {noun}; in a multi-host slice it must request all {shape.per_node} of its host",
        )
    if shape.is_multi_host and pods.pods_per_replica % shape.hosts:
        pods_text = "1 pod is" if pods.pods_per_replica == 1 else f"{pods.pods_per_replica} pods are"
        message = f"{pods_text} not a whole number of {topology} slices; write a multiple of {shape.hosts}"
        yield _pod_count_source(pods), message
    elif shape.is_multi_host and pods.pods_per_replica > shape.hosts and is_exclusive(pods):
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
        flavors = [shape.flavor for shape in job.context.node_shapes(job.queue) if _is_for(pods, shape)]
        largest = max(flavors, key=lambda each: each.capacity.max, default=None)
        total = pods.pod_set.count * requests.get(largest.resource, 0) if largest else 0
        if largest and total > largest.capacity.max * largest.scale:
            capacity_text = f"{job.queue_name} has at most {largest.capacity.max}"
            requested = format_quantity(largest.resource, total) if largest.scale > 1 else str(total)
            pods.request_source(largest.resource).fault(
                "no-nodes", f"requests {requested} {largest.noun}, but {capacity_text}"
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
