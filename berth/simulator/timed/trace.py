"""A trace: jobs with the second of their submission and their run time. Times are whole seconds from its start.

A run of it knows of each job what it holds and has worked, and of itself what it begins with and who follows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from berth.plan.configuration import PodsReadyPlan
from berth.simulator.lenders import QuotaUse
from berth.simulator.pending_reasons import PendingReason
from berth.simulator.scheduler.model import FlavorResource, Job


class TimedJob(Struct, frozen=True, kw_only=True):
    """A job of a trace: it is submitted at `submitted`, and ends after its pods have worked for `seconds`.

    It loses what it worked since the last multiple of `checkpoint` seconds when it is evicted; without one it begins
    again. `startup` are the seconds from admission until its pods are ready; None is the flavor's.
    """

    job: Job
    submitted: int
    seconds: int
    checkpoint: int | None = None
    startup: int | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """Jobs in the order of their submission; `began` is the time of the first one, in seconds since 1970, if known."""

    jobs: list[TimedJob]
    began: int | None = None


class Outage(Struct, frozen=True, kw_only=True):
    """Machines that fail at second `time`, and are back after `seconds`.

    `machines` has one entry for each: its flavor and resource, and how much of that it has.
    """

    time: int
    seconds: int
    machines: tuple[tuple[FlavorResource, int], ...]


class Outages(Struct, frozen=True):
    """All that fails in a run, and what the machines of each flavor have together while none has failed."""

    capacity: Mapping[FlavorResource, int]
    outages: tuple[Outage, ...]


class Timing(Struct, frozen=True, kw_only=True):
    """What takes time besides the work of jobs.

    `startup`: flavor → seconds from admission until pods are ready, such as the scale-up of nodes. `provisioning`:
    flavor → seconds that its admission checks take. Flavors without an entry take no time.
    """

    startup: Mapping[str, int] = field(default_factory=dict[str, int])
    provisioning: Mapping[str, int] = field(default_factory=dict[str, int])
    pods_ready: PodsReadyPlan | None = None
    """When Kueue evicts a job whose pods are not ready, and when it returns; None is never."""
    outages: Outages | None = None
    """Machines that fail; None: none do, and quota alone decides."""


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)


def parse_duration(text: object) -> int | None:
    """Return a duration in whole seconds: `90`, 90, `15m`, `1h30m` or `2d`; None if it is none."""
    if isinstance(text, bool) or not isinstance(text, int | str):
        return None
    written = str(text).strip()
    if written.isascii() and written.isdigit():
        return int(written) if len(written) <= 10 else None
    match = _DURATION.fullmatch(written)
    if not written or match is None or any(part is not None and len(part) > 10 for part in match.groups()):
        return None
    return sum(int(part or 0) * _UNITS[unit] for part, unit in zip(match.groups(), "dhms", strict=True))


class Hold(Struct, frozen=True, kw_only=True):
    """The quota that a job has had for some seconds: the flavors of each pod set, and whether its checks are done."""

    flavors: tuple[dict[str, str], ...]
    seconds: int
    is_admitted: bool = True


class LiveJob(Struct, eq=False):
    """An unfinished job.

    `version` increases with each admission and eviction, so that events planned before are void. `remaining` are the
    seconds that it still has to work. `held_since` is when it got its quota, `ready_at` when its pods work, None while
    it has neither.
    """

    timed: TimedJob
    remaining: int
    version: int = 0
    uses: tuple[QuotaUse, ...] = ()
    held_since: int | None = None
    ready_at: int | None = None
    first_admitted: int | None = None
    timeouts: int = 0

    def hold(self, time: int) -> Hold | None:
        """Return the quota that it has at a time."""
        if self.held_since is None:
            return None
        of = {use.flavor_resource[1]: use.flavor_resource[0] for use in self.uses}
        pod_sets = self.timed.job.pod_sets
        flavors = tuple({name: of[name] for name in each.requests if name in of} for each in pod_sets)
        return Hold(flavors=flavors, seconds=time - self.held_since, is_admitted=self.ready_at is not None)


class RunStart(Struct, frozen=True, kw_only=True):
    """What is there in the first second: jobs in the order of arrival, and queues that are stopped (→ stop policy)."""

    jobs: tuple[tuple[TimedJob, Hold | None], ...]
    stop_policies: Mapping[str, str] = field(default_factory=dict[str, str])


class Stint(Struct, frozen=True):
    """The time in which a job held quota, in seconds: `warming` before its pods worked, `kept` and `lost` work.

    `reason` is Kueue's reason of its eviction, "" if it finished.
    """

    warming: int
    kept: int
    lost: int
    reason: str


class Observer(Protocol):
    """Follows a run. Times are seconds, and never decrease."""

    def submitted(self, time: int, live: LiveJob) -> None:
        """A job is submitted."""

    def took_quota(self, time: int, live: LiveJob) -> None:
        """A job has the quota `live.uses` from now on."""

    def gave_quota_back(self, time: int, live: LiveJob, stint: Stint) -> None:
        """A job no longer has `live.uses`: it is finished or evicted."""


class RunEnd(Struct, frozen=True):
    """The end of a run: its last second, and the jobs that did not finish, each with why, as they were submitted.

    `deactivated` are those whose pods were not ready too often. `looping` preempted each other without end.
    """

    time: int
    unfinished: tuple[tuple[LiveJob, PendingReason], ...] = ()
    deactivated: frozenset[str] = frozenset()
    looping: frozenset[str] = frozenset()
