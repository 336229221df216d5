"""Parser for the output of `pulumi preview --json`: one object, or a stream of events.

The object has `steps`, `diagnostics` and `changeSummary`. With PULUMI_ENABLE_STREAMING_JSON_PREVIEW the engine prints
events instead, one JSON object a line: `resourcePreEvent` for each step, `diagnosticEvent`, and `summaryEvent` at
the end. Source: recordings of Pulumi 3.27, 3.190 and 3.260. Unknown input is refused, because a skipped step might be a
deletion.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from berth.diff.guard.allowances import GuardedAction

REPLACING_OPS: Final = ("replace", "create-replacement", "delete-replaced", "import-replacement")
HARMLESS_OPS: Final = (
    "same",
    "create",
    "update",
    "read",
    "read-replacement",
    "refresh",
    "import",
    "discard",
    "discard-replaced",
    "remove-pending-replace",
)
"""Operations that delete nothing in the cloud; `discard` operations only remove resources from the state."""
_EVENT_KEYS: Final = ("preludeEvent", "resourcePreEvent", "summaryEvent", "diagnosticEvent", "cancelEvent")

STDIN: Final = "stdin"
"""What faults call the standard input."""

_SPACE: Final = re.compile(r"\s*")

Record = dict[str, Any]


class PreviewFormatError(Exception):
    """The input is not a preview that can be checked; `reason` says why, in one line.

    `is_unknown` is whether a newer engine may have written it, so that the same command would print it again.
    """

    def __init__(self, reason: str, *, is_unknown: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_unknown = is_unknown

    def line(self, name: str, stack: str) -> str:
        """Return the fault of the file `name`, with the command that writes a preview."""
        if self.is_unknown:
            return f"{name}: this preview cannot be checked: {self.reason}"
        file = f" > {name}" if name != STDIN else ""
        return (
            f"{name}: not the output of `pulumi preview --json`: {self.reason}; write it with "
            f"`pulumi preview --stack {stack} --json{file}`"
        )


@contextlib.contextmanager
def refusing_odd_shapes() -> Generator[None]:
    """Raise PreviewFormatError where a value in a preview is of another type than the engine prints."""
    try:
        yield
    except UnicodeDecodeError:
        raise PreviewFormatError("it is not UTF-8") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise PreviewFormatError(f"a value in it is of another type ({message})") from error


class PreviewStep(Struct, frozen=True):
    """The operation of a preview on one resource, with the resource's state before (`old`) and after (`new`).

    `details` are the changed fields by path, `reasons` the inputs that replace the resource; None if the engine does
    not say.
    """

    op: str
    urn: str
    old: Mapping[str, Any] | None = None
    new: Mapping[str, Any] | None = None
    details: Mapping[str, Mapping[str, Any]] | None = None
    reasons: Sequence[object] | None = None

    @property
    def type(self) -> str:
        """The provider's type token of the resource."""
        return self.urn.rpartition("::")[0].rpartition("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """The name of the resource in the program."""
        return self.urn.rpartition("::")[2]

    @property
    def inputs(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The inputs before and after; empty where the resource does not exist or the engine does not print them."""
        return (self.old or {}).get("inputs") or {}, (self.new or {}).get("inputs") or {}

    @property
    def action(self) -> GuardedAction | None:
        """What happens to the old resource, None if it remains; a node pool that moves to other zones is replaced."""
        if self.op == "update":
            before, after = (set[str](inputs.get("nodeLocations") or ()) for inputs in self.inputs)
            return GuardedAction.REPLACE if before and after and before.isdisjoint(after) else None
        if self.op in REPLACING_OPS:
            return GuardedAction.REPLACE
        return GuardedAction.DELETE if self.op == "delete" else None


class EnginePreview(Struct, frozen=True):
    """The steps of a preview, and the messages of its errors.

    `printed` is what the program wrote on stderr, `registered` the number of resources that it registered; None where
    the engine does not say.
    """

    steps: tuple[PreviewStep, ...]
    errors: tuple[str, ...]
    printed: tuple[str, ...] = ()
    registered: int | None = None


def parse_preview(text: str) -> EnginePreview:
    """Parse a preview; output of other programs before it is ignored.

    Raises PreviewFormatError for unknown content.
    """
    if not text.strip():
        raise PreviewFormatError("it is empty")
    documents = _json_documents(text[max(text.find("{"), 0) :])
    objects = [cast("Record", each) for each in documents if isinstance(each, dict)]
    if objects and any(key in objects[0] for key in _EVENT_KEYS):
        return _preview_of_events(objects)
    if len(documents) > 1:
        raise PreviewFormatError("it contains several JSON values that are not Pulumi events")
    return read_preview(documents[0])


def _json_documents(text: str) -> list[object]:
    """Return the JSON values of a text, in order."""
    decoder, at, documents = json.JSONDecoder(), 0, list[object]()
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


def read_preview(document: object) -> EnginePreview:
    """Return the preview of one JSON object. Raises PreviewFormatError."""
    if not isinstance(document, Mapping) or ("steps" not in document and "diagnostics" not in document):
        raise PreviewFormatError("it must be an object with steps")
    values = cast("Mapping[str, Any]", document)
    steps = [
        PreviewStep(
            each["op"],
            each["urn"],
            each.get("oldState"),
            each.get("newState"),
            each.get("detailedDiff"),
            each.get("replaceReasons"),
        )
        for each in _read_records(values, "steps", "op", "urn")
    ]
    diagnostics = _read_records(values, "diagnostics")
    errors, printed = (_messages(diagnostics, severity) for severity in ("error", "info#err"))
    return _checked(steps, errors, printed, values.get("changeSummary"))


def _read_records(preview: Mapping[str, Any], key: str, *texts: str) -> list[Record]:
    """Return the objects under a key, each with these text fields. Raises PreviewFormatError."""
    section: object = preview.get(key) or []
    records = cast("list[Record]", section) if isinstance(section, list) else []
    are_objects = isinstance(section, list) and all(type(each) is dict for each in records)
    if are_objects and all(isinstance(each.get(text), str) for each in records for text in texts):
        return records
    expected = f"objects with {' and '.join(texts)}" if texts else "objects"
    raise PreviewFormatError(f"{key} must be a list of {expected}")


def _messages(diagnostics: Iterable[Record], severity: str) -> list[str]:
    return [
        f"{each.get('prefix', '')}{each.get('message', '')}" for each in diagnostics if each.get("severity") == severity
    ]


def _checked(steps: list[PreviewStep], errors: list[str], printed: list[str], counts: object) -> EnginePreview:
    """Return the preview. Raises PreviewFormatError for an unknown operation, or one that only the summary counts."""
    known_ops = {*REPLACING_OPS, *HARMLESS_OPS, "delete"}
    ops = {step.op for step in steps}
    if unknown := sorted(ops - known_ops):
        raise PreviewFormatError(f"this version of Berth does not know the operation '{unknown[0]}'", is_unknown=True)
    summary: Mapping[str, object] = cast("Mapping[str, object]", counts) if isinstance(counts, Mapping) else {}
    for op, count in summary.items():
        is_listed = bool(ops.intersection(REPLACING_OPS)) if op in REPLACING_OPS else op in ops
        if count and not is_listed and op not in HARMLESS_OPS and not errors:
            raise PreviewFormatError(f"its summary counts {count} × {op}, but its steps have none")
    if not steps and not errors and not summary and not printed:
        raise PreviewFormatError("it has no steps, no summary and no error")
    remaining = [count for op, count in summary.items() if not op.startswith(("delete", "discard"))]
    registered = sum(count for count in remaining if isinstance(count, int)) if summary else None
    return EnginePreview(tuple(steps), tuple(errors), tuple(printed), registered)


# --- the stream of events ---------------------------------------------------------------------------------------------


def _preview_of_events(events: list[Record]) -> EnginePreview:
    summaries = [cast("Record", each["summaryEvent"]) for each in events if "summaryEvent" in each]
    if not summaries:
        raise PreviewFormatError("the stream of events has no summary, so it is incomplete")
    diagnostics = [cast("Record", each["diagnosticEvent"]) for each in events if "diagnosticEvent" in each]
    errors, printed = (_messages(diagnostics, severity) for severity in ("error", "info#err"))
    errors += [str(cast("Record", each["errorEvent"]).get("error", "")) for each in events if "errorEvent" in each]
    if summaries[-1].get("result") == "failed" and not errors:
        errors += printed or ["it failed"]
    return _checked(list(_event_steps(events)), errors, printed, summaries[-1].get("resourceChanges"))


def _event_steps(events: Iterable[Record]) -> Iterator[PreviewStep]:
    for event in events:
        if "resourcePreEvent" not in event:
            continue
        outer: object = event["resourcePreEvent"]
        metadata: object = cast("Record", outer).get("metadata") if isinstance(outer, dict) else None
        if not isinstance(metadata, dict):
            raise PreviewFormatError("a resource event has no metadata")
        fields = cast("Record", metadata)
        if not all(isinstance(fields.get(text), str) for text in ("op", "urn")):
            raise PreviewFormatError("a resource event has no op or urn")
        yield PreviewStep(
            fields["op"],
            fields["urn"],
            fields.get("old"),
            fields.get("new"),
            fields.get("detailedDiff"),
            fields.get("keys"),
        )
