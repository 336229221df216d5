"""Jobs from Kubernetes manifests: pods and what they request, the queue they go to, their priority.

Rules are those of Kueue's integrations (v0.19): a Job counts min(parallelism, completions) pods, a JobSet that many for
each replica, a PyTorchJob its replicas; a pod counts as the scheduler counts it (`pods.py`). A job is counted whole:
partial admission and topology requests are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stacks.admission.book import Book
from stacks.admission.model import Job, PodSet
from stacks.admission.pods import pod_set, pod_spec
from stacks.admission.values import At, as_mapping, deep
from stacks.problems import near_miss, quoted

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MANY = 6
"""More names than one reads in a message."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that arrives: `job.name` is unique in a run, `shown` is what its owner calls it."""

    job: Job
    shown: str


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of job: its API version, and how its pod sets are found under `spec`."""

    version: str
    pod_sets: Callable[[At], list[PodSet] | None]
    templates: Callable[[At], Iterator[At]]

    @property
    def group(self) -> str:
        """The API group."""
        return self.version.rpartition("/")[0]


def arrivals(manifest: At, book: Book) -> Iterator[Arrival]:
    """The jobs of one manifest, a `List` of them included; what is no job is passed over. Faults go to its problems."""
    if deep(manifest.value, "kind") == "List":
        for item in manifest.under("items", deep(manifest.value, "items")).items("a list of objects") or ():
            yield from arrivals(item, book)
        return
    found = manifest.entries("a Kubernetes object")
    if found is None:
        return
    name = (
        found["kind"].text("a kind") if "kind" in found else manifest.fault("no-kind", "no 'kind': is it a manifest?")
    )
    if name is None or not _is_job(manifest, found, name):
        return
    arrival = _arrival(manifest, found, _KINDS[name], book)
    if arrival is not None:
        yield arrival


def _is_job(manifest: At, found: dict[str, At], kind: str) -> bool:
    """Whether the object is a job that is understood here. One that queues and is not understood is a fault."""
    group = str(found["apiVersion"].value).rpartition("/")[0] if "apiVersion" in found else ""
    known = _KINDS.get(kind)
    if known is not None and known.group == group:
        return True
    if known is not None and not group and known.group and "apiVersion" in found:
        found["apiVersion"].fault("bad-value", f"'{found['apiVersion'].value}' has no {kind}; write {known.version}")
    elif QUEUE_NAME in _map(found.get("metadata"), "labels"):
        remedy = "describe it in a scenario file by its pods and requests"
        manifest.fault("unknown-kind", f"'{kind}' is not understood; {quoted(_KINDS)} are: {remedy}")
    return False


def _arrival(manifest: At, found: dict[str, At], kind: _Kind, book: Book) -> Arrival | None:
    metadata = found.get("metadata", manifest.under("metadata", {})).entries("an object's metadata")
    spec = found.get("spec")
    if metadata is None or spec is None or spec.entries("a job's spec") is None:
        if spec is None:
            manifest.fault("missing-key", "'spec' is missing; write it")
        return None
    written = metadata.get("name") or metadata.get("generateName")
    if written is None:
        manifest.fault("missing-key", "'metadata.name' is missing; write it")
        return None
    name = written.text("a name")
    namespace = str(metadata["namespace"].value) if "namespace" in metadata else "default"
    queue = _queue(found["metadata"], namespace, book)
    priority = _priority(found["metadata"], kind, spec, book)
    pods = kind.pod_sets(spec)
    if name is None or queue is None or priority is None or pods is None:
        return None
    return Arrival(Job(name=f"{namespace}/{name}", queue=queue, priority=priority, pod_sets=tuple(pods)), name)


# --- which queue, which priority --------------------------------------------------------------------------------------


def _queue(metadata: At, namespace: str, book: Book) -> str | None:
    """The cluster queue behind the local queue that the object names (or that is named `default`)."""
    labels = _map(metadata, "labels")
    local = labels.get(QUEUE_NAME)
    if local is None and QUEUE_NAME in _map(metadata, "annotations"):
        message = (
            f"the queue is named in an annotation; Kueue reads the label {QUEUE_NAME}: the job would start at once"
        )
        metadata.fault("no-queue", message)
        return None
    if local is None and (namespace, "default") not in book.doors:
        message = f"names no queue, so Kueue would let it start at once; write the label {QUEUE_NAME}"
        metadata.fault("no-queue", message)
        return None
    door = (namespace, "default" if local is None else str(local))
    if door not in book.doors:
        path = metadata.under("labels", labels).under(QUEUE_NAME, local)
        path.fault("no-queue", f"no local queue '{door[1]}' in namespace '{namespace}'{_doors(door, book)}")
        return None
    return book.doors[door]


def _doors(door: tuple[str, str], book: Book) -> str:
    """What was meant, or what there is."""
    here = sorted(name for namespace, name in book.doors if namespace == door[0])
    if not here:
        known = sorted({namespace for namespace, _ in book.doors})
        return f"; local queues are in {quoted(known[:MANY])}" if known else ""
    return near_miss(door[1], here) or f"; there is {quoted(here[:MANY])}"


def _priority(metadata: At, kind: _Kind, spec: At, book: Book) -> int | None:
    """The value of the label's class, else of the first pod template's, else the default."""
    label = _map(metadata, "labels").get(PRIORITY_CLASS)
    if label is not None:
        return _value_of(metadata.under("labels", {}).under(PRIORITY_CLASS, label), book)
    for template in kind.templates(spec):
        named = (pod_spec(template) or {}).get("priorityClassName")
        if named is not None and named.value:
            return _value_of(named, book)
    return book.default


def _value_of(named: At, book: Book) -> int | None:
    name = str(named.value)
    if name in book.priorities:
        return book.priorities[name]
    known = sorted(book.priorities)
    there = near_miss(name, known) or (f"; there is {quoted(known[:MANY])}" if known else "")
    named.fault("no-priority", f"no priority '{name}'{there}")
    return None


def _map(of: At | None, key: str) -> dict[str, object]:
    """A mapping inside a mapping; empty where there is none."""
    return as_mapping(deep(of.value, key)) if of is not None else {}


# --- kinds ------------------------------------------------------------------------------------------------------------


def _templates_of_job(spec: At) -> Iterator[At]:
    found = spec.entries("a job's spec") or {}
    if "template" in found:
        yield found["template"]


def _templates_of_job_set(spec: At) -> Iterator[At]:
    for job in _listed(spec, "replicatedJobs"):
        inner = (job.entries("a replicated job") or {}).get("template")
        if inner is not None:
            yield from _templates_of_job((inner.entries("a job template") or {}).get("spec", inner.under("spec", {})))


def _templates_of_pytorch(spec: At) -> Iterator[At]:
    for _, replica in _replicas(spec):
        found = replica.entries("a replica") or {}
        if "template" in found:
            yield found["template"]


def _templates_of_pod(spec: At) -> Iterator[At]:
    yield spec.under("", {"spec": spec.value})


def _job(spec: At) -> list[PodSet] | None:
    return _whole([_pods_of_job(spec, "main", 1)])


def _job_set(spec: At) -> list[PodSet] | None:
    sets: list[PodSet | None] = []
    for job in _listed(spec, "replicatedJobs"):
        found = job.keys(("name", "template"), ("replicas", "groupName", "dependsOn"))
        inner = found["template"].entries("a job template") if found else None
        if found is None or inner is None or "spec" not in inner:
            return None
        replicas = found["replicas"].whole("a whole number of replicas from 0", 0) if "replicas" in found else 1
        name = found["name"].text("a name")
        sets.append(_pods_of_job(inner["spec"], name, replicas) if name and replicas is not None else None)
    if not sets:
        spec.fault("missing-key", "'replicatedJobs' is missing or empty; write at least one")
    return _whole(sets) if sets else None


def _pytorch(spec: At) -> list[PodSet] | None:
    sets: list[PodSet | None] = []
    for role, replica in _replicas(spec):
        found = replica.entries("a replica") or {}
        count = found["replicas"].whole("a whole number of replicas from 0", 0) if "replicas" in found else 1
        if "template" not in found:
            replica.fault("missing-key", "'template' is missing; write it")
            return None
        sets.append(pod_set(found["template"], role.lower(), count) if count is not None else None)
    if not sets:
        spec.fault("missing-key", "'pytorchReplicaSpecs' is missing or empty; write Master or Worker")
    return _whole(sets) if sets else None


def _pod(spec: At) -> list[PodSet] | None:
    return _whole([pod_set(next(_templates_of_pod(spec)), "main", 1)])


def _pods_of_job(spec: At, name: str, replicas: int) -> PodSet | None:
    found = spec.entries("a job's spec")
    if found is None:
        return None
    counts = [_count(found.get(key)) for key in ("parallelism", "completions")]
    if None in counts:
        return None
    if "template" not in found:
        spec.fault("missing-key", "'template' is missing; write it")
        return None
    parallelism, completions = (count for count in counts if count is not None)
    pods = 1 if parallelism < 0 else parallelism
    return pod_set(found["template"], name, replicas * (min(pods, completions) if completions >= 0 else pods))


def _count(of: At | None) -> int | None:
    """A number of pods, -1 where none is written."""
    return -1 if of is None or of.value is None else of.whole("a whole number of pods from 0", 0)


def _replicas(spec: At) -> Iterator[tuple[str, At]]:
    """The master before the workers, as Kueue orders them."""
    found = (spec.entries("a job's spec") or {}).get("pytorchReplicaSpecs")
    roles = (found.entries("a mapping of Master and Worker") or {}) if found else {}
    yield from ((role, roles[role]) for role in ("Master", "Worker") if role in roles)


def _listed(spec: At, key: str) -> list[At]:
    found = (spec.entries("a spec") or {}).get(key)
    return (found.items("a list") or []) if found else []


def _whole(sets: list[PodSet | None]) -> list[PodSet] | None:
    found = [each for each in sets if each is not None]
    return found if len(found) == len(sets) else None


_KINDS = {
    "Job": _Kind("batch/v1", _job, _templates_of_job),
    "JobSet": _Kind("jobset.x-k8s.io/v1alpha2", _job_set, _templates_of_job_set),
    "PyTorchJob": _Kind("kubeflow.org/v1", _pytorch, _templates_of_pytorch),
    "Pod": _Kind("v1", _pod, _templates_of_pod),
}
