"""ProvisioningRequests that somebody makes without Kueue: machines that count towards no quota."""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.diagnostics import Problems, quoted
from berth.jobs.files import Document
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import pod_set
from berth.jobs.values import At, as_list, as_mapping, deep
from berth.lint.dws import run_duration
from berth.lint.fleet import Fleet
from berth.plan.admission_checks import QUEUED_CLASS
from berth.simulator.scheduler.model import Nodes, Taint
from berth.simulator.scheduler.nodes import may_run
from berth.workloads.node_shapes import Shape, shapes

REQUEST = "ProvisioningRequest"
NO_QUOTA = "no-queue-asked"
"""The code of the warning that a request passes every queue by."""
_RUN_DURATION = "maxRunDurationSeconds"


def request(document: At, path: tuple[str | int, ...], documents: Iterable[Document], fleet: Fleet) -> str:
    """What a request asks for; faults go to the document's problems."""
    value = document.value if not path else as_list(deep(document.value, "items"))[int(path[1])]
    spec = At(deep(value, "spec"), (*path, "spec"), document.problems)
    found = spec.entries("a request's spec")
    if found is None:
        return ""
    document.problems.warning(NO_QUOTA, (*path, "metadata"), "its machines count towards no quota, and no queue waits")
    _class(found.get("provisioningClassName", spec))
    parameters = as_mapping(deep(value, "spec", "parameters"))
    if _RUN_DURATION in parameters:
        run_duration(spec.under("parameters", parameters).under(_RUN_DURATION, parameters[_RUN_DURATION]))
    sets = found["podSets"].items("a list of pod sets") if "podSets" in found else None
    if not sets:
        spec.fault("missing-key", "'podSets' is missing or empty; write one")
        return ""
    if len(sets) > 1:
        sets[1].fault("dws", f"{len(sets)} pod sets, and queued machines are of one shape; make a request for each")
        return ""
    return _asked(sets[0], value, documents, fleet)


def _class(at: At) -> None:
    if at.value != QUEUED_CLASS:
        at.fault("dws", f"'{at.value}' is not the class of queued machines; write {QUEUED_CLASS}")


def _asked(at: At, value: object, documents: Iterable[Document], fleet: Fleet) -> str:
    found = at.keys(("podTemplateRef", "count"))
    if found is None:
        return ""
    name = str(deep(found["podTemplateRef"].value, "name"))
    count = found["count"].whole("a whole number of pods from 1", 1)
    template = _template(name, deep(value, "metadata", "namespace"), documents)
    if template is None:
        found["podTemplateRef"].fault("no-template", f"no PodTemplate '{name}' lies in the same file; write it there")
        return ""
    pods = pod_set(At(template, (), Problems()), "main", count or 1)
    if pods is None or count is None:
        found["podTemplateRef"].fault("no-template", f"the pods of PodTemplate '{name}' are not understood")
        return ""
    return _machines(found["count"], pods, fleet)


def _template(name: str, namespace: object, documents: Iterable[Document]) -> object:
    for document in documents:
        value = document.value
        found = [deep(value, *keys) for keys in (("kind",), ("metadata", "name"), ("metadata", "namespace"))]
        if found == ["PodTemplate", name, namespace]:
            return deep(value, "template")
    return None


def _machines(at: At, pods: PodSet, fleet: Fleet) -> str:
    queued = [
        each for each in shapes(fleet.plan, [f.name for f in fleet.plan.flavors]) if each.pool.capacity == "queued"
    ]
    asking = [each for each in queued if pods.requests.get(each.flavor.resource)]
    if not asking:
        at.fault("no-nodes", "its pods ask for nothing that queued machines of this fleet have")
        return ""
    open_to = [each for each in asking if may_run(pods, _nodes(each))]
    if not open_to:
        flavors = quoted(dict.fromkeys(each.flavor.name for each in asking))
        at.fault(
            "no-nodes", f"its pods do not select, or do not tolerate, the nodes of {flavors}; Kueue adds nothing here"
        )
        return ""
    wrong = [_wrong(pods, each) for each in open_to]
    if all(wrong):
        at.fault("no-shape", wrong[0])
        return ""
    shape = open_to[wrong.index("")]
    return f"{pods.count * pods.requests[shape.flavor.resource]} {shape.flavor.noun} of {shape.flavor.name}"


def _nodes(shape: Shape) -> Nodes:
    """The nodes themselves: GKE tolerates an accelerator's own taint for pods that ask for it."""
    flavor = shape.flavor
    taints = [each for each in flavor.tolerations if each.key != flavor.resource]
    return Nodes(labels=flavor.node_labels, taints=tuple(Taint(t.key, t.value or "", t.effect) for t in taints))


def _wrong(pods: PodSet, shape: Shape) -> str:
    number, noun = pods.requests[shape.flavor.resource], shape.flavor.noun
    most = min(catalog.limits().max_request_nodes, shape.pool.nodes.max)
    if number > shape.per_pod:
        return f"a pod asks for {number} {noun}, and a node of {shape.pool.machine_type} gives {shape.per_pod}"
    if shape.multi_host and pods.count != shape.hosts:
        return f"{pods.count} pods are no {shape.pool.topology} slice, which has {shape.hosts} hosts"
    if pods.count > most:
        return f"{pods.count} pods, and pool '{shape.pool.name}' gives {most} machines to a request at the most"
    return ""
