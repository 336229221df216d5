"""Jobs in Kubernetes manifests, as Kueue's integrations (v0.19) read them: their pods, queue label and priority class.

A Job counts min(parallelism, completions) pods, a JobSet that many for each replica, a PyTorchJob its replicas; a pod
counts as the scheduler counts it (`pods.py`). What a file lacks or has wrong becomes a fault at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from berth.diagnostics import join_quoted
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import build_pod_set, pod_spec
from berth.jobs.values import SourceValue, as_mapping, get_nested

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
_PYTORCH_POLICY_PATH = ("spec", "runPolicy", "schedulingPolicy", "priorityClass")


class JobManifest(Struct, frozen=True):
    """One job as its manifest has it.

    `at` is the whole object, `metadata` and `templates` (of pods, in Kueue's order) are places in it.
    `pod_sets` is None where a fault was found in them.
    """

    kind: str
    name: str
    namespace: str
    source: SourceValue
    metadata: SourceValue
    templates: tuple[SourceValue, ...]
    pod_sets: tuple[PodSet, ...] | None

    @property
    def labels(self) -> Mapping[str, object]:
        """Its labels; empty without any."""
        return as_mapping(get_nested(self.metadata.value, "labels"))

    @property
    def annotations(self) -> Mapping[str, object]:
        """Its annotations; empty without any."""
        return as_mapping(get_nested(self.metadata.value, "annotations"))

    def label(self, name: str) -> SourceValue:
        """A label, and where it stands."""
        return self.metadata.child("labels", self.labels).child(name, self.labels.get(name))

    @property
    def priority_class(self) -> SourceValue | None:
        """Where its priority class is named: Kueue's label, a PyTorchJob's policy, or the first pod template."""
        if PRIORITY_CLASS in self.labels:
            return self.label(PRIORITY_CLASS)
        policy = get_nested(self.source.value, *_PYTORCH_POLICY_PATH) if self.kind == "PyTorchJob" else None
        if policy:
            return SourceValue(policy, (*self.source.path, *_PYTORCH_POLICY_PATH), self.source.problems)
        class_names = ((pod_spec(template) or {}).get("priorityClassName") for template in self.templates)
        return next((each for each in class_names if each is not None and each.value), None)


class _JobKind(Struct, frozen=True):
    """A kind of job: its API version, and how its pod sets and pod templates are found under `spec`."""

    version: str
    pod_sets: Callable[[SourceValue], list[PodSet] | None]
    templates: Callable[[SourceValue], Iterator[SourceValue]]

    @property
    def group(self) -> str:
        """The API group."""
        return self.version.rpartition("/")[0]


def read_jobs(manifest: SourceValue) -> Iterator[JobManifest]:
    """The jobs of one manifest, a `List` of them included; what is no job is passed over, unless it names a queue."""
    if get_nested(manifest.value, "kind") == "List":
        for item in manifest.child("items", get_nested(manifest.value, "items")).sequence("a list of objects") or ():
            yield from read_jobs(item)
        return
    fields = manifest.mapping("a Kubernetes object")
    if fields is None:
        return
    if "kind" not in fields:
        manifest.fault("no-kind", "no 'kind': is it a manifest?")
        return
    kind = fields["kind"].text("a kind")
    if kind is not None and _is_job(manifest, fields, kind):
        yield from _read_job(manifest, fields, kind)


def _is_job(manifest: SourceValue, fields: dict[str, SourceValue], kind: str) -> bool:
    """Whether the object is a job that is understood here. One that queues and is not understood is a fault."""
    group = str(fields["apiVersion"].value).rpartition("/")[0] if "apiVersion" in fields else ""
    known = _KINDS.get(kind)
    if known is not None and known.group == group:
        return True
    if known is not None and not group and known.group and "apiVersion" in fields:
        fields["apiVersion"].fault("bad-value", f"'{fields['apiVersion'].value}' has no {kind}; write {known.version}")
    elif QUEUE_NAME in as_mapping(get_nested(manifest.value, "metadata", "labels")):
        remedy = "describe it in a scenario file by its pods and requests"
        problem = f"'{kind}' is not understood; {join_quoted(_KINDS)} are"
        if known is not None and "apiVersion" in fields:
            problem = f"'{kind}' of '{fields['apiVersion'].value}' is not understood; that of '{known.version}' is"
        manifest.fault("unknown-kind", f"{problem}: {remedy}")
    return False


def _read_job(manifest: SourceValue, fields: dict[str, SourceValue], kind: str) -> Iterator[JobManifest]:
    metadata = fields.get("metadata", manifest.child("metadata", {}))
    metadata_fields, spec = metadata.mapping("an object's metadata"), fields.get("spec")
    if spec is None:
        manifest.fault("missing-key", "'spec' is missing; write it")
    if metadata_fields is None or spec is None or spec.mapping("a job's spec") is None:
        return
    name_value = metadata_fields.get("name") or metadata_fields.get("generateName")
    if name_value is None:
        manifest.fault("missing-key", "'metadata.name' is missing; write it")
        return
    name = name_value.text("a name")
    if name is None:
        return
    pod_sets = _KINDS[kind].pod_sets(spec)
    yield JobManifest(
        kind=kind,
        name=name,
        namespace=str(metadata_fields["namespace"].value) if "namespace" in metadata_fields else "default",
        source=manifest,
        metadata=metadata,
        templates=tuple(_KINDS[kind].templates(spec)),
        pod_sets=None if pod_sets is None else tuple(pod_sets),
    )


# --- kinds ------------------------------------------------------------------------------------------------------------


def _job_templates(spec: SourceValue) -> Iterator[SourceValue]:
    fields = spec.mapping("a job's spec") or {}
    if "template" in fields:
        yield fields["template"]


def _job_set_templates(spec: SourceValue) -> Iterator[SourceValue]:
    for job in _list_field(spec, "replicatedJobs"):
        template = (job.mapping("a replicated job") or {}).get("template")
        if template is not None:
            yield from _job_templates(
                (template.mapping("a job template") or {}).get("spec", template.child("spec", {}))
            )


def _pytorch_templates(spec: SourceValue) -> Iterator[SourceValue]:
    for _, replica in _pytorch_replicas(spec):
        fields = replica.mapping("a replica") or {}
        if "template" in fields:
            yield fields["template"]


def _pod_templates(spec: SourceValue) -> Iterator[SourceValue]:
    yield spec.child("", {"spec": spec.value})


def _job_pod_sets(spec: SourceValue) -> list[PodSet] | None:
    return _all_or_none([_child_job_pod_set(spec, "main", 1)])


def _job_set_pod_sets(spec: SourceValue) -> list[PodSet] | None:
    pod_sets: list[PodSet | None] = []
    for job in _list_field(spec, "replicatedJobs"):
        fields = job.known_fields(("name", "template"), ("replicas", "groupName", "dependsOn"))
        template_fields = fields["template"].mapping("a job template") if fields else None
        if fields is None or template_fields is None:
            return None
        if "spec" not in template_fields:
            fields["template"].fault("missing-key", "'spec' is missing; write it")
            return None
        replicas = fields["replicas"].integer("a whole number of replicas from 0", 0) if "replicas" in fields else 1
        name = fields["name"].text("a name")
        pod_sets.append(
            _child_job_pod_set(template_fields["spec"], name, replicas) if name and replicas is not None else None
        )
    if not pod_sets:
        spec.fault("missing-key", "'replicatedJobs' is missing or empty; write at least one")
    return _all_or_none(pod_sets) if pod_sets else None


def _pytorch_pod_sets(spec: SourceValue) -> list[PodSet] | None:
    pod_sets: list[PodSet | None] = []
    for role, replica in _pytorch_replicas(spec):
        fields = replica.mapping("a replica") or {}
        count = fields["replicas"].integer("a whole number of replicas from 0", 0) if "replicas" in fields else 1
        if "template" not in fields:
            replica.fault("missing-key", "'template' is missing; write it")
            return None
        pod_sets.append(build_pod_set(fields["template"], role.lower(), count) if count is not None else None)
    if not pod_sets:
        spec.fault("missing-key", "'pytorchReplicaSpecs' is missing or empty; write Master or Worker")
    return _all_or_none(pod_sets) if pod_sets else None


def _pod_pod_sets(spec: SourceValue) -> list[PodSet] | None:
    return _all_or_none([build_pod_set(next(_pod_templates(spec)), "main", 1)])


def _child_job_pod_set(spec: SourceValue, name: str, replicas: int) -> PodSet | None:
    fields = spec.mapping("a job's spec")
    if fields is None:
        return None
    counts = [_optional_count(fields.get(key)) for key in ("parallelism", "completions")]
    if None in counts:
        return None
    if "template" not in fields:
        spec.fault("missing-key", "'template' is missing; write it")
        return None
    parallelism, completions = (count for count in counts if count is not None)
    pods = 1 if parallelism < 0 else parallelism
    return build_pod_set(fields["template"], name, replicas * (min(pods, completions) if completions >= 0 else pods))


def _optional_count(source: SourceValue | None) -> int | None:
    """A number of pods, -1 where none is written."""
    return -1 if source is None or source.value is None else source.integer("a whole number of pods from 0", 0)


def _pytorch_replicas(spec: SourceValue) -> Iterator[tuple[str, SourceValue]]:
    """The master before the workers, as Kueue orders them."""
    specs = (spec.mapping("a job's spec") or {}).get("pytorchReplicaSpecs")
    roles = (specs.mapping("a mapping of Master and Worker") or {}) if specs else {}
    yield from ((role, roles[role]) for role in ("Master", "Worker") if role in roles)


def _list_field(spec: SourceValue, key: str) -> list[SourceValue]:
    value = (spec.mapping("a spec") or {}).get(key)
    return (value.sequence("a list") or []) if value else []


def _all_or_none(pod_sets: list[PodSet | None]) -> list[PodSet] | None:
    complete = [each for each in pod_sets if each is not None]
    return complete if len(complete) == len(pod_sets) else None


_KINDS = {
    "Job": _JobKind("batch/v1", _job_pod_sets, _job_templates),
    "JobSet": _JobKind("jobset.x-k8s.io/v1alpha2", _job_set_pod_sets, _job_set_templates),
    "PyTorchJob": _JobKind("kubeflow.org/v1", _pytorch_pod_sets, _pytorch_templates),
    "Pod": _JobKind("v1", _pod_pod_sets, _pod_templates),
}
