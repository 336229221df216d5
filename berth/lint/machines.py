"""Whether some machines of the queue can run a job's pods: slices and hosts, room on a node, labels, taints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from berth import catalog
from berth.diagnostics import in_words, quoted
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import pod_spec
from berth.jobs.quantities import written
from berth.jobs.values import At, as_list, as_mapping, deep
from berth.lint.fleet import Submitted
from berth.lint.names import replicas_of
from berth.names import is_label_key
from berth.simulator.scheduler.nodes import may_run
from berth.workloads.node_shapes import Shape
from berth.workloads.placement import SLICE, SLICE_SIZE

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_GOOGLES = ("cloud.google.com/", "kubernetes.io/", "topology.kubernetes.io/", "node.kubernetes.io/")
_NODE_POOL = "cloud.google.com/gke-nodepool"
_INSTANCE = "node.kubernetes.io/instance-type"


class Pods(Struct, frozen=True):
    """One pod set of a job, with the template it comes from and the child jobs it is spread over."""

    of: Submitted
    template: At
    pods: PodSet
    replicas: int

    @property
    def each(self) -> int:
        """The pods of one child job."""
        return self.pods.count // self.replicas if self.replicas else 0

    def at(self, *keys: str) -> At:
        """Something in the pod's spec."""
        found = (pod_spec(self.template) or {}).get(keys[0], self.template.under("spec", {}).under(keys[0], None))
        for key in keys[1:]:
            found = found.under(key, as_mapping(found.value).get(key))
        return found

    def request(self, resource: str) -> At:
        """Where a resource is asked for."""
        spec = self.template.under("spec", {})
        for key in ("containers", "initContainers"):
            for index, container in enumerate(as_list(deep(self.template.value, "spec", key))):
                for side in ("requests", "limits"):
                    amounts = as_mapping(deep(container, "resources", side))
                    if resource in amounts:
                        at = spec.under(key, {}).under(index, {}).under("resources", {}).under(side, amounts)
                        return at.under(resource, amounts[resource])
        return spec


def pods_of(job: Submitted) -> list[Pods]:
    """Each pod set of a job whose pods were understood."""
    sets = job.job.pod_sets or ()
    return [
        Pods(job, *each) for each in zip(job.job.templates, sets, replicas_of(job.job), strict=True) if each[1].count
    ]


def run_somewhere(job: Submitted) -> None:
    """Report pods that no machines of the queue can run."""
    found = job.fleet.shapes(job.queue)
    for pods in pods_of(job):
        wanted = [resource for resource in _accelerators() if pods.pods.requests.get(resource)]
        having = [shape for shape in found if shape.flavor.resource in wanted]
        if not wanted:
            resources = in_words(list(dict.fromkeys(shape.flavor.resource for shape in found)))
            message = f"its pods ask for no accelerator, and {job.place} is for {resources}"
            job.warn("no-accelerator", pods.at("containers").path, message)
        elif having:
            _fit(pods, having)


def _accelerators() -> tuple[str, ...]:
    return catalog.resource("tpu"), catalog.resource("gpu")


def _fit(pods: Pods, having: list[Shape]) -> None:
    nodes = pods.of.fleet.book.setup.nodes
    eligible = [shape for shape in having if may_run(pods.pods, nodes[shape.flavor.name])]
    if not eligible:
        _unmatched(pods, having)
        return
    for at, message in _elsewhere(pods):
        at.fault("no-nodes", message)
    fitting = [shape for shape in eligible if next(_wrong(pods, shape), None) is None]
    if fitting:
        _slices_kept_together(pods, fitting[0])
        return
    at, message = next(_wrong(pods, eligible[0]))
    at.fault("no-shape", message)


