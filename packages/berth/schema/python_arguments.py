"""Classes of arguments for the components in Python, and a table of these, from the tables and models of the schema."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from berth.names import to_snake
from berth.spec.sentences import models
from berth.yaml_loader import load_table
from packages.berth.schema.generate import NAME, SchemaGenerator

_TABLE: Final = Path(__file__).with_name("arguments.yaml")
_COMPONENTS: Final = Path(__file__).parents[3] / "components"
_PYTHON: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_WIDTH: Final = 120


def argument_modules() -> Mapping[str, str]:
    """Return the modules of components/arguments by name: `node_pool` with the class NodePoolArgs."""
    schema = SchemaGenerator()
    resources, types = schema.schema()["resources"], schema.types
    modules: dict[str, str] = {}
    for name, table in load_table(_TABLE).items():
        written, left_out = table, set[str]()
        if "component" in table:
            written, left_out = schema.components[table["component"]], set(table.get("without", ()))
            component = resources[f"{NAME}:index:{table['component']}"]
        else:
            component = schema.component(written)
        arguments = {key: each for key, each in component["inputProperties"].items() if key not in left_out}
        for key in table.get("outputs", ()):
            arguments[key] = {field: each for field, each in arguments[key].items() if field != "plain"}
        required = [key for key in arguments if key in component["requiredInputs"]]
        ordered = {key: arguments[key] for key in [*required, *(key for key in arguments if key not in required)]}
        modules[to_snake(name[0].lower() + name[1:])] = _module(
            name, written["description"], ordered, set(required), _models(written), types
        )
    return modules


def components_table() -> str:
    """Return the table of the components in Python for docs/components.md: name, module, and what it is."""
    described = SchemaGenerator().components
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(_COMPONENTS.rglob("*.py"))}
    rows = ["| component | module | what it is |\n| --- | --- | --- |\n"]
    for name, table in load_table(_TABLE).items():
        path = next(path for path, text in sources.items() if f"class {name}(pulumi.ComponentResource)" in text)
        module = ".".join(path.relative_to(_COMPONENTS).with_suffix("").parts)
        written = described[table["component"]] if "component" in table else table
        rows.append(f"| `{name}` | `{module}` | {_shown(written['description'])} |\n")
    return "".join(rows)


def _models(table: Mapping[str, Any]) -> list[str]:
    """Return the models of the stack file that have the arguments as keys, that of the fleet last."""
    of_inputs = (each["keys_of"] for each in table["inputs"].values() if "keys_of" in each)
    own = [each for each in (table.get("keys_of"), *of_inputs) if each in models()]
    return list(dict.fromkeys([*(each for each in own if each != "FleetSpec"), "FleetSpec"]))


def _module(
    name: str,
    description: str,
    arguments: Mapping[str, Any],
    required: set[str],
    spec_models: Iterable[str],
    types: Mapping[str, Any],
) -> str:
    fields = "\n".join(_field(key, each, key in required, types) for key, each in arguments.items())
    known = models()
    names = list(spec_models)
    sources = {f"from {known[each].__module__} import {each}" for each in names}
    imports = "\n".join(sorted({*sources, "from berth.spec.model import Model"}))
    typing_names = [each for each in ("Any", "ClassVar", "Literal") if re.search(rf"\b{each}\b", fields + "ClassVar")]
    collections = [each for each in ("Mapping", "Sequence") if re.search(rf"\b{each}\b", fields + "Sequence")]
    listed = ", ".join(names) + ("," if len(names) == 1 else "")
    return f'''"""Arguments of {name}. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import {", ".join(collections)}
from typing import {", ".join(typing_names)}
{chr(10) + "import pulumi" + chr(10) if "pulumi." in fields else ""}
{imports}

from .base import ComponentArguments


class {name}Args(ComponentArguments):
{_docstring(description)}

    models: ClassVar[Sequence[type[Model]]] = ({listed})

{fields}
'''


def _field(key: str, value: Mapping[str, Any], is_required: bool, types: Mapping[str, Any]) -> str:
    kind = _type(value, types)
    if not value.get("plain"):
        kind = f"pulumi.Input[{kind.replace('Sequence[str]', 'Sequence[pulumi.Input[str]]')}]"
    annotation = kind if is_required else f"{kind} | None = None"
    return f"    {to_snake(key)}: {annotation}\n{_docstring(value['description'])}"


def _docstring(text: str) -> str:
    """Return a sentence as a docstring of a class or field, with keys as Python writes them."""
    lines = textwrap.wrap(f'"""{_shown(text)}"""', _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join(lines), "    ")


def _shown(text: str) -> str:
    """Return a text in one line, with keys as Python writes them."""
    return re.sub(r"`([^`]+)`", lambda match: f"`{_in_python(match[1])}`", " ".join(text.split()))


def _in_python(code: str) -> str:
    return re.sub(r"\b[a-z]+(?:[A-Z][a-z0-9]*)+\b", lambda match: to_snake(match[0]), code)


def _type(value: Mapping[str, Any], types: Mapping[str, Any]) -> str:
    if "oneOf" in value:
        return " | ".join(dict.fromkeys(_type(each, types) for each in value["oneOf"]))
    if reference := value.get("$ref"):
        model = types.get(str(reference).removeprefix("#/types/"))
        if model is None:
            return "Any"
        if "enum" in model:
            return f"Literal[{', '.join(repr(each['value']) for each in model['enum'])}]".replace("'", '"')
        return "Mapping[str, Any]"
    if value["type"] == "array":
        return f"Sequence[{_type(value['items'], types)}]"
    if value["type"] == "object":
        return f"Mapping[str, {_type(value['additionalProperties'], types)}]"
    return _PYTHON[value["type"]]
