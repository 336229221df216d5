"""Range queries of Kueue's metrics, as Prometheus prints them: samples by cluster queue, flavor and resource.

Source: Prometheus HTTP API v1 (`/api/v1/query_range`), read 2026-11-22. The metrics are rows of
berth/monitoring/metrics.yaml.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from msgspec import Struct, field

from berth.diagnostics import Problem, Problems, Severity

USAGE: Final = "kueue_cluster_queue_resource_usage"
NOMINAL: Final = "kueue_cluster_queue_nominal_quota"
PENDING: Final = "kueue_pending_workloads"
METRICS: Final = (USAGE, NOMINAL, PENDING)

QueueResource = tuple[str, str, str]
"""Cluster queue, flavor, resource; of pending workloads the second is their status (active, inadmissible)."""
Samples = Mapping[int, float]
"""Unix time in seconds → value."""

_Labels = Mapping[str, str]
_OF_PROCESS: Final = (
    *("cluster", "container", "endpoint", "instance", "job", "namespace", "node", "pod", "prometheus"),
    *("prometheus_replica", "replica", "replica_role", "service"),
)
"""Labels that a restart or another scrape changes; `cluster` is compared before."""
_FOLLOWER: Final = "follower"
"""The replica of Kueue whose metrics are not current (label replica_role)."""
_SHOWN: Final = 60


class UsageMetrics(Struct, frozen=True):
    """Samples of one period by metric, and the period: first and last time, and the seconds between two samples."""

    samples: Mapping[str, Mapping[QueueResource, Samples]] = field(default_factory=dict[str, Any])
    start: int = 0
    end: int = 0
    step: int = 0

    @property
    def expected_samples(self) -> int:
        """The samples of a series without a gap."""
        return (self.end - self.start) // self.step + 1

    def queues(self) -> set[str]:
        """The cluster queues that have samples."""
        return {key[0] for series in self.samples.values() for key in series}


def read_metrics(
    answers: Iterable[tuple[str, object]], cluster: str, problems: Problems, span: int | None = None
) -> UsageMetrics | None:
    """Return the metrics in the answers of Prometheus; None after a fault.

    `answers` are pairs of a name for messages and a JSON value, an answer or a list of them. Series of another cluster
    (label `cluster`) and of replicas that do not lead are left out. Samples of one queue from several series are joined
    (Kueue was restarted); series of one time whose other labels differ are a fault, because they are of two clusters.

    All samples are those of one grid of the period: of the last `span` seconds, or of all samples. Of a cell that two
    series sample with different values nothing is known.
    """
    found: dict[str, dict[QueueResource, list[tuple[_Labels, Samples]]]] = {metric: {} for metric in METRICS}
    for name, value in answers:
        for labels, values in _series(name, value, problems):
            metric = labels.get("__name__", "")
            if metric not in found or labels.get("replica_role") == _FOLLOWER:
                continue
            if labels.get("cluster", cluster) != cluster:
                continue
            second = labels.get("status" if metric == PENDING else "flavor", "")
            key = (labels.get("cluster_queue", ""), second, labels.get("resource", ""))
            if values:
                found[metric].setdefault(key, []).append((labels, values))
    for metric, series in found.items():
        for key, entries in series.items():
            _check_one_cluster(metric, key[0], entries, problems)
    if problems.has_faults():
        return None
    usage = [samples for entries in found[USAGE].values() for _, samples in entries]
    times = sorted({time for samples in usage for time in samples})
    if not times:
        message = f"no series of {USAGE} has a sample; `berth usage STACK --queries` prints what to ask for"
        problems.fault("no-samples", (), message)
        return None
    step = _step(usage)
    asked = times[-1] - (span or 0) // step * step
    start = times[0] if span is None or 0 <= times[0] - asked <= step else asked  # an answer includes both ends
    grid = {
        metric: {key: _on_grid([samples for _, samples in entries], start, step) for key, entries in series.items()}
        for metric, series in found.items()
    }
    return UsageMetrics(grid, start, start + (times[-1] - start) // step * step, step)


def _step(usage: Iterable[Samples]) -> int:
    """The most common distance of two samples of a series, in seconds."""
    distances = Counter(after - before for samples in usage for before, after in pairwise(sorted(samples)))
    return distances.most_common(1)[0][0] if distances else 1


def _on_grid(series: Iterable[Samples], start: int, step: int) -> Samples:
    """Return one sample for each cell of the grid, by the time at which it begins, without contradicting ones."""
    cells: dict[int, set[float]] = {}
    for samples in series:
        last = {start + (time - start) // step * step: samples[time] for time in sorted(samples) if time >= start}
        for cell, value in last.items():
            cells.setdefault(cell, set()).add(value)
    return {cell: values.pop() for cell, values in sorted(cells.items()) if len(values) == 1}


def _check_one_cluster(metric: str, queue: str, entries: Sequence[tuple[_Labels, Samples]], problems: Problems) -> None:
    """Report series of one time whose labels, but for those of a process, differ: their sum is of no cluster."""
    ordered = sorted(entries, key=lambda entry: min(entry[1]))
    for (labels, samples), (others, more) in pairwise(ordered):
        differing = sorted(
            name
            for name in labels.keys() | others.keys()
            if name not in _OF_PROCESS and labels.get(name) != others.get(name)
        )
        if differing and min(more) <= max(samples):
            values = " and ".join(f"'{each.get(differing[0], '')[:_SHOWN]}'" for each in (labels, others))
            message = (
                f"{metric} of queue '{queue}' has two series at a time, with {differing[0]} {values}; ask for one "
                f'of them in the query ({differing[0]}="…")'
            )
            _fault(problems, "", message)
            return


def _series(name: str, value: object, problems: Problems) -> Iterator[tuple[Mapping[str, str], Samples]]:
    for answer in cast("list[object]", value) if isinstance(value, list) else [value]:
        yield from _answer_series(name, answer, problems)


def _answer_series(name: str, answer: object, problems: Problems) -> Iterator[tuple[Mapping[str, str], Samples]]:
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if fields.get("status") == "error":
        reason = str(fields.get("error"))[:_SHOWN]
        _fault(problems, name, f"Prometheus answered with an error: {reason}; correct the query")
        return
    for text in (*_texts(fields.get("warnings")), *_texts(fields.get("infos"))):
        problems.warning("bad-metrics", (), f"Prometheus warns: {text[: _SHOWN * 4]}")
    data = fields.get("data")
    data = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    kind, result = data.get("resultType"), data.get("result")
    if kind != "matrix" or not isinstance(result, list):
        shown = f"a result of type '{str(kind)[:_SHOWN]}'" if kind else "no answer of Prometheus"
        message = f"is {shown}, but a range is needed; ask /api/v1/query_range with start, end and step"
        _fault(problems, name, message)
        return
    for index, entry in enumerate(cast("list[object]", result)):
        series = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        labels, samples = series.get("metric"), _samples(series.get("values"))
        if not isinstance(labels, dict) or samples is None:
            _fault(problems, name, f"series {index} has no labels or no numbers; save the answer again")
            return
        yield {str(key): str(value) for key, value in cast("dict[object, object]", labels).items()}, samples


def _texts(value: object) -> list[str]:
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _samples(values: object) -> Samples | None:
    """Samples of one series; None where they are not pairs of a time and a number. NaN is no sample."""
    if not isinstance(values, list):
        return None
    try:
        pairs = [(int(float(time)), float(value)) for time, value in cast("list[tuple[Any, Any]]", values)]
    except (TypeError, ValueError, OverflowError):
        return None
    return {time: value for time, value in pairs if math.isfinite(value)}


def _fault(problems: Problems, name: str, message: str) -> None:
    problems.entries.append(Problem(Severity.FAULT, "bad-metrics", (), message, name))
