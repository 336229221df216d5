"""Jobs that ask for a TPU slice of a shape of their own (GKE dynamic slicing), and jobs that must ask for one.

A pod template asks by an annotation, which Kueue's slice controller reads (Cluster Toolkit, `pkg/orchestrator/gke`;
xpk, `slice/internal/webhooks`). Node pools of fixed slices have no such controller, and no nodes with its labels.
"""

from __future__ import annotations

from berth import catalog
from berth.diagnostics import join_words
from berth.jobs.gke_webhooks import ACCELERATOR, READ_FRAMEWORKS, selects_accelerator
from berth.jobs.values import SourceValue
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.lint.local_queues import require_operator
from berth.manifests.workloads.values import as_mapping
from berth.plan.dynamic_slices import SLICE_TOPOLOGY_ANNOTATION as ANNOTATION
from berth.plan.dynamic_slices import FormedSlice, SlicingPlan
from berth.plan.gke import ClusterPlan
from berth.workloads.node_shapes import NodeShape

_MAX_SLICE_NAME = 49
"""GKE's reference of the Slice resource: a hyphen and a hash of the cluster make it a name of Compute Engine."""
_HASH = "xxxxx"
"""Stands for five characters of Kueue's hash in the name of a workload, or of a generated name (xpk, `SliceName`)."""


def check_dynamic_slices(job: SubmittedJob) -> None:
    """Report annotations for dynamic slices that nothing forms, and pods whose slice cannot be formed."""
    for pods in list_job_pods(job):
        annotations = pods.settings.annotations
        shapes = [each for each in job.context.node_shapes(job.queue) if each.is_tpu]
        sliced = [each for each in shapes if each.flavor.slicing is not None]
        uses_tpus = bool(pods.pod_set.requests.get(catalog.extended_resource("tpu")))
        if ANNOTATION not in annotations:
            if uses_tpus and sliced and len(sliced) == len(shapes):
                _report_missing(pods, sliced[0])
            continue
        source = pods.settings.annotation(ANNOTATION)
        topology = str(annotations[ANNOTATION])
        if sliced:
            _check_formed(pods, source, topology, sliced[0])
        else:
            _check_fixed(pods, source, topology, shapes)


def _report_missing(pods: JobPods, shape: NodeShape) -> None:
    slicing = shape.flavor.slicing
    assert slicing is not None
    chips = pods.pods_per_replica * pods.pod_set.requests[shape.flavor.resource]
    fitting = next((each.topology for each in slicing.shapes if each.chips == chips), slicing.block)
    why = "nothing connects its chips" if slicing.controller is not None else "nothing keeps its pods in one slice"
    message = f"its pods name no slice, so {why}; write the annotation {ANNOTATION}: {fitting} on its pods"
    pods.at(("metadata", "annotations")).fault("dynamic-slice", message)


def _check_formed(pods: JobPods, source: SourceValue, topology: str, shape: NodeShape) -> None:
    """Report what keeps pods from being one or more slices of a topology."""
    slicing, job = shape.flavor.slicing, pods.submitted
    assert slicing is not None
    formed = slicing.formed(topology)
    if formed is None:
        source.fault("dynamic-slice", slicing.refusal(topology))
        return
    if slicing.controller is not None:
        row = job.job.row
        if row is None or row.framework not in READ_FRAMEWORKS:
            message = f"Kueue's slice controller forms no slices for a {job.job.kind}; write a Job, JobSet or "
            source.fault("dynamic-slice", f"{message}LeaderWorkerSet")
            return
        if not selects_accelerator(pods.pod_set):
            value = shape.flavor.node_labels.get(ACCELERATOR, shape.pool.accelerator)
            message = "Kueue's slice controller passes over pods that do not select the accelerator; write the node "
            pods.settings.field("nodeSelector").fault("dynamic-slice", f"{message}selector {ACCELERATOR}: {value}")
            return
        require_operator(job.context, job.job, "slice-controller")
        _warn_of_long_names(pods)
    else:
        _check_level(pods, formed)
    _check_size(pods, formed, shape, slicing)


