"""A trace: jobs with the second of their submission and their run time. Times are whole seconds from its start."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.plan.configuration import PodsReadyPlan
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
