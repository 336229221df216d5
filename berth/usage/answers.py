"""Answers of Prometheus to range queries: their series, each with its labels and samples.

Source: Prometheus HTTP API v1 (`/api/v1/query_range`), read 2026-11-22.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct

from berth.diagnostics import Problem, Problems, Severity

Labels = Mapping[str, str]
Samples = Mapping[int, float]
"""Unix time in seconds → value."""

SHOWN: Final = 60
"""Characters of a value that a message shows."""
_LATEST: Final = 2**32
"""A time above this one is in milliseconds."""


class ReadSeries(Struct, frozen=True):
    """A series, and where it is: the file or metric, and its number in the answer."""

    place: str
    labels: Labels
    samples: Samples


def all_series(answers: Iterable[tuple[str, object]], problems: Problems) -> Iterator[ReadSeries]:
    """Yield the series of the answers, each a JSON value or a list of them, with a name for messages."""
    for name, value in answers:
        for index, answer in enumerate(cast("list[object]", value) if isinstance(value, list) else [value]):
            number = f", answer {index}" if isinstance(value, list) else ""
            for each, (labels, samples) in enumerate(_answer_series(name, answer, problems)):
                yield ReadSeries(f"{name}{number}, series {each}", labels, samples)


def _answer_series(name: str, answer: object, problems: Problems) -> Iterator[tuple[Mapping[str, str], Samples]]:
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if fields.get("status") == "error":
        reason = str(fields.get("error"))[:SHOWN]
        metrics_fault(problems, name, f"Prometheus answered with an error: {reason}; correct the query")
        return
    for text in (*_texts(fields.get("warnings")), *_texts(fields.get("infos"))):
        problems.warning("bad-metrics", (), f"Prometheus warns: {text[: SHOWN * 4]}")
    data = fields.get("data")
    data = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    kind, result = data.get("resultType"), data.get("result")
    if kind != "matrix" or not isinstance(result, list):
        shown = f"a result of type '{str(kind)[:SHOWN]}'" if kind else "no answer of Prometheus"
        metrics_fault(
            problems, name, f"is {shown}, but a range is needed; ask /api/v1/query_range with start, end and step"
        )
        return
    for index, entry in enumerate(cast("list[object]", result)):
        series = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        labels, samples = series.get("metric"), _samples(series.get("values"))
        if isinstance(samples, str):
            metrics_fault(problems, name, f"series {index} {samples}")
            return
        if not isinstance(labels, dict) or samples is None:
            metrics_fault(problems, name, f"series {index} has no labels or no numbers; save the answer again")
            return
        yield {str(key): str(value) for key, value in cast("dict[object, object]", labels).items()}, samples


def _texts(value: object) -> list[str]:
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _samples(values: object) -> Samples | str | None:
    """Samples of one series, or what contradicts itself; None where they are not pairs of a time and a number.

    NaN is no sample.
    """
    if not isinstance(values, list):
        return None
    try:
        pairs = [(int(float(time)), float(value)) for time, value in cast("list[tuple[Any, Any]]", values)]
    except (TypeError, ValueError, OverflowError):
        return None
    samples: dict[int, float] = {}
    for time, value in pairs:
        if not 0 <= time < _LATEST:
            return f"has the time {time}, which is not in seconds since 1970; save the answer again"
        if value < 0:
            message = f"has {value:g} at {time}, and Kueue counts nothing below 0"
            return f"{message}; ask for the metric itself, without a function"
        if math.isfinite(value) and samples.setdefault(time, value) != value:
            return f"has two values at {time}, {samples[time]:g} and {value:g}; save the answer again"
    return samples


def metrics_fault(problems: Problems, name: str, message: str) -> None:
    """Report what is wrong with an answer of this name, or with all of them."""
    problems.entries.append(Problem(Severity.FAULT, "bad-metrics", (), message, name))
