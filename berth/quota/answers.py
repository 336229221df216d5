"""What a project has: quotas as gcloud, Service Usage and Cloud Quotas print them, recognized by their content."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.catalog import QuotaMetric
from berth.diagnostics import Problem, Problems, format_path
from berth.jobs.values import SourceValue
from berth.loader.text_file import read_json

UNLIMITED: Final = -1
"""The limit that Service Usage and Cloud Quotas print where there is none."""

COMMANDS: Final = (
    "gcloud compute regions describe REGION, gcloud compute project-info describe, gcloud beta quotas info list "
    "--service=compute.googleapis.com or gcloud alpha services quota list --service=compute.googleapis.com, "
    "each with --format json"
)
"""What prints an answer that can be read."""


class QuotaLimit(Struct, frozen=True, kw_only=True):
    """One value of a quota in an answer.

    `names` are the spellings of the metric: that of Compute Engine, that of Service Usage, or an id of Cloud Quotas.
    `project` is None where the answer has only a number. `locations` are the regions that the value is of, `global`, or
    none for every location without a value of its own. `dimensions` are families. `usage` is None where the answer
    does not have it. `limit` is `UNLIMITED` or a count.
    """

    names: tuple[str, ...]
    project: str | None
    locations: tuple[str, ...]
    dimensions: tuple[tuple[str, str], ...]
    limit: int
    usage: int | None = None
    place: str = ""
    """The file that the value is in, and where in it."""

    def is_of(self, metric: QuotaMetric, project: str, location: str) -> bool:
        """Whether this value can be that of a metric in a project and location."""
        return (
            not {metric.metric, metric.usage_metric, metric.quota_id or metric.metric}.isdisjoint(self.names)
            and self.project in (None, project)
            and (not self.locations or location in self.locations)
            and set(self.dimensions) <= set(metric.dimensions)
        )


class Answers(Struct, frozen=True, kw_only=True):
    """The values of all files that were read."""

    limits: tuple[QuotaLimit, ...] = ()

    def limit_of(self, metric: QuotaMetric, project: str, location: str) -> QuotaLimit | None:
        """The value of a metric in a project and location; the one that says most of it, None without any."""
        return next(iter(self.best_of(metric, project, location)), None)

    def best_of(self, metric: QuotaMetric, project: str, location: str) -> list[QuotaLimit]:
        """The values that say most of a metric, those with the usage first."""
        matches = [limit for limit in self.limits if limit.is_of(metric, project, location)]
        ranks = [(len(each.dimensions), bool(each.locations)) for each in matches]
        best = [each for each, rank in zip(matches, ranks, strict=True) if rank == max(ranks)]
        return sorted(best, key=lambda each: each.usage is None)


def read_answers(
    files: Iterable[pathlib.Path], projects: Iterable[str], regions: Iterable[str]
) -> tuple[Answers, tuple[Problem, ...]]:
    """The values in files, and every fault of theirs.

    `projects` and `regions` are those of the fleet. Faults: those of `read_json`; `quota-answer` where
    a file is not such an answer, `bad-value` and `missing-key` inside one; `quota-project` and `quota-region` where it
    is of a project or region that the fleet is not in.
    """
    limits: list[QuotaLimit] = []
    problems: list[Problem] = []
    for file in files:
        file_limits, faults = _read(file, frozenset(projects), frozenset(regions))
        limits += file_limits
        problems += faults
    return Answers(limits=tuple(limits)), tuple(problems)


def _read(
    file: pathlib.Path, projects: frozenset[str], regions: frozenset[str]
) -> tuple[list[QuotaLimit], list[Problem]]:
    value = read_json(file, str(file), f"write it with {COMMANDS}")
    if isinstance(value, Problem):
        return [], [value]
    problems = Problems()
    limits = list(_limits(SourceValue(value, (), problems)))
    if not problems.entries:
        _check_places(limits, projects, regions, problems)
    faults = [problem.with_place(str(file)) for problem in problems.entries]
    return [] if faults else [
        replace(each, place=f"{file}: {each.place}" if each.place else str(file)) for each in limits
    ], faults


def _check_places(
    limits: list[QuotaLimit], projects: frozenset[str], regions: frozenset[str], problems: Problems
) -> None:
    """The answer is of a project and a region of the fleet."""
    for project in sorted({limit.project for limit in limits if limit.project} - projects):
        names = ", ".join(sorted(projects))
        problems.fault("quota-project", (), f"an answer of project '{project}', and the fleet is in {names}")
    if limits and any(limit.project is None for limit in limits) and len(projects) > 1:
        names = ", ".join(sorted(projects))
        message = f"the answer has no project name, and the fleet is in {names}; give answers of gcloud compute"
        problems.fault("quota-project", (), f"{message} regions describe")
    places = {place for limit in limits for place in limit.locations}
    if places and places.isdisjoint({*regions, "global"}) and all(limit.locations for limit in limits):
        shown = ", ".join(f"'{place}'" for place in sorted(places)[:3])
        problems.fault("quota-region", (), f"an answer of {shown}, and the fleet is in {', '.join(sorted(regions))}")


# --- the four kinds of answer -----------------------------------------------------------------------------------------


def _limits(root: SourceValue) -> Iterator[QuotaLimit]:
    if isinstance(root.value, dict) and cast("Mapping[str, object]", root.value).get("nextPageToken"):
        root.fault("quota-answer", f"one page of an answer that has more; write all of it with {COMMANDS}")
        return
    readers = [(entry, _reader(entry.value)) for entry in _entries(root)]
    if not readers or any(reader is None for _, reader in readers):
        root.fault("quota-answer", f"not an answer about quotas; write one with {COMMANDS}")
        return
    for entry, reader in readers:
        if reader is not None:
            yield from reader(entry)


def _entries(root: SourceValue) -> list[SourceValue]:
    """The objects of an answer: a list of them, a list under a key of the API's, or the one object."""
    value = root.value
    for key in ("metrics", "quotaInfos", "items"):
        if isinstance(value, dict) and isinstance(cast("Mapping[str, object]", value).get(key), list):
            root = root.child(key, cast("Mapping[str, object]", value)[key])
            break
    if isinstance(root.value, list):
        return root.sequence("a list") or []
    return [root]


