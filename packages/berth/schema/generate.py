"""The schema of the component package: the stack file's schema in Pulumi's terms, and the package's own arguments.

`packages/berth/schema.json` is this schema as a file, written by `make golden`. Pulumi generates
SDKs for every language from it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from berth.spec.schema import stack_schema
from berth.yaml_loader import load_table

Json = dict[str, Any]

NAME: Final = "berth"
_FOLDER: Final = Path(__file__).parent
ROOT: Final = _FOLDER.parents[2]
_SIMPLE: Final = ("string", "integer", "number", "boolean")
_RENAMED: Final = {"ClusterSpec": "FleetCluster", "ReservationSpec": "FleetReservation", "TeamSpec": "FleetTeam"}
"""Types whose arguments would have the name of a component's arguments: both are `ClusterArgs` in most languages."""
_DEFINITION: Final = "FleetDefinition"
_POOL_CAPACITY: Final = "NodePoolCapacity"
_CLUSTER_INFO: Final = "FleetClusterInfo"


def package_schema() -> Json:
    """Return the schema: name, version, components with arguments and outputs, and the types of arguments."""
    return SchemaGenerator().schema()


def project_version() -> str:
    """Return the version in pyproject.toml, which is also the package's."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def type_name(model: str) -> str:
    """Return the type of a model of the stack file: `PoolSpec` is `Pool`."""
    return _RENAMED.get(model, model.removesuffix("Spec"))


def _reference(name: str) -> Json:
    return {"$ref": f"#/types/{NAME}:index:{name}"}


_OF_MODEL: Final = {("FleetSpec", "teamDefaults"): "TeamSpec"}
"""Keys whose value is checked only after it completes others: the model that they have the keys of."""


class SchemaGenerator:
    """Makes the schema from the models of the stack file and the table of components."""

    def __init__(self) -> None:
        self.models: Mapping[str, Json] = stack_schema()["$defs"]
        self.components: Mapping[str, Json] = load_table(_FOLDER / "components.yaml")
        self.more_keys: Mapping[str, Json] = load_table(_FOLDER / "more_keys.yaml")
        self.types: dict[str, Json] = {}

    def schema(self) -> Json:
        """Return the whole schema."""
        resources = {f"{NAME}:index:{name}": self.component(each) for name, each in self.components.items()}
        return {
            "name": NAME,
            "displayName": "Berth",
            "version": project_version(),
            "description": "Fleets of accelerators on GKE and their Kueue queues, as components.",
            "keywords": ["pulumi", "category/cloud", "kind/component", "gke", "kueue", "gpu", "tpu"],
            "license": "Apache-2.0",
            "language": {each: {"respectSchemaVersion": True} for each in ("nodejs", "python", "go", "csharp", "java")},
            "resources": resources,
            "types": dict(sorted(self.types.items())),
        }

    # --- components ---------------------------------------------------------------------------------------------------

    def component(self, table: Mapping[str, Any]) -> Json:
        """Return an entry of components.yaml as a resource of the schema."""
        inputs, required = self._own_inputs(table["inputs"])
        if model := table.get("keys_of"):
            keys, required_keys = self._keys(model, table.get("without", ()))
            inputs, required = {**keys, **inputs}, required | required_keys
        outputs = {name: self._output(each) for name, each in table.get("outputs", {}).items()}
        always = sorted(name for name, each in table.get("outputs", {}).items() if not each.get("optional"))
        return {
            "isComponent": True,
            "description": table["description"],
            "inputProperties": dict(sorted(inputs.items())),
            "requiredInputs": sorted(required),
            "properties": outputs,
            "required": always,
        }

    def _keys(self, model: str, without: object) -> tuple[Json, set[str]]:
        """Return the arguments that are keys of a model, and which of them are required."""
        left_out = set(cast("list[str]", without))
        keys = {key: self._argument(model, key) for key in self.models[model]["properties"] if key not in left_out}
        return keys, set(self.models[model].get("required", ())) - left_out

    def _own_inputs(self, table: Json) -> tuple[Json, set[str]]:
        inputs = {name: self._own_input(name, each) for name, each in table.items()}
        return inputs, {name for name, each in table.items() if each.get("required")}

    def _own_input(self, name: str, entry: Json) -> Json:
        if entry.get("keys_of") == _POOL_CAPACITY:
            return self._pool_capacity()
        if model := entry.get("keys_of"):
            argument = self._argument(model, name)
            return {key: each for key, each in argument.items() if key != "plain"} if entry.get("output") else argument
        value = self._value_of(entry) if entry.get("output") else _plain(self._value_of(entry))
        secret = {"secret": True} if entry.get("secret") else {}
        return {**value, **secret, "description": entry["description"]}

    def _output(self, entry: Json) -> Json:
        secret = {"secret": True} if entry.get("secret") else {}
        return {**self._value_of(entry), **secret, "description": entry["description"]}

    def _value_of(self, entry: Any) -> Json:
        """Return the type of an entry of components.yaml."""
        if isinstance(entry, str):
            entry = {"type": entry}
        if "list" in entry:
            return {"type": "array", "items": self._value_of(entry["list"])}
        match str(entry["type"]):
            case "any":
                return {"$ref": "pulumi.json#/Any"}
            case "map":
                return {"type": "object", "additionalProperties": self._value_of(entry["of"])}
            case "list":
                return {"type": "array", "items": self._value_of(entry["of"])}
            case kind:
                return {"type": kind} if kind in _SIMPLE else self._named_type(kind)

    def _named_type(self, name: str) -> Json:
        if name == _DEFINITION:
            self._fleet_definition()
        elif name == _CLUSTER_INFO:
            self.types[f"{NAME}:index:{name}"] = _cluster_info()
        else:
            self._add_model(f"{name}Spec")
        return _reference(name)

    def _fleet_definition(self) -> None:
        keys, required = self._keys("FleetSpec", self.components["Fleet"]["without"])
        name = {"type": "string", "plain": True, "description": "Name of the fleet."}
        self.types[f"{NAME}:index:{_DEFINITION}"] = {
            "type": "object",
            "description": "The arguments of a fleet, as a component on top of it needs them.",
            "properties": dict(sorted({**keys, "name": name}.items())),
            "required": sorted({*required, "name"}),
        }

    def _pool_capacity(self) -> Json:
        """Return the capacity of a pool without the keys of a fleet's reservations."""
        capacity = self._argument("PoolSpec", "capacity")
        token = f"{NAME}:index:{_POOL_CAPACITY}"
        of_fleet = self.types[f"{NAME}:index:Capacity"]
        properties = {key: each for key, each in of_fleet["properties"].items() if key != "reservation"}
        self.types[token] = {**of_fleet, "properties": properties}
        of_fleets = _reference("Capacity")["$ref"]
        choices = [_reference(_POOL_CAPACITY) if each.get("$ref") == of_fleets else each for each in capacity["oneOf"]]
        return {**capacity, "oneOf": [_plain(each) for each in choices]}

    # --- keys of the stack file ---------------------------------------------------------------------------------------

    def _argument(self, model: str, key: str) -> Json:
        """Return a key of a model as a plain argument."""
        written = self.models[model]["properties"][key]
        description = _description(written)
        completes = _OF_MODEL.get((model, key))
        value = self._add_model(completes) if completes else self._value(written, model, key)
        return {**_plain(value), "description": description}

    def _value(self, written: Json, model: str, key: str) -> Json:
        """Return the type of a value of the JSON Schema; null is the same as a key that is left out."""
        if "$ref" in written:
            return self._add_model(written["$ref"].rpartition("/")[2])
        if "anyOf" in written:
            return self._union(list(_choices(written)), model, key)
        if _is_enum(written):
            return self._enum(written, model, key)
        kinds = written["type"]
        if isinstance(kinds, list):
            return _union_of_simple([each for each in cast("list[str]", kinds) if each != "null"])
        return self._of_kind(kinds, written, model, key)

    def _of_kind(self, kind: str, written: Json, model: str, key: str) -> Json:
        if kind == "array":
            return {"type": "array", "items": self._value(written["items"], model, key)}
        if kind == "object":
            patterns = list(written.get("patternProperties", {}).values()) or [written["additionalProperties"]]
            if patterns[0] is True:
                return {"$ref": "pulumi.json#/Any"}
            return {"type": "object", "additionalProperties": self._value(patterns[0], model, key)}
        return {"type": kind}

    def _union(self, choices: list[Json], model: str, key: str) -> Json:
        if len(choices) > 1:
            choices = _with_text_for_enums(choices)
        values = [self._value(each, model, key) for each in choices]
        return values[0] if len(values) == 1 else {"oneOf": values}

    def _enum(self, written: Json, model: str, key: str) -> Json:
        """Return a reference to an enum, which is named after the first model that has it."""
        values: list[str] = written.get("enum") or [written["const"]]
        own_name = f"{key[0].upper()}{key[1:]}"
        # One word alone (`Mode`, `Scope`) says nothing without its owner.
        names = [own_name, f"{type_name(model)}{own_name}"] if key != key.lower() else [f"{type_name(model)}{own_name}"]
        enum = {"type": "string", "enum": [{"name": _enum_name(each), "value": each} for each in values]}
        taken = {*map(type_name, self.models), *self.components}
        free = (each for each in names if each not in taken)
        name = next(each for each in free if self.types.setdefault(f"{NAME}:index:{each}", enum) == enum)
        return _reference(name)

    def _add_model(self, model: str) -> Json:
        name = type_name(model)
        token = f"{NAME}:index:{name}"
        if token not in self.types:
            self.types[token] = {}
            own = {key: self._argument(model, key) for key in self.models[model]["properties"]}
            more = {key: _plain(self._own_input(key, each)) for key, each in self.more_keys.get(model, {}).items()}
            properties = {**own, **more}
            self.types[token] = {
                "type": "object",
                "description": self.models[model]["description"],
                "properties": properties,
                "required": sorted(self.models[model].get("required", ())),
            }
        return _reference(name)


