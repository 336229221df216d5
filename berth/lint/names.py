"""Whether the names that are made of a job's name exist: child jobs, pods, services."""

from __future__ import annotations

from berth.jobs.job_manifests import JobManifest
from berth.jobs.pod_set import PodSet
from berth.jobs.values import as_list, as_mapping, deep
from berth.names import LABEL, is_dns_1035_label, is_subdomain, shorten
from berth.workloads import names

_RANDOM = 5
"""Letters that Kubernetes adds to a `generateName`."""
_SERVICES = ("JobSet", "PyTorchJob")
"""Kinds whose names become those of services."""


def named(job: JobManifest, pod_sets: tuple[PodSet, ...]) -> None:
    """Report a name that is too long, or none."""
    made_up = "name" not in as_mapping(job.metadata.value)
    at = job.metadata.under("generateName" if made_up else "name", job.name)
    longest = min(_longest(job, pod_sets)) - (_RANDOM if made_up else 0)
    if not _is_name(job, made_up):
        first = ", a letter first" if job.kind in _SERVICES else ""
        at.fault("bad-name", f"'{job.name}' is no name for a {job.kind}: lower-case letters, digits and '-'{first}")
    elif len(job.name) > longest:
        message = f"'{job.name}' has {len(job.name)} characters; names made of it fit into 63 with at most {longest}"
        remedy = f"; '{shorten(job.name, longest)}' would do" if longest >= 8 else ""
        at.fault("long-name", message + remedy)


def _is_name(job: JobManifest, made_up: bool) -> bool:
    """Whether the letters are right, with one that Kubernetes adds to a made-up name; length is another matter."""
    name = f"{job.name}x" if made_up else job.name
    if job.kind in _SERVICES:
        return is_dns_1035_label(name if len(name) <= LABEL else f"{name[: LABEL - 1]}x")
    return is_subdomain(name)


def _longest(job: JobManifest, pod_sets: tuple[PodSet, ...]) -> list[int]:
    match job.kind:
        case "JobSet":
            return [
                names.job_set(each.name, replicas, each.count // replicas if replicas else 0)
                for each, replicas in zip(pod_sets, replicas_of(job), strict=True)
            ]
        case "PyTorchJob":
            return [names.pytorch_job(max(each.count for each in pod_sets))]
        case "Job":
            indexed = deep(job.at.value, "spec", "completionMode") == "Indexed"
            return [names.job(pod_sets[0].count if indexed else 1)]
        case _:
            return [253]


def replicas_of(job: JobManifest) -> list[int]:
    """The child jobs of each pod set; one where there are no child jobs."""
    if job.kind != "JobSet":
        return [1] * len(job.templates)
    jobs = as_list(deep(job.at.value, "spec", "replicatedJobs"))
    found = [as_mapping(each).get("replicas", 1) for each in jobs]
    return [each if isinstance(each, int) else 1 for each in found]
