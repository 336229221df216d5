"""Checks of a job's pods against the queue's machines: slices and hosts, node sizes, labels, taints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Severity, join_quoted, join_words
from berth.jobs.placement_fields import TOPOLOGY_PREFIX
from berth.jobs.values import SourceValue, inside
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.lint.placement import check_placement_group, check_slice_placement, is_exclusive
from berth.lint.ray import check_ray_hosts, is_of_ray
from berth.manifests.workloads.values import as_mapping
from berth.placement.kueue import Refusal, flavor_refusal
from berth.placement.reasons import AssignedPods
from berth.placement.scheduler import unplaceable_reasons
from berth.simulator.scheduler.flavor_assignment import has_only_topologies
from berth.workloads.node_shapes import NodeShape


def check_node_shapes(job: SubmittedJob) -> None:
    """Report pods that no machine of the queue can run."""
    node_shapes, all_pods = job.context.node_shapes(job.queue), list_job_pods(job)
    counts_cores = any(shape.is_cpu for shape in node_shapes)
    for pods in all_pods if counts_cores else ():
        if "cpu" not in pods.pod_set.requests and not _requested_accelerators(pods):
            message = f"its pods request no cpu, so they use no quota of {job.queue_name}, which counts cores"
            job.warn("no-accelerator", pods.settings.field("containers").path, f"{message}; write requests: {{cpu: …}}")
    if all_pods and not counts_cores and not any(_requested_accelerators(each) for each in all_pods):
        resources = join_words(list(dict.fromkeys(shape.flavor.resource for shape in node_shapes)))
        message = f"its pods request no accelerator, but {job.queue_name} is for {resources}"
        job.warn("no-accelerator", all_pods[0].settings.field("containers").path, message)
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
    refusals = flavor_refusals(pods)
    if is_of_ray(pods) and all(shape.is_multi_host for shape in candidates):
        matching = [shape for shape in candidates if refusals[shape.flavor.name] is None]
        if matching and not check_ray_hosts(pods, matching[0]):
            return
    eligible = [shape for shape in candidates if refusals[shape.flavor.name] is None]
    if not eligible:
        _report_unmatched(pods, candidates, refusals)
        if any(refusals[shape.flavor.name] in (Refusal.LABELS, Refusal.TAINT) for shape in candidates):
            return
        eligible = candidates  # the topology request is one fault, the size of the pods another
    fitting = [shape for shape in eligible if next(_find_misfits(pods, shape), None) is None]
    if fitting:
        check_slice_placement(pods, fitting[0])
        check_placement_group(pods, fitting[0])
        return
    for source, message in _find_misfits(pods, eligible[0]):
        source.fault("no-shape", message)


def check_assigned_flavors(job: SubmittedJob, assigned: Mapping[str, str]) -> None:
    """Report flavors that Kueue assigns but whose nodes do not suit the pods: Kueue checks quota and labels only.

    `assigned` is pod set → flavor in an empty fleet: a fault, unless the scheduler's rules reported it. Other flavors,
    which it may get later, are a warning.
    """
    for pods in list_job_pods(job):
        refusals = flavor_refusals(pods)
        misfits: dict[str, tuple[SourceValue, str] | None] = {}
        for shape in job.context.node_shapes(job.queue):
            name = shape.flavor.name
            if _is_for(pods, shape) and refusals[name] is None and misfits.get(name, ()) is not None:
                misfits[name] = next(_find_misfits(pods, shape), None)
        for flavor, misfit in misfits.items():
            is_assigned = assigned.get(pods.pod_set.name) == flavor
            if misfit is None and not is_assigned:
                misfit = find_obstacle(pods, flavor)
            if misfit is None:
                continue
            source, message = misfit
            if any(each.path == source.path and each.severity == Severity.FAULT for each in source.problems.entries):
                continue
            consequence = f"where they never run: {message}; write a node selector for the intended nodes"
            if is_assigned:
                source.fault("no-shape", f"Kueue assigns '{flavor}' to its pods, {consequence}")
            else:
                job.warn("no-shape", source.path, f"Kueue may assign '{flavor}' to its pods, {consequence}")


def find_obstacle(pods: JobPods, flavor: str) -> tuple[SourceValue, str] | None:
    """Return what keeps a pod off every node of a flavor, with its place; None if nothing certain does."""
    context = pods.submitted.context
    one = AssignedPods(replace(pods.pod_set, count=1), flavor, context.simulated.setup.resource_flavors[flavor])
    reasons = [each for each in unplaceable_reasons([one], context.node_classes) if not each.is_unknown]
    return (pods.at(reasons[0].path), reasons[0].message.rpartition("; ")[0]) if reasons else None


# --- labels and taints ------------------------------------------------------------------------------------------------


def flavor_refusals(pods: JobPods) -> dict[str, Refusal | None]:
    """Return for each flavor of the queue why Kueue may not give it to the pods; None if it may."""
    submitted = pods.submitted
    setup = submitted.context.simulated.setup
    groups = next(each.resource_groups for each in setup.queues if each.name == submitted.queue.name)
    only = has_only_topologies(groups, setup.resource_flavors)
    return {
        entry.flavor: flavor_refusal(
            pods.pod_set,
            setup.resource_flavors[entry.flavor],
            only_topologies=only,
            covered=submitted.queue.covered_resources,
        )
        for entry in submitted.queue.flavors
    }


def report_without_flavor(job: SubmittedJob) -> None:
    """Report pods to which Kueue gives no flavor, also those without accelerators, unless they have a fault for it."""
    shapes = job.context.node_shapes(job.queue)
    for pods in list_job_pods(job):
        refusals = flavor_refusals(pods)
        known = len(job.job.source.problems.entries)
        if None not in refusals.values() and not any(_is_for(pods, shape) for shape in shapes):
            _report_unmatched(pods, shapes, refusals)
        if len(job.job.source.problems.entries) > known:
            return


def _report_unmatched(pods: JobPods, candidates: list[NodeShape], refusals: Mapping[str, Refusal | None]) -> None:
    """Report why Kueue may give none of the flavors to the pods."""
    place = pods.submitted.queue_name
    found = {refusals[shape.flavor.name] for shape in candidates}
    if found & {Refusal.NO_TOPOLOGY, Refusal.NO_LEVEL, Refusal.ONLY_TOPOLOGY}:
        _report_topology(pods, candidates, refusals)
        return
    if Refusal.LABELS not in found:
        return
    for key, value in pods.pod_set.node_selector.items():
        known = sorted({shape.flavor.node_labels[key] for shape in candidates if key in shape.flavor.node_labels})
        if len(known) and all(shape.flavor.node_labels.get(key, value) != value for shape in candidates):
            message = f"no flavor of {place} has nodes with {key}: '{value}'; they have {join_quoted(known)}"
            pods.at(("spec", "nodeSelector", key)).fault("no-nodes", message)
            return
    flavors = join_quoted(dict.fromkeys(shape.flavor.name for shape in candidates))
    has_affinity = bool(pods.pod_set.affinity_terms)
    constraint = "node affinity" if has_affinity else "node selector"
    source = pods.at(("spec", "affinity" if has_affinity else "nodeSelector"))
    source.fault("no-nodes", f"its {constraint} excludes every flavor of {place}; the flavors are {flavors}")


def _report_topology(pods: JobPods, candidates: list[NodeShape], refusals: Mapping[str, Refusal | None]) -> None:
    """Report that the topology request, or its absence, leaves the pods without a flavor."""
    levels = pods.submitted.context.simulated.setup.resource_flavors
    by_refusal: dict[Refusal, list[str]] = {}
    for name in dict.fromkeys(shape.flavor.name for shape in candidates):
        refusal = refusals[name]
        if refusal is not None:
            by_refusal.setdefault(refusal, []).append(name)
    texts: list[str] = []
    if names := by_refusal.get(Refusal.ONLY_TOPOLOGY):
        level = (levels[names[0]].levels or ("",))[0]
        texts.append(
            f"Kueue gives {join_quoted(names)} only to pods with a topology request; write the annotation "
            f"{TOPOLOGY_PREFIX}preferred-topology: {level} on its pods"
        )
    for refusal, what in ((Refusal.NO_TOPOLOGY, "no topology"), (Refusal.NO_LEVEL, "no such level")):
        if names := by_refusal.get(refusal):
            subject = f"{join_quoted(names)} {'has' if len(names) == 1 else 'have'} {what}"
            texts.append(f"its pods request a topology, and {subject}; correct or remove the request")
    if names := by_refusal.get(Refusal.LABELS):
        texts.append(f"its selectors exclude {join_quoted(names)}")
    source = pods.at(("metadata", "annotations"))
    if any(each.code == "no-topology" for each in source.problems.entries):
        return  # the request itself has a fault
    source.fault("no-flavor", f"no flavor of {pods.submitted.queue_name} takes its pods: {'; '.join(texts)}")


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


def _pod_count_source(pods: JobPods) -> SourceValue:
    """Locate the field with the number of pods."""
    place = pods.submitted.job.at(pods.settings.path[:-1])
    for key in ("completions", "parallelism", "replicas", "instances", "numNodes", "size"):
        if key in as_mapping(place.value):
            return inside(place, key)
    return place
