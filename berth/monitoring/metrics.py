"""The metrics that exist, and queries over them: `<metric label="value">` becomes PromQL of one backend.

PromQL of Cloud Monitoring names the monitored resource and the cluster in the selector (Google Cloud docs, "PromQL in
Cloud Monitoring"); a Prometheus in the cluster sees only that cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import yaml
from msgspec import Struct

MANAGED, IN_CLUSTER = "managed", "in-cluster"

_TABLES = Path(__file__).parent
_SERIES: Final = ("_bucket", "_sum", "_count")
_TERM = re.compile(r'<([A-Za-z_:][\w:]*)((?:[ ,]\w+(?:=~|!=|!~|=)"[^"]*")*)>')
_MATCHER = re.compile(r'(\w+)(=~|!=|!~|=)"([^"]*)"')
_LEFTOVER = re.compile(r"<[A-Za-z_]")


class Metric(Struct, frozen=True):
    """A metric by its PromQL name. `labels` are those it can be asked by, `selector` the matchers of every query of it.

    `cluster` is the label with the cluster's name in Cloud Monitoring, None for metrics of the project; `needs` a
    setting without which there are no samples.
    """

    name: str
    kind: str
    labels: frozenset[str]
    backends: frozenset[str]
    cluster: str | None
    selector: tuple[str, ...]
    needs: str | None


@cache
def rows(table: str) -> Any:
    """A table beside this file, read once."""
    return yaml.load((_TABLES / f"{table}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@cache
def metrics() -> Mapping[str, Metric]:
    """Every metric by its PromQL name."""
    table = cast("dict[str, dict[str, dict[str, Any]]]", rows("metrics"))
    return {name: _metric(name, row, table["sources"][row["from"]]) for name, row in table["metrics"].items()}


def _metric(name: str, row: Mapping[str, Any], source: Mapping[str, Any]) -> Metric:
    cluster, selector = source.get("cluster"), tuple(source.get("selector", ()))
    own = {label for each in selector for label, _, _ in _MATCHER.findall(each)}
    labels = {*row.get("labels", ()), *source.get("labels", ()), *own, *([cluster] if cluster else ())}
    return Metric(
        name=name,
        kind=row["kind"],
        labels=frozenset(labels),
        backends=frozenset(source["backends"]),
        cluster=cluster,
        selector=selector,
        needs=row.get("needs"),
    )


def metric_of(series: str) -> Metric:
    """The metric that a series belongs to: a histogram has three. Raises KeyError for one that does not exist."""
    known = metrics()
    if series in known and known[series].kind != "histogram":
        return known[series]
    for suffix in _SERIES:
        found = known.get(series.removesuffix(suffix))
        if series.endswith(suffix) and found is not None and found.kind == "histogram":
            return found
    raise KeyError(series)


def terms(expression: str) -> Iterator[tuple[Metric, frozenset[str]]]:
    """The metrics that an expression names, each with the labels it is selected by."""
    for match in _TERM.finditer(expression):
        yield metric_of(match[1]), frozenset(label for label, _, _ in _MATCHER.findall(match[2]))


def available(expression: str, backend: str, settings: frozenset[str]) -> bool:
    """Whether a backend has every metric of an expression, under the `settings` that are on."""
    return all(backend in m.backends and (m.needs is None or m.needs in settings) for m, _ in terms(expression))


def query(expression: str, backend: str, cluster: str) -> str:
    """The expression as PromQL for one cluster. Raises KeyError for a metric, ValueError for a label that is not."""
    for metric, labels in terms(expression):
        if unknown := labels - metric.labels:
            raise ValueError(f"{metric.name} has no label {sorted(unknown)}")
    found = _TERM.sub(lambda match: _selector(match, backend, cluster), expression)
    if left := _LEFTOVER.search(found):
        raise ValueError(f"not understood: {found[left.start() :]}")
    return found


def _selector(match: re.Match[str], backend: str, cluster: str) -> str:
    metric = metric_of(match[1])
    here = [f'{metric.cluster}="{cluster}"'] if backend == MANAGED and metric.cluster else []
    asked = [f'{label}{how}"{value}"' for label, how, value in _MATCHER.findall(match[2])]
    matchers = [*metric.selector, *here, *asked]
    return match[1] + ("{" + ",".join(matchers) + "}" if matchers else "")
