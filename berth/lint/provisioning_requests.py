"""Checks of ProvisioningRequests outside Kueue, whose machines do not count against quota."""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.diagnostics import Problems, join_quoted
from berth.jobs.files import ManifestDocument
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import build_pod_set
from berth.jobs.values import SourceValue, get_nested
from berth.lint.dws import check_run_duration
from berth.lint.fleet import LintContext
from berth.manifests.workloads.values import as_list, as_mapping
from berth.placement.kueue import ResourceFlavor, flavor_refusal
from berth.plan.admission_checks import QUEUED_CLASS
from berth.plan.node_settings import Taint
from berth.workloads.node_shapes import NodeShape, list_node_shapes

PROVISIONING_REQUEST = "ProvisioningRequest"
NO_QUEUE_CODE = "no-queue-asked"
"""Code of the warning that a request uses no queue."""
_RUN_DURATION = "maxRunDurationSeconds"


def check_request(
    document: SourceValue, path: tuple[str | int, ...], documents: Iterable[ManifestDocument], context: LintContext
) -> str:
    """Check a request and describe its machines as text; faults go to the document's problems."""
    value = document.value if not path else as_list(get_nested(document.value, "items"))[int(path[1])]
    spec = SourceValue(get_nested(value, "spec"), (*path, "spec"), document.problems)
    fields = spec.mapping("a request's spec")
    if fields is None:
        return ""
    document.problems.warning(
        NO_QUEUE_CODE,
        (*path, "metadata"),
        "its machines do not count against any quota, and it does not wait in a queue",
    )
    source = fields.get("provisioningClassName", spec)
    if source.value != QUEUED_CLASS:
        source.fault("dws", f"'{source.value}' is not the class of queued machines; write {QUEUED_CLASS}")
    parameters = as_mapping(get_nested(value, "spec", "parameters"))
    if _RUN_DURATION in parameters:
        check_run_duration(spec.child("parameters", parameters).child(_RUN_DURATION, parameters[_RUN_DURATION]))
    pod_sets = fields["podSets"].sequence("a list of pod sets") if "podSets" in fields else None
    if not pod_sets:
        spec.fault("missing-key", "'podSets' is missing or empty; write one")
        return ""
    if len(pod_sets) > 1:
        pod_sets[1].fault(
            "dws", f"{len(pod_sets)} pod sets, but queued machines have one shape; write a request for each"
        )
        return ""
    return _check_pod_set(pod_sets[0], value, documents, context)


def _check_pod_set(
    source: SourceValue, value: object, documents: Iterable[ManifestDocument], context: LintContext
) -> str:
    fields = source.known_fields(("podTemplateRef", "count"))
    if fields is None:
        return ""
    name = str(get_nested(fields["podTemplateRef"].value, "name"))
    count = fields["count"].integer("a whole number of pods from 1", 1)
    template = _find_template(name, get_nested(value, "metadata", "namespace"), documents)
    if template is None:
        fields["podTemplateRef"].fault("no-template", f"no PodTemplate '{name}' in the same file; write it there")
        return ""
    requested = build_pod_set(SourceValue(template, (), Problems()), "main", count or 1)
    if requested is None or count is None:
        fields["podTemplateRef"].fault(
            "no-template", f"PodTemplate '{name}' has no containers that can be read; write template.spec.containers"
        )
        return ""
    return _check_machines(fields["count"], requested, context)


def _find_template(name: str, namespace: object, documents: Iterable[ManifestDocument]) -> object:
    for document in documents:
        value = document.value
        fields = [get_nested(value, *keys) for keys in (("kind",), ("metadata", "name"), ("metadata", "namespace"))]
        if fields == ["PodTemplate", name, namespace]:
            return get_nested(value, "template")
    return None


def _check_machines(source: SourceValue, pod_set: PodSet, context: LintContext) -> str:
    queued = [
        each
        for each in list_node_shapes(context.plan, [f.name for f in context.plan.flavors])
        if each.pool.capacity == "queued"
    ]
    requested = [each for each in queued if pod_set.requests.get(each.flavor.resource)]
    if not requested:
        source.fault("no-nodes", "its pods request no resource of this fleet's queued machines")
        return ""
    eligible = [each for each in requested if flavor_refusal(pod_set, _node_flavor(each), only_topologies=True) is None]
    if not eligible:
        flavors = join_quoted(dict.fromkeys(each.flavor.name for each in requested))
        source.fault(
            "no-nodes",
            f"its pods do not select or tolerate the nodes of {flavors}; Kueue does not add that to a request",
        )
        return ""
    misfits = [_find_misfit(pod_set, each) for each in eligible]
    if all(misfits):
        source.fault("no-shape", misfits[0])
        return ""
    shape = eligible[misfits.index("")]
    return f"{pod_set.count * pod_set.requests[shape.flavor.resource]} {shape.flavor.noun} of {shape.flavor.name}"


def _node_flavor(shape: NodeShape) -> ResourceFlavor:
    """Describe the nodes as a flavor: GKE adds the toleration for an accelerator's taint to pods that request it."""
    flavor = shape.flavor
    taints = [each for each in flavor.tolerations if each.key != flavor.resource]
    return ResourceFlavor(
        node_labels=flavor.node_labels,
        node_taints=tuple(Taint(key=t.key or "", value=t.value or "", effect=t.effect or "") for t in taints),
    )


def _find_misfit(pod_set: PodSet, shape: NodeShape) -> str:
    number, noun = pod_set.requests[shape.flavor.resource], shape.flavor.noun
    limit = min(catalog.limits().max_request_nodes, shape.pool.nodes.max)
    if number > shape.per_pod:
        return f"a pod requests {number} {noun}, but a node of {shape.pool.machine_type} has {shape.per_pod}"
    if shape.is_multi_host and pod_set.count != shape.hosts:
        return f"{pod_set.count} pods do not match a {shape.pool.topology} slice, which has {shape.hosts} hosts"
    if pod_set.count > limit:
        return f"{pod_set.count} pods, but a request to pool '{shape.pool.name}' has at most {limit} machines"
    return ""