def run_where_admitted(job: Submitted, chosen: Mapping[str, str]) -> None:
    """Report machines that Kueue chooses in vain: it looks at quota and labels, and not at the size of nodes.

    `chosen` is the flavor that each pod set gets in an empty fleet; of others, which it may get later, warn.
    """
    nodes = job.fleet.book.setup.nodes
    for pods in pods_of(job):
        wrong: dict[str, tuple[At, str] | None] = {}
        for shape in job.fleet.shapes(job.queue):
            if pods.pods.requests.get(shape.flavor.resource) and may_run(pods.pods, nodes[shape.flavor.name]):
                name = shape.flavor.name
                wrong[name] = next(_wrong(pods, shape), None) if wrong.get(name, ()) is not None else None
        for flavor, found in wrong.items():
            if found is not None:
                at, message = found
                said = f"where they never run: {message}; select the nodes that are meant"
                if chosen.get(pods.pods.name) == flavor:
                    at.fault("no-shape", f"Kueue gives its pods '{flavor}', {said}")
                else:
                    job.warn("no-shape", at.path, f"Kueue may give its pods '{flavor}', {said}")


# --- labels and taints ------------------------------------------------------------------------------------------------


def _unmatched(pods: Pods, having: list[Shape]) -> None:
    """Say which selector, expression or taint keeps the pods from every flavor."""
    place = pods.of.place
    for key, value in pods.pods.selector.items():
        known = sorted({shape.flavor.node_labels[key] for shape in having if key in shape.flavor.node_labels})
        if len(known) and all(shape.flavor.node_labels.get(key, value) != value for shape in having):
            message = f"no flavor of {place} has nodes with {key}: '{value}'; they have {quoted(known)}"
            pods.at("nodeSelector", key).fault("no-nodes", message)
            return
    taints = [taint for shape in having for taint in shape.flavor.node_taints]
    flavors = quoted(dict.fromkeys(shape.flavor.name for shape in having))
    if taints and not pods.pods.affinity and not pods.pods.selector:
        keys = quoted(dict.fromkeys(taint.key for taint in taints))
        pods.at("tolerations").fault("no-nodes", f"its pods do not tolerate {keys} of {flavors}; write tolerations")
        return
    what = "node affinity" if pods.pods.affinity else "node selector"
    at = pods.at("affinity" if pods.pods.affinity else "nodeSelector")
    at.fault("no-nodes", f"its {what} leaves no flavor of {place}: it has {flavors}")


def _elsewhere(pods: Pods) -> Iterator[tuple[At, str]]:
    """Selectors that flavors say nothing of, and that no node of Berth's pools can satisfy."""
    plan = pods.of.fleet.plan
    if plan.cluster.mode != "standard" or any(pool.made_by != "berth" for pool in plan.pools):
        return
    made = [node_pool for pool in plan.pools for node_pool in pool.node_pools]
    known = {
        _NODE_POOL: sorted(each.name for each in made),
        _INSTANCE: sorted({each.machine_type for each in made}),
    }
    for key, value in pods.pods.selector.items():
        at = pods.at("nodeSelector", key)
        if key in known and value not in known[key]:
            yield at, f"no nodes have {key}: '{value}'; there are {quoted(known[key][:6])}"
        elif is_label_key(key) and not key.startswith(_GOOGLES) and not _labelled(pods, key, value):
            yield at, f"no pool of {pods.of.place} has nodes with the label {key}: '{value}'"


def _labelled(pods: Pods, key: str, value: str) -> bool:
    shapes = pods.of.fleet.shapes(pods.of.queue)
    labels = [each.labels for shape in shapes for each in shape.pool.node_pools]
    return any(each.get(key) == value for each in (*labels, *(shape.flavor.node_labels for shape in shapes)))


# --- sizes ------------------------------------------------------------------------------------------------------------


def _wrong(pods: Pods, shape: Shape) -> Iterator[tuple[At, str]]:
    """What keeps the pods from the nodes of a shape; the first is worth telling."""
    number, noun, topology = pods.pods.requests[shape.flavor.resource], shape.flavor.noun, shape.pool.topology
    at = pods.request(shape.flavor.resource)
    if number > shape.per_pod:
        yield at, f"a pod asks for {number} {noun}, and a node of {shape.pool.machine_type} gives {shape.per_pod}"
    if shape.multi_host and number != shape.per_node:
        yield (
            at,
            f"a pod asks for {number} {noun}; in a slice of several hosts it takes all {shape.per_node} of its host",
        )
    if shape.multi_host and pods.each % shape.hosts:
        some = "1 pod is" if pods.each == 1 else f"{pods.each} pods are"
        message = f"{some} no whole number of {topology} slices, which have {shape.hosts} hosts each"
        yield _counted(pods), message
    if shape.multi_host and pods.each > shape.hosts and _exclusive(pods):
        message = f"{pods.each} pods of one child job share a node pool, and a {topology} slice has {shape.hosts} hosts"
        yield _counted(pods), f"{message}; write a child job for each slice (replicas)"
    yield from _room(pods, shape)


