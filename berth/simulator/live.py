"""The state of a live cluster, from the output of `kubectl get workloads,clusterqueues -A -o json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem, Problems, format_path
from berth.jobs.files import ManifestDocument
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import build_pod_set
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import SourceValue, get_nested
from berth.manifests.workloads.values import as_list, as_mapping
from berth.simulator.arrivals import without_excluded
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.model import RUNNING, Job
from berth.simulator.scheduler.simulate import Simulator

_KINDS = ("Workload", "ClusterQueue")
_BESIDE = ("LocalQueue", "Node", "ResourceFlavor", "Topology", "Cohort", "AdmissionCheck", "WorkloadPriorityClass")
"""Kinds that may be in the same output, for verbs that read more of it."""


class RunningWorkload(Struct, frozen=True):
    """A workload of the cluster: its creation time and, if admitted, its queue, flavors and admission time."""

    job: Job
    display_name: str
    created_at: str
    reserved_at: str | None = None
    is_admitted: bool = False
    flavors: tuple[dict[str, str], ...] = ()


class ClusterState(Struct, frozen=True):
    """The state before the first step. `stops`: stopped cluster queue → its stop policy."""

    workloads: tuple[RunningWorkload, ...]
    stop_policies: dict[str, str]

    def populate(self, simulator: Simulator) -> dict[str, str]:
        """Add the workloads in order of creation; return job name → display name."""
        times = sorted({each.reserved_at for each in self.workloads if each.reserved_at is not None})
        order_by_time = {moment: index - len(times) for index, moment in enumerate(times)}
        for workload in sorted(self.workloads, key=lambda each: each.created_at):
            if workload.reserved_at is None:
                simulator.add_pending(workload.job)
            else:
                simulator.add_admitted(
                    workload.job, workload.flavors, order_by_time[workload.reserved_at], workload.is_admitted
                )
        for queue, stop_policy in self.stop_policies.items():
            simulator.queue_states[queue].stop_policy = stop_policy
        return {each.job.name: each.display_name for each in self.workloads}


def is_cluster_state(document: ManifestDocument) -> bool:
    """Return whether a document is output of kubectl about workloads and queues."""
    kinds = {str(get_nested(item, "kind")) for item in as_list(get_nested(document.value, "items")) or [document.value]}
    return not kinds.isdisjoint(_KINDS) and kinds <= {*_KINDS, *_BESIDE}


def read_cluster_state(
    documents: Iterable[ManifestDocument], fleet: SimulatedFleet
) -> tuple[ClusterState, list[Problem]]:
    """Return the state of the fleet's queues, and a warning for each workload of another queue."""
    workloads: list[RunningWorkload] = []
    stop_policies: dict[str, str] = {}
    all_problems: list[Problem] = []
    first: dict[tuple[str, ...], tuple[object, str]] = {}
    for document in documents:
        problems = Problems()
        beside = _BESIDE if is_cluster_state(document) else ()
        for item in _items(document.root_value(problems)):
            kind = _nested(item, "kind")
            if kind in _KINDS and _is_repeated(item, document.file, first):
                continue
            if kind == "ClusterQueue":
                stop_policies |= _stop_policies(item, fleet)
            elif kind == "Workload":
                workloads.extend(_read_workload(item, fleet))
            elif kind not in beside:
                item.child("kind", kind).one_of(_KINDS)
        all_problems += document.locate_problems(problems.entries)
    return ClusterState(tuple(workloads), stop_policies), all_problems


def _items(document: SourceValue) -> Iterator[SourceValue]:
    """Yield the objects of a list, or the single object."""
    listed = _nested(document, "items")
    if listed is not None:
        yield from document.child("items", listed).sequence("a list of objects") or ()
    else:
        yield document


def _is_repeated(item: SourceValue, file: str, first: dict[tuple[str, ...], tuple[object, str]]) -> bool:
    """Return whether an object was read before; a fault if it says something else this time."""
    names = [str(_nested(item, "metadata", key) or "") for key in ("namespace", "name")]
    key = (str(_nested(item, "kind")), *names)
    if key not in first:
        first[key] = item.value, f"{file}: {format_path(item.path)}"
        return False
    value, other = first[key]
    if value != item.value:
        name = "/".join(filter(None, names))
        item.fault("live-answer", f"{key[0]} '{name}' is in {other} too, and differs; give one answer of one cluster")
    return True


def _stop_policies(item: SourceValue, fleet: SimulatedFleet) -> dict[str, str]:
    name, policy = str(_nested(item, "metadata", "name")), str(_nested(item, "spec", "stopPolicy") or RUNNING)
    is_known = any(queue.name == name for queue in fleet.setup.queues)
    return {name: policy} if is_known and policy != RUNNING else {}


