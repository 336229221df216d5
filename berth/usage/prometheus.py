"""Ask a Prometheus for the metrics of a period."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator, Mapping

from berth.diagnostics import Problems
from berth.opener import UnreadableUrl, read_url, without_login
from berth.usage.series import METRICS

MAX_SAMPLES = 10_000
"""Samples of a series that are asked for; Prometheus answers with at most 11,000."""


def step_for(seconds: int) -> int:
    """Return the seconds between two samples for a period: a minute, or more for long periods."""
    return max(60, -(-seconds // MAX_SAMPLES))


def range_queries(matchers: Mapping[str, str], start: int, end: int) -> Iterator[tuple[str, str]]:
    """Yield each metric with the path and query of its range request. `matchers` select one of several clusters."""
    for metric in METRICS:
        listed = ",".join(f"{label}={json.dumps(value)}" for label, value in matchers.items())
        selector = f"{metric}{{{listed}}}" if listed else metric
        arguments = {"query": selector, "start": start, "end": end, "step": step_for(end - start)}
        yield metric, f"/api/v1/query_range?{urllib.parse.urlencode(arguments)}"


def fetch(
    url: str,
    token: str | None,
    start: int,
    end: int,
    problems: Problems,
    *,
    matchers: Mapping[str, str],
    allow_http: bool = False,
) -> list[tuple[str, str]]:
    """Return the answers of a Prometheus for a period, by metric; nothing after a fault.

    `token` is sent as a bearer token, over http only to this machine or with `allow_http`. Answers are not stored.
    """
    answers: list[tuple[str, str]] = []
    shown = without_login(url)
    for metric, path in range_queries(matchers, start, end):
        try:
            body = read_url(f"{url.rstrip('/')}{path}", token, allow_http=allow_http)
            answers.append((metric, body.decode("utf-8")))
        except UnicodeDecodeError:
            problems.fault("bad-url", ("--prometheus",), f"'{shown}' does not answer with UTF-8; name a Prometheus")
            return []
        except UnreadableUrl as error:
            problems.fault("bad-url", ("--prometheus",), f"'{shown}' {error}")
            return []
    return answers
