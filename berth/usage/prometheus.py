"""Ask a Prometheus for the metrics of a period."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

from berth.diagnostics import Problems
from berth.usage.series import METRICS

MAX_SAMPLES = 10_000
"""Samples of a series that are asked for; Prometheus answers with at most 11,000."""
_TIMEOUT = 60


def step_for(seconds: int) -> int:
    """Return the seconds between two samples for a period: a minute, or more for long periods."""
    return max(60, -(-seconds // MAX_SAMPLES))


def range_queries(cluster: str | None, start: int, end: int) -> Iterator[tuple[str, str]]:
    """Yield each metric with the path and query of its range request. `cluster` selects one of several clusters."""
    for metric in METRICS:
        selector = f'{metric}{{cluster="{cluster}"}}' if cluster else metric
        arguments = {"query": selector, "start": start, "end": end, "step": step_for(end - start)}
        yield metric, f"/api/v1/query_range?{urllib.parse.urlencode(arguments)}"


def fetch(url: str, token: str | None, start: int, end: int, problems: Problems) -> list[tuple[str, str]]:
    """Return the answers of a Prometheus for a period, by metric; nothing after a fault.

    `token` is sent as a bearer token. Answers are not stored.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        problems.fault(
            "bad-url", ("--prometheus",), f"'{url}' is not an address; write one such as http://localhost:9090"
        )
        return []
    answers: list[tuple[str, str]] = []
    for metric, path in range_queries(None, start, end):
        request = urllib.request.Request(f"{url.rstrip('/')}{path}")  # scheme is checked above
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                answers.append((metric, answer.read().decode("utf-8")))
        except (OSError, ValueError) as error:
            reason = f"status {error.code}" if isinstance(error, urllib.error.HTTPError) else str(error)
            problems.fault("bad-url", ("--prometheus",), f"{url} does not answer for {metric}: {reason}")
            return []
    return answers
