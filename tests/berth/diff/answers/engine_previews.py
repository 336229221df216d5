"""Previews in the forms of the engine, made of what whole programs register.

The engine's own recordings in the folder above are trimmed to what tests read of them; these are whole, with every
field that `pkg/display/json.go` and `sdk/go/common/apitype/events.go` of Pulumi 3.260 write for such a run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from berth.engine import RecordedResource
from berth.loader import StackFile

Step = dict[str, Any]


def state(one: RecordedResource) -> Step:
    """A resource as the engine prints it in a step."""
    identity = one.name if one.custom else ""
    values = {
        "urn": one.urn,
        "custom": one.custom,
        "id": identity,
        "type": one.type,
        "inputs": dict(one.inputs),
        "parent": one.parent,
        "provider": one.provider and f"{one.provider}::id",
    }
    options = {"protect": one.protect, "retainOnDelete": one.retain_on_delete}
    return {key: value for key, value in {**values, **options}.items() if value}


def steps(
    before: Iterable[RecordedResource], after: Iterable[RecordedResource], replaced: tuple[str, ...] = ()
) -> list[Step]:
    """Every step of a run from some registered resources to others; `replaced` are ends of types that are replaced."""
    old, new = ({one.urn: one for one in each if not one.read} for each in (before, after))
    made: list[Step] = []
    for urn, one in new.items():
        was = old.get(urn)
        if was is None:
            made.append({"op": "create", "urn": urn, "newState": state(one)})
            continue
        is_same = was.inputs == one.inputs
        op = "same" if is_same else "replace" if replaced and one.type.endswith(replaced) else "update"
        made.append({"op": op, "urn": urn, "oldState": state(was), "newState": state(one)})
    made += [{"op": "delete", "urn": urn, "oldState": state(one)} for urn, one in old.items() if urn not in new]
    return made


def config_of(file: StackFile | None) -> dict[str, str]:
    """A stack file's config as the engine prints it: texts, and everything else as JSON."""
    assert file is not None
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in file.config.items()}


def digest(all_steps: Iterable[Step], config: Mapping[str, str], *, show_sames: bool = True) -> Step:
    """The object that `pulumi preview --json` prints: without `--show-sames`, what stays is only counted."""
    listed = list(all_steps)
    counts = Counter(each["op"] for each in listed)
    shown = [each for each in listed if show_sames or each["op"] != "same" or "pulumi:pulumi:Stack" in each["urn"]]
    return {
        "config": dict(config),
        "steps": [{"provider": "", "detailedDiff": None, **each} for each in shown],
        "duration": 1_500_000_000,
        "changeSummary": dict(sorted(counts.items())),
    }


def events(all_steps: Iterable[Step], config: Mapping[str, str]) -> list[Step]:
    """The events that the engine prints of the same run with PULUMI_ENABLE_STREAMING_JSON_PREVIEW."""
    listed = list(all_steps)
    made: list[Step] = [{"preludeEvent": {"config": dict(config)}}]
    for each in listed:
        kind = each["urn"].rpartition("::")[0].rpartition("::")[2].rpartition("$")[2]
        states = {"old": each.get("oldState"), "new": each.get("newState")}
        fields = {"op": each["op"], "urn": each["urn"], "type": kind, **states, "detailedDiff": None, "provider": ""}
        parts = ("create-replacement", "replace", "delete-replaced") if each["op"] == "replace" else (each["op"],)
        for op in parts:
            metadata = {**fields, "op": op, **({"logical": True} if op == each["op"] else {})}
            if op == "delete-replaced":
                metadata["new"] = None
            made.append({"resourcePreEvent": {"metadata": metadata, "planning": True}})
            made.append({"resOutputsEvent": {"metadata": metadata, "planning": True}})
    counts = dict(sorted(Counter(each["op"] for each in listed).items()))
    summary = {"maybeCorrupt": False, "durationSeconds": 1, "resourceChanges": counts, "PolicyPacks": {}}
    made += [{"summaryEvent": {**summary, "isPreview": True, "result": "succeeded"}}, {"cancelEvent": {}}]
    return [{"sequence": number, "timestamp": 1_795_356_660, **event} for number, event in enumerate(made)]


def as_text(value: object) -> bytes:
    """Print a preview as the engine does: an object, or an event a line."""
    if isinstance(value, list):
        return "\n".join(map(json.dumps, value)).encode()
    return json.dumps(value, indent=4).encode()
