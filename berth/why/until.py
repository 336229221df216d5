"""Until when a workload stays as it is: a time that the state of the cluster has, or why none is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from berth.jobs.values import get_nested, read_time
from berth.text import pluralize
from berth.why.cluster import LiveWorkload, SeenCluster, later
from berth.why.forecast import Forecast
from berth.why.words import Reading


class Until(Struct, frozen=True):
    """Until when it stays so: `at` is a time that is known, `text` says what happens then, or why none is known."""

    text: str
    at: datetime | None = None


def latest_end(workload: LiveWorkload) -> datetime | None:
    """Return the latest time at which a running workload ends; None without a limit."""
    admitted, longest = workload.condition("Admitted"), workload.run_seconds
    if admitted is None or admitted[0] != "True" or admitted[3] is None or longest is None:
        return None
    return later(admitted[3], longest)


def until_when(
    cluster: SeenCluster, workload: LiveWorkload, obstacles: Sequence[Reading], guess: Forecast | None
) -> Until:
    """Return until when the first obstacle lasts."""
    kinds = [each.words.until for each in obstacles]
    if kinds and all(kind == "never" for kind in kinds):
        return Until("it does not end by itself")
    waits = _requeue_time(workload)
    if waits is not None:
        return Until(f"Kueue tries it again at {_clock(waits)}", waits)
    if "ready" in kinds:
        return _ready_limit(cluster, workload)
    if "soon" in kinds:
        longest = {team.isolation.max_grace for team in cluster.plan.teams if team.isolation}
        seconds = max((each for each in longest if each is not None), default=None)
        limit = "" if seconds is None or None in longest else f", each at most {seconds} s after its signal to end"
        return Until(f"the pods of the preempted jobs have ended{limit}; when that is, the state does not say")
    if guess is not None and (not kinds or "holders" in kinds):
        if guess.latest is not None:
            what = "enough of the jobs that hold the quota have reached their maximum run time"
            return Until(
                f"{_clock(guess.latest)} at the latest, when {what}; sooner if they end, later if another "
                "job comes first",
                guess.latest,
            )
        endless = sum(holder.ends is None for holder in guess.holders)
        if endless:
            return Until(
                f"unknown: {endless} of {pluralize(len(guess.holders), 'job')} that hold the quota have no "
                "limit of their run time"
            )
    return Until("unknown: nothing in the cluster's state says it")


def _requeue_time(workload: LiveWorkload) -> datetime | None:
    """Return when Kueue tries it again, if that is set."""
    times = [read_time(get_nested(workload.value, "status", "requeueState", "requeueAt"))]
    for check in workload.checks:
        since, seconds = read_time(check.get("lastTransitionTime")), check.get("requeueAfterSeconds")
        if check.get("state") == "Retry" and since is not None and isinstance(seconds, int):
            times.append(later(since, seconds))
    return max((each for each in times if each is not None), default=None)


def _ready_limit(cluster: SeenCluster, workload: LiveWorkload) -> Until:
    """Return when Kueue takes back the quota of a workload whose pods are not ready."""
    settings = cluster.plan.kueue
    ready, admitted = workload.condition("PodsReady"), workload.condition("Admitted")
    is_lost = ready is not None and ready[1] == "WaitForRecovery"
    start = (ready if is_lost else admitted)[3] if ready and admitted else None
    if settings is None or start is None:
        return Until("unknown: the stack file does not configure this Kueue, so its timeout is not known")
    seconds = settings.pods_ready.timeout_seconds
    if is_lost and settings.pods_ready.recovery_seconds is not None:
        seconds = settings.pods_ready.recovery_seconds
    if not seconds:
        return Until("unknown: Kueue waits for lost pods without a limit here")
    at = start + timedelta(seconds=seconds)
    return Until(
        f"its pods are ready, which nobody knows; at {_clock(at)} Kueue takes its quota back and queues it "
        f"again (waitForPodsReady)",
        at,
    )


def _clock(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
