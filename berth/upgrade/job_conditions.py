"""Whether a change of a release concerns the jobs of a stack: those of manifests, and the kinds that Kueue queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.diagnostics import join_or
from berth.text import pluralize
from berth.upgrade.evidence import EXISTING, Evidence, JobObject, Judgement, applies, is_not, is_open, listed


def judge_frameworks(names: list[str], evidence: Evidence) -> Judgement:
    """Return whether teams of the stack may submit jobs of one of these integrations of Kueue."""
    queued = evidence.queued_frameworks
    if not evidence.plan.teams:
        return is_not("the stack has no teams")
    if queued is None:
        return is_open(EXISTING)
    mine = [name for name in names if name in queued]
    return applies(f"teams may submit {listed(mine)}") if mine else is_not(f"the stack does not queue {join_or(names)}")


def judge_jobs(asked: Mapping[str, Any], evidence: Evidence) -> Judgement:
    """Return whether an object that was read is as a row asks; without one, whether the stack queues its kind.

    `kinds` are names of kinds, or `any`. `where` are tests of fields, all of which hold: the value `at` a path or
    `anywhere` below a key `is` one of, is `not` one of (or missing), or is `below` a number. `annotations` are `one_of`
    several that belong together. `says` and `look` are the phrase and the command for what is in no file.
    """
    found = [each for each in evidence.objects if _is_asked(asked, each)]
    if found:
        return applies(listed([each.title for each in found]), found)
    wanted = asked["kinds"]
    if wanted == "any":
        what = asked.get("says") or asked["api_version"]
        return is_open(f"{_none_of(f'object with {what}', evidence)}: {asked['look']}")
    queued = evidence.queued_frameworks
    from berth.jobs.kinds import kinds  # `berth check` asks for no kind

    frameworks = [kinds()[kind].framework if kind in kinds() else None for kind in wanted]
    if queued is not None and None not in frameworks and not set(frameworks) & set(queued):
        return is_not(f"the stack does not queue {join_or(wanted)}")
    which = " of that form" if any(each.kind in wanted for each in evidence.objects) else ""
    command = f"kubectl get {','.join(kind.lower() for kind in wanted)} -A"
    return is_open(f"{_none_of(f'{join_or(wanted)}{which}', evidence)}: {command}")


def _none_of(what: str, evidence: Evidence) -> str:
    """Return that nothing of the kind was read, and that others may be in no file."""
    if not evidence.source:
        return f"no manifest was read; look for any {what}"
    if not (count := len(evidence.objects)):
        return f"no object of {evidence.source} is for this stack; look for any {what} in the cluster"
    return f"no {what} is among the {pluralize(count, 'object')} of {evidence.source}; look for others in the cluster"


def _is_asked(asked: Mapping[str, Any], job: JobObject) -> bool:
    if asked["kinds"] != "any" and job.kind not in asked["kinds"]:
        return False
    if "api_version" in asked and job.api_version != asked["api_version"]:
        return False
    if (names := _annotations(asked)) and not any(_is_half(names, each) for each in job.annotation_sets()):
        return False
    return all(_holds(test, job) for test in asked.get("where", ()))


def _annotations(asked: Mapping[str, Any]) -> list[str]:
    return asked.get("annotations", {}).get("one_of", [])


def _is_half(names: list[str], annotations: Mapping[str, Any]) -> bool:
    """Return whether some of the annotations are there without the others, or a size is not at least 1."""
    there = [name for name in names if name in annotations]
    sizes = [str(annotations[name]) for name in there if name.endswith("-size")]
    return bool(there) and (len(there) < len(names) or any(not size.isdigit() or int(size) < 1 for size in sizes))


def _holds(test: Mapping[str, Any], job: JobObject) -> bool:
    values = [job.at(test["at"])] if "at" in test else list(job.everywhere(test["anywhere"]))
    if "not" in test:
        return not any(value in test["not"] for value in values)
    if "is" in test:
        return any(value in test["is"] for value in values)
    if "below" in test:
        return any(isinstance(value, int) and value < test["below"] for value in values)
    return any(value is not None for value in values)
