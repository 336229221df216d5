"""The job that Berth makes for a local queue of Kueue, and what `berth lint` finds in it."""

from __future__ import annotations

from msgspec.structs import replace

from berth.jobs.files import ManifestDocument
from berth.lint.findings import Verdict, combined_verdict, lint_documents
from berth.lint.fleet import LintContext
from berth.lint.provisioning_requests import NO_QUEUE_CODE
from berth.manifests.workloads.objects import workload_manifests
from berth.plan.fleet import FleetPlan
from berth.workloads.derive import derive_workload
from berth.workloads.names import local_queue_name
from berth.workloads.options import WorkloadOptions, WorkloadResult


def linted_workload(plan: FleetPlan, fleet: object, team: str, queue: str, options: WorkloadOptions) -> WorkloadResult:
    """Return the workload for a team's queue, named as in the stack file (`fleet`, its values) or as in the cluster."""
    derived = derive_workload(plan, team, local_queue_name(fleet, team, queue), options)
    objects = tuple(workload_manifests(derived.workload)) if derived.workload is not None else ()
    findings = list(lint_documents([ManifestDocument("", each) for each in objects], LintContext(plan)))
    problems = [
        replace(each, path=())
        for finding in findings
        for each in finding.problems
        if each.code not in (NO_QUEUE_CODE, "unqueued")
    ]
    verdict = combined_verdict(findings) if objects else Verdict.NEVER
    kept = () if verdict is Verdict.NEVER else objects
    return WorkloadResult(kept, derived.notes, (*derived.problems, *problems), verdict)
