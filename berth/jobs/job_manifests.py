"""Jobs in Kubernetes manifests, read as Kueue's integrations (v0.19) do: pods, queue label and priority class.

`kinds.yaml` lists the fields of each kind; `pods.py` computes the requests of a pod. Missing and wrong values become
faults with their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath
from berth.jobs.derived_pods import read_derived
from berth.jobs.gke_webhooks import READ_FRAMEWORKS, with_slice_request
from berth.jobs.kinds import KindRow, kinds, path_keys
from berth.jobs.namespaces import NO_NAMESPACE_DEFAULTS, NamespaceDefaults
from berth.jobs.pod_set import EACH_CHILD, EACH_JOB, EACH_POD, PodSet
from berth.jobs.pod_settings import PodSettings
from berth.jobs.pod_templates import TemplatePods, find, iterate_containers, read_template_pods, read_workload_count
from berth.jobs.pods import NO_DEFAULTS, build_pod_set
from berth.jobs.values import SourceValue, get_nested, inside
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.dynamic_slices import SLICE_TOPOLOGY_ANNOTATION

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
"""Annotation of a Job that Kueue may start with fewer pods (0.19.2 `pkg/controller/jobs/job`)."""
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
_NO_JOBS = ("PodTemplate", "Workload", "TrainingRuntime", "ClusterTrainingRuntime", "LimitRange")
"""Kinds with containers that do not start pods."""
_BUILT_IN_GROUPS = ("", "batch", "apps")
"""Groups of Kubernetes itself: they have no kinds but their own, in one version."""


class JobManifest(Struct, frozen=True):
    """One job of a manifest.

    `source` is the whole object, `metadata` (which carry queue and priority) a place in it, `settings` are the facts of
    its pod templates in Kueue's order. `pod_sets` is None where one of them has a fault. `workloads` is what Kueue
    admits one by one (each Pod of a Deployment), `group` are the pods of its whole pod group, `group_conflict` what its
    members disagree on. `unread` is a clause for what of its
    pods the manifest does not say. `row` is None of a kind that is not in the table. `elsewhere` is the field with
    which the job runs on pods of another object.
    """

    kind: str
    name: str
    namespace: str
    source: SourceValue
    metadata: SourceValue
    settings: tuple[PodSettings, ...]
    pod_sets: tuple[PodSet, ...] | None
    workloads: int = 1
    unread: str = ""
    row: KindRow | None = None
    group: tuple[PodSet, ...] = ()
    group_conflict: str = ""
    elsewhere: str | None = None

    @property
    def labels(self) -> Mapping[str, object]:
        """Its labels; empty without any."""
        return as_mapping(get_nested(self.metadata.value, "labels"))

    @property
    def annotations(self) -> Mapping[str, object]:
        """Its annotations; empty without any."""
        return as_mapping(get_nested(self.metadata.value, "annotations"))

    @property
    def parameters(self) -> SourceValue:
        """The metadata whose annotations Kueue passes to a ProvisioningRequest: those of the pods of a Deployment."""
        path = self.row.parameters if self.row else None
        return self.metadata if path is None else _at(self.source, path)

    def label(self, name: str) -> SourceValue:
        """Return a label, and its place."""
        return self.metadata.child("labels", self.labels).child(name, self.labels.get(name))

    def at(self, path: FieldPath) -> SourceValue:
        """Return what is written at a path of the manifest; None as its value where that is nothing."""
        value = self.source.value
        for step in path[len(self.source.path) :]:
            if isinstance(step, int):
                value = next(iter(as_list(value)[step : step + 1]), None)
            else:
                value = as_mapping(value).get(step)
        return SourceValue(value, path, self.source.problems)

    @property
    def suspend(self) -> SourceValue | None:
        """The field by which Kueue suspends the job; None if it is not set."""
        return find(self.source, self.row.suspend) if self.row and self.row.suspend else None

    @property
    def priority_classes(self) -> list[SourceValue]:
        """Where Kueue looks for a priority class, in its order: its label, the kind's own field, the pod templates."""
        own = [inside(self.source, *path_keys(self.row.priority))] if self.row and self.row.priority else []
        return [self.label(PRIORITY_CLASS), *own, *(each.field("priorityClassName") for each in self.settings)]

    @property
    def priority_class(self) -> SourceValue | None:
        """The priority class: the first that is written; Kueue reads an empty one as none."""
        return next((each for each in self.priority_classes if each.value), None)


def read_jobs(manifest: SourceValue, defaults: NamespaceDefaults = NO_NAMESPACE_DEFAULTS) -> Iterator[JobManifest]:
    """Yield the jobs of one manifest, also those in a `List`.

    An object of an unknown kind is also a job if it names a queue or has containers.
    """
    if get_nested(manifest.value, "kind") == "List":
        for item in manifest.child("items", get_nested(manifest.value, "items")).sequence("a list of objects") or ():
            yield from read_jobs(item, defaults)
        return
    fields = manifest.mapping("a Kubernetes object")
    if fields is None:
        return
    if "kind" not in fields:
        manifest.fault("no-kind", "'kind' is missing; write it")
        return
    kind = fields["kind"].text("a kind")
    if kind is None:
        return
    row = kinds().get(kind)
    group, version = _group(fields), _version(fields)
    if row is not None and row.group == group and version in row.versions:
        yield from _read_job(manifest, fields, kind, row, defaults)
    elif row is not None and group in _BUILT_IN_GROUPS and "apiVersion" in fields and not row.may_serve(group, version):
        fields["apiVersion"].fault(
            "bad-value", f"'{fields['apiVersion'].value}' has no {kind}; write {row.api_version}"
        )
    elif kind not in _NO_JOBS and (
        QUEUE_NAME in as_mapping(get_nested(manifest.value, "metadata", "labels"))
        or any(iterate_containers(manifest.value))
    ):
        yield from _read_other(manifest, fields, kind, row, defaults)


