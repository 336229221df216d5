"""Local queues that take their turns while a trace runs, though nothing happens in their queue."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import Outage, Outages, TimedJob, Timing
from tests.berth.simulator import setups
from tests.berth.simulator.local_queues.test_admission_fair_sharing import job, setup
from tests.berth.simulator.setups import queue
from tests.berth.simulator.test_timed import CELL, Recorder


@pytest.mark.parametrize("elsewhere", [None, 2699, 2700, 2701])
def test_a_strict_queue_turns_while_nothing_happens(elsewhere: int | None) -> None:
    """A job that does not fit holds up the jobs of another local queue, until the use of that one is lower.

    What happens elsewhere, also in that second, changes nothing.
    """
    strict = setup(quota=4, strict=True)
    strict = replace(strict, queues=(*strict.queues, queue("elsewhere", 4)))
    log = Recorder()
    jobs = [
        TimedJob(job=job("a1", 4), submitted=0, seconds=1000),
        TimedJob(job=job("b1", 2), submitted=1, seconds=20_000),
        TimedJob(job=job("b2", 4), submitted=2, seconds=10),
        TimedJob(job=job("a2", 2), submitted=3, seconds=10),
    ]
    if elsewhere is not None:
        jobs.append(TimedJob(job=setups.job("x", "elsewhere", 1), submitted=elsewhere, seconds=5))
    run_trace(strict, jobs, Timing(), log)
    began = {name: time for time, what, name in log.steps if what == "hold"}
    # At second 1000 b1 starts, and b2 is next until b has used more than what is left of a.
    assert began["b1"] == 1000
    # At 2500, a sample of b, that is 0.585, and of a 0.618 is left; at 2700, a sample of a, 0.584.
    assert began["a2"] == 2700


def test_turns_in_which_nothing_happens_do_not_lengthen_the_run() -> None:
    """Two jobs that never fit wait for their turns until machines fail on which nobody is."""
    jobs = [
        TimedJob(job=job("a1", 2), submitted=0, seconds=100),
        TimedJob(job=job("a2", 4), submitted=1, seconds=10),
        TimedJob(job=job("b1", 4), submitted=2, seconds=10),
    ]
    outages = Outages({CELL: 2}, (Outage(time=100_000, seconds=10, machines=((CELL, 0),)),))
    for timing in (Timing(), Timing(outages=outages)):
        assert run_trace(setup(quota=2, strict=True), jobs, timing, Recorder()).time == 100
