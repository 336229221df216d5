"""Windows of guarantees: what holds at each instant, compared with a clock on the wall; the proof, with every hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.calendar.timeline import amount_at, boundaries, last_change, overlap, stretches
from berth.calendar.windows import EVER, WindowError, read_window
from berth.clock import at_instant, instant, on_day, parse_moment
from berth.diff.compare import compare_fleets
from berth.diff.headline import headline
from berth.evaluate import Evaluation, evaluate_values
from berth.manifests import kueue
from berth.overview.calendar import calendar_as_json, calendar_blocks
from berth.plan.capacity import GuaranteeWindow, TimedGuarantee
from berth.plan.fleet import FleetPlan
from berth.verify.answers import LiveObjects
from berth.verify.objects import live_differences
from tests.small_fleets import REMOVED, fleet_with
from tests.small_fleets import plan as plan_of

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
BERLIN = "Europe/Berlin"


def timed(*windows: GuaranteeWindow, other: int = 8) -> TimedGuarantee:
    return TimedGuarantee("vision/train", ("vision",), "v5e", "v5e chips", other, windows)


@settings(max_examples=40, deadline=None)
@given(
    days=st.sets(st.sampled_from(WEEKDAYS), min_size=1),
    begin=st.integers(0, 23),
    hours=st.integers(1, 23),
    zone=st.sampled_from(["UTC", BERLIN, "America/Los_Angeles", "Asia/Kolkata"]),
    minutes=st.lists(st.integers(0, 3 * 366 * 24 * 60), min_size=8, max_size=8),
)
def test_a_weekly_window_holds_when_the_clock_on_the_wall_says_so(
    days: set[str], begin: int, hours: int, zone: str, minutes: list[int]
) -> None:
    """The weekday and time of day there are in the window, on all days but those on which clocks change."""
    first = next(d for d in (datetime(2026, 6, 1 + n) for n in range(7)) if WEEKDAYS[d.weekday()] in days)
    start = first + timedelta(hours=begin)
    window = GuaranteeWindow(
        16, f"{start:%Y-%m-%dT%H:%M}", f"{start + timedelta(hours=hours):%Y-%m-%dT%H:%M}", zone,
        f"FREQ=WEEKLY;BYDAY={','.join(sorted(days, key=WEEKDAYS.index))}",
    )  # fmt: skip
    for each in minutes:
        moment = datetime(2026, 6, 10, tzinfo=UTC) + timedelta(minutes=each)
        wall = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        offsets = {(wall + timedelta(days=n)).replace(tzinfo=ZoneInfo(zone)).utcoffset() for n in (-2, -1, 0, 1, 2)}
        if len(offsets) > 1:
            continue
        since_today = (wall - datetime(wall.year, wall.month, wall.day)) / timedelta(hours=1)
        expected = any(
            begin <= since_today + 24 * back < begin + hours and WEEKDAYS[(wall.weekday() - back) % 7] in days
            for back in (0, 1)
        )
        assert (amount_at(timed(window), moment) == 16) == expected


def test_a_window_keeps_its_time_of_day_when_clocks_change() -> None:
    """Saturday 18:00 in Berlin is 17:00 UTC in winter, and 16:00 in summer."""
    window = GuaranteeWindow(16, "2027-03-20T18:00", "2027-03-20T20:00", BERLIN, "FREQ=WEEKLY")
    begins = [start for start, _ in read_window(window).between(parse_moment("2027-03-01"), parse_moment("2027-04-05"))]
    assert [f"{each:%d %H:%M}" for each in begins] == ["20 17:00", "27 17:00", "03 16:00"]


def test_a_recurrence_ends_with_its_last_day_and_counts_weeks() -> None:
    window = GuaranteeWindow(
        16, "2026-12-05", "2026-12-06", recurrence="FREQ=WEEKLY;INTERVAL=2;UNTIL=20270102"
    )  # fmt: skip
    begins = [f"{start:%m-%d}" for start, _ in read_window(window).between(parse_moment("2026-01-01"), EVER)]
    assert begins == ["12-05", "12-19", "01-02"]


@pytest.mark.parametrize(("first_day", "days"), [("MO", ["05", "10", "19", "24"]), ("SU", ["05", "17", "19", "31"])])
def test_every_second_week_counts_weeks_from_their_first_day(first_day: str, days: list[str]) -> None:
    """The example of RFC 5545 (section 3.8.5.3) in which the first day of the week matters."""
    rule = f"FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST={first_day}"
    window = GuaranteeWindow(16, "1997-08-05T09:00", "1997-08-05T10:00", recurrence=rule)
    begins = read_window(window).between(parse_moment("1997-08-01"), parse_moment("1997-08-31T12:00"))
    assert [f"{start:%d}" for start, _ in begins] == days


def test_an_end_is_no_part_of_a_window() -> None:
    window = GuaranteeWindow(16, "2026-12-05", "2026-12-06")
    at = [amount_at(timed(window), parse_moment(each)) for each in ("2026-12-05", "2026-12-05T23:59Z", "2026-12-06")]
    assert at == [16, 16, 8]
    assert overlap((window, GuaranteeWindow(0, "2026-12-06"))) is None
    met = overlap((window, GuaranteeWindow(0, "2026-12-05T12:00")))
    assert met == (parse_moment("2026-12-05T12:00Z"), (0, 1))


def test_open_ends_last_for_ever_and_nothing_is_an_error() -> None:
    assert amount_at(timed(GuaranteeWindow(0, end="2026-12-06")), parse_moment("2001-01-01")) == 0
    assert amount_at(timed(GuaranteeWindow(0, "2026-12-06")), parse_moment("2099-01-01")) == 0
    with pytest.raises(WindowError, match="neither from nor until"):
        read_window(GuaranteeWindow(0))


def test_two_recurring_windows_are_tried_for_a_whole_period_of_both() -> None:
    """Windows of every fifth and every seventh week meet once in 35 weeks, and the stretches have that week."""
    five = timed(GuaranteeWindow(16, "2026-12-07", "2026-12-08", recurrence="FREQ=WEEKLY;INTERVAL=5"))
    seven = timed(GuaranteeWindow(16, "2026-12-14", "2026-12-15", recurrence="FREQ=WEEKLY;INTERVAL=7"))
    both = [each for each in stretches((five, seven)) if len(each.windows) == 2]
    weeks = next(n for n in range(36) if n % 5 == 0 and n % 7 == 1)
    assert both[0].start == parse_moment("2026-12-07") + timedelta(weeks=weeks)


@pytest.mark.parametrize("year", [2029, 2035, 2099, 9990])
def test_a_window_without_a_last_day_recurs_for_ever(year: int) -> None:
    """The calendar and the proof of a day count from that day on, however long ago the window was written."""
    weekly: dict[str, object] = {"from": "2026-12-05", "until": "2026-12-07", "recurrence": "FREQ=WEEKLY"}
    with on_day(datetime(year, 12, 30, tzinfo=UTC)):
        plan = fleet([weekly | {"guaranteed": 16}], []).fleet_plan
        assert plan is not None
        first, second = (parse_moment(each["at"]) for each in calendar_as_json(plan)[:2])
        assert timedelta() < first - instant() <= timedelta(days=5)
        assert second - first in (timedelta(days=2), timedelta(days=5))
        faults = fleet([weekly | {"guaranteed": 24}], []).faults
    assert [each.code for each in faults] == ["overcommitted"]


def test_the_last_change_is_known_years_after_the_window_was_written() -> None:
    window = GuaranteeWindow(16, "2026-12-05", "2026-12-07", recurrence="FREQ=WEEKLY")
    found = [last_change(timed(window), parse_moment(f"2035-01-{day}")) for day in ("12", "13", "15")]
    assert found == [
        (parse_moment(at), before) for at, before in (("2035-01-08", 16), ("2035-01-13", 8), ("2035-01-15", 16))
    ]


@pytest.mark.parametrize("at", ["0001-01-01", "9999-12-30", "9999-12-31", "9999-12-31T23:59:59Z"])
def test_the_first_and_last_days_of_the_calendar_are_days(at: str) -> None:
    weekly: dict[str, object] = {"guaranteed": 16, "from": "2026-12-05", "until": "2026-12-07", "timeZone": BERLIN}
    with on_day(parse_moment(at)):
        assert fleet([weekly | {"recurrence": "FREQ=WEEKLY"}], []).faults == ()


@pytest.mark.parametrize("written", ["0001-01-01T00:00+14:00", "9999-12-31T23:00-05:00"])
def test_a_time_without_one_in_utc_is_none(written: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_moment(written)


# --- a fleet ----------------------------------------------------------------------------------------------------------


def fleet(vision: list[dict[str, object]], speech: list[dict[str, object]], slices: int = 3) -> Evaluation:
    text = f"""
    project: acme-ml-dev
    region: us-central1
    cluster: {{name: acme, controlPlane: {{publicEndpoint: false}}}}
    pools: {{v5e: {{machineType: ct5lp-hightpu-4t, topology: 2x4, slices: {slices}, zone: us-central1-a}}}}
    cohorts: {{all: {{}}}}
    """
    values = yaml.safe_load(text)
    values["teams"] = {
        team: {
            "cohort": "all",
            "queues": {"train": {"flavors": [{"pool": "v5e", "guaranteed": 8, "borrow": "all", "windows": windows}]}},
        }
        for team, windows in (("vision", vision), ("speech", speech))
    }
    return evaluate_values("clock", values)


WEEKLY = st.builds(
    lambda day, begin, hours, amount: {
        "guaranteed": amount,
        "from": f"{datetime(2026, 11, 30) + timedelta(days=day, hours=begin):%Y-%m-%dT%H:%M}",
        "until": f"{datetime(2026, 11, 30) + timedelta(days=day, hours=begin + hours):%Y-%m-%dT%H:%M}",
        "recurrence": "FREQ=WEEKLY",
    },
    st.integers(0, 6), st.integers(0, 23), st.integers(1, 100), st.sampled_from([0, 8, 16, 24]),
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(vision=WEEKLY, speech=WEEKLY)
def test_the_proof_finds_what_every_hour_of_two_weeks_finds(
    vision: dict[str, object], speech: dict[str, object]
) -> None:
    """Guarantees above the capacity at some hour are a fault today, with the instant and the teams."""
    start = datetime(2026, 11, 30, tzinfo=UTC)
    with on_day(start.date()):
        planned = fleet([vision], [speech])
        assert planned.fleet_plan is not None
        calendar = planned.fleet_plan.calendar
        sums = [sum(amount_at(each, start + timedelta(hours=n)) for each in calendar) for n in range(14 * 24)]
        faults = [each for each in planned.faults if each.code == "overcommitted"]
    too_much = [n for n, total in enumerate(sums) if total > 24]
    assert bool(faults) == bool(too_much)
    if too_much and too_much[0]:
        at = start + timedelta(hours=too_much[0])
        first = f"at {at:%Y-%m-%d %H:%M} UTC: flavor 'v5e' guarantees {sums[too_much[0]]}"
        (message,) = (each.message for each in faults if each.message.startswith(first))
        assert "speech/train" in message
        assert "vision/train" in message


def test_the_plan_has_the_guarantee_of_its_instant_and_the_calendar_of_what_comes() -> None:
    window: dict[str, object] = {"guaranteed": 16, "from": "2026-12-05", "until": "2026-12-07"}
    for at, now, later in (
        ("2026-12-04T23:59Z", 8, ["2026-12-05T00:00:00Z", "2026-12-07T00:00:00Z"]),
        ("2026-12-05", 16, ["2026-12-07T00:00:00Z"]),
        ("2026-12-07", 8, []),
    ):
        with at_instant(parse_moment(at)):
            plan = fleet([window], []).fleet_plan
            assert plan is not None
            (queue,) = (each for each in plan.cluster_queues if each.teams == ("vision",))
            assert next(each.nominal for each in queue.flavors[0].quotas if each.resource == "google.com/tpu") == now
            found = calendar_as_json(plan)
            assert [each["at"] for each in found] == later
            assert len(list(calendar_blocks(plan))) == 2
    assert found == []


def test_a_boundary_says_who_gets_what() -> None:
    plan = fleet([{"guaranteed": 16, "from": "2026-12-05"}], [{"guaranteed": 0, "from": "2026-12-05"}]).fleet_plan
    assert plan is not None
    (first,) = boundaries(plan.calendar, (), instant())
    assert [(c.guarantee.holder, c.before, c.after) for c in first.changes] == [
        ("speech/train", 8, 0),
        ("vision/train", 8, 16),
    ]
    (entry,) = calendar_as_json(plan)
    assert entry["command"] == "pulumi up --stack clock"
    assert entry["changes"][0]["teams"] == ["speech"]


def test_more_sets_of_windows_than_are_proved_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth.validation.every_instant._MOST_STATES", 3)
    windows: list[dict[str, object]] = [
        {"guaranteed": 16, "from": f"2026-12-0{day}", "until": f"2026-12-0{day + 1}"} for day in (1, 3, 5, 7)
    ]
    assert [each.code for each in fleet(windows, []).faults] == ["guarantee-window"]
    assert fleet(windows[:2], []).faults == ()


def test_a_boundary_that_was_not_deployed_is_known_from_the_cluster() -> None:
    """The cluster has what was guaranteed before Saturday: the verification says since when, and what to run."""
    window: dict[str, object] = {"guaranteed": 16, "from": "2026-12-05", "until": "2026-12-07"}
    with at_instant(parse_moment("2026-12-04")):
        before = fleet([window], []).fleet_plan
    with at_instant(parse_moment("2026-12-05T10:00Z")):
        plan = fleet([window], []).fleet_plan
        assert before is not None
        assert plan is not None
        queues = {each.name: kueue.cluster_queue(each) for each in before.cluster_queues}
        live = LiveObjects({"ClusterQueue": queues})
        meanings = [each.meaning for each in live_differences(plan, live) if "vision-train" in each.subject]
    assert (
        "vision-train is guaranteed 8 instead of 16 google.com/tpu of v5e: that of before 2026-12-05 00:00 UTC, which "
        "was not deployed; run pulumi up --stack clock"
    ) in meanings


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (("12-14", "12-20", 16), ("12-16", "12-20", 16), "speech/train: the guarantee of 16 v5e chips begins "
         "2026-12-16 00:00 UTC instead of 2026-12-14 00:00 UTC (2 days later)"),
        (("12-14", "12-20", 16), ("12-14", "12-18", 16), "speech/train: the guarantee of 16 v5e chips ends "
         "2026-12-18 00:00 UTC instead of 2026-12-20 00:00 UTC (shortened)"),
        (("12-14", "12-20", 16), ("12-16", "12-22", 16), "speech/train: the guarantee of 16 v5e chips is moved, "
         "2 days later: from 2026-12-16 00:00 UTC until 2026-12-22 00:00 UTC"),
        (("12-14", "12-20", 16), ("12-14", "12-20", 0), "speech/train: from 2026-12-14 00:00 UTC until "
         "2026-12-20 00:00 UTC 0 instead of 16 v5e chips are guaranteed"),
        (None, ("12-14", "12-20", 16), "speech/train: 16 v5e chips are guaranteed from 2026-12-14 00:00 UTC until "
         "2026-12-20 00:00 UTC (8 otherwise)"),
        (("12-14", "12-20", 16), None, "speech/train: the guarantee of 16 v5e chips from 2026-12-14 00:00 UTC until "
         "2026-12-20 00:00 UTC is removed (8 instead)"),
    ],
)  # fmt: skip
def test_a_diff_says_in_words_what_becomes_of_a_window(
    old: tuple[str, str, int] | None, new: tuple[str, str, int] | None, says: str
) -> None:
    plans = [
        fleet([], [{"from": f"2026-{each[0]}", "until": f"2026-{each[1]}", "guaranteed": each[2]}] if each else [])
        for each in (old, new)
    ]
    before, after = (each.fleet_plan for each in plans)
    assert before is not None
    assert after is not None
    changes = compare_fleets(before, after)
    (change,) = changes.entitlements.calendar
    assert change.text == says
    assert says in headline(changes)
    assert not changes.is_empty
    amounts = [8 if each is None else each[2] for each in (old, new)]
    loses = new is None or amounts[1] < amounts[0] or (old is not None and (new[0] > old[0] or new[1] < old[1]))
    assert change.takes == loses
    assert compare_fleets(after, after).is_empty


def test_windows_that_change_are_listed_by_holder() -> None:
    def eight_queues(windows: list[dict[str, object]]) -> FleetPlan:
        flavors = [{"pool": "l4", "guaranteed": 1, "windows": windows}]
        queues = {f"q{number}": {"flavors": flavors} for number in (5, 2, 8, 1, 7, 3, 6, 4)}
        changes = {"teams.vision.queues": queues, "teams.speech.queues.serve": REMOVED}
        return plan_of(fleet_with(changes))

    window: dict[str, object] = {"from": "2026-12-05", "until": "2026-12-07", "guaranteed": 0}
    changes = compare_fleets(eight_queues([]), eight_queues([window]))
    holders = [each.holder for each in changes.entitlements.calendar]
    assert holders == [f"vision/q{number}" for number in range(1, 9)]
