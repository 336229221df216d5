"""Parser for the output of `pulumi preview --json`: one object, or a stream of events (`preview_events.py`).

The object has `steps`, `diagnostics`, `changeSummary` and the stack's `config`. What cannot be understood is refused or
becomes a doubt, because a step that is passed over might be a deletion. Source: recordings of Pulumi 3.27, 3.190 and
3.260, and the engine's `pkg/display/json.go` and `sdk/go/common/apitype/events.go` of 3.260.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from berth.diff.guard.preview_events import EVENTS, preview_of_events
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
