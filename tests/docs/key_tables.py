"""The tables of docs/stack-file.md: the keys of the models that `<!-- keys: MODEL -->` names, from the models.

A row has a key, the values that it takes, its default and its sentence. The keys of a nested model follow as rows
(`controlPlane.cidrBlock`), unless the model has a table of its own: then the row refers to it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from berth.spec.schema import stack_schema
from berth.spec.sentences import key_sentences, models
from packages.berth.schema.reference import linked

Json = Mapping[str, Any]

MARKER = re.compile(r"(<!-- keys: ([\w, ]+) -->\n)(.*?)(<!-- end of keys -->)", re.DOTALL)
_HEAD = "| key | values | default | meaning |\n| --- | --- | --- | --- |\n"
_DEFAULT = re.compile(r"(^| )By default (.+?)\.(?= |$)")
_MANY = 100_000
"""A bound from which on it only catches mistakes: it is not shown."""


def with_tables(page: str) -> str:
    """Return the page with the tables that its markers ask for."""
    tables = _Tables(_headings(page))
    return MARKER.sub(lambda found: found[1] + tables.table(found[2].split(", ")) + found[4], page)


def expanded_models(page: str) -> list[str]:
    """Return the models whose keys are rows of the page, as often as they are."""
    tables = _Tables(_headings(page))
    for marker in MARKER.finditer(page):
        tables.table(marker[2].split(", "))
    return tables.expanded


def _headings(page: str) -> dict[str, str]:
    """Return the heading above the table of each model."""
    found: dict[str, str] = {}
    for marker in MARKER.finditer(page):
        heading = str(re.findall(r"^#+ (.+)$", page[: marker.start()], re.MULTILINE)[-1])
        found |= dict.fromkeys(marker[2].split(", "), heading)
    return found


class _Tables:
    def __init__(self, headings: Mapping[str, str]) -> None:
        self.headings, self.definitions, self.expanded = headings, stack_schema()["$defs"], list[str]()

    def table(self, names: list[str]) -> str:
        return _HEAD + "".join(row for name in names for row in self._rows(name, ""))

    def _rows(self, name: str, prefix: str) -> Iterator[str]:
        """Yield the rows of the keys that a model declares itself, and of those nested in them."""
        self.expanded.append(name)
        model, texts = models()[name], key_sentences(models()[name])
        schema = next(d for n, d in self.definitions.items() if issubclass(models()[n], model))
        own = [each.alias for field, each in model.model_fields.items() if field in inspect.get_annotations(model)]
        for key in (each for each in own if each in schema["properties"]):
            value, text = schema["properties"][key], texts[key]
            default = "**required**" if key in schema.get("required", ()) else _default(value, text)
            meaning = linked(_DEFAULT.sub("", text).strip())
            cells = (f"`{prefix}{key}`", self._values(value), default, meaning)
            yield "".join(f"| {each} " for each in cells) + "|\n"
            yield from self._nested(value, f"{prefix}{key}")

    def _nested(self, value: Json, path: str) -> Iterator[str]:
        for each in value.get("anyOf", ()):
            yield from self._nested(each, path)
        if "items" in value:
            yield from self._nested(value["items"], f"{path}[]")
        for inner in (*value.get("patternProperties", {}).values(), value.get("additionalProperties")):
            if isinstance(inner, dict):
                yield from self._nested(inner, f"{path}.<name>")
        name = value.get("$ref", "").rpartition("/")[2]
        if name and name not in (*self.headings, "Range"):
            yield from self._rows(name, f"{path}.")

    def _values(self, value: Json) -> str:
        """Return what a key takes, in words."""
        if reference := value.get("$ref"):
            return self._reference(reference.rpartition("/")[2])
        if "anyOf" in value:
            choices = [self._values(each) for each in value["anyOf"] if each != {"type": "null"}]
            return " or ".join(dict.fromkeys(choices))
        if words := value.get("enum") or ([value["const"]] if "const" in value else []):
            return ", ".join(f"`{each}`" for each in words)
        kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
        return " or ".join(self._kind(each, value) for each in kinds if each != "null")

    def _reference(self, name: str) -> str:
        if name in _SHORT_FORMS:
            return _SHORT_FORMS[name]
        heading = self.headings.get(name)
        return f"[{heading}](#{_anchor(heading)})" if heading else "mapping"

    def _kind(self, kind: str, value: Json) -> str:
        if kind == "array":
            return f"list of {_several(self._values(value['items']))}"
        if kind == "object":
            inner = [*value.get("patternProperties", {}).values(), value.get("additionalProperties")][0]
            return f"map of {_several(self._values(inner))}" if isinstance(inner, dict) else "mapping"
        if kind == "boolean":
            return "`true`, `false`"
        return _number(value) if kind in ("integer", "number") else "text"


_SHORT_FORMS = {"Range": "`{min, max}`", "ListedSlices": "`{min, of}`"}
"""Mappings that are written on one line."""


def _several(values: str) -> str:
    return re.sub("^(mapping|number)", r"\1s", values)


def _number(value: Json) -> str:
    least, most = value.get("minimum"), value.get("maximum", _MANY)
    return f"{least} to {most}" if least is not None and most < _MANY else "number"


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def _default(value: Json, text: str) -> str:
    """Return the value of a key that is left out: as the sentence says, or the schema's."""
    if found := _DEFAULT.search(text):
        return linked(found[2])
    default = value.get("default")
    return "" if default in (None, {}, []) or default == "" else f"`{_shown(default)}`"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
