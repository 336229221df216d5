"""Parser for the stream of events that `pulumi preview --json` prints with PULUMI_ENABLE_STREAMING_JSON_PREVIEW.

Each line is an event with a number (`sequence`). The list of events is closed: an event that is passed over might be a
deletion. Source: `sdk/go/common/apitype/events.go` of Pulumi 3.260.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from berth.diff.guard.preview_steps import (
    EnginePreview,
    PreviewFormatError,
    PreviewStep,
    Record,
    checked_preview,
    messages,
    unknown_severities,
)

_SILENT: Final = (
    *("stdoutEvent", "progressEvent", "startDebuggingEvent", "resOpFailedEvent", "policyEvent", "policyLoadEvent"),
    *("policyRemediationEvent", "policyAnalyzeSummaryEvent", "policyRemediateSummaryEvent"),
    "policyAnalyzeStackSummaryEvent",
)
"""Events that say nothing of what happens to a resource."""
EVENTS: Final = frozenset(
    {
        *("preludeEvent", "resourcePreEvent", "resOutputsEvent", "diagnosticEvent", "errorEvent", "summaryEvent"),
        *("cancelEvent", *_SILENT),
    }
)
"""Every event of the engine."""
_AROUND: Final = frozenset({"sequence", "timestamp"})
_METADATA: Final = frozenset(
    {"op", "urn", "type", "old", "new", "keys", "diffs", "detailedDiff", "logical", "provider"}
)


def preview_of_events(events: Sequence[Record], doubts: list[str]) -> EnginePreview:
    """Return the preview of a stream. Raises PreviewFormatError for one without an end, or with an unknown event."""
    doubts += _doubts_of_order(events)
    summaries = _payloads(events, "summaryEvent")
    if not summaries:
        raise PreviewFormatError("the stream of events has no summary, so it is incomplete", is_unknown=True)
    summary = summaries[-1]
    diagnostics = _payloads(events, "diagnosticEvent")
    doubts += unknown_severities(diagnostics)
    errors, printed = (messages(diagnostics, severity) for severity in ("error", "info#err"))
    errors += [str(each.get("error", "")) for each in _payloads(events, "errorEvent")]
    errors += [
        f"{each.get('policyName')}: {each.get('message')}"
        for each in _payloads(events, "policyEvent")
        if each.get("enforcementLevel") == "mandatory"
    ]
    if summary.get("result") == "failed" and not errors:
        errors += printed or ["it failed"]
    elif summary.get("result") not in (None, "succeeded", "failed"):
        doubts.append(f"the run ended as '{summary.get('result')}'")
    if summary.get("isPreview") is False:
        doubts.append("it is the record of an update that has already run; the guard judges a preview before it")
    if summary.get("maybeCorrupt"):
        doubts.append("the engine says that its state may be corrupt (maybeCorrupt)")
    prelude = _payloads(events, "preludeEvent")
    config: Any = prelude[0].get("config") if prelude else None
    steps = list(_steps(events, doubts))
    return checked_preview(steps, errors, printed, summary.get("resourceChanges"), config, doubts, is_stream=True)


def _payloads(events: Sequence[Record], name: str) -> list[Record]:
    """Return what the events of a name hold. Raises PreviewFormatError where that is not an object."""
    payloads: list[object] = [each[name] for each in events if name in each]
    if not all(isinstance(each, dict) for each in payloads):
        raise PreviewFormatError(f"a {name} is not an object")
    return cast("list[Record]", payloads)


def _doubts_of_order(events: Sequence[Record]) -> Iterator[str]:
    """Yield why the events may not be those of one whole run, each once."""
    numbers: list[object] = [event.get("sequence") for event in events]
    first = numbers[0]
    if type(first) is not int or not _are_in_order(numbers, _unprinted(events)):
        yield "its events are not numbered one after the other (sequence), so one may be missing"
    elif first > 1:
        yield f"its first event has the number {first} (sequence), so some are missing"
    names: list[str] = []
    for event in events:
        kinds = event.keys() - _AROUND
        unknown = kinds - EVENTS
        if unknown:
            message = f"this version of Berth does not know the event '{min(unknown)}'"
            raise PreviewFormatError(message, is_unknown=True)
        if len(kinds) != 1:
            yield "a line of it does not hold exactly one event"
        names += sorted(kinds)
    for name in ("preludeEvent", "summaryEvent"):
        if (count := names.count(name)) != 1:
            yield f"it has {count} × {name}, and a run has one"
    end = names.index("summaryEvent") if "summaryEvent" in names else len(names)
    if {"resourcePreEvent", "resOutputsEvent", "preludeEvent"}.intersection(names[end:]):
        yield "an event of a resource follows the summary, so a second run is in it"
    if "cancelEvent" in names[:end] or names.count("cancelEvent") > 1:
        yield "the run was cancelled"


def _are_in_order(numbers: Sequence[object], unprinted: int) -> bool:
    """Return whether numbers grow one by one, or leave out as many pairs as a run does not print."""
    whole = [number for number in numbers if type(number) is int]
    gaps = [after - before - 1 for before, after in pairwise(whole)]
    is_paired = sum(gaps) == unprinted and all(gap >= 0 and gap % 2 == 0 for gap in gaps)
    return len(whole) == len(numbers) and (is_paired or not any(gaps))


def _unprinted(events: Sequence[Record]) -> int:
    """Return how many events `--run-program` of a refresh numbers and does not print: two of what it does not read."""
    begun = [_metadata(event["resourcePreEvent"]) for event in events if "resourcePreEvent" in event]
    refreshed = {each["urn"] for each in begun if each["op"] == "refresh"}
    return 2 * len({each["urn"] for each in begun} - refreshed) if refreshed else 0


def _steps(events: Sequence[Record], doubts: list[str]) -> Iterator[PreviewStep]:
    begun: dict[str, int] = {}
    steps: list[PreviewStep] = []
    for event in events:
        if name := next((each for each in ("resourcePreEvent", "resOutputsEvent") if each in event), None):
            fields = _metadata(event[name])
            if unknown := fields.keys() - _METADATA:
                doubts.append(f"a resource has the key '{min(unknown)}', which this version of Berth does not know")
            states = fields.get("old"), fields.get("new")
            said = (fields.get(key) for key in ("detailedDiff", "keys", "diffs"))
            step = PreviewStep(fields["op"], fields["urn"], *states, *said)
            if name == "resourcePreEvent":
                begun[step.urn] = len(steps)
                steps.append(step)
            elif step.urn not in begun:
                doubts.append(f"'{step.urn}' ends without a beginning, so an event is missing")
            elif steps[begun[step.urn]].op == "refresh" and step.op in ("update", "delete"):
                steps[begun[step.urn]] = step  # `pulumi refresh` says only at the end what it found
    yield from steps


def _metadata(event: object) -> Record:
    """Return what an event says of its resource. Raises PreviewFormatError if the operation or the URN is missing."""
    metadata: object = cast("Record", event).get("metadata") if isinstance(event, dict) else None
    if not isinstance(metadata, dict):
        raise PreviewFormatError("a resource event has no metadata")
    fields = cast("Record", metadata)
    if not all(isinstance(fields.get(text), str) for text in ("op", "urn")):
        raise PreviewFormatError("a resource event has no op or urn")
    return fields
