"""From options to the figures of `berth usage`."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from berth.diagnostics import Problem, Problems, join_quoted
from berth.loader.text_file import parse_json, read_json, read_text
from berth.plan.fleet import FleetPlan
from berth.spec.amounts import parse_seconds
from berth.usage.accounts import UsageReport, account_usage, differing_guarantees
from berth.usage.prometheus import fetch, range_queries
from berth.usage.series import Chosen, read_metrics

_REMEDY = "save the whole answer again; `berth usage STACK --queries` prints how"
_SHOWN = 5
DEFAULT_PERIOD = "7d"


class UsageResult(Struct, frozen=True):
    """The figures, or the faults that keep them from being worked out; and warnings."""

    report: UsageReport | None
    problems: tuple[Problem, ...]


def measure_usage(
    plan: FleetPlan,
    files: Sequence[pathlib.Path],
    url: str | None,
    token_file: pathlib.Path | None,
    period: str | None,
    *,
    chosen: Chosen | None = None,
    allow_http: bool = False,
) -> UsageResult:
    """Return the figures of the files, or of the Prometheus at `url` for the last `period`.

    Without a period it is that of the files, and 7 days of a Prometheus. The series are those of the `chosen` cluster,
    by default the plan's.
    """
    chosen = chosen or Chosen(plan.cluster.name)
    problems = Problems()
    span = None
    try:
        span = None if period is None and url is None else parse_seconds(period or DEFAULT_PERIOD)
    except ValueError as error:
        problems.fault("bad-value", ("--last",), str(error))
    matchers = chosen.matchers()
    end = int(time.time()) if url else None
    asked = (end or 0) - (span or 0), end or 0
    answers = _answers(files, url, token_file, asked, problems, matchers=matchers, allow_http=allow_http)
    metrics = None if problems.has_faults() else read_metrics(answers, chosen, problems, span, end)
    if metrics is None:
        return UsageResult(None, tuple(problems.entries))
    report = account_usage(plan, metrics)
    known = metrics.queues() - set(report.unknown_queues)
    more = f" and {len(report.unknown_queues) - _SHOWN} more" if len(report.unknown_queues) > _SHOWN else ""
    unknown = f"{join_quoted(report.unknown_queues[:_SHOWN])}{more}"
    if not known:
        message = f"no cluster queue of {plan.stack} has a sample, but {unknown} have; name metrics of this fleet"
        problems.fault("other-fleet", (), message)
        return UsageResult(None, tuple(problems.entries))
    if report.unknown_queues:
        message = f"{unknown} are not in the stack file and are left out; a queue that was renamed needs `formerly`"
        problems.warning("unknown-queues", (), message)
    for account in differing_guarantees(report):
        message = (
            f"the cluster guarantees {account.guaranteed} {account.flavor.noun} of {account.flavor.name} to "
            f"{account.team}, the stack file {account.planned}: deploy, or choose the stack file of the period"
        )
        problems.warning("other-guarantee", ("teams", account.team), message)
    return UsageResult(report, tuple(problems.entries))


def _answers(
    files: Sequence[pathlib.Path],
    url: str | None,
    token_file: pathlib.Path | None,
    asked: tuple[int, int],
    problems: Problems,
    *,
    matchers: Mapping[str, str],
    allow_http: bool,
) -> list[tuple[str, object]]:
    if bool(files) == bool(url):
        message = "write either --metrics FILE or --prometheus URL; `--queries` prints the requests for a file"
        problems.fault("bad-value", ("--metrics",), message)
        return []
    if url is None:
        values = [(str(file), read_json(file, str(file), _REMEDY)) for file in files]
    else:
        token = None if token_file is None else read_text(token_file, str(token_file), "name a file with a token")
        if isinstance(token, Problem):
            problems.entries.append(token)
        if problems.has_faults():
            return []
        bearer = token.strip() if isinstance(token, str) else None
        texts = fetch(url, bearer, *asked, problems, matchers=matchers, allow_http=allow_http)
        values = [(metric, parse_json(text, metric, _REMEDY)) for metric, text in texts]
    problems.entries += [value for _, value in values if isinstance(value, Problem)]
    return values


def queries_text(plan: FleetPlan, period: str | None, chosen: Chosen) -> str:
    """Return commands that save what `--metrics` reads; raises ValueError for a period that is none."""
    end = int(time.time())
    several = len({plan.cluster.name, *(worker.name for worker in plan.workers)}) > 1
    matchers = {**({"cluster": chosen.cluster} if several else {}), **chosen.matchers()}
    lines = [
        f'curl -sf "$PROMETHEUS{path}" > {metric}.json'
        for metric, path in range_queries(matchers, end - parse_seconds(period or DEFAULT_PERIOD), end)
    ]
    names = " ".join(f"--metrics {line.rpartition(' ')[2]}" for line in lines)
    return "\n".join([*lines, f"berth usage {plan.stack} {names}"])
