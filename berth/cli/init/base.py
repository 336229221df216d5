"""The base of a new stack file: what belongs to a place stays in the stack file, and the rest is for others too."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping
from textwrap import dedent, indent
from typing import Any, Final, cast

import yaml

from berth.cli.init.example import ExampleError
from berth.diagnostics import FieldPath
from berth.loader.base_file import unusable_path
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor

_KEYS: Final = ("project", "projectNumber", "region")
_OF_THE_CLUSTER: Final = ("name", "zones", "network", "existing")


def base_error(base: str, root: pathlib.Path) -> str:
    """Return why no base can be written to a path; empty if it can."""
    if unusable := unusable_path(base, root):
        return unusable[1]
    if (root / base).exists():
        return f"{base} exists; write --from and a stack that extends it, without --base"
    return ""


def split_text(text: str, name: str, base: str) -> tuple[str, str]:
    """Return the text of a stack file that extends `base`, and the text of the base. Raises ExampleError.

    Together they have the values of `text`, whose comments go into the base.
    """
    file = f"Pulumi.{name}.yaml"
    whole = YamlEditor(name, file, {file: text})
    fleet = cast("Mapping[str, Any]", whole.value_at(()))
    rest, place = whole, dict[str, Any]()
    try:
        for path in _places(fleet):
            holder = place
            for step in path[:-1]:
                holder = holder.setdefault(str(step), {})
            holder[str(path[-1])] = whole.value_at(path)
            rest = rest.remove(path)
    except ManualEditRequired:
        raise ExampleError("has YAML that berth init cannot split; write the base by hand") from None
    head, key, body = re.split(r"(?m)^( *berth:fleet:.*\n)", rest.texts[file], maxsplit=1)
    inner = re.match(r"((?:\s*(?:#.*)?\n)*)( +)", body)
    if inner is None or re.search(r"(?m)^(?:  )?[^\s#]", body):
        raise ExampleError("has another key below berth:fleet; move that key above it")
    shared = f"# What stacks have in common; each extends this file: base: {base}\nfleet:\n{indent(dedent(body), '  ')}"
    own = yaml.safe_dump({"base": base, **place}, sort_keys=False, width=110, default_flow_style=None)
    stack = f"{head}{key}{indent(own, inner[2])}"
    both = cast("Mapping[str, Any]", YamlEditor(name, file, {file: stack, base: shared}).value_at(()) or {})
    if {key: value for key, value in both.items() if key != "base"} != fleet:
        raise ExampleError("has YAML that berth init cannot split; write the base by hand")
    return stack, shared


def write_new(texts: Mapping[str, str], folder: pathlib.Path) -> None:
    """Write files by their names. Raises FileExistsError for one that exists."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("x", encoding="utf-8") as stream:
            stream.write(text)


def _places(fleet: Mapping[str, Any]) -> Iterator[FieldPath]:
    """Yield the paths of what belongs to a place and is written."""
    yield from ((key,) for key in _KEYS if key in fleet)
    yield from (("cluster", key) for key in _OF_THE_CLUSTER if key in (fleet.get("cluster") or {}))
    for section in ("reservations", "pools"):
        for name, entry in cast("Mapping[str, Mapping[str, object] | None]", fleet.get(section) or {}).items():
            yield from ((section, name, key) for key in ("zone", "zones", "project") if key in (entry or {}))
    if isinstance(project := fleet.get("project"), str):
        named = {key: value for key, value in fleet.items() if key not in (*_KEYS, "reservations", "pools")}
        yield from (path for path in _named_by(project, named, ()) if path[:1] != ("cluster",) or len(path) > 2)


def _named_by(project: str, value: object, path: FieldPath) -> Iterator[FieldPath]:
    """Yield the paths of names that contain the project's, such as those of buckets; of a list its own path."""
    if isinstance(value, str) and project in value:
        yield path
    elif isinstance(value, list):
        if project in str(cast("object", value)):
            yield path
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from iter([(*path, key)]) if project in key else _named_by(project, inner, (*path, key))
