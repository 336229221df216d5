"""Reads a trace, in the order of submission: CSV with a row for each job, or JSON lines with an object for each."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from berth.diagnostics import Problem, Problems, Severity, closest_match, did_you_mean
from berth.jobs.pod_set import PodSet
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import read_time
from berth.simulator.arrivals import MAX_LISTED, without_excluded
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.model import Job
from berth.simulator.timed.trace import TimedJob, parse_duration

MAX_TRACE_BYTES = 64 << 20
MAX_JOBS = 250_000
"""The largest trace that is read."""
MAX_SECONDS = 10 * 366 * 86_400
"""The longest time of one job, and the longest trace: ten years."""
COLUMNS = ("submitted", "seconds", "queue", "team", "name", "pods", "priority", "checkpoint", "startup")
_RESOURCE = re.compile(r"cpu|memory|pods|[a-z0-9.-]+/[A-Za-z0-9._-]+")


class TraceReader:
    """Reads the jobs of one trace for a fleet; adds a fault with its line for each value that is wrong."""

    def __init__(self, fleet: SimulatedFleet, display_path: str) -> None:
        self.fleet = fleet
        self.display_path = display_path
        self.problems = Problems()
        self._queues: dict[tuple[str, str], str | None] = {}
        self._pod_sets: dict[object, tuple[PodSet, ...]] = {}
        self._lines: dict[str, int] = {}
        self._last: tuple[int, int] | None = None
        self._is_dated: bool | None = None
        self._line = 0

    @property
    def began(self) -> int | None:
        """The time of the first submission in seconds since 1970, if the trace has dates."""
        return self._last[0] if self._last and self._is_dated else None

    def read(self, text: str) -> list[TimedJob]:
        """Return the jobs; times count from the first submission."""
        if not text.strip():
            self._fault("no-jobs", (), "is empty; write the names of the columns, and a row for each job")
            return []
        if text.lstrip()[:1] == "[":
            self._fault("bad-json", (), "is a JSON list; write one object on each line: jq -c '.[]' FILE")
            return []
        is_json = text.lstrip()[:1] == "{"
        jobs: list[TimedJob] = []
        for line, entry in self._json_entries(text) if is_json else self._csv_entries(text):
            self._line = line
            if len(jobs) == MAX_JOBS:
                self._fault("too-large", (), f"more than {MAX_JOBS:,} jobs; split the trace by time")
                break
            job = self._read_job(entry)
            if job is not None:
                jobs.append(job)
        if not jobs and not self.problems.has_faults():
            self._line = 0
            self._fault("no-jobs", (), "has no jobs; write a row for each job below the names of the columns")
        return jobs

    # --- forms --------------------------------------------------------------------------------------------------------

    def _csv_entries(self, text: str) -> Iterator[tuple[int, dict[str, object]]]:
        lines = text.splitlines()
        rows = csv.reader(lines, strict=True, delimiter=next((each for each in ",;\t" if each in lines[0]), ","))
        try:
            head = [name.strip() for name in next(rows, list[str]())]
            self._line = 1
            if not self._check_keys(head, is_head=True):
                return
            for row in rows:
                self._line = rows.line_num
                if not any(cell.strip() for cell in row):
                    continue
                if len(row) != len(head):
                    message = f"has {len(row)} values, and {len(head)} columns; write one value for each column"
                    self._fault("bad-value", (), message)
                    continue
                yield rows.line_num, {name: cell.strip() for name, cell in zip(head, row, strict=True) if cell.strip()}
        except csv.Error as error:
            self._line = rows.line_num
            self._fault("bad-value", (), f"is not CSV: {error}; quote values with commas or quotes")

    def _json_entries(self, text: str) -> Iterator[tuple[int, dict[str, object]]]:
        for line, written in enumerate(text.splitlines(), 1):
            self._line = line
            if not written.strip():
                continue
            try:
                value: object = json.loads(written)
            except (ValueError, RecursionError):
                self._fault("bad-json", (), "is not a JSON object on one line; write one object for each job")
                continue
            if not isinstance(value, dict):
                self._fault("bad-json", (), "is not a JSON object; write one object for each job")
                continue
            entry = dict(cast("dict[str, object]", value))
            requests = entry.pop("requests", {})
            if not isinstance(requests, dict):
                self._fault("bad-value", ("requests",), 'is not an object of resources and amounts; write {"cpu": 4}')
                continue
            if self._check_keys([*entry, *cast("dict[str, object]", requests)], is_head=False):
                yield line, {**entry, **cast("dict[str, object]", requests)}

    def _check_keys(self, names: list[str], *, is_head: bool) -> bool:
        """Check the names of columns or keys; return whether jobs can be read."""
        before = len(self.problems.entries)
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                self._fault("twice", (name,), "is a column twice; remove one")
            elif name not in COLUMNS and not _RESOURCE.fullmatch(name):
                close = closest_match(name, COLUMNS)
                remedy = f"did you mean '{close}'?" if close else f"write one of {', '.join(COLUMNS)}, or a resource"
                self._fault("unknown-key", (name,), f"unknown column '{name}'; {remedy}")
        for name in ("submitted", "seconds"):
            if name not in names:
                self._fault("missing-key", (name,), f"'{name}' is missing; write it for each job")
        if "queue" not in names and "team" not in names:
            self._fault("missing-key", ("queue",), "'queue' is missing; write the queue of each job, or its team")
        if not any(name not in COLUMNS for name in names) and len(self.problems.entries) == before:
            example = next((resource for _, resource in self.fleet.accelerator_nouns), "cpu")
            self._fault("missing-key", (), f"no resource; write a {'column' if is_head else 'key'} such as {example}")
        return len(self.problems.entries) == before

    # --- values -------------------------------------------------------------------------------------------------------

    def _read_job(self, entry: Mapping[str, object]) -> TimedJob | None:
        before = len(self.problems.entries)
        submitted = self._time(entry)
        seconds = self._duration(entry, "seconds")
        queue = self._queue(entry)
        priority = self._priority(entry)
        checkpoint, startup = self._duration(entry, "checkpoint"), self._duration(entry, "startup")
        if checkpoint == 0:
            self._fault("bad-value", ("checkpoint",), "'0' is not a time between checkpoints; write such as 30m")
        pod_sets = self._read_pods(entry)
        name = self._name(entry)
        if len(self.problems.entries) > before or submitted is None or seconds is None or queue is None:
            return None
        local_queue = self.fleet.find_local_queue(str(entry.get("queue", "")), queue, str(entry.get("team", "")))
        return TimedJob(
            job=Job(name=name, queue=queue, priority=priority, pod_sets=pod_sets, local_queue=local_queue),
            submitted=submitted,
            seconds=seconds,
            checkpoint=checkpoint,
            startup=startup,
        )

    def _time(self, entry: Mapping[str, object]) -> int | None:
        """Return the seconds from the first submission; times must not decrease."""
        written = entry.get("submitted")
        number = _timestamp(written)
        if number is None:
            self._fault(
                "bad-value",
                ("submitted",),
                f"{_quoted(written)} is not a time; write seconds, or a time such as 2026-11-02T08:00:00Z",
            )
            return None
        is_dated = not (isinstance(written, int) or str(written).strip().isdigit())
        if self._is_dated is not None and self._is_dated != is_dated:
            message = f"{_quoted(written)} is another form of time than in the rows before; write one form"
            self._fault("bad-value", ("submitted",), message)
            return None
        self._is_dated = is_dated
        first, last = self._last or (number, number)
        if number < last:
            message = f"{_quoted(written)} is before the job above it; sort the rows by submitted"
            self._fault("bad-order", ("submitted",), message)
            return None
        if number - first > MAX_SECONDS:
            message = f"{_quoted(written)} is more than ten years after the first job; correct it"
            self._fault("bad-value", ("submitted",), message)
            return None
        self._last = first, number
        return number - first

    def _duration(self, entry: Mapping[str, object], key: str) -> int | None:
        """Return an optional duration; `seconds` must be there."""
        written = entry.get(key)
        if written is None and key != "seconds":
            return None
        number = parse_duration(written)
        if number is None or number > MAX_SECONDS:
            what = "is empty" if written is None else f"'{written}' is not a duration up to ten years"
            message = f"{what}; write whole seconds, or such as 1h30m"
            self._fault("bad-value", (key,), message)
            return None
        return number

    def _queue(self, entry: Mapping[str, object]) -> str | None:
        """Return the cluster queue of a job by its queue, or by its team if that has one queue."""
        key = next((key for key in ("queue", "team") if key in entry), "queue")
        name = str(entry.get(key, ""))
        if (key, name) not in self._queues:
            of_team = [queue for queue, owner in self.fleet.queue_owners.items() if owner == name]
            found = self.fleet.find_queue(name) if key == "queue" else of_team[0] if len(of_team) == 1 else None
            self._queues[key, name] = found
        found = self._queues[key, name]
        if found is None and key == "queue":
            known = self.fleet.queue_names()
            own = [queue for queue, owner in self.fleet.queue_owners.items() if owner == name]
            hint = f", which is a team; its queues: {', '.join(own[:MAX_LISTED])}" if own else did_you_mean(name, known)
            hint = hint or f"; queues: {', '.join(known[:MAX_LISTED])}"
            self._fault("no-queue", ("queue",), f"no queue '{name}'{hint}")
        elif found is None:
            owners = sorted(set(self.fleet.queue_owners.values()))
            hint = (
                "; it has several queues, so write the column queue"
                if name in owners
                else did_you_mean(name, owners) or f"; teams: {', '.join(owners[:MAX_LISTED])}"
            )
            self._fault("no-queue", ("team",), f"no queue of team '{name}'{hint}")
        return found

    def _priority(self, entry: Mapping[str, object]) -> int:
        written = entry.get("priority")
        if written is None:
            return self.fleet.default_priority
        text = str(written)
        if text in self.fleet.priorities:
            return self.fleet.priorities[text]
        if re.fullmatch(r"-?\d{1,10}", text, re.ASCII) and -(2**31) <= int(text) < 2**31:
            return int(text)
        names = ", ".join(list(self.fleet.priorities)[:MAX_LISTED])
        self._fault(
            "no-priority", ("priority",), f"no priority '{text}'; write a number{f' or one of {names}' * bool(names)}"
        )
        return 0

    def _read_pods(self, entry: Mapping[str, object]) -> tuple[PodSet, ...]:
        requests = {name: value for name, value in entry.items() if name not in COLUMNS}
        key = (entry.get("pods"), *requests.items())
        try:
            known = self._pod_sets.get(key)
        except TypeError:  # a list or an object, which is refused below
            known, key = None, None
        if known is not None:
            return known
        before = len(self.problems.entries)
        pods = str(entry.get("pods", 1))
        if not re.fullmatch(r"[1-9]\d{0,5}", pods, re.ASCII):
            self._fault(
                "bad-value", ("pods",), f"'{pods}' is not a number of pods; write a whole number from 1 to 999999"
            )
        amounts: dict[str, int] = {}
        for name, value in requests.items():
            number = parse_quantity(name, value)
            if number is None:
                message = f"{_quoted(value)} is not a quantity; write one such as 4, 500m or 16Gi"
                self._fault("bad-quantity", (name,), message)
            elif number:
                amounts[name] = number
        if len(self.problems.entries) > before:
            return ()
        pod_sets = (without_excluded(PodSet(name="main", count=int(pods), requests=amounts)),)
        if key is not None:
            self._pod_sets[key] = pod_sets
        return pod_sets

    def _name(self, entry: Mapping[str, object]) -> str:
        name = str(entry.get("name") or f"line-{self._line}")
        if (other := self._lines.setdefault(name, self._line)) != self._line:
            self._fault("twice", ("name",), f"'{name}' is the job of line {other} too; write another name")
        return name

    def _fault(self, code: str, path: tuple[str | int, ...], message: str) -> None:
        place = f"{self.display_path}:{self._line}" if self._line else self.display_path
        self.problems.entries.append(Problem(Severity.FAULT, code, path, message, place))


def _timestamp(written: object) -> int | None:
    """Return a time in whole seconds, from a number or an ISO time (UTC if it names no zone)."""
    if isinstance(written, int) and not isinstance(written, bool):
        return written if written >= 0 else None
    if not isinstance(written, str):
        return None
    text = written.strip()
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 12 else None
    moment = read_time(text)
    return None if moment is None else int(moment.timestamp())


def _quoted(value: object) -> str:
    return f"'{value}'" if value is not None else "nothing"
