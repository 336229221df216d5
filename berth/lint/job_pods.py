"""The pod sets of a submitted job, with the places of their fields in the manifest."""

from __future__ import annotations

from msgspec import Struct

from berth.jobs.pod_set import FieldSteps, PodSet
from berth.jobs.pods import read_pod_spec
from berth.jobs.values import SourceValue
from berth.lint.fleet import SubmittedJob
from berth.manifests.workloads.values import as_mapping


class JobPods(Struct, frozen=True):
    """One pod set of a job, with its template."""

    submitted: SubmittedJob
    template: SourceValue
    pod_set: PodSet

    @property
    def pods_per_replica(self) -> int:
        """The number of pods of one child job, or of all groups if they use slices together."""
        job = self.submitted.job
        if job.row is not None and job.row.together:
            selectors = [(each.node_selector, each.count) for each in job.pod_sets or ()]
            return sum(count for selector, count in selectors if selector == self.pod_set.node_selector)
        return self.pod_set.count // self.pod_set.child_jobs if self.pod_set.child_jobs else 0

    def spec_field(self, *keys: str) -> SourceValue:
        """Locate a field of the pod's spec; its value is None if it is not written."""
        source = (read_pod_spec(self.template) or {}).get(keys[0], self.template.child("spec", {}).child(keys[0], None))
        for key in keys[1:]:
            source = source.child(key, as_mapping(source.value).get(key))
        return source

    def request_source(self, resource: str) -> SourceValue:
        """Locate the request for a resource; the pod's spec if no container requests it."""
        return self.at(self.pod_set.request_path(resource))

    def at(self, path: FieldSteps) -> SourceValue:
        """Locate a field of the template, without its value."""
        return SourceValue(None, (*self.template.path, *path), self.template.problems)


def list_job_pods(job: SubmittedJob) -> list[JobPods]:
    """List the pod sets of a job whose templates could be read."""
    pod_sets = job.job.pod_sets or ()
    return [JobPods(job, *each) for each in zip(job.job.templates, pod_sets, strict=True) if each[1].count]
