"""Which versions GKE may refuse to create a cluster of: every minor of the table, and exact patches."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from berth.catalog import compare_version, parse_version, releases, supported_minor
from berth.clock import on_day
from berth.rules.gke.versions import features, release_violation


def codes(version: str, channel: str = "regular") -> list[str]:
    """The code of the warning of a version, if there is one."""
    violation = release_violation(version, channel)
    return [violation.code] if violation else []


@pytest.mark.parametrize(
    ("version", "regular", "extended"),
    [
        ("1.24", ["version-unsupported"], ["version-unsupported"]),
        ("1.29.2-gke.1521000", ["version-unsupported"], ["version-unsupported"]),
        ("1.31", ["version-unsupported"], ["version-unsupported"]),
        ("1.32", ["version-unsupported"], []),
        ("1.34.1", ["version-unsupported"], []),
        ("1.34.6-gke.1068000", ["version-unsupported"], ["version-exact"]),
        ("1.35", [], []),
        ("1.35.2-gke.1962000", ["version-exact"], ["version-exact"]),
        ("1.36", [], []),
        ("1.36.0-gke.1", ["version-exact"], ["version-exact"]),
    ],
)
def test_a_version_after_its_end_of_support_is_reported(version: str, regular: list[str], extended: list[str]) -> None:
    """On 2026-11-22."""
    with on_day(date(2026, 11, 22)):
        assert codes(version) == regular == codes(version, "rapid") == codes(version, "stable")
        assert codes(version, "extended") == extended


def test_support_ends_on_its_day_and_not_before() -> None:
    """The clock decides, and not the day of the table."""
    end = releases().minors["1.35"].standard
    with on_day(end - timedelta(days=1)):
        assert codes("1.35") == []
    with on_day(end):
        assert codes("1.35") == ["version-unsupported"]


def test_support_lasts_as_long_as_google_says() -> None:
    """About 14 months of standard support, and 24 in the extended channel, so ten months lie between the two ends.

    Google moves the end of standard support of some minors by a few months.
    """
    for minor, row in releases().minors.items():
        assert 120 <= (row.extended - row.standard).days <= 370, minor


def test_minors_follow_each_other() -> None:
    """None is left out, and none ends before an older one."""
    minors = [tuple(int(number) for number in minor.split(".")) for minor in releases().minors]
    assert minors == [(1, number) for number in range(minors[0][1], minors[-1][1] + 1)]
    ends = [(row.standard, row.extended) for row in releases().minors.values()]
    assert ends == sorted(ends)


def test_the_newest_minor_of_the_table_is_supported() -> None:
    """Messages tell people to write it."""
    assert codes(releases().newest) == []


@pytest.mark.parametrize("channel", ["rapid", "regular", "stable", "extended"])
@pytest.mark.parametrize("feature", sorted(features()))
def test_the_version_that_a_message_suggests_has_the_feature(feature: str, channel: str) -> None:
    """An exact patch would be refused by GKE some weeks later, and an old minor is past its support."""
    row = features()[feature]
    for since in (*row.since.values(), *row.later.values()):
        written = supported_minor(since, channel)
        assert release_violation(written, channel) is None
        assert compare_version(written, since) in ("newer", "unknown")
        assert parse_version(written) >= parse_version(since)[:2]


def test_a_feature_that_is_newer_than_the_table_needs_its_own_minor() -> None:
    assert supported_minor("1.99.3-gke.100", "regular") == "1.99"
