"""Jobs in Kubernetes manifests, as Kueue's integrations (v0.19) read them: their pods, queue label and priority class.

A Job counts min(parallelism, completions) pods, a JobSet that many for each replica, a PyTorchJob its replicas; a pod
counts as the scheduler counts it (`pods.py`). What a file lacks or has wrong becomes a fault at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from berth.diagnostics import quoted
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import pod_set, pod_spec
from berth.jobs.values import At, as_mapping, deep

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
_POLICY = ("spec", "runPolicy", "schedulingPolicy", "priorityClass")


class JobManifest(Struct, frozen=True):
    """One job as its manifest has it.

    `at` is the whole object, `metadata` and `templates` (of pods, in Kueue's order) are places in it.
    `pod_sets` is None where a fault was found in them.
    """

    kind: str
    name: str
    namespace: str
    at: At
    metadata: At
    templates: tuple[At, ...]
    pod_sets: tuple[PodSet, ...] | None

    @property
    def labels(self) -> Mapping[str, object]:
        """Its labels; empty without any."""
        return as_mapping(deep(self.metadata.value, "labels"))

    @property
    def annotations(self) -> Mapping[str, object]:
        """Its annotations; empty without any."""
        return as_mapping(deep(self.metadata.value, "annotations"))

    def label(self, name: str) -> At:
        """A label, and where it stands."""
        return self.metadata.under("labels", self.labels).under(name, self.labels.get(name))

    @property
    def priority_class(self) -> At | None:
        """Where its priority class is named: Kueue's label, a PyTorchJob's policy, or the first pod template."""
        if PRIORITY_CLASS in self.labels:
            return self.label(PRIORITY_CLASS)
        policy = deep(self.at.value, *_POLICY) if self.kind == "PyTorchJob" else None
        if policy:
            return At(policy, (*self.at.path, *_POLICY), self.at.problems)
        named = ((pod_spec(template) or {}).get("priorityClassName") for template in self.templates)
        return next((each for each in named if each is not None and each.value), None)


class _Kind(Struct, frozen=True):
    """A kind of job: its API version, and how its pod sets and pod templates are found under `spec`."""

    version: str
    pod_sets: Callable[[At], list[PodSet] | None]
    templates: Callable[[At], Iterator[At]]

    @property
    def group(self) -> str:
        """The API group."""
        return self.version.rpartition("/")[0]


def jobs_in(manifest: At) -> Iterator[JobManifest]:
    """The jobs of one manifest, a `List` of them included; what is no job is passed over, unless it names a queue."""
    if deep(manifest.value, "kind") == "List":
        for item in manifest.under("items", deep(manifest.value, "items")).items("a list of objects") or ():
            yield from jobs_in(item)
        return
    found = manifest.entries("a Kubernetes object")
    if found is None:
        return
    if "kind" not in found:
        manifest.fault("no-kind", "no 'kind': is it a manifest?")
        return
    kind = found["kind"].text("a kind")
    if kind is not None and _is_job(manifest, found, kind):
        yield from _job_manifest(manifest, found, kind)


def _is_job(manifest: At, found: dict[str, At], kind: str) -> bool:
    """Whether the object is a job that is understood here. One that queues and is not understood is a fault."""
    group = str(found["apiVersion"].value).rpartition("/")[0] if "apiVersion" in found else ""
    known = _KINDS.get(kind)
    if known is not None and known.group == group:
        return True
    if known is not None and not group and known.group and "apiVersion" in found:
        found["apiVersion"].fault("bad-value", f"'{found['apiVersion'].value}' has no {kind}; write {known.version}")
    elif QUEUE_NAME in as_mapping(deep(manifest.value, "metadata", "labels")):
        remedy = "describe it in a scenario file by its pods and requests"
        what = f"'{kind}' is not understood; {quoted(_KINDS)} are"
        if known is not None and "apiVersion" in found:
            what = f"'{kind}' of '{found['apiVersion'].value}' is not understood; that of '{known.version}' is"
        manifest.fault("unknown-kind", f"{what}: {remedy}")
    return False


def _job_manifest(manifest: At, found: dict[str, At], kind: str) -> Iterator[JobManifest]:
    metadata = found.get("metadata", manifest.under("metadata", {}))
    said, spec = metadata.entries("an object's metadata"), found.get("spec")
    if spec is None:
        manifest.fault("missing-key", "'spec' is missing; write it")
    if said is None or spec is None or spec.entries("a job's spec") is None:
        return
    written = said.get("name") or said.get("generateName")
    if written is None:
        manifest.fault("missing-key", "'metadata.name' is missing; write it")
        return
    name = written.text("a name")
    if name is None:
        return
    pods = _KINDS[kind].pod_sets(spec)
    yield JobManifest(
        kind=kind,
        name=name,
        namespace=str(said["namespace"].value) if "namespace" in said else "default",
        at=manifest,
        metadata=metadata,
        templates=tuple(_KINDS[kind].templates(spec)),
        pod_sets=None if pods is None else tuple(pods),
    )


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
        if found is None or inner is None:
            return None
        if "spec" not in inner:
            found["template"].fault("missing-key", "'spec' is missing; write it")
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
