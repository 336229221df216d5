"""Checks of a job's name, from which names of child jobs, pods and services are derived."""

from __future__ import annotations

from berth.jobs.job_manifests import JobManifest
from berth.jobs.pod_set import PodSet
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_mapping
from berth.names import MAX_LABEL, is_dns_1035_label, is_subdomain, shorten
from berth.workloads import names

_SUFFIX_LENGTH = 5
"""Number of characters that Kubernetes appends to a `generateName`."""
_KUBEFLOW = "kubeflow.org"


def check_name(job: JobManifest, pod_sets: tuple[PodSet, ...]) -> None:
    """Report an invalid name, or one that is too long."""
    is_generated = "name" not in as_mapping(job.metadata.value)
    source = job.metadata.child("generateName" if is_generated else "name", job.name)
    longest = min(_name_limits(job, pod_sets)) - (_SUFFIX_LENGTH if is_generated else 0)
    if not _is_name(job, is_generated):
        first = ", starting with a letter" if _names_services(job) else ""
        source.fault(
            "bad-name", f"'{job.name}' is not a valid name of a {job.kind}: lower-case letters, digits and '-'{first}"
        )
    elif len(job.name) > longest:
        message = (
            f"'{job.name}' has {len(job.name)} characters, more than {longest}; names derived from it must fit into 63"
        )
        remedy = f"; write '{shorten(job.name, longest)}'" if longest >= 8 else ""
        source.fault("long-name", message + remedy)


def _is_name(job: JobManifest, is_generated: bool) -> bool:
    """Whether the characters are valid, including the suffix of a generated name; the length is not checked."""
    name = f"{job.name}x" if is_generated else job.name
    if _names_services(job):
        return is_dns_1035_label(name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}x")
    return is_subdomain(name)


def _name_limits(job: JobManifest, pod_sets: tuple[PodSet, ...]) -> list[int]:
    if job.row is not None and job.row.group == _KUBEFLOW and pod_sets:
        return [names.pytorch_name_limit(max(each.count for each in pod_sets))]
    match job.kind:
        case "JobSet":
            return [
                names.job_set_name_limit(each.name, replicas, each.count // replicas if replicas else 0)
                for each, replicas in zip(pod_sets, job.replicas, strict=True)
            ]
        case "Job":
            indexed = get_nested(job.source.value, "spec", "completionMode") == "Indexed"
            return [names.job_name_limit(pod_sets[0].count if indexed else 1)]
        case _:
            return [253]


def _names_services(job: JobManifest) -> bool:
    """Whether a service has the job's name."""
    return job.kind in ("JobSet", "LeaderWorkerSet") or (job.row is not None and job.row.group == _KUBEFLOW)