def _version(fields: Mapping[str, SourceValue]) -> str:
    return str(fields["apiVersion"].value).rpartition("/")[2] if "apiVersion" in fields else ""


def _group(fields: Mapping[str, SourceValue]) -> str:
    return str(fields["apiVersion"].value).rpartition("/")[0] if "apiVersion" in fields else ""


def _read_job(
    manifest: SourceValue, fields: dict[str, SourceValue], kind: str, row: KindRow, defaults: NamespaceDefaults
) -> Iterator[JobManifest]:
    if "spec" not in fields:
        manifest.fault("missing-key", "'spec' is missing; write it")
    name = _read_name(manifest, fields)
    if name is None or "spec" not in fields or fields["spec"].mapping("a job's spec") is None:
        return
    job = JobManifest(
        kind=kind,
        name=name,
        namespace=_namespace(fields, defaults),
        source=manifest,
        metadata=_at(manifest, row.metadata),
        settings=(),
        pod_sets=(),
        row=row,
    )
    # Some jobs have no pods of their own, such as a RayJob on an existing RayCluster.
    if row.elsewhere is not None and find(manifest, row.elsewhere) is not None:
        unread = f"the pods of another object, which {row.elsewhere} selects"
        yield replace(job, unread=unread, elsewhere=row.elsewhere)
        return
    groups, unread = read_derived(manifest, row.reader) if row.reader else (read_template_pods(manifest, row.pods), "")
    workloads = read_workload_count(manifest, row.workloads)
    pod_sets = tuple(
        built
        for group in groups or ()
        if (built := _build_pods(job, group, row, defaults)) is not None and group.count is not None
    )
    is_sound = groups is not None and workloads is not None and len(pod_sets) == len(groups)
    yield replace(
        job,
        settings=tuple(PodSettings(each.template) for each in groups or ()),
        pod_sets=pod_sets if is_sound else None,
        workloads=workloads or 0,
        unread=unread,
    )


def _at(manifest: SourceValue, path: str) -> SourceValue:
    """Return the mapping at a path; an empty one where nothing is written."""
    written = find(manifest, path)
    return SourceValue({}, (*manifest.path, *path_keys(path)), manifest.problems) if written is None else written


def _read_name(manifest: SourceValue, fields: dict[str, SourceValue]) -> str | None:
    metadata = fields.get("metadata", manifest.child("metadata", {})).mapping("an object's metadata")
    if metadata is None:
        return None
    name = metadata.get("name") or metadata.get("generateName")
    if name is None:
        manifest.fault("missing-key", "'metadata.name' is missing; write it")
        return None
    return name.text("a name")


def _namespace(fields: dict[str, SourceValue], defaults: NamespaceDefaults) -> str:
    written = get_nested(fields["metadata"].value, "namespace") if "metadata" in fields else None
    return defaults.namespace if written is None else str(written)


_LABEL_WORDS = {"job": EACH_JOB, "child": EACH_CHILD, "pod": EACH_POD}


def _build_pods(job: JobManifest, group: TemplatePods, row: KindRow, defaults: NamespaceDefaults) -> PodSet | None:
    """Return a group's pods with what the job's kind adds to them; None after a fault."""
    values = {**_LABEL_WORDS, "name": job.name, "pod-set": group.name}
    labels = {key: values[word] for key, word in row.labels.items()}
    requests = defaults.requests.get(job.namespace, NO_DEFAULTS)
    pod_set = build_pod_set(group.template, group.name, group.count or 0, requests, labels)
    own = as_mapping(get_nested(job.source.value, "metadata", "annotations"))
    exclusive = {**own, **group.annotations}.get(row.exclusive) if row.exclusive is not None else None
    if pod_set is None:
        return None
    asked = as_mapping(get_nested(group.template.value, "metadata", "annotations")).get(SLICE_TOPOLOGY_ANNOTATION)
    if asked is not None and defaults.slicing is not None and row.framework in READ_FRAMEWORKS:
        pod_set = with_slice_request(pod_set, asked, defaults.slicing)
    least = str(job.annotations.get(MIN_PARALLELISM)) if row.framework == "batch/job" else ""
    return replace(
        pod_set,
        namespace=job.namespace,
        child_jobs=group.replicas,
        exclusive_topology=None if exclusive is None else str(exclusive),
        least=int(least) if least.isdecimal() and 0 < int(least) < pod_set.count else None,
    )


def _read_other(
    manifest: SourceValue, fields: dict[str, SourceValue], kind: str, row: KindRow | None, defaults: NamespaceDefaults
) -> Iterator[JobManifest]:
    """Yield an object of an unknown kind: its namespace, queue and priority, without its pods."""
    name = _read_name(manifest, fields)
    if name is None:
        return
    api_version = str(fields["apiVersion"].value) if "apiVersion" in fields else ""
    what = (
        f"the pods of a {kind}" if row is None else f"the pods of a {kind} of '{api_version}' (not {row.api_version})"
    )
    yield JobManifest(
        kind=kind,
        name=name,
        namespace=_namespace(fields, defaults),
        source=manifest,
        metadata=_at(manifest, row.metadata if row is not None else "metadata"),
        settings=(),
        pod_sets=(),
        unread=what,
    )
