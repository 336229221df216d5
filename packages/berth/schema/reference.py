"""The reference page of the package: every component, argument, output and type, from the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

Json = Mapping[str, Any]

_HEAD: Final = """\
# Reference of the component package

Components of the package `berth` with their arguments and outputs, for every language of Pulumi.
[components.md](components.md) shows how to use them; [stack-file.md](stack-file.md) explains the keys of a fleet.
Names are spelt as in TypeScript and YAML; Python writes `machine_type` for `machineType`, Go and C# `MachineType`.

Arguments are plain values unless the table says *output*: those also take outputs of other resources. A name in
**bold** is required. `make golden` writes this page from the package's schema.

"""


def reference_page(schema: Json) -> str:
    """Return docs/reference.md for the schema of the package."""
    names = {token: token.rpartition(":")[2] for token in schema["types"]}
    models = {token: each for token, each in schema["types"].items() if "enum" not in each}
    enums = {token: each for token, each in schema["types"].items() if "enum" in each}
    parts = [
        *(_component(token.rpartition(":")[2], each) for token, each in schema["resources"].items()),
        "## Types\n\n",
        *(_type(names[token], each) for token, each in models.items()),
        "## Enums\n\n| enum | values |\n| --- | --- |\n",
        *(
            f'| <a id="{names[token].lower()}"></a>`{names[token]}` | {_values(each)} |\n'
            for token, each in enums.items()
        ),
    ]
    return _HEAD + "".join(parts)


def linked(text: str) -> str:
    """Return a sentence for a page of `docs`, where the pages that it names are links."""
    return re.sub(r"docs/([a-z-]+\.md)(#[a-z-]+)?", r"[\1](\1\2)", text)


def _component(name: str, component: Json) -> str:
    arguments = _table(component["inputProperties"], component["requiredInputs"], "argument")
    outputs = _table(component["properties"], (), "output")
    return f"## {name}\n\n{component['description']}\n\n{arguments}\n{outputs}\n"


def _type(name: str, model: Json) -> str:
    return f"### {name}\n\n{model['description']}\n\n{_table(model['properties'], model.get('required', ()), 'key')}\n"


def _table(properties: Mapping[str, Json], required: Any, head: str) -> str:
    rows = (_row(key, each, key in required, head) for key, each in properties.items())
    return f"| {head} | type | description |\n| --- | --- | --- |\n{''.join(rows)}"


def _row(key: str, value: Json, is_required: bool, head: str) -> str:
    name = f"**`{key}`**" if is_required else f"`{key}`"
    marks = [
        *(["output"] if head == "argument" and not value.get("plain") else []),
        *(["secret"] if value.get("secret") else []),
    ]
    marked = f", *{', '.join(marks)}*" if marks else ""
    return f"| {name} | {_shown(value)}{marked} | {linked(value['description'])} |\n"


def _shown(value: Json) -> str:
    """Return a type for a table, with links to the types of the package."""
    if "oneOf" in value:
        return " or ".join(_shown(each) for each in value["oneOf"])
    if reference := value.get("$ref"):
        name = str(reference).rpartition(":")[2]
        return f"[{name}](#{name.lower()})" if "berth:index" in reference else "any"
    if value["type"] == "array":
        return f"list of {_shown(value['items'])}"
    if value["type"] == "object":
        return f"map of {_shown(value['additionalProperties'])}"
    return str(value["type"])


def _values(enum: Json) -> str:
    return ", ".join(f"`{each['value']}`" for each in enum["enum"])
