"""Every field of the plan, with the settings of nodes in it, is set by some sound stack file of the repository.

A field counts as set where it differs from its default, and a field without a default where it is built. A field that
no sound stack file sets cannot be set by a user: delete it, or add a stack file to `full_fleets`. What a method of a
plan answers is derived and no field: a NamedTuple, which no plan holds.
"""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec
import pytest

import berth.plan
from berth.evaluate import Evaluation, evaluate_stack
from berth.spec.cluster import ClusterSettings
from berth.spec.machines.node_system import BlueGreenSpec, HugepagesSpec, KubeletSpec, NodeSystemSpec, SurgeSpec
from berth.spec.machines.pools import GpuSharingSpec, LocalSsdSpec, NodeSettings, SecondaryBootDiskSpec
from berth.spec.model import Model
from berth.spec.tenancy import TeamSettings
from tests import stack_files

FOLDER = pathlib.Path(__file__).with_name("full_fleets")
"""Sound stack files that set what no stack of the repository sets."""
FULL_FLEETS = tuple(sorted(file.stem.removeprefix("Pulumi.") for file in FOLDER.glob("Pulumi.*.yaml")))


def plan_classes() -> Iterator[type[msgspec.Struct]]:
    """Every class of the package of plans."""
    for info in pkgutil.iter_modules(berth.plan.__path__):
        module = importlib.import_module(f"berth.plan.{info.name}")
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == module.__name__:
                yield each


def default_of(field: msgspec.structs.FieldInfo) -> object:
    """The default of a field, NODEFAULT where it has none."""
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default


SETTINGS: tuple[type[Model], ...] = (
    *(ClusterSettings, TeamSettings, NodeSettings, GpuSharingSpec, LocalSsdSpec, SurgeSpec),
    *(NodeSystemSpec, KubeletSpec, HugepagesSpec, SecondaryBootDiskSpec, BlueGreenSpec),
)
"""Parts of the stack file that a plan has as they are."""
CLASSES = tuple(plan_classes())
DEFAULTS: dict[type, dict[str, object]] = {
    cls: {f.name: default_of(f) for f in msgspec.structs.fields(cls)} for cls in CLASSES
} | {cls: {name: field.get_default() for name, field in cls.model_fields.items()} for cls in SETTINGS}


def set_fields(value: Any) -> Iterator[str]:
    """`Class.field` of every field within a value that is not at its default."""
    if isinstance(value, Mapping):
        yield from (name for each in value.values() for name in set_fields(each))
    elif isinstance(value, tuple):
        yield from (name for each in value for name in set_fields(each))
    elif type(value) in DEFAULTS:
        for name, default in DEFAULTS[type(value)].items():
            if (field_value := getattr(value, name)) != default:
                classes = (cls for cls in type(value).__mro__ if name in DEFAULTS.get(cls, ()))
                yield from (f"{cls.__name__}.{name}" for cls in classes)
                yield from set_fields(field_value)


def types_in(annotation: Any) -> Iterator[type]:
    """Every class that an annotation names."""
    if isinstance(annotation, type):
        yield annotation
    for inner in get_args(annotation):
        yield from types_in(inner)


def sound_evaluations() -> Iterator[Evaluation]:
    """Every stack file of the repository and every full fleet, those without a fault."""
    evaluations = [stack_files.evaluation(stack) for stack in stack_files.ALL_STACKS]
    evaluations += [evaluate_stack(stack, FOLDER) for stack in FULL_FLEETS]
    return (each for each in evaluations if not each.faults)


@pytest.mark.parametrize("stack", FULL_FLEETS)
def test_every_full_fleet_has_no_faults(stack: str) -> None:
    assert [problem.line() for problem in evaluate_stack(stack, FOLDER).faults] == []


def test_every_field_of_the_plan_is_set_by_some_sound_stack_file() -> None:
    fields = {f"{cls.__name__}.{name}" for cls, fields in DEFAULTS.items() for name in fields}
    set_somewhere = {name for each in sound_evaluations() for name in set_fields(each.plan)}
    assert sorted(fields - set_somewhere) == []


def test_no_field_of_the_plan_holds_what_is_derived() -> None:
    """Its fields would not be among those that the test above wants set."""
    fields = ((cls, field) for cls in CLASSES for field in msgspec.structs.fields(cls))
    named = (f"{cls.__name__}.{f.name}" for cls, f in fields if any(hasattr(t, "_fields") for t in types_in(f.type)))
    assert list(named) == []
