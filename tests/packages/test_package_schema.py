"""The schema of the component package: a golden, and the keys, types and enums of the stack file's schema."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from berth.spec.schema import stack_schema
from packages.berth.schema.generate import package_schema, type_name
from packages.berth.schema.python_arguments import argument_modules, components_table
from packages.berth.schema.reference import reference_page
from tests.stack_files import ROOT, assert_golden

PACKAGE = ROOT / "packages" / "berth"
Json = dict[str, Any]

MODELS: Json = stack_schema()["$defs"]
LEFT_OUT = {"FleetSpec": {"base", "without", "teamFiles"}, "TeamStackSpec": {"platform", "allowChange"}}
"""Keys that only a stack file has: paths of files beside it, and the name of another stack."""
OWN = {
    "FleetSpec": {"name", "kubeconfig"},
    "TeamStackSpec": {"fleet", "kubeconfig", "platform"},
    "TeamSpec": {"without"},
}
"""Arguments that no stack file has."""
COMPLETIONS: Json = {"teamDefaults": {"$ref": "#/$defs/TeamSpec"}}
"""Keys of a fleet that are checked only after they complete others; their schema lists keys without types."""
schema = cache(package_schema)


def test_golden_schema() -> None:
    """The provider serves this file; Pulumi generates SDKs from it."""
    assert_golden(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n", PACKAGE / "schema.json")


def test_golden_reference_page() -> None:
    assert_golden(reference_page(schema()), ROOT / "docs" / "reference.md")


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert schema()["version"] == project["version"]


def reachable(model: str) -> Iterator[str]:
    """The models that a model contains, itself first."""
    todo, seen = [model], set[str]()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            yield name
            todo += re.findall(r"#/\$defs/(\w+)", json.dumps(MODELS[name]))


CONTAINED = sorted({each for root in LEFT_OUT for each in reachable(root)})


def arguments_of(model: str) -> tuple[Json, list[str]]:
    """The arguments that stand for a model's keys, and the required ones."""
    component = {"FleetSpec": "Fleet", "TeamStackSpec": "TeamWorkloads"}.get(model)
    if component is None:
        entry = schema()["types"][f"berth:index:{type_name(model)}"]
        return entry["properties"], entry["required"]
    entry = schema()["resources"][f"berth:index:{component}"]
    return entry["inputProperties"], entry["requiredInputs"]


def kinds_of_key(written: Any) -> set[str]:
    kinds = written_kinds(written)
    return {"any"} if "object" in kinds else kinds


def written_kinds(written: Any) -> set[str]:
    """The types that the stack file's schema allows: simple ones, models, and `=word` for each word of an enum."""
    if "$ref" in written:
        return {type_name(written["$ref"].rpartition("/")[2])}
    if "anyOf" in written:
        kinds = {kind for each in written["anyOf"] for kind in kinds_of_key(each)}
        # Words of an enum beside other types are text: in a union, Go's SDK would take nothing but the words.
        words = {kind for kind in kinds if kind.startswith("=")}
        return kinds if words == kinds or not words else kinds - words | {"string"}
    if "enum" in written or "const" in written:
        return {f"={word}" for word in written.get("enum", [written.get("const")])}
    types = written["type"] if isinstance(written["type"], list) else [written["type"]]
    return {kind for each in types for kind in kinds_inside(each, written)}


def kinds_inside(kind: str, written: Any) -> set[str]:
    if kind == "array":
        return {f"list:{each}" for each in kinds_of_key(written["items"])}
    if kind == "object" and "properties" not in written and len(written) > 1 and isinstance(written["type"], str):
        inner = [*written.get("patternProperties", {}).values()] or [written["additionalProperties"]]
        if inner[0] is True:
            return {"object"}
        return {f"map:{each}" for each in kinds_of_key(inner[0])}
    return set() if kind == "null" else {kind}


def kinds_of_argument(value: Any) -> set[str]:
    """The same of an argument."""
    assert value["plain"] is True
    if "oneOf" in value:
        assert len(value["oneOf"]) > 1
        return {kind for each in value["oneOf"] for kind in kinds_of_argument(each)}
    if reference := value.get("$ref"):
        if reference == "pulumi.json#/Any":
            return {"any"}
        entry = schema()["types"][reference.removeprefix("#/types/")]
        return {f"={each['value']}" for each in entry["enum"]} if "enum" in entry else {reference.rpartition(":")[2]}
    if value["type"] == "array":
        return {f"list:{each}" for each in kinds_of_argument(value["items"])}
    if value["type"] == "object":
        return {f"map:{each}" for each in kinds_of_argument(value["additionalProperties"])}
    return {value["type"]}


