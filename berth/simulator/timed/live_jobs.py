"""The jobs of a run over time: what one holds and has worked, what a run begins with, and who follows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from berth.simulator.lenders import QuotaUse
from berth.simulator.pending_reasons import PendingReason
from berth.simulator.timed.trace import TimedJob


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
