"""The JSON Schema of a stack file, for completion and validation in editors."""

from __future__ import annotations

from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from berth.spec.ack import AckFleetSpec
from berth.spec.fleet import FleetSpec
from berth.spec.model import Model
from berth.spec.sentences import key_sentences, models
from berth.spec.team_stack import TeamStackSpec

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_WHOLE_FLEET = {
    "if": {"type": "object", "required": ["ack"]},
    "then": {"$ref": "#/$defs/AckFleetSpec"},
    "else": {"$ref": "#/$defs/FleetSpec"},
}
"""Schema rule: a fleet with the section `ack` is on Alibaba Cloud, any other on Google Cloud."""


class _Generator(GenerateJsonSchema):
    """pydantic's generator, extended to fields whose model is built at first use."""

    def function_plain_schema(self, schema: core_schema.PlainValidatorFunctionSchema) -> dict[str, Any]:
        """Return the schema of the model behind a reference."""
        model = cast("type[Model]", schema.get("metadata", {})["model"])
        return self.generate_inner(model.core_schema())


def stack_schema() -> dict[str, Any]:
    """Return the schema of Pulumi.<stack>.yaml: Pulumi's keys are allowed, each of Berth's has its sentence."""
    definitions: dict[str, Any] = {}
    for model in (FleetSpec, AckFleetSpec, TeamStackSpec):
        schema = _Generator(ref_template="#/$defs/{model}").generate(model.core_schema())
        definitions |= schema.pop("$defs") | {model.__name__: schema}
    for name, model in models().items():
        if name in definitions:
            _describe(definitions[name], key_sentences(model))
    keys = sorted(definitions["FleetSpec"]["properties"].keys() | definitions["AckFleetSpec"]["properties"].keys())
    # What overrides a base is a part of a fleet: only its outermost keys can be checked without the base.
    fleet = {
        "if": {"type": "object", "required": ["base"]},
        "then": {"propertyNames": {"enum": keys}},
        "else": _WHOLE_FLEET,
    }
    return {
        "$schema": _DIALECT,
        "title": "A Berth stack file",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "oneOf": [{"required": ["berth:fleet"]}, {"required": ["berth:team"]}],
                "properties": {"berth:fleet": fleet, "berth:team": {"$ref": "#/$defs/TeamStackSpec"}},
            }
        },
        "$defs": _without_titles(dict(sorted(definitions.items()))),
    }


def _describe(definition: dict[str, Any], texts: dict[str, str]) -> None:
    """Add to each key of a definition what it means."""
    definition["description"] = " ".join(definition["description"].split())
    definition["properties"] = {
        key: {"description": "", **value} | {"description": texts[key]}
        for key, value in definition["properties"].items()
    }


def _without_titles(schema: Any) -> Any:
    """Return the schema without pydantic's titles, which only repeat a key in another spelling (`Projectnumber`)."""
    if isinstance(schema, dict):
        mapping = cast("dict[str, Any]", schema)
        return {
            key: _without_titles(value)
            for key, value in mapping.items()
            if key != "title" or not isinstance(value, str)
        }
    return [_without_titles(item) for item in cast("list[Any]", schema)] if isinstance(schema, list) else schema