@pytest.mark.parametrize("model", CONTAINED)
def test_arguments_are_the_keys_of_the_stack_file(model: str) -> None:
    """Keys, types, words of enums, and which are required; every argument has a description."""
    arguments, required = arguments_of(model)
    own = OWN.get(model, set())
    written = {**MODELS[model]["properties"], **(COMPLETIONS if model == "FleetSpec" else {})}
    keys = {key: each for key, each in written.items() if key not in LEFT_OUT.get(model, ())}
    taken = {key: each for key, each in arguments.items() if key not in own}
    assert taken.keys() == keys.keys()
    assert set(required) - own == set(MODELS[model].get("required", ())) - LEFT_OUT.get(model, set())
    assert {key: kinds_of_argument(each) for key, each in taken.items()} == {
        k: kinds_of_key(v) for k, v in keys.items()
    }


def test_every_component_argument_output_and_type_has_a_description() -> None:
    entries = [*schema()["resources"].items(), *((t, e) for t, e in schema()["types"].items() if "enum" not in e)]
    missing = [
        f"{token}.{name}"
        for token, entry in entries
        for group in ("inputProperties", "properties")
        for name, each in entry.get(group, {}).items()
        if not re.fullmatch(r"(?s)[`A-Z].*\.", each["description"])
    ]
    assert missing == []
    assert [token for token, entry in entries if not entry["description"].endswith(".")] == []


def test_text_values_of_a_union_are_in_the_description() -> None:
    """No enum completes them. A compute class has no queued capacity, although its model knows the word."""
    for model, last in (("PoolSpec", 6), ("ClassPrioritySpec", 5)):
        arguments, _ = arguments_of(model)
        words = next(each["enum"] for each in MODELS[model]["properties"]["capacity"]["anyOf"] if "enum" in each)
        assert len(words) == 6
        assert re.findall("`([a-z-]+)`", arguments["capacity"]["description"])[:last] == words[:last]


def test_arguments_that_may_be_outputs() -> None:
    """Names and credentials that other resources create; everything else is planned before anything exists."""
    outputs = {
        token.rpartition(":")[2]: {name for name, each in entry["inputProperties"].items() if not each.get("plain")}
        for token, entry in schema()["resources"].items()
    }
    assert outputs == {
        "Fleet": {"kubeconfig"},
        "TeamWorkloads": {"kubeconfig", "platform"},
        "Cluster": set(),
        "NodePool": {"bootDiskKmsKey", "cluster", "location", "nodeServiceAccount", "reservation"},
        "Reservation": set(),
        "TeamQueues": {"kubeconfig", "namespace"},
        "Team": {"kubeconfig"},
    }


@pytest.mark.parametrize("name", [token.rpartition(":")[2] for token in schema()["resources"]])
def test_a_component_lives_in_the_file_of_its_name_and_ends_by_registering_its_outputs(name: str) -> None:
    file = PACKAGE / f"{re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower()}.py"
    (node,) = [each for each in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(each, ast.ClassDef)]
    initialiser = next(each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    lines = [ast.unparse(each) for each in initialiser.body]
    assert node.name == name
    assert f"super().__init__('berth:index:{name}', name, None, opts)" in lines
    assert lines[-1] == "self.register_outputs(dict(self.outputs))"


def test_no_name_of_a_type_is_also_that_of_a_components_arguments() -> None:
    """Both would be `ClusterArgs` in Go and TypeScript. An enum of one word without its owner would say nothing."""
    components = {token.rpartition(":")[2] for token in schema()["resources"]}
    types = {token.rpartition(":")[2]: entry for token, entry in schema()["types"].items()}
    assert components & types.keys() == set()
    assert [name for name, entry in types.items() if "enum" in entry and not re.search(r"[a-z][A-Z]", name)] == []


# --- classes of arguments in Python -----------------------------------------------------------------------------------


def test_golden_table_of_components() -> None:
    path = ROOT / "docs" / "components.md"
    marked = re.compile(r"(?<=<!-- components in Python -->\n).*(?=<!-- end of components -->)", re.DOTALL)
    page, tables = marked.subn(lambda _: components_table(), path.read_text(encoding="utf-8"))
    assert tables == 1
    assert_golden(page, path)


@pytest.mark.parametrize("module", list(argument_modules()))
def test_golden_arguments_in_python(module: str) -> None:
    """A key of a pool, a cluster or a team is an argument of the component in Python as soon as it is a key."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(ROOT / "components" / "x.py"), "-"]
    text = argument_modules()[module]
    formatted = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert_golden(formatted, ROOT / "components" / "arguments" / f"{module}.py")
