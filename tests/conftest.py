"""Settings for all tests: Hypothesis without deadlines, and in CI skips only for known reasons."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Generator

import pytest
from hypothesis import settings

os.environ["BERTH_AS_OF"] = "2026-11-25"  # warnings, goldens and both sides of a diff compare dates with one day

settings.register_profile("any-machine", deadline=None)  # how fast the machine is, is no property of the code
settings.load_profile("any-machine")

KNOWN_SKIPS = (
    r"deploys onto the cluster of \$KUBECONFIG",
    r"no `pulumi` on PATH",
    r"(promtool|actionlint) is not on PATH",
    r"there is no Chromium on PATH",
    r"the extra `samples` is not installed",
)
"""Reasons to skip that CI accepts: programs, clusters and large libraries that a machine may lack."""


def unknown_skip(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """The reason of a skip that CI does not accept; None for any other outcome."""
    if not report.skipped or not os.environ.get("CI") or hasattr(report, "wasxfail"):
        return None
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return None if any(re.search(known, reason) for known in KNOWN_SKIPS) else reason


GC_THRESHOLD = 100_000
"""Number of new objects between two garbage collections. With Python's 700, collections took a sixth of the CPU time of
tests that keep many plans."""


def pytest_collection() -> None:
    """Collect no garbage while modules and tests are loaded: next to nothing of it is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt all that collection loaded (providers of Pulumi, 12,000 tests) from every later garbage collection.

    It stays to the end, and reading it again and again takes a large part of the time of the suite.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that is skipped in CI for a reason that is not in KNOWN_SKIPS."""
    report = yield
    if (reason := unknown_skip(report)) is not None:
        report.outcome = "failed"
        report.longrepr = f"skipped in CI for a reason that tests/conftest.py does not list: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that is skipped in CI for a reason that is not in KNOWN_SKIPS."""
    report = yield
    if (reason := unknown_skip(report)) is not None:
        report.outcome = "failed"
        report.longrepr = f"skipped in CI for a reason that tests/conftest.py does not list: {reason}"
    return report
