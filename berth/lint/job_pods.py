"""The pod sets of a submitted job, with the places of their fields in the manifest."""

from __future__ import annotations

from msgspec import Struct

from berth.jobs.pod_set import FieldSteps, PodSet
from berth.jobs.pod_settings import PodSettings
from berth.jobs.values import SourceValue
from berth.lint.fleet import SubmittedJob


class JobPods(Struct, frozen=True):
    """One pod set of a job, with the other facts of its template."""

    submitted: SubmittedJob
    settings: PodSettings
    pod_set: PodSet

    @property
    def pods_per_replica(self) -> int:
        """The number of pods of one child job, or of all groups if they use slices together."""
        job = self.submitted.job
        if job.row is not None and job.row.together:
            selectors = [(each.node_selector, each.count) for each in job.pod_sets or ()]
            return sum(count for selector, count in selectors if selector == self.pod_set.node_selector)
        return self.pod_set.count // self.pod_set.child_jobs if self.pod_set.child_jobs else 0

    def request_source(self, resource: str) -> SourceValue:
        """Locate the request for a resource; the pod's spec if no container requests it."""
        return self.at(self.pod_set.request_path(resource))

    def at(self, path: FieldSteps) -> SourceValue:
        """Locate a field of the template, without its value."""
        return self.settings.at(path)


def list_job_pods(job: SubmittedJob) -> list[JobPods]:
    """List the pod sets of a job that could be read."""
    pod_sets = job.job.pod_sets or ()
    return [JobPods(job, *each) for each in zip(job.job.settings, pod_sets, strict=True) if each[1].count]
