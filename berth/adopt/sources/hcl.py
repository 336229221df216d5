"""Terraform's language: blocks of files, with what the files say of variables, locals, count and for_each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final, cast

import hcl2
import lark

from berth.adopt.api_objects import NotAdopted
from berth.adopt.sources.expressions import evaluate, expand
from berth.adopt.sources.source_fleet import Names, Scope, Unresolved, UnusableSource, list_or_empty, mapping_or_empty

_RESOURCE: Final = re.compile(r'^[ \t]*resource[ \t]+"(?P<kind>[\w-]+)"[ \t]+"(?P<name>[\w-]+)"', re.MULTILINE)
_MAX_DEPTH, _MAX_INSTANCES = 40, 1000
_MARK = "__is_block__"
_META = (_MARK, "count", "for_each", "provider", "depends_on", "lifecycle", "provisioner", "connection", "dynamic")
"""Arguments that are Terraform's own."""
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r"}


class Configuration:
    """The blocks of Terraform's files."""

    def __init__(
        self, blocks: Mapping[str, Mapping[str, Any]], values: Mapping[str, str], given: Mapping[str, Any]
    ) -> None:
        self._blocks = blocks
        variables = {name: body.get("default") for name, body in blocks["variable"].items() if "default" in body}
        written: dict[str, Callable[[], Any]] = {
            name: self._lazy(value) for name, value in {**variables, **given}.items()
        }
        written |= {name: _constant(_typed(value)) for name, value in values.items()}
        local = {name: self._lazy(value) for name, value in blocks["locals"].items()}
        self._scope: dict[str, Any] = {"var": Names("var", written), "local": Names("local", local)}
        for kind, resources in blocks["resource"].items():
            made = {
                name: partial(self._arguments, body, self._scope)
                for name, body in resources.items()
                if not body.keys() & {"count", "for_each"}
            }
            self._scope[kind] = Names(kind, made)

    @property
    def kinds(self) -> set[str]:
        """The types of the resources."""
        return set(self._blocks["resource"])

    def modules(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the source of each module."""
        for name, body in self._blocks["module"].items():
            yield name, str(self._value(body.get("source"), self._scope))

    def provider(self, name: str) -> Mapping[str, Any]:
        """Return the arguments of a provider."""
        return self._arguments(mapping_or_empty(self._blocks["provider"].get(name)), self._scope)

    def instances(self, kinds: Collection[str], notes: list[NotAdopted]) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield address, type and arguments of each instance; resources whose number is unknown get a note."""
        for kind in kinds:
            for name, body in mapping_or_empty(self._blocks["resource"].get(kind)).items():
                address = f"{kind}.{name}"
                scopes = self._scopes(body)
                if isinstance(scopes, Unresolved):
                    meta = "count" if "count" in body else "for_each"
                    remedy = "add --value NAME=VALUE, or give the output of terraform show -json"
                    text = f"{meta} is {scopes}, so how many there are is unknown: not written; {remedy}"
                    notes.append(NotAdopted(address, text))
                    continue
                for suffix, scope in scopes:
                    yield f"{address}{suffix}", kind, self._arguments(body, scope)

    def _scopes(self, body: Mapping[str, Any]) -> list[tuple[str, Scope]] | Unresolved:
        """Return the suffix and the names of each instance of a resource."""
        if "count" in body:
            count = self._value(body["count"], self._scope)
            if isinstance(count, Unresolved) or not isinstance(count, int) or count > _MAX_INSTANCES:
                return count if isinstance(count, Unresolved) else Unresolved(str(count))
            return [(f"[{at}]", {**self._scope, "count": {"index": at}}) for at in range(count)]
        if "for_each" in body:
            each = self._value(body["for_each"], self._scope)
            if isinstance(each, list):
                each = {str(item): item for item in cast("list[Any]", each)}
            if not isinstance(each, dict):
                return each if isinstance(each, Unresolved) else Unresolved(str(each))
            items = cast("dict[str, Any]", each).items()
            return [(f'["{key}"]', {**self._scope, "each": {"key": key, "value": value}}) for key, value in items]
        return [("", self._scope)]

    def _lazy(self, value: Any) -> Callable[[], Any]:
        return lambda: self._value(value, self._scope)

    def _arguments(self, body: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
        arguments = {key: self._value(value, scope) for key, value in body.items() if key not in _META}
        for dynamic in map(mapping_or_empty, list_or_empty(body.get("dynamic"))):
            for name, block in dynamic.items():
                if name != _MARK:
                    arguments[_bare(name)] = self._dynamic(_bare(name), mapping_or_empty(block), scope)
        return arguments

    def _dynamic(self, name: str, block: Mapping[str, Any], scope: Scope) -> Any:
        """Return the blocks of a `dynamic` block."""
        items = self._value(block.get("for_each"), scope)
        if isinstance(items, list):
            pairs = list(enumerate(cast("list[Any]", items)))
        elif isinstance(items, dict):
            pairs = list(cast("dict[Any, Any]", items).items())
        else:
            return items if isinstance(items, Unresolved) else []
        iterator = str(self._value(block.get("iterator"), scope) or name) if "iterator" in block else name
        content = mapping_or_empty(next(iter(list_or_empty(block.get("content"))), None))
        return [
            self._arguments(content, {**scope, _bare(iterator): {"key": key, "value": value}}) for key, value in pairs
        ]

    def _value(self, value: Any, scope: Scope) -> Any:
        if isinstance(value, str):
            return _text_value(value, scope)
        if isinstance(value, list):
            return [self._value(each, scope) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            if _MARK in value:
                return self._arguments(cast("dict[str, Any]", value), scope)
            return {
                str(_text_value(key, scope)): self._value(each, scope)
                for key, each in cast("dict[str, Any]", value).items()
            }
        return value


def read_configuration(files: Mapping[str, str], values: Mapping[str, str]) -> Configuration:
    """Return the blocks of files; `values` replace variables. Raises UnusableSource."""
    blocks: dict[str, dict[str, Any]] = {
        kind: {} for kind in ("variable", "locals", "resource", "module", "provider", "data")
    }
    given: dict[str, Any] = {}
    for file, text in files.items():
        for kind, found in _parsed(file, text).items():
            if kind not in blocks and not isinstance(found, list):
                given[kind] = found  # an assignment of a .tfvars file
            for block in list_or_empty(found) if kind in blocks else []:
                _add(blocks, kind, mapping_or_empty(block))
        _check_whole(file, text, blocks["resource"])
    return Configuration(blocks, values, given)


def _parsed(file: str, text: str) -> dict[str, Any]:
    """Return the blocks of a file; after the end of a heredoc, blanks would hide what follows from the parser."""
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > _MAX_DEPTH:
        raise UnusableSource(f"{file}: error: has more than {_MAX_DEPTH} brackets inside each other; remove some")
    clean = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    try:
        parse: Callable[[str], Any] = cast("Any", hcl2).loads
        return cast("dict[str, Any]", parse(clean))
    except lark.exceptions.UnexpectedInput as error:
        place = f"{file}:{error.line}:{error.column}" if getattr(error, "line", -1) > 0 else file
        raise UnusableSource(
            f"{place}: error: not valid Terraform; run terraform fmt, which says what is wrong"
        ) from None
    except Exception as error:  # the parser's own errors have no common class
        raise UnusableSource(f"{file}: error: not valid Terraform ({type(error).__name__})") from None


def _add(blocks: dict[str, dict[str, Any]], kind: str, block: Mapping[str, Any]) -> None:
    if kind == "locals":
        blocks[kind] |= {_bare(name): value for name, value in block.items() if name != _MARK}
        return
    for label, body in block.items():
        if kind in ("resource", "data"):
            made = blocks[kind].setdefault(_bare(label), {})
            made |= {_bare(name): inner for name, inner in mapping_or_empty(body).items() if name != _MARK}
        elif label != _MARK:
            blocks[kind].setdefault(_bare(label), mapping_or_empty(body))


def _check_whole(file: str, text: str, resources: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise UnusableSource if the parser has lost a resource that the text has."""
    for match in _RESOURCE.finditer(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)):
        if match["name"] not in resources.get(match["kind"], {}):
            raise UnusableSource(
                f"{file}: error: resource {match['kind']}.{match['name']} cannot be read; write it in a file of its own"
            )


def _bare(label: str) -> str:
    return label.strip('"')


def _text_value(value: str, scope: Scope) -> Any:
    """Return the value of a text as the parser gives it: `"template"`, `${expression}`, or plain."""
    if len(value) > 1 and value[0] == value[-1] == '"':
        return expand(re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), value[1:-1]), scope)
    if value.startswith("${") and value.endswith("}"):
        return evaluate(value[2:-1], scope)
    return evaluate(value, scope) if re.fullmatch(r"[A-Za-z_][\w.\[\]\"*-]*\.[\w.\[\]\"*-]+", value) else value


def _typed(value: str) -> Any:
    """Return a value of the command line as Terraform reads it: a number, a truth, JSON, or text."""
    if re.fullmatch(r"\d{1,9}", value):
        return int(value)
    if value in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[value]
    return evaluate(value, {}) if value[:1] in ("[", "{") else value


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value
