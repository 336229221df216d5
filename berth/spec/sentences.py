"""The sentences that describe the keys of a stack file: the string after a field of a model.

Python drops these strings when it compiles a module, so they cost a command nothing. They are read from the source.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise

from berth.spec.model import Model


def key_sentences(model: type[Model]) -> dict[str, str]:
    """Return what each key of a model means, by key; a key without a sentence is left out."""
    written = {
        name: text
        for each in reversed(model.__mro__)
        if issubclass(each, Model) and each is not Model
        for name, text in _in_module(each.__module__)[each.__name__].items()
    }
    return {field.alias: written[name] for name, field in model.model_fields.items() if name in written}


def models() -> dict[str, type[Model]]:
    """Return every model of the stack file that is imported, by name."""
    return {each.__name__: each for each in _below(Model) if each.__module__.startswith("berth.spec.")}


def _below(model: type[Model]) -> Iterator[type[Model]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)


@cache
def _in_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """Return the sentences of a module by class and field."""
    body = ast.parse(inspect.getsource(sys.modules[name])).body
    return {each.name: dict(_of_fields(each)) for each in body if isinstance(each, ast.ClassDef)}


def _of_fields(model: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement in pairwise(model.body):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
            case _:
                pass
