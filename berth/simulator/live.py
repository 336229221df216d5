"""A cluster as it is: from `kubectl get workloads,clusterqueues -A -o json` to jobs in their places and in line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import Problem, Problems
from berth.jobs.files import Document
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import pod_set
from berth.jobs.quantities import amount
from berth.jobs.values import At, as_list, as_mapping, deep
from berth.simulator.arrivals import counted
from berth.simulator.fleet import Book
from berth.simulator.scheduler.model import RUNNING, Job
from berth.simulator.scheduler.simulate import Simulator

_KINDS = ("Workload", "ClusterQueue")


class Standing(Struct, frozen=True):
    """A workload of the cluster: when it came, and where it holds a place, with which flavors and since when."""

    job: Job
    shown: str
    created: str
    reserved: str | None = None
    admitted: bool = False
    flavors: tuple[dict[str, str], ...] = ()


class Live(Struct, frozen=True):
    """What is there before the first step. `stops`: cluster queue → its stop policy, where it is stopped."""

    workloads: tuple[Standing, ...]
    stops: dict[str, str]

    def begin(self, simulator: Simulator) -> dict[str, str]:
        """Put the workloads in place, in the order in which they came."""
        reserved = sorted({each.reserved for each in self.workloads if each.reserved is not None})
        since = {moment: index - len(reserved) for index, moment in enumerate(reserved)}
        for each in sorted(self.workloads, key=lambda each: each.created):
            if each.reserved is None:
                simulator.wait(each.job)
            else:
                simulator.place(each.job, each.flavors, since[each.reserved], each.admitted)
        for queue, stop in self.stops.items():
            simulator.lines[queue].stop = stop
        return {each.job.name: each.shown for each in self.workloads}


def is_state(document: Document) -> bool:
    """Whether a document is what kubectl printed of a cluster: workloads and cluster queues alone."""
    items = as_list(deep(document.value, "items")) or [document.value]
    return all(deep(item, "kind") in _KINDS for item in items)


def live_of(documents: Iterable[Document], book: Book) -> tuple[Live, list[Problem]]:
    """The state in what kubectl printed, as far as the fleet's queues know of it; the rest is a warning."""
    workloads: list[Standing] = []
    stops: dict[str, str] = {}
    found: list[Problem] = []
    for document in documents:
        problems = Problems()
        for item in _items(document.at(problems)):
            kind = _deep(item, "kind")
            if kind == "ClusterQueue":
                stops |= _stop(item, book)
            elif kind == "Workload":
                workloads.extend(_workload(item, book))
            else:
                item.under("kind", kind).one_of(_KINDS)
        found += document.placed(problems.found)
    return Live(tuple(workloads), stops), found


def _items(document: At) -> Iterator[At]:
    """The objects of a list, or the one object there is."""
    listed = _deep(document, "items")
    if listed is not None:
        yield from document.under("items", listed).items("a list of objects") or ()
    else:
        yield document


def _stop(item: At, book: Book) -> dict[str, str]:
    name, policy = str(_deep(item, "metadata", "name")), str(_deep(item, "spec", "stopPolicy") or RUNNING)
    known = any(queue.name == name for queue in book.setup.queues)
    return {name: policy} if known and policy != RUNNING else {}


def _workload(item: At, book: Book) -> Iterator[Standing]:
    """One workload that is not finished, if its queue is one of the fleet's."""
    conditions = _conditions(item)
    if "Finished" in conditions or _deep(item, "spec", "active") is False:
        return
    namespace, name = str(_deep(item, "metadata", "namespace")), str(_deep(item, "metadata", "name"))
    holds = "QuotaReserved" in conditions and "Evicted" not in conditions
    admitted_by = _deep(item, "status", "admission", "clusterQueue") if holds else None
    door = (namespace, str(_deep(item, "spec", "queueName")))
    queue = str(admitted_by) if admitted_by is not None else book.doors.get(door, "")
    if all(known.name != queue for known in book.setup.queues):
        where = f"cluster queue '{queue}'" if queue else f"local queue '{door[1]}' of namespace '{door[0]}'"
        item.problems.warning("no-queue", item.path, f"workload '{namespace}/{name}': {where} is not of this stack")
        return
    pods = _admitted_pods(item) if holds else _pods(item)
    if pods is None:
        return
    job = Job(name=f"{namespace}/{name}", queue=queue, priority=_priority(item), pod_sets=tuple(pods))
    created = str(_deep(item, "metadata", "creationTimestamp") or "")
    if not holds:
        yield Standing(job, _owner(item) or name, created)
        return
    flavors = tuple(_flavors(each) for each in _assignments(item))
    yield Standing(job, _owner(item) or name, created, conditions["QuotaReserved"], "Admitted" in conditions, flavors)


def _pods(item: At) -> list[PodSet] | None:
    """Pod sets as they are asked for."""
    sets: list[PodSet] = []
    listed = item.under("spec", {}).under("podSets", _deep(item, "spec", "podSets"))
    for each in listed.items("a list of pod sets") or ():
        found = each.entries("a pod set")
        if found is None or not {"name", "count", "template"} <= found.keys():
            each.fault("missing-key", "'name', 'count' or 'template' is missing; write all of what kubectl printed")
            return None
        count, name = found["count"].whole("a whole number of pods", 0), found["name"].text("a name")
        pods = pod_set(found["template"], name, count) if name and count is not None else None
        if pods is None:
            return None
        sets.append(counted(pods))
    return sets


def _admitted_pods(item: At) -> list[PodSet]:
    """Pod sets as they were admitted: what each uses in all, as one."""
    return [PodSet(name=str(each.get("name")), count=1, requests=_usage(each)) for each in _assignments(item)]


def _usage(assignment: dict[str, object]) -> dict[str, int]:
    usage = as_mapping(assignment.get("resourceUsage"))
    return {resource: amount(resource, written) or 0 for resource, written in usage.items()}


def _flavors(assignment: dict[str, object]) -> dict[str, str]:
    return {resource: str(flavor) for resource, flavor in as_mapping(assignment.get("flavors")).items()}


def _assignments(item: At) -> list[dict[str, object]]:
    return [as_mapping(each) for each in as_list(_deep(item, "status", "admission", "podSetAssignments"))]


def _conditions(item: At) -> dict[str, str]:
    """The conditions that are true, and since when."""
    found = [as_mapping(each) for each in as_list(_deep(item, "status", "conditions"))]
    return {str(c.get("type")): str(c.get("lastTransitionTime", "")) for c in found if c.get("status") == "True"}


def _priority(item: At) -> int:
    priority = _deep(item, "spec", "priority")
    return priority if isinstance(priority, int) else 0


def _owner(item: At) -> str | None:
    """The name of the job that the workload is of."""
    owners = as_list(_deep(item, "metadata", "ownerReferences"))
    name = deep(owners[0], "name") if owners else None
    return str(name) if name is not None else None


def _deep(item: At, *keys: str) -> object:
    return deep(item.value, *keys)
