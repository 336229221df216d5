"""Settings of a job with which a webhook of Kueue or of the kind's controller refuses it (`refused` in kinds.yaml)."""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.kinds import RefusedSetting, keys
from berth.jobs.pod_templates import find
from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.lint.fleet import SubmittedJob
from berth.manifests.workloads.values import as_list

_ELASTIC_GATE = "ElasticJobsViaWorkloadSlices"


def check_refusals(job: SubmittedJob) -> None:
    """Report every setting with which the API server refuses the job."""
    kueue = job.context.plan.kueue
    # Since 0.18 the gate is on by default.
    may_be_elastic = kueue is None or kueue.feature_gates.get(_ELASTIC_GATE, True)
    for row in job.job.row.refused if job.job.row is not None else ():
        if row.elastic and may_be_elastic and job.job.annotations.get(row.elastic) == "true":
            continue
        for item in _items(job.job.source, row):
            written = get_nested(item.value, *keys(row.at))
            value = row.default if written is None else written
            if value in row.values:
                source = SourceValue(value, (*item.path, *keys(row.at)), item.problems)
                source.fault(
                    "refused", f"{row.by} refuses {keys(row.at)[-1]} {describe_value(value)}: {row.why}; {row.remedy}"
                )


def _items(source: SourceValue, row: RefusedSetting) -> Iterator[SourceValue]:
    """Yield what holds the setting: the items of a list, or the object itself."""
    if row.each is None:
        yield source
        return
    listed = find(source, row.each)
    for index, item in enumerate(as_list(listed.value) if listed is not None else ()):
        if listed is not None:
            yield listed.child(index, item)