def _warn_of_long_names(pods: JobPods) -> None:
    """Warn of slices whose names are longer than GKE takes: namespace, Kueue's workload, pod set and number."""
    job = pods.submitted.job
    generated = "" if "name" in as_mapping(job.metadata.value) else _HASH
    around = f"{job.namespace}-{job.kind.lower()}-{generated}-{_HASH}-{pods.pod_set.name}-{pods.pod_set.child_jobs - 1}"
    length, longest = len(around) + len(job.name), _MAX_SLICE_NAME - len(around)
    if length <= _MAX_SLICE_NAME:
        return
    message = f"'{job.name}' gives its slices names of {length} characters, and GKE takes {_MAX_SLICE_NAME}"
    gate = "Kueue's slice controller makes them short enough only with its gate ShorterSliceNameLength"
    remedy = f"write a name of at most {longest}" if longest > 0 else "write a shorter name"
    source = job.metadata.child("generateName" if generated else "name", job.name)
    pods.submitted.warn("long-slice-name", source.path, f"{message}; {gate}; {remedy}")


def _check_size(pods: JobPods, formed: FormedSlice, shape: NodeShape, slicing: SlicingPlan) -> None:
    per_pod, replica = pods.pod_set.requests.get(shape.flavor.resource, 0), pods.pods_per_replica
    noun = shape.flavor.noun
    if per_pod != slicing.chips_per_node:
        message = (
            f"a pod requests {per_pod} {noun}, and its node has {slicing.chips_per_node}; write {shape.flavor.resource}"
        )
        pods.request_source(shape.flavor.resource).fault("dynamic-slice", f"{message}: {slicing.chips_per_node}")
    elif replica != formed.nodes:
        message = f"a slice of {formed.topology} has {formed.nodes} pods, and a child job has {replica}"
        remedy = f"write {formed.nodes} pods"
        if other := next((each.topology for each in slicing.shapes if each.nodes == replica), None):
            remedy = f"{remedy}, or {ANNOTATION}: {other}"
        pods.at(()).fault("dynamic-slice", f"{message}; {remedy}")
    elif pods.pod_set.child_jobs > formed.at_once:
        message = f"{pods.pod_set.child_jobs} slices of {formed.topology} are more than the {formed.at_once} that"
        remedy = f"write at most {formed.at_once}, or a smaller slice"
        pods.at(()).fault("dynamic-slice", f"{message} '{shape.flavor.name}' can form at once; {remedy}")


def _check_level(pods: JobPods, formed: FormedSlice) -> None:
    """Report pods that no topology request keeps in one part of a slice whose hosts are connected already."""
    request = pods.pod_set.topology
    if request is not None and formed.level in (request.required, request.slice_level):
        return
    message = f"nothing keeps the pods of a {formed.topology} slice together; write the annotations "
    remedy = f"kueue.x-k8s.io/podset-slice-required-topology: {formed.level} and kueue.x-k8s.io/podset-slice-size: "
    pods.at(("metadata", "annotations")).fault("dynamic-slice", f"{message}{remedy}'{formed.size}'")


def _check_fixed(pods: JobPods, source: SourceValue, topology: str, shapes: list[NodeShape]) -> None:
    job = pods.submitted
    if not shapes:
        message = f"asks for a TPU slice, and {job.queue_name} has none; remove the annotation"
        source.fault("dynamic-slice", message)
        return
    if isinstance(job.context.plan.cluster, ClusterPlan) and not job.context.plan.workers:
        fixed = list(dict.fromkeys(str(each.pool.topology) for each in shapes))
        remedy = "remove the annotation" if topology in fixed else f"remove the annotation, and use {join_words(fixed)}"
        message = f"'{topology}' asks for a dynamic slice, and the slices of {job.queue_name} have the fixed topology"
        source.fault("dynamic-slice", f"{message} {join_words(fixed)}: nothing forms it; {remedy}")
        return
    machine = catalog.machines().get(shapes[0].pool.machine_type)
    if machine is not None and catalog.slice_shape(machine, topology) is None:
        known = ", ".join(catalog.slice_topologies(machine)[:6])
        source.fault("dynamic-slice", f"'{topology}' is no slice of {machine.name}; write one such as {known}")
        return
    message = "not checked: whether the cluster, which Berth does not create, has GKE's slice controller"
    job.warn("not-checked", source.path, message)
