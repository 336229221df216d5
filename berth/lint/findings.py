"""Findings for each object of a file: the quota it would use, or why it can never run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import Problem, Problems, Severity, format_path, join_words
from berth.jobs.files import ManifestDocument
from berth.jobs.job_manifests import JobManifest, read_jobs
from berth.jobs.namespaces import KnownObjects, NamespaceDefaults, in_namespace, namespace_defaults
from berth.jobs.pod_groups import PodGroups
from berth.jobs.values import get_nested
from berth.jobs.volume_zones import VolumeZones
from berth.lint import dws, local_queues, machines
from berth.lint.admission import check_admission
from berth.lint.around_pods.checkpoints import check_checkpoint_volumes, check_checkpoints
from berth.lint.around_pods.claims import check_claims, check_networks
from berth.lint.around_pods.dynamic_slices import check_dynamic_slices
from berth.lint.around_pods.rollouts import check_claimed_volumes, check_rollout, warn_of_late_volumes
from berth.lint.around_pods.storage import check_fuse_caches
from berth.lint.around_pods.surroundings import check_surroundings
from berth.lint.fleet import LintContext, SubmittedJob
from berth.lint.job_rules import (
    check_equal_completions,
    check_least,
    check_manager,
    check_name,
    check_pod_group,
    check_refusals,
    check_run_time,
)
from berth.lint.likely_queue import LikelyQueue, check_unqueued, likely_queue
from berth.lint.pod_rules import check_limits, check_pod_rules
from berth.lint.provisioning_requests import PROVISIONING_REQUEST, check_request
from berth.lint.queue_policies import check_pod_security
from berth.lint.quota import NO_ADMISSION, TrialAdmission, try_admission
from berth.lint.validity.jobs import check_validity
from berth.manifests.workloads.values import as_list
from berth.plan.teams import TeamPlan

_MANIFEST_CODES = {"missing-key", "bad-value", "bad-quantity", "unknown-key", "no-kind"}
"""Codes of faults in the manifest itself; their path already names the object."""

_NO_KIND = "object"

_UNKNOWN_CODES = {"not-checked", "kind-unknown", "held", "no-queue", "pod-group"}
"""Codes of warnings that leave open whether a job runs: pods not read or missing, a held queue, no queue."""


class Verdict(StrEnum):
    """Whether a job runs on the fleet as it is declared."""

    RUNS = "runs"
    NEVER = "never"
    UNKNOWN = "unknown"
    """It turns on something that the stack file and the manifest do not say."""


class Finding(Struct, frozen=True):
    """The findings for one object of `file`.

    `location` is its first line, `queue` is `team/queue` if its queue is known.

    `admission` is the quota of each of its `workloads` (`16 v5e chips of v5e`), "" if it cannot run. `flavors` are
    those that Kueue chooses on an empty fleet, by pod set, whether the pods then run or not. `problems` have places;
    their paths start at the document.
    """

    kind: str
    name: str
    namespace: str
    location: str
    queue: str
    admission: str
    problems: tuple[Problem, ...]
    workloads: int = 1
    file: str = ""
    flavors: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def faults(self) -> tuple[Problem, ...]:
        """The problems that prevent it from being admitted and run."""
        return tuple(each for each in self.problems if each.severity == Severity.FAULT)

    @property
    def verdict(self) -> Verdict:
        """Whether it runs: never with a fault, unknown with a warning about something that decides and is not known."""
        if self.faults:
            return Verdict.NEVER
        return Verdict.UNKNOWN if self._unknowns else Verdict.RUNS

    @property
    def _unknowns(self) -> tuple[Problem, ...]:
        return tuple(each for each in self.problems if each.is_unknown or each.code in _UNKNOWN_CODES)

    @property
    def reasons(self) -> tuple[Problem, ...]:
        """The problems that the verdict rests on: all faults, or else all that is not known."""
        return self.faults or self._unknowns

    @property
    def object_name(self) -> str:
        """`JobSet/slices`."""
        return "/".join(filter(None, (self.kind, self.name)))

    def named_problems(self) -> Iterator[Problem]:
        """Yield the problems with the name of the object, as a person reads them."""
        subject = f"{self.object_name}: " if self.object_name != _NO_KIND else ""
        for each in self.problems:
            path = f"{format_path(each.path)}: " if each.code in _MANIFEST_CODES and each.path else ""
            yield replace(each, path=(), message=f"{subject}{path}{each.message}")


def combined_verdict(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict on several objects together: the worst of theirs."""
    found = {each.verdict for each in findings}
    return next((each for each in (Verdict.NEVER, Verdict.UNKNOWN) if each in found), Verdict.RUNS)


def lint_documents(
    documents: Iterable[ManifestDocument],
    context: LintContext,
    team: TeamPlan | None = None,
    beside: Iterable[ManifestDocument] = (),
) -> Iterator[Finding]:
    """Yield one finding for each job and each ProvisioningRequest; other objects are skipped.

    Objects without a namespace get that of `team`. `beside` are objects that the jobs find in their namespace.
    """
    all_documents = list(documents)
    defaults = namespace_defaults(context.plan, team.namespace if team is not None else "default")
    groups = PodGroups(all_documents, defaults)
    around = [in_namespace(each, defaults.namespace) for each in (*all_documents, *beside)]
    context.claims, context.objects = context.claims.with_documents(around), KnownObjects(around)
    context.volume_zones = VolumeZones(context.objects)
    for document in all_documents:
        for path, value in _objects(document.value):
            if get_nested(value, "kind") == PROVISIONING_REQUEST:
                problems = Problems()
                same_file = [each for each in all_documents if each.file == document.file]
                admission = check_request(document.root_value(problems), path, same_file, context)
                yield _make_finding(document, path, value, Problems(list(problems.entries)), admission=admission)
        problems = Problems()
        yield from _lint_jobs(document, problems, context, team, groups, defaults)