def enough(job: Submitted) -> None:
    """Report pods that quota lets in and that outnumber the machines: quota may be more than there is."""
    for pods in pods_of(job):
        requests = pods.pods.requests
        flavors = [shape.flavor for shape in job.fleet.shapes(job.queue) if requests.get(shape.flavor.resource)]
        most = max(flavors, key=lambda each: each.capacity.max, default=None)
        total = pods.pods.count * requests.get(most.resource, 0) if most else 0
        if most and total > most.capacity.max:
            there = f"the machines of {job.place} are never more than {most.capacity.max}"
            pods.request(most.resource).fault("no-nodes", f"asks for {total} {most.noun}, and {there}")


def _room(pods: Pods, shape: Shape) -> Iterator[tuple[At, str]]:
    room = {"cpu": shape.room.cpu, "memory": shape.room.memory} if shape.room else {}
    for resource, most in room.items():
        asked = pods.pods.requests.get(resource, 0)
        if asked > most:
            shown = written(resource, most) if resource == "cpu" else f"{most // 2**30}Gi"
            kept = f"GKE leaves pods {shown} of each {shape.pool.machine_type}"
            yield pods.request(resource), f"a pod asks for {written(resource, asked)} {resource}, and {kept}"


def _counted(pods: Pods) -> At:
    """Where the number of pods is written."""
    at = pods.template
    path, value = at.path[:-1], pods.of.job.at.value
    for step in path[len(pods.of.job.at.path) :]:
        value = as_list(value)[step] if isinstance(step, int) else as_mapping(value).get(step)
    for key in ("completions", "parallelism"):
        if key in as_mapping(value):
            return At(as_mapping(value)[key], (*path, key), at.problems)
    return At(value, path, at.problems)


def _exclusive(pods: Pods) -> bool:
    job = pods.of.job
    return EXCLUSIVE in job.annotations or any(
        EXCLUSIVE in as_mapping(deep(each, "template", "metadata", "annotations"))
        for each in as_list(deep(job.at.value, "spec", "replicatedJobs"))
    )


def _kept_together(pods: Pods, shape: Shape) -> bool:
    """Whether an annotation says so: JobSet's, or Kueue's where Kueue places the pods."""
    if shape.flavor.topology is None:
        return _exclusive(pods)
    return SLICE in as_mapping(deep(pods.template.value, "metadata", "annotations"))


def _slices_kept_together(pods: Pods, shape: Shape) -> None:
    """Nothing but an annotation keeps the pods of one slice on one slice's nodes."""
    several = shape.pool.slices is not None and shape.pool.slices.max > 1
    if shape.multi_host and several and not _kept_together(pods, shape):
        remedy = f"a JobSet with the annotation {EXCLUSIVE}: {_NODE_POOL}"
        if shape.flavor.topology is not None:
            remedy = f"the annotations {SLICE}: {_NODE_POOL} and {SLICE_SIZE}: '{shape.hosts}' on its pods"
        message = f"nothing keeps the {shape.hosts} pods of a slice on one slice; write {remedy}"
        pods.of.warn("split-slice", pods.of.job.metadata.path, message)
    networked = shape.networked or pods.of.fleet.plan.cluster.mode == "autopilot"
    on_host = pods.at("hostNetwork").value is True
    if shape.tpu and pods.replicas > 1 and not networked and not on_host:
        message = "slices talk to each other over the network of their nodes; write hostNetwork: true in the pods"
        pods.of.warn("no-host-network", pods.template.path, message)
    if on_host and pods.of.fleet.plan.cluster.mode == "autopilot":
        pods.at("hostNetwork").fault(
            "host-network", "Autopilot refuses pods on the network of their nodes; leave it out"
        )
