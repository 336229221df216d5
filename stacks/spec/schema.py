"""The JSON Schema of a stack file, for editors: completion, and faults as one types."""

from __future__ import annotations

from typing import Any, cast

from stacks.spec.fleet import FleetSpec

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def stack_schema() -> dict[str, Any]:
    """The schema of Pulumi.<stack>.yaml: Pulumi's own keys are let through, `berth:fleet` is described in full."""
    fleet = FleetSpec.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions = fleet.pop("$defs")
    return {
        "$schema": _DIALECT,
        "title": "A Berth stack file",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "required": ["berth:fleet"],
                "properties": {"berth:fleet": {"$ref": "#/$defs/FleetSpec"}},
            }
        },
        "$defs": _untitled(dict(sorted({**definitions, "FleetSpec": fleet}.items()))),
    }


def _untitled(schema: Any) -> Any:
    """The schema without pydantic's titles, which only repeat a key in another spelling (`Projectnumber`)."""
    if isinstance(schema, dict):
        found = cast("dict[str, Any]", schema)
        return {key: _untitled(value) for key, value in found.items() if key != "title" or not isinstance(value, str)}
    return [_untitled(item) for item in cast("list[Any]", schema)] if isinstance(schema, list) else schema
