"""Jobs that ask for a slice of a shape of their own (GKE dynamic slicing), on a fleet whose slices have fixed shapes.

A pod template asks by an annotation, which GKE's slice controller reads (Cluster Toolkit, `pkg/orchestrator/gke`; xpk,
`--super-slicing`). Node pools of fixed slices have no such controller, and no nodes with the labels that it sets.
"""

from __future__ import annotations

from berth import catalog
from berth.diagnostics import join_words
from berth.jobs.values import get_nested
from berth.lint.fleet import SubmittedJob
from berth.lint.job_pods import JobPods, list_job_pods
from berth.manifests.workloads.values import as_mapping
from berth.plan.gke import ClusterPlan

ANNOTATION = "cloud.google.com/gke-tpu-slice-topology"


def check_dynamic_slices(job: SubmittedJob) -> None:
    """Report annotations for dynamic slices, which no slice controller reads on a cluster that Berth creates."""
    for pods in list_job_pods(job):
        annotations = as_mapping(get_nested(pods.template.value, "metadata", "annotations"))
        if ANNOTATION in annotations:
            _check(pods, annotations[ANNOTATION])


def _check(pods: JobPods, topology: object) -> None:
    job, metadata = pods.submitted, pods.template.child("metadata", None)
    source = metadata.child("annotations", None).child(ANNOTATION, topology)
    shapes = [each for each in job.context.node_shapes(job.queue) if each.is_tpu]
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
    if machine is not None and catalog.slice_shape(machine, f"{topology}") is None:
        known = ", ".join(catalog.slice_topologies(machine)[:6])
        source.fault("dynamic-slice", f"'{topology}' is no slice of {machine.name}; write one such as {known}")
        return
    message = "not checked: whether the cluster, which Berth does not create, has GKE's slice controller"
    job.warn("not-checked", source.path, message)
