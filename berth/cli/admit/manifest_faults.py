"""The faults of `berth lint` in the manifests that `berth admit` simulates: both commands report the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem, Severity
from berth.jobs.files import ManifestDocument
from berth.lint.findings import Finding, lint_documents
from berth.lint.fleet import LintContext
from berth.lint.provisioning_requests import PROVISIONING_REQUEST

NEVER_ADMITTED = {"above-ceiling", "above-worker", "not-covered", "nodes-taken"}
"""Codes of faults that the simulation shows too, so it is not left out: Kueue never admits a job by its requests, or
other jobs leave it no nodes."""


class ManifestFaults(Struct, frozen=True):
    """What lint finds in manifests on one stack.

    `notices` are about objects that are not simulated, and about what is not known of those that are.
    """

    faults: tuple[Problem, ...]
    notices: tuple[Problem, ...]
    files: frozenset[str]
    """The files with an object that lint checks."""
    findings: tuple[Finding, ...] = ()


def lint_submissions(submissions: Iterable[tuple[LintContext, Sequence[ManifestDocument]]]) -> ManifestFaults:
    """Lint manifests that are submitted together, on the fleet at that time."""
    findings: list[Finding] = []
    for context, documents in submissions:
        findings += lint_documents(documents, context)
    return ManifestFaults(
        faults=tuple(
            each for finding in findings for each in finding.named_problems() if each.severity == Severity.FAULT
        ),
        notices=(
            *(
                Problem(
                    Severity.WARNING,
                    "no-queue",
                    (),
                    f"{finding.object_name} uses no quota, so it is not simulated",
                    finding.location,
                )
                for finding in findings
                if finding.kind == PROVISIONING_REQUEST and not finding.faults
            ),
            *(each for finding in findings for each in finding.named_problems() if each.is_unknown),
        ),
        findings=tuple(findings),
        files=frozenset(finding.file for finding in findings),
    )


def as_differences(own: Iterable[Problem], other: Collection[Problem], stack: str) -> Iterator[Problem]:
    """Yield the faults on one of two stacks; those that the other stack does not have are differences, so warnings."""
    for each in own:
        if each in other:
            yield each
        else:
            yield replace(each, severity=Severity.WARNING, message=f"{each.message} (with {stack})")
