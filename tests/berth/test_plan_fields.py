"""Every field of the plan is set by some stack file: of the repository, or of those that tests check.

A field counts as set where it differs from its default, and a field without a default where it is built. What nothing
sets yet is on a list with the reason, and leaves it with the key that sets it.
"""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

import berth.plan
from berth.evaluate import Evaluation, evaluate_stack
from tests import stack_files
from tests.berth.bad_input import cases

UNSET: dict[str, str] = {}
"""Field → which open work is to set it."""
FOLDER = pathlib.Path(__file__).with_name("full_fleets")
"""Sound stack files that set what no stack of the repository sets."""
FULL_FLEETS = tuple(sorted(file.stem.removeprefix("Pulumi.") for file in FOLDER.glob("Pulumi.*.yaml")))


def plan_classes() -> Iterator[type[msgspec.Struct]]:
    """Every class of the room of plans."""
    for info in pkgutil.iter_modules(berth.plan.__path__):
        module = importlib.import_module(f"berth.plan.{info.name}")
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == module.__name__:
                yield each


def default_of(field: msgspec.structs.FieldInfo) -> object:
    """The default of a field, NODEFAULT where it has none."""
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default


CLASSES = tuple(plan_classes())
DEFAULTS = {cls: {f.name: default_of(f) for f in msgspec.structs.fields(cls)} for cls in CLASSES}


def set_fields(value: Any) -> Iterator[str]:
    """`Class.field` of every field within a value that is not at its default."""
    if isinstance(value, Mapping):
        yield from (name for each in value.values() for name in set_fields(each))
    elif isinstance(value, tuple):
        yield from (name for each in value for name in set_fields(each))
    elif type(value) in DEFAULTS:
        for name, default in DEFAULTS[type(value)].items():
            if (held := getattr(value, name)) != default:
                yield f"{type(value).__name__}.{name}"
                yield from set_fields(held)


def evaluations(folder: pathlib.Path) -> Iterator[Evaluation]:
    """Every stack file of the repository, every full fleet, and every edit among the cases of bad input.

    Most of a plan is made of a stack file with a fault too, without the entry that is at fault.
    """
    for file in stack_files.ALL_STACKS.values():
        yield evaluate_stack(str(file), stack_files.ROOT)
    for stack in FULL_FLEETS:
        yield evaluate_stack(stack, FOLDER)
    for case in cases.EDITS.values():
        cases.write(folder, cases.edited(case))
        yield evaluate_stack("bad", folder)


@pytest.mark.parametrize("stack", FULL_FLEETS)
def test_every_full_fleet_is_sound(stack: str) -> None:
    assert [problem.line() for problem in evaluate_stack(stack, FOLDER).faults] == []


def test_every_field_of_the_plan_is_set_by_some_stack_file(tmp_path: pathlib.Path) -> None:
    known = {f"{cls.__name__}.{name}" for cls, fields in DEFAULTS.items() for name in fields}
    built = set[str]()
    for each in evaluations(tmp_path):
        built.update(set_fields(each.plan_of_any_kind))
    assert sorted(known - built - UNSET.keys()) == []
    assert sorted(UNSET.keys() & built) == [], "set by now: take it off the list"
    assert sorted(UNSET.keys() - known) == [], "no field of the plan any more: take it off the list"