def _objects(value: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Yield the objects of a document with their paths, also those in a List."""
    if get_nested(value, "kind") != "List":
        yield (), value
        return
    for index, item in enumerate(as_list(get_nested(value, "items"))):
        yield ("items", index), item


def _lint_jobs(
    document: ManifestDocument,
    problems: Problems,
    context: LintContext,
    team: TeamPlan | None,
    groups: PodGroups,
    defaults: NamespaceDefaults,
) -> Iterator[Finding]:
    for job in read_jobs(document.root_value(problems), defaults):
        read_problems = list(problems.entries)
        problems.entries.clear()
        submitted = context.volume_zones.on_job(context.claims.with_devices(groups.join(job)))
        queue_name, trial = _check_job(context, submitted, team)
        problems.entries[:0] = read_problems
        check_validity(submitted)
        job_problems = Problems(list(problems.entries))
        problems.entries.clear()
        yield _make_finding(
            document,
            job.source.path,
            job.source.value,
            job_problems,
            queue=queue_name,
            admission=trial.text,
            namespace=job.namespace,
            workloads=job.workloads,
            flavors=trial.flavors,
        )
    for problem in problems.entries:
        path = problem.path[:2] if problem.path[:1] == ("items",) else ()
        value = get_nested(document.value) if not path else as_list(get_nested(document.value, "items"))[int(path[1])]
        yield _make_finding(document, path, value, Problems([problem]))


def _check_job(context: LintContext, job: JobManifest, team: TeamPlan | None) -> tuple[str, TrialAdmission]:
    """Check a job; return its queue's display name and what an empty fleet gives it. Faults go to its problems."""
    problems = job.source.problems
    if team is not None and job.namespace not in (own := [each.name for each in team.namespaces]):
        source = job.metadata.child("namespace", job.namespace)
        source.fault(
            "other-namespace", f"'{job.namespace}' is not a namespace of team '{team.name}'; write {join_words(own)}"
        )
        job = replace(job, namespace=team.namespace)
    local_queues.check_operator(context, job)
    is_queued = not check_unqueued(context, job) and local_queues.is_queued(context, job)
    check_refusals(context, job, is_queued=is_queued)
    if not is_queued:
        return "", NO_ADMISSION
    if job.pod_sets:
        check_name(job, job.pod_sets)
    check_pod_group(job)
    local_queue = local_queues.resolve_local_queue(context, job)
    # Without a valid queue, the rest is checked for the queue that the job is meant for.
    likely = likely_queue(context, job) if local_queue is None else LikelyQueue(local_queue, is_only=True)
    if likely is None:
        return "", NO_ADMISSION
    submitted = SubmittedJob(context, job, likely.local_queue, context.queues[likely.local_queue.cluster_queue])
    if local_queue is not None:
        local_queues.warn_if_held(submitted)
    check_pod_security(submitted)
    check_admission(submitted)
    check_least(submitted)
    check_equal_completions(submitted)
    check_manager(submitted)
    check_run_time(submitted)
    if not likely.is_only:
        check_limits(submitted)
        if job.pod_sets:
            check_surroundings(submitted)
        return "", NO_ADMISSION
    check_pod_rules(submitted)
    local_queues.check_priority(submitted)
    local_queues.warn_if_unread(submitted)
    if not job.pod_sets:
        return submitted.queue_name, NO_ADMISSION
    check_claims(submitted)
    check_networks(submitted)
    check_dynamic_slices(submitted)
    check_surroundings(submitted)
    check_checkpoint_volumes(submitted)
    check_fuse_caches(submitted)
    warn_of_late_volumes(submitted)
    check_claimed_volumes(submitted)
    faults_before = _count_faults(problems)
    machines.check_node_shapes(submitted)
    is_shaped = _count_faults(problems) == faults_before
    trial = try_admission(submitted, is_shaped=is_shaped)
    if trial is not None and is_shaped:
        machines.check_assigned_flavors(submitted, trial.flavors)
        check_checkpoints(submitted, trial.flavors.values())
        check_rollout(submitted)
    dws.check_queued_pods(submitted)
    return submitted.queue_name if local_queue is not None else "", trial or NO_ADMISSION


def _count_faults(problems: Problems) -> int:
    return sum(each.severity == Severity.FAULT for each in problems.entries)


def _make_finding(
    document: ManifestDocument,
    path: tuple[str | int, ...],
    value: object,
    problems: Problems,
    *,
    queue: str = "",
    admission: str = "",
    namespace: str = "",
    workloads: int = 1,
    flavors: Mapping[str, str] = MappingProxyType({}),
) -> Finding:
    located = [each if each.place else each.with_place(document.exact_location(each.path)) for each in problems.entries]
    has_faults = any(each.severity == Severity.FAULT for each in located)
    names = (get_nested(value, "metadata", key) for key in ("name", "generateName"))
    return Finding(
        kind=str(get_nested(value, "kind") or _NO_KIND),
        name=next((name for name in names if isinstance(name, str)), ""),
        namespace=namespace or str(get_nested(value, "metadata", "namespace") or "default"),
        location=document.location(path),
        queue=queue,
        admission="" if has_faults else admission,
        problems=tuple(located),
        workloads=workloads,
        file=document.file,
        flavors=flavors,
    )