def _reader(value: object) -> Callable[[SourceValue], Iterator[QuotaLimit]] | None:
    if not isinstance(value, dict):
        return None
    keys = cast("Mapping[str, object]", value).keys()
    if "quotas" in keys and "name" in keys:
        return _compute_limits
    if "consumerQuotaLimits" in keys:
        return _service_usage_limits
    return _cloud_quota_limits if "quotaId" in keys else None


def _compute_limits(entry: SourceValue) -> Iterator[QuotaLimit]:
    """`gcloud compute regions describe` (compute#region) and `project-info describe` (compute#project)."""
    fields = cast("Mapping[str, Any]", entry.value)
    if fields.get("quotaStatusWarning"):
        entry.fault("quota-answer", "Google could not read the quotas (quotaStatusWarning); run the command again")
        return
    is_region = "/regions/" in str(fields.get("selfLink", "")) or fields.get("kind") == "compute#region"
    project = _project_in(str(fields.get("selfLink", ""))) or (None if is_region else str(fields["name"]))
    for row in entry.child("quotas", fields["quotas"]).sequence("a list of quotas") or ():
        parts = row.mapping("a quota")
        if parts is None or not _has(row, parts, "metric", "limit"):
            continue
        limit, metric = _count(parts["limit"]), parts["metric"].text("the name of a metric")
        usage = _count(parts["usage"]) if "usage" in parts else None
        if metric is not None and limit is not None:
            yield QuotaLimit(
                names=(metric,),
                project=project,
                locations=(str(fields["name"]) if is_region else "global",),
                dimensions=(),
                limit=limit,
                usage=usage,
                place=format_path(row.path),
            )