def _description(written: Json) -> str:
    """Return what a key means, with its default."""
    text: str = written["description"]
    default = written.get("default")
    if isinstance(default, bool | int | float | str) and "By default" not in text:
        shown = str(default).lower() if isinstance(default, bool) else default
        return f"{text} Default: `{shown}`."
    return text


def _choices(written: Json) -> Iterator[Json]:
    """Yield the alternatives of a value, those of an alternative too, without null."""
    for each in written["anyOf"]:
        if "anyOf" in each:
            yield from _choices(each)
        elif each.get("type") != "null":
            yield each


def _plain(value: Json) -> Json:
    """Return the type with all its parts as plain ones, which take no outputs."""
    parts = {key: _plain(value[key]) for key in ("items", "additionalProperties") if key in value}
    choices = {"oneOf": [_plain(each) for each in value["oneOf"]]} if "oneOf" in value else {}
    return {**value, **parts, **choices, "plain": True}


def _is_enum(written: Json) -> bool:
    return "enum" in written or "const" in written


def _with_text_for_enums(choices: list[Json]) -> list[Json]:
    """Return the alternatives with text in the place of enums: Go's SDK takes a union with an enum for text alone."""
    others = [each for each in choices if not _is_enum(each) and each.get("type") != "string"]
    return [*others, {"type": "string"}] if len(others) < len(choices) else others


def _union_of_simple(kinds: list[str]) -> Json:
    if not set(kinds) <= set(_SIMPLE):
        return {"$ref": "pulumi.json#/Any"}
    return {"oneOf": [{"type": kind} for kind in kinds]}


def _enum_name(value: str) -> str:
    """Return the name of a member of an enum: `flex-start` is `FlexStart`."""
    return "".join(word[0].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", value) if word)


def _cluster_info() -> Json:
    def text(description: str) -> Json:
        return {"type": "string", "description": description}

    return {
        "type": "object",
        "description": "A cluster of a fleet.",
        "properties": {
            "name": text("Name of the cluster. Known after the cluster exists."),
            "project": text("Project of the cluster. Absent outside Google Cloud."),
            "location": text("Region of the cluster. Absent outside Google Cloud."),
            "server": text("Address of the control plane. Absent for an existing cluster of the fleet's own."),
        },
        "required": ["name"],
    }
