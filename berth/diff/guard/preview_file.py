"""Parser for the output of `pulumi preview --json`: one object, or a stream of events.

The object has `steps`, `diagnostics`, `changeSummary` and the stack's `config`. The stream, which the engine prints
with PULUMI_ENABLE_STREAMING_JSON_PREVIEW, has an event with a number (`sequence`) on each line; the list of events is
closed. What cannot be understood is refused or becomes a doubt, because a step or an event that is passed over might be
a deletion. Source: recordings of Pulumi 3.27, 3.190 and 3.260, and the engine's `pkg/display/json.go` and
`sdk/go/common/apitype/events.go` of 3.260.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from berth.diff.guard.preview_steps import (
    EnginePreview,
    PreviewFormatError,
    PreviewStep,
    Record,
    checked_preview,
    messages,
    unknown_keys,
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


_SPACE: Final = re.compile(r"\s*")


def parse_preview(text: str) -> EnginePreview:
    """Parse a preview; output of other programs before it is ignored.

    Raises PreviewFormatError for unknown content.
    """
    if not text.strip():
        raise PreviewFormatError("it is empty")
    doubts: list[str] = []
    documents = _json_documents(text[max(text.find("{"), 0) :], doubts)
    objects = [cast("Record", each) for each in documents if isinstance(each, dict)]
    if objects and not EVENTS.isdisjoint(objects[0]):
        if len(objects) < len(documents):
            raise PreviewFormatError("the stream has a value that is not an event", is_unknown=True)
        return preview_of_events(objects, doubts)
    if len(documents) > 1:
        raise PreviewFormatError("it contains several JSON values that are not Pulumi events", is_unknown=True)
    return read_preview(documents[0], doubts)


def _json_documents(text: str, doubts: list[str]) -> list[object]:
    """Return the JSON values of a text, in order; what readers of JSON understand in several ways is a doubt."""

    def distinct(pairs: list[tuple[str, object]]) -> Record:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            doubts.append(f"key '{next(n for n in names if names.count(n) > 1)}' is twice in one object")
        return made

    def number(word: str) -> float:
        doubts.append(f"it contains {word}, which is not a JSON number")
        return 0.0

    decoder = json.JSONDecoder(object_pairs_hook=distinct, parse_constant=number)
    at, documents = 0, list[object]()
    try:
        while at < len(text):
            value, end = decoder.raw_decode(text, at)
            documents.append(cast("object", value))
            space = _SPACE.match(text, end)
            at = space.end() if space else end
    except RecursionError:
        raise PreviewFormatError("it is nested too deeply") from None
    except ValueError:
        raise PreviewFormatError("it is not JSON") from None
    return documents


_KEYS: Final = frozenset({"config", "steps", "diagnostics", "duration", "changeSummary", "maybeCorrupt"})
_STEP_KEYS: Final = frozenset(
    {"op", "urn", "provider", "oldState", "newState", "diffReasons", "replaceReasons", "detailedDiff"}
)


def read_preview(document: object, doubts: Iterable[str] = ()) -> EnginePreview:
    """Return the preview of one JSON object. Raises PreviewFormatError."""
    if not isinstance(document, Mapping) or ("steps" not in document and "diagnostics" not in document):
        raise PreviewFormatError("it must be an object with steps")
    values, found = cast("Mapping[str, Any]", document), list(doubts)
    found += unknown_keys(values, _KEYS, "the preview")
    steps: list[PreviewStep] = []
    for each in _read_records(values, "steps", "op", "urn"):
        found += unknown_keys(each, _STEP_KEYS, "a step")
        states = each.get("oldState"), each.get("newState")
        said = (each.get(key) for key in ("detailedDiff", "replaceReasons", "diffReasons"))
        steps.append(PreviewStep(each["op"], each["urn"], *states, *said))
    diagnostics = _read_records(values, "diagnostics")
    found += unknown_severities(diagnostics)
    if values.get("maybeCorrupt"):
        found.append("the engine says that its state may be corrupt (maybeCorrupt)")
    errors, printed = (messages(diagnostics, severity) for severity in ("error", "info#err"))
    counts, config = values.get("changeSummary"), values.get("config")
    return checked_preview(steps, errors, printed, counts, config, found, is_stream=False)


def _read_records(preview: Mapping[str, Any], key: str, *texts: str) -> list[Record]:
    """Return the objects under a key, each with these text fields. Raises PreviewFormatError."""
    section: object = preview.get(key) or []
    records = cast("list[Record]", section) if isinstance(section, list) else []
    are_objects = isinstance(section, list) and all(type(each) is dict for each in records)
    if are_objects and all(isinstance(each.get(text), str) for each in records for text in texts):
        return records
    expected = f"objects with {' and '.join(texts)}" if texts else "objects"
    raise PreviewFormatError(f"{key} must be a list of {expected}")