def _service_usage_limits(entry: SourceValue) -> Iterator[QuotaLimit]:
    """Service Usage's consumerQuotaMetrics, as `gcloud alpha services quota list` prints them."""
    fields = entry.mapping("a quota metric") or {}
    if not _has(entry, fields, "metric"):
        return
    metric = fields["metric"].text("the name of a metric")
    for limit in fields["consumerQuotaLimits"].sequence("a list of limits") or ():
        parts = limit.mapping("a limit") or {}
        if metric is None or "{zone}" in str(parts["unit"].value if "unit" in parts else ""):
            continue
        is_global = "{region}" not in str(parts["unit"].value if "unit" in parts else "{region}")
        for bucket in parts["quotaBuckets"].sequence("a list of buckets") or () if "quotaBuckets" in parts else ():
            yield from _bucket(bucket, metric, _project_in(_text(fields, "name")), is_global=is_global)


def _bucket(bucket: SourceValue, metric: str, project: str | None, *, is_global: bool) -> Iterator[QuotaLimit]:
    parts = bucket.mapping("a bucket")
    if parts is None or not _has(bucket, parts, "effectiveLimit"):
        return
    limit = _count(parts["effectiveLimit"])
    dimensions = _dimensions(parts)
    if limit is not None and "zone" not in dimensions:
        yield QuotaLimit(
            names=(metric,),
            project=project,
            locations=("global",) if is_global else _region(dimensions),
            dimensions=_families(dimensions),
            limit=limit,
            place=format_path(bucket.path),
        )


def _cloud_quota_limits(entry: SourceValue) -> Iterator[QuotaLimit]:
    """Cloud Quotas' quotaInfos, as `gcloud beta quotas info list` prints them."""
    fields = entry.mapping("a quota info") or {}
    quota_id = fields["quotaId"].text("the id of a quota")
    infos = fields["dimensionsInfos"].sequence("a list of values") if "dimensionsInfos" in fields else []
    if quota_id is None or quota_id.endswith("-zone"):
        return
    metric = _text(fields, "metric")
    for info in infos or ():
        parts = info.mapping("a value") or {}
        details = parts["details"].mapping("the value's details") if "details" in parts else None
        if details is None or not _has(info, details, "value"):
            continue
        limit, dimensions = _count(details["value"]), _dimensions(parts)
        listed = parts["applicableLocations"].sequence("a list of locations") if "applicableLocations" in parts else []
        places = _region(dimensions) or tuple(str(each.value) for each in listed or ())
        if limit is not None:
            yield QuotaLimit(
                names=(quota_id, metric),
                project=_project_in(_text(fields, "name")),
                locations=places,
                dimensions=_families(dimensions),
                limit=limit,
                place=format_path(info.path),
            )


# --- values of an answer ----------------------------------------------------------------------------------------------


def _has(at: SourceValue, parts: Mapping[str, SourceValue], *keys: str) -> bool:
    missing = [key for key in keys if key not in parts]
    if missing:
        at.fault("missing-key", f"'{missing[0]}' is missing; write the answer again with {COMMANDS}")
    return not missing


def _count(at: SourceValue) -> int | None:
    """A limit or a usage: 8, 8.0 or "8"; -1 is unlimited."""
    value = at.value
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        value = int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or (count := int(cast("float", value))) < UNLIMITED:
        at.reject("a count: 0 or more, or -1 for unlimited")
        return None
    return count


def _text(parts: Mapping[str, SourceValue], key: str) -> str:
    value = parts[key].value if key in parts else ""
    return value if isinstance(value, str) else ""


def _dimensions(parts: Mapping[str, SourceValue]) -> dict[str, str]:
    values = parts["dimensions"].mapping("the value's dimensions") if "dimensions" in parts else None
    return {key: str(each.value) for key, each in (values or {}).items()}


def _region(dimensions: Mapping[str, str]) -> tuple[str, ...]:
    return (dimensions["region"],) if "region" in dimensions else ()


def _families(dimensions: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, value) for key, value in dimensions.items() if key != "region"))


def _project_in(path: str) -> str | None:
    """The project of a resource name; None where the path has none, or only its number."""
    project = path.partition("projects/")[2].partition("/")[0]
    return None if not project or project.isdecimal() else project
