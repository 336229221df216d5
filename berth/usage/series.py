"""Range queries of Kueue's metrics, as Prometheus prints them: samples by cluster queue, flavor and resource.

Source: Prometheus HTTP API v1 (`/api/v1/query_range`), read 2026-11-22. The metrics are rows of
berth/monitoring/metrics.yaml.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct, field

from berth.diagnostics import Problems
from berth.usage.answers import SHOWN, Labels, ReadSeries, Samples, all_series, metrics_fault

USAGE: Final = "kueue_cluster_queue_resource_usage"
NOMINAL: Final = "kueue_cluster_queue_nominal_quota"
PENDING: Final = "kueue_pending_workloads"
METRICS: Final = (USAGE, NOMINAL, PENDING)

QueueResource = tuple[str, str, str]
"""Cluster queue, flavor, resource; of pending workloads the second is their status (active, inadmissible)."""
_OF_PROCESS: Final = (
    *("container", "endpoint", "instance", "job", "namespace", "node", "pod", "prometheus"),
    *("prometheus_replica", "replica", "replica_role", "service"),
)
"""Labels that a restart or another scrape changes."""
_PLACES: Final[Mapping[str, Sequence[str]]] = {
    "cluster": ("cluster", "cluster_name"),
    "project": ("project_id", "project"),
    "location": ("location", "region"),
}
"""What identifies a cluster → labels that have it, of Managed Prometheus (project_id, location, cluster) and others."""
_FOLLOWER: Final = "follower"
"""The replica of Kueue whose metrics are not current (label replica_role)."""


class Chosen(Struct, frozen=True):
    """Whose series are read: those of `cluster`, without a word for it also those that name no cluster."""

    cluster: str
    project: str | None = None
    is_asked: bool = False

    def takes(self, labels: Labels) -> bool:
        """Whether a series is of the cluster and project."""
        cluster, project = _place(labels, "cluster"), _place(labels, "project")
        is_cluster = cluster == self.cluster or (not cluster and not self.is_asked)
        return is_cluster and self.project in (None, project)

    def matchers(self) -> Mapping[str, str]:
        """Return what selects the series in a query, by label."""
        project = {} if self.project is None else {_PLACES["project"][0]: self.project}
        return {**({"cluster": self.cluster} if self.is_asked else {}), **project}


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
    answers: Iterable[tuple[str, object]],
    chosen: Chosen,
    problems: Problems,
    span: int | None = None,
    end: int | None = None,
) -> UsageMetrics | None:
    """Return the metrics in the answers of Prometheus; None after a fault.

    `answers` are pairs of a name for messages and a JSON value, an answer or a list of them. Series that are not of the
    `chosen` cluster and of replicas that do not lead are left out. Samples of one queue from several series are joined
    (Kueue was restarted). Faults: series of two projects or places; series of one queue and time whose other labels
    differ, because they are of two clusters; one series with two values at a time.

    All samples are those of one grid of the period: of the last `span` seconds before `end`, which is that of the
    samples where it is not known, or of all samples. Of a cell that two series sample with different values nothing is
    known.
    """
    found: dict[str, dict[QueueResource, list[tuple[Labels, Samples]]]] = {metric: {} for metric in METRICS}
    answered = [*all_series(answers, problems)]
    read = [
        each
        for each in answered
        if each.labels.get("__name__", "") in found and each.labels.get("replica_role") != _FOLLOWER
    ]
    own = [each for each in read if chosen.takes(each.labels)]
    _check_places(read, own, chosen, problems)
    if problems.has_faults():
        return None
    for each in _without_repeats(own, problems):
        metric = each.labels["__name__"]
        second = each.labels.get("status" if metric == PENDING else "flavor", "")
        key = (each.labels.get("cluster_queue", ""), second, each.labels.get("resource", ""))
        if each.samples:
            found[metric].setdefault(key, []).append((each.labels, each.samples))
    for metric, series in found.items():
        for key, entries in series.items():
            _check_one_cluster(metric, key[0], entries, problems)
    if problems.has_faults():
        return None
    usage = [samples for entries in found[USAGE].values() for _, samples in entries]
    times = sorted({time for samples in usage for time in samples})
    if not times:
        is_function = any("__name__" not in each.labels for each in answered)
        unnamed = " (a series without a name is of a function, such as sum)" if is_function else ""
        message = f"no series of {USAGE} has a sample{unnamed}; `berth usage STACK --queries` prints what to ask for"
        problems.fault("no-samples", (), message)
        return None
    step = _step(usage)
    if step is None or (span is not None and span < step):
        few = f"the samples are {step} s apart, and the period has {span} s" if step else "no series has two samples"
        problems.fault("no-samples", (), f"{few}; ask for a longer period, or with a smaller step")
        return None
    last = times[-1] if end is None else max(times[-1], end - (end - times[-1]) % step)
    asked = last - (span or 0) // step * step
    # An answer includes both ends.
    start = times[0] if span is None or 0 <= times[0] - asked <= step else asked
    grid = {
        metric: {key: _on_grid([samples for _, samples in entries], start, step) for key, entries in series.items()}
        for metric, series in found.items()
    }
    return UsageMetrics(grid, start, start + (last - start) // step * step, step)


def _step(usage: Iterable[Samples]) -> int | None:
    """The most common distance of two samples of a series, in seconds; None without two."""
    distances = Counter(after - before for samples in usage for before, after in pairwise(sorted(samples)))
    return distances.most_common(1)[0][0] if distances else None


def _on_grid(series: Iterable[Samples], start: int, step: int) -> Samples:
    """Return one sample for each cell of the grid, by the time at which it begins, without contradicting ones."""
    cells: dict[int, set[float]] = {}
    for samples in series:
        last = {start + (time - start) // step * step: samples[time] for time in sorted(samples) if time >= start}
        for cell, value in last.items():
            cells.setdefault(cell, set()).add(value)
    return {cell: values.pop() for cell, values in sorted(cells.items()) if len(values) == 1}


def _place(labels: Labels, kind: str) -> str:
    """Return what a series says of its cluster, project or location; empty without a word."""
    return next((labels[name] for name in _PLACES[kind] if labels.get(name)), "")


def _check_places(read: Sequence[ReadSeries], own: Sequence[ReadSeries], chosen: Chosen, problems: Problems) -> None:
    """Report series of two places among those that are read, and say whose series are left out."""
    for kind, names in _PLACES.items():
        found = {_place(each.labels, kind) for each in own}
        values = sorted(found - {""})
        if kind == "cluster" and values and "" in found:
            message = f"some series are of cluster '{values[0][:SHOWN]}', and some name none"
            metrics_fault(problems, "", f"{message}; write --cluster {values[0][:SHOWN]} for the former")
        if len(values) < 2:
            continue
        shown = " and ".join(f"'{each[:SHOWN]}'" for each in values[:3])
        label = next(name for name in names if any(each.labels.get(name) for each in own))
        way = (
            f"write --{kind} {values[0][:SHOWN]}, or the other"
            if kind == "project"
            else f'ask for one of them in the query ({label}="{values[0][:SHOWN]}")'
        )
        metrics_fault(problems, "", f"the series are of several clusters, with {label} {shown}; {way}")
    if own or not read:
        return
    for kind, wanted in (("cluster", chosen.cluster), ("project", chosen.project)):
        values = sorted({_place(each.labels, kind) for each in read} - {""})
        if wanted is not None and wanted not in values:
            shown = ", ".join(f"'{each[:SHOWN]}'" for each in values[:3]) or "none"
            way = f"write --{kind} {values[0][:SHOWN]} if that is this fleet's" if values else f"leave out --{kind}"
            metrics_fault(problems, "", f"no series has {kind} '{wanted}', and they have {shown}; {way}")
            return


def _without_repeats(series: Iterable[ReadSeries], problems: Problems) -> Iterator[ReadSeries]:
    """Yield each series; one that is read twice must say the same at the same time."""
    first: dict[tuple[tuple[str, str], ...], dict[int, tuple[float, str]]] = {}
    for each in series:
        known = first.setdefault(tuple(sorted(each.labels.items())), {})
        differing = next((t for t, value in each.samples.items() if t in known and known[t][0] != value), None)
        if differing is not None:
            value, place = known[differing]
            queue, metric = each.labels.get("cluster_queue", "")[:SHOWN], each.labels["__name__"]
            metrics_fault(
                problems,
                each.place,
                f"{metric} of queue '{queue}' is {each.samples[differing]:g} at {differing}, and {value:g} in {place}; "
                "give one of the two answers",
            )
        known.update({t: (value, each.place) for t, value in each.samples.items()})
        yield each


def _check_one_cluster(metric: str, queue: str, entries: Sequence[tuple[Labels, Samples]], problems: Problems) -> None:
    """Report series of one time whose labels, but for those of a process, differ: their sum is of no cluster."""
    ends: dict[tuple[tuple[str, str], ...], int] = {}
    for labels, samples in sorted(entries, key=lambda entry: min(entry[1])):
        own = tuple(sorted((name, value) for name, value in labels.items() if name not in _OF_PROCESS))
        for others in (each for each, end in ends.items() if each != own and min(samples) <= end):
            label, _ = min({*own} ^ {*others})
            values = " and ".join(f"'{dict(each).get(label, '')[:SHOWN]}'" for each in (others, own))
            metrics_fault(
                problems,
                "",
                f"{metric} of queue '{queue}' has two series at a time, with {label} {values}; ask for one of them "
                f'in the query ({label}="…")',
            )
            return
        ends[own] = max(ends.get(own, 0), max(samples))
