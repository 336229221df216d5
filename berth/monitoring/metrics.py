"""Known metrics, and queries over them: `<metric label="value">` becomes PromQL of one backend.

PromQL of Cloud Monitoring names the monitored resource and the cluster in the selector (Google Cloud docs, "PromQL in
Cloud Monitoring"); a Prometheus in the cluster sees only that cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from berth import yaml_loader
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, root_of
from berth.plan.monitoring import RecordingPlan

MANAGED, IN_CLUSTER = "managed", "in-cluster"

_TABLES = Path(__file__).parent
_METRIC_TERM = re.compile(r'<([A-Za-z_:][\w:]*)((?:[ ,]\w+(?:=~|!=|!~|=)"[^"]*")*)>')
_MATCHER = re.compile(r'(\w+)(=~|!=|!~|=)"([^"]*)"')
_UNMATCHED_TERM = re.compile(r"<[A-Za-z_]")


class Metric(Struct, frozen=True):
    """A metric by its PromQL name. `labels` can be queried, `selector` has the matchers of every query of it.

    `cluster` is the label with the cluster's name in Cloud Monitoring, None for metrics of the project;
    `required_setting` one without which there are no samples. The buckets of a `sampled` histogram count one sampling
    period instead of growing.
    """

    name: str
    kind: str
    labels: frozenset[str]
    backends: frozenset[str]
    cluster: str | None
    selector: tuple[str, ...]
    required_setting: str | None
    sampled: bool = False


@cache
def monitoring_table(table: str) -> Any:
    """Return a table beside this file, read once."""
    return yaml_loader.load_table(_TABLES / f"{table}.yaml")


@cache
def metrics_by_name() -> Mapping[str, Metric]:
    """Return every metric by its PromQL name."""
    table = cast("dict[str, dict[str, dict[str, Any]]]", monitoring_table("metrics"))
    return {name: _metric(name, row, table["sources"][row["from"]]) for name, row in table["metrics"].items()}


def _metric(name: str, row: Mapping[str, Any], source: Mapping[str, Any]) -> Metric:
    cluster, selector = source.get("cluster"), tuple(source.get("selector", ()))
    selector_labels = {label for each in selector for label, _, _ in _MATCHER.findall(each)}
    labels = {*row.get("labels", ()), *source.get("labels", ()), *selector_labels, *([cluster] if cluster else ())}
    return Metric(
        name=name,
        kind=row["kind"],
        labels=frozenset(labels),
        backends=frozenset(source["backends"]),
        cluster=cluster,
        selector=selector,
        required_setting=row.get("needs"),
        sampled=row.get("sampled", False),
    )


def find_metric(series: str) -> Metric:
    """Return the metric of a series: a histogram has three series. Raises KeyError for an unknown one."""
    known = metrics_by_name()
    if series in known and known[series].kind != "histogram":
        return known[series]
    for suffix in ("_bucket", "_sum", "_count"):
        metric = known.get(series.removesuffix(suffix))
        if series.endswith(suffix) and metric is not None and metric.kind == "histogram":
            return metric
    raise KeyError(series)


@lru_cache(maxsize=1024)
def metrics_in(expression: str) -> tuple[tuple[Metric, frozenset[str]], ...]:
    """Return the metrics that an expression names, each with the labels it is selected by."""
    return tuple(
        (find_metric(match[1]), frozenset(label for label, _, _ in _MATCHER.findall(match[2])))
        for match in _METRIC_TERM.finditer(expression)
    )


@lru_cache(maxsize=1024)
def is_available(expression: str, backend: str, settings: frozenset[str]) -> bool:
    """Return whether a backend has every metric of an expression, with these `settings`."""
    return all(
        backend in m.backends and (m.required_setting is None or m.required_setting in settings)
        for m, _ in metrics_in(expression)
    )


@lru_cache(maxsize=1024)
def render_query(expression: str, backend: str, cluster: str) -> str:
    """Return the expression as PromQL for one cluster. Raises KeyError (unknown metric) or ValueError (label)."""
    for metric, labels in metrics_in(expression):
        if unknown := labels - metric.labels:
            raise ValueError(f"{metric.name} has no label {sorted(unknown)}")
    promql = _METRIC_TERM.sub(lambda match: _selector(match, backend, cluster), expression)
    if unmatched := _UNMATCHED_TERM.search(promql):
        raise ValueError(f"invalid metric term: {promql[unmatched.start() :]}")
    return promql


def _selector(match: re.Match[str], backend: str, cluster: str) -> str:
    metric = find_metric(match[1])
    cluster_matcher = [f'{metric.cluster}="{cluster}"'] if backend == MANAGED and metric.cluster else []
    label_matchers = [f'{label}{how}"{value}"' for label, how, value in _MATCHER.findall(match[2])]
    matchers = [*metric.selector, *cluster_matcher, *label_matchers]
    return match[1] + ("{" + ",".join(matchers) + "}" if matchers else "")


QUEUE_INFO = "berth:queue:info"
PRICE = "berth:accelerator:price_per_hour"


def queue_constants(queues: Sequence[ClusterQueuePlan], cohorts: Sequence[CohortPlan]) -> Iterator[RecordingPlan]:
    """Yield a rule for each cluster queue: 1, with its team (unless teams share it) and the root of its cohort tree."""
    by_name = {each.name: each for each in cohorts}
    for queue in queues:
        labels = {"cluster_queue": queue.name}
        if len(queue.teams) == 1:
            labels["team"] = queue.teams[0]
        if queue.cohort is not None:
            labels["root_cohort"] = root_of(by_name, queue.cohort)
        yield RecordingPlan(name=QUEUE_INFO, query="vector(1)", labels=labels)


def price_constants(prices: Mapping[str, float], currency: str) -> Iterator[RecordingPlan]:
    """Yield a rule for each flavor with a price: that of one accelerator for an hour."""
    for flavor, price in sorted(prices.items()):
        labels = {"flavor": flavor, "currency": currency}
        yield RecordingPlan(name=PRICE, query=f"vector({price:g})", labels=labels)
