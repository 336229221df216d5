"""Policies of a Job by which its pods fail or succeed, and the numbers of its indexes, as the API server takes them.

Source: Kubernetes 1.36 `pkg/apis/batch/validation/validation.go`, asked by dry run on 2026-11-28.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from berth.diagnostics import FieldPath, join_or
from berth.jobs.values import get_nested, is_whole
from berth.lint.validity.schema import Refusal
from berth.manifests.workloads.values import as_list, as_mapping

_BY = "the API server refuses"
_MOST_PARALLEL = 100_000
_MOST_WITH_LIMITS = 10_000
"""Most parallel pods, and failed indexes, of a Job with backoffLimitPerIndex and more than 100,000 completions."""
_OWN_LABELS = (
    *("job-name", "batch.kubernetes.io/job-name"),
    *("controller-uid", "batch.kubernetes.io/controller-uid"),
)
_INDEX = re.compile(r"[+]?[0-9]+")


def policy_refusals(spec: object, path: FieldPath) -> Iterator[Refusal]:
    """Yield what is wrong in a Job's numbers of indexes, its podFailurePolicy and its successPolicy."""
    fields = as_mapping(spec)
    if fields.get("completionMode") == "Indexed":
        yield from _indexes(fields, path)
    if fields.get("manualSelector") is True and fields.get("selector") is None:
        yield (*path, "manualSelector"), "refused", f"{_BY} manualSelector without a selector; remove manualSelector"
    for key in _OWN_LABELS if fields.get("manualSelector") is not True else ():
        if key in as_mapping(get_nested(spec, "template", "metadata", "labels")):
            place = (*path, "template", "metadata", "labels", key)
            yield place, "refused", f"{_BY} the label {key}, which the API server writes itself; remove it"
    pods = get_nested(spec, "template", "spec")
    names = [
        str(get_nested(each, "name"))
        for key in ("initContainers", "containers")
        for each in as_list(get_nested(pods, key))
    ]
    for index, rule in enumerate(as_list(get_nested(spec, "podFailurePolicy", "rules"))):
        place = (*path, "podFailurePolicy", "rules", index, "onExitCodes")
        yield from _exit_codes(as_mapping(get_nested(rule, "onExitCodes")), place, names)
    for index, rule in enumerate(as_list(get_nested(spec, "successPolicy", "rules"))):
        yield from _success(as_mapping(rule), (*path, "successPolicy", "rules", index), fields.get("completions"))


def _indexes(fields: Mapping[str, object], path: FieldPath) -> Iterator[Refusal]:
    completions, parallelism, failed = (fields.get(key) for key in ("completions", "parallelism", "maxFailedIndexes"))
    if is_whole(parallelism) and parallelism > _MOST_PARALLEL:
        message = f"{_BY} {parallelism} parallel pods of an Indexed Job; write at most {_MOST_PARALLEL}"
        yield (*path, "parallelism"), "refused", message
    if not is_whole(completions):
        return
    if is_whole(failed) and failed > completions:
        message = f"{_BY} {failed} failed indexes of {completions} completions; write at most {completions}"
        yield (*path, "maxFailedIndexes"), "refused", message
    if completions <= _MOST_PARALLEL or fields.get("backoffLimitPerIndex") is None:
        return
    start = f"{_BY} backoffLimitPerIndex of {completions} completions"
    if failed is None:
        yield (*path, "backoffLimitPerIndex"), "refused", f"{start} without maxFailedIndexes; write that too"
    for key in ("parallelism", "maxFailedIndexes"):
        if is_whole(number := fields.get(key)) and _MOST_WITH_LIMITS < number <= min(completions, _MOST_PARALLEL):
            yield (*path, key), "refused", f"{start} with {key} above {_MOST_WITH_LIMITS}; write at most that"


def _exit_codes(codes: Mapping[str, object], path: FieldPath, names: list[str]) -> Iterator[Refusal]:
    name, values = codes.get("containerName"), as_list(codes.get("values"))
    if isinstance(name, str) and name not in names:
        message = f"{_BY} exit codes of '{name}', which is no container of the pods; write {join_or(names)}"
        yield (*path, "containerName"), "refused", message
    numbers = [each for each in values if is_whole(each)]
    if codes.get("operator") == "In" and 0 in numbers:
        yield (*path, "values"), "refused", f"{_BY} the exit code 0 with In, as it is no failure; remove 0"
    elif numbers != sorted(set(numbers)):
        ordered = ", ".join(map(str, sorted(set(numbers))))
        yield (*path, "values"), "refused", f"{_BY} exit codes in another order, or twice; write [{ordered}]"


def _success(rule: Mapping[str, object], path: FieldPath, completions: object) -> Iterator[Refusal]:
    count, written = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and written is None:
        yield path, "missing-key", "nothing of succeededIndexes, succeededCount is written; write one"
    most = completions if is_whole(completions) else None
    what = "completions"
    if isinstance(written, str) and most is not None:
        wrong, listed = _read_indexes(written, most)
        if wrong:
            message = f"{_BY} the indexes '{written}': {wrong}; write them in order, such as 0,2-{max(most - 1, 3)}"
            yield (*path, "succeededIndexes"), "refused", message
            return
        most, what = listed, "succeededIndexes"
    if is_whole(count) and most is not None and count > most:
        yield (*path, "succeededCount"), "refused", f"{_BY} {count}, more than the {most} {what}; write at most {most}"


def _read_indexes(text: str, completions: int) -> tuple[str, int]:
    """Return what is wrong with a list of indexes such as `0,2-4`, and how many it names."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2 or not all(map(_INDEX.fullmatch, ends)):
            return f"'{part}' is no index, and no two with '-'", 0
        for at, end in enumerate(map(int, ends)):
            if end <= last:
                return f"{end} is not above {last}", 0
            if end >= completions:
                return f"{end} is not below completions, {completions}", 0
            total, last = total + (end - last if at else 1), end
    return "", total