def _read_workload(item: SourceValue, fleet: SimulatedFleet) -> Iterator[RunningWorkload]:
    """Yield the workload if it is unfinished and its queue belongs to the fleet."""
    all_conditions = [as_mapping(each) for each in as_list(_nested(item, "status", "conditions"))]
    since = {
        str(c.get("type")): str(c.get("lastTransitionTime", "")) for c in all_conditions if c.get("status") == "True"
    }
    if "Finished" in since or _nested(item, "spec", "active") is False:
        return
    namespace, name = str(_nested(item, "metadata", "namespace")), str(_nested(item, "metadata", "name"))
    has_quota = "QuotaReserved" in since and "Evicted" not in since
    admitted_by = _nested(item, "status", "admission", "clusterQueue") if has_quota else None
    local_queue = (namespace, str(_nested(item, "spec", "queueName")))
    queue = str(admitted_by) if admitted_by is not None else fleet.local_queues.get(local_queue, "")
    if all(known.name != queue for known in fleet.setup.queues):
        queue_text = (
            f"cluster queue '{queue}'" if queue else f"local queue '{local_queue[1]}' of namespace '{local_queue[0]}'"
        )
        item.problems.warning(
            "no-queue", item.path, f"workload '{namespace}/{name}': {queue_text} does not belong to this stack"
        )
        return
    pod_sets = (
        [_running_pods(each, as_list(_nested(item, "spec", "podSets"))) for each in _assignments(item)]
        if has_quota
        else _requested_pod_sets(item)
    )
    if pod_sets is None:
        return
    job = Job(
        name=f"{namespace}/{name}",
        queue=queue,
        priority=_priority(item),
        pod_sets=tuple(pod_sets),
        local_queue="/".join(local_queue),
    )
    created_at = str(_nested(item, "metadata", "creationTimestamp") or "")
    if not has_quota:
        yield RunningWorkload(job, _owner_name(item) or name, created_at)
        return
    flavors = tuple(_flavors(each) for each in _assignments(item))
    yield RunningWorkload(
        job, _owner_name(item) or name, created_at, since["QuotaReserved"], "Admitted" in since, flavors
    )


def read_requested_job(item: SourceValue, fleet: SimulatedFleet) -> Job | None:
    """Return the job of a Workload in any state, as it was requested; None if no queue of the fleet has it."""
    namespace, name = str(_nested(item, "metadata", "namespace")), str(_nested(item, "metadata", "name"))
    local_queue = (namespace, str(_nested(item, "spec", "queueName")))
    queue = str(_nested(item, "status", "admission", "clusterQueue") or fleet.local_queues.get(local_queue, ""))
    if all(known.name != queue for known in fleet.setup.queues):
        return None
    pod_sets = _requested_pod_sets(item)
    if not pod_sets:
        return None
    return Job(
        name=f"{namespace}/{name}",
        queue=queue,
        priority=_priority(item),
        pod_sets=tuple(pod_sets),
        local_queue="/".join(local_queue),
    )


def _requested_pod_sets(item: SourceValue) -> list[PodSet] | None:
    """Return the requested pod sets."""
    pod_sets: list[PodSet] = []
    listed = item.child("spec", {}).child("podSets", _nested(item, "spec", "podSets"))
    for entry in listed.sequence("a list of pod sets") or ():
        fields = entry.mapping("a pod set")
        if fields is None or not {"name", "count", "template"} <= fields.keys():
            entry.fault("missing-key", "'name', 'count' or 'template' is missing; save the complete output of kubectl")
            return None
        count, name = fields["count"].integer("a whole number of pods", 0), fields["name"].text("a name")
        requested = build_pod_set(fields["template"], name, count) if name and count is not None else None
        if requested is None:
            return None
        pod_sets.append(without_excluded(requested))
    return pod_sets


def _running_pods(assignment: dict[str, object], requested: list[object]) -> PodSet:
    """Return admitted pods with the requests that Kueue counts; without their template, as many small ones as can be.

    Small pods may be on more nodes than real ones, so they leave others no more room than the real ones do.
    """
    name, usage = str(assignment.get("name")), _usage(assignment)
    count = assignment.get("count")
    template = next((get_nested(each, "template") for each in requested if get_nested(each, "name") == name), None)
    pods = build_pod_set(SourceValue(template, (), Problems()), name, 1) if template is not None else None
    if not isinstance(count, int) or count < 1 or any(amount % count for amount in usage.values()):
        pods, count = None, gcd(*usage.values()) or 1
    requests = {resource: amount // count for resource, amount in usage.items()}
    found = PodSet(name=name, count=count, requests=requests) if pods is None else pods
    return replace(found, count=count, requests=requests)


def _usage(assignment: dict[str, object]) -> dict[str, int]:
    usage = as_mapping(assignment.get("resourceUsage"))
    return {resource: parse_quantity(resource, written) or 0 for resource, written in usage.items()}


def _flavors(assignment: dict[str, object]) -> dict[str, str]:
    return {resource: str(flavor) for resource, flavor in as_mapping(assignment.get("flavors")).items()}


def _assignments(item: SourceValue) -> list[dict[str, object]]:
    return [as_mapping(each) for each in as_list(_nested(item, "status", "admission", "podSetAssignments"))]


def _priority(item: SourceValue) -> int:
    priority = _nested(item, "spec", "priority")
    return priority if isinstance(priority, int) else 0


def _owner_name(item: SourceValue) -> str | None:
    """Return the name of the workload's job."""
    owners = as_list(_nested(item, "metadata", "ownerReferences"))
    name = get_nested(owners[0], "name") if owners else None
    return str(name) if name is not None else None


def _nested(item: SourceValue, *keys: str) -> object:
    return get_nested(item.value, *keys)
