"""Models over pydantic-core: the errors of pydantic, and no model built that no value needs."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic.alias_generators import to_camel as pydantic_to_camel

import berth.spec
from berth.names import to_camel
from berth.spec.base import Section, Sequence, unique_items, validation_fault
from berth.spec.core import AfterValidator, BeforeValidator
from berth.spec.model import Field, Model, check_model
from tests.stack_files import ROOT


def _expand(value: Any) -> Any:
    return {"leastCount": value} if isinstance(value, int) else value


class Inner(Model):
    """A model inside another."""

    least_count: int = Field(default=1, ge=0, le=9)
    mode: Literal["a", "b"] = "a"


class Checked(Inner):
    """A model with a check of its own."""

    most: int | None = Field(default=None, ge=2)

    @check_model
    def _check(self) -> Checked:
        if self.most is not None and self.most < self.least_count:
            raise validation_fault("bad-size", f"{self.most} is below {self.least_count}")
        return self


class Outer(Model):
    """Every kind of field that the stack file has."""

    name: str
    ratio: float | None = None
    enabled: bool = False
    inner: Annotated[Inner, BeforeValidator(_expand)] = Field(default_factory=Inner)
    checked: Checked | None = None
    by_name: Section[str, Inner] = Field(default_factory=dict, max_length=2)
    words: Annotated[Sequence[str], AfterValidator(unique_items)] = Field(default=(), min_length=1, max_length=3)
    other_key: str = Field(default="", alias="for", max_length=4)


_CONFIG = pydantic.ConfigDict(
    frozen=True, strict=True, extra="forbid", alias_generator=pydantic_to_camel, hide_input_in_errors=True
)


class _PydanticBase(pydantic.BaseModel):
    model_config = _CONFIG


class PydanticInner(_PydanticBase):
    """`Inner` as a model of pydantic."""

    least_count: int = pydantic.Field(default=1, ge=0, le=9)
    mode: Literal["a", "b"] = "a"


class PydanticChecked(PydanticInner):
    """`Checked` as a model of pydantic."""

    most: int | None = pydantic.Field(default=None, ge=2)

    @pydantic.model_validator(mode="after")
    def _check(self) -> PydanticChecked:
        if self.most is not None and self.most < self.least_count:
            raise validation_fault("bad-size", f"{self.most} is below {self.least_count}")
        return self


_Words = Annotated[tuple[str, ...], pydantic.Strict(False), pydantic.AfterValidator(unique_items)]
_ByName = Annotated[dict[str, PydanticInner], pydantic.BeforeValidator(lambda value: {} if value is None else value)]


class PydanticOuter(_PydanticBase):
    """`Outer` as a model of pydantic."""

    name: str
    ratio: float | None = None
    enabled: bool = False
    inner: Annotated[PydanticInner, pydantic.BeforeValidator(_expand)] = pydantic.Field(default_factory=PydanticInner)
    checked: PydanticChecked | None = None
    by_name: _ByName = pydantic.Field(default_factory=dict, max_length=2)
    words: _Words = pydantic.Field(default=(), min_length=1, max_length=3)
    other_key: str = pydantic.Field(default="", alias="for", max_length=4)


VALUES: list[object] = [
    {"name": "x"},
    {"name": "x", "ratio": 1, "enabled": True, "inner": 3, "for": "abcd", "words": ["a", "b"]},
    {},
    None,
    [],
    "x",
    {
        "name": 3,
        "ratio": "1",
        "enabled": "yes",
        "inner": None,
        "checked": [],
        "byName": [],
        "words": "a",
        "for": "abcde",
    },
    {
        "name": "x",
        "unknown": 1,
        "least_count": 1,
        "by_name": {},
        "inner": {"unknown": 1, "leastCount": 10, "mode": "c"},
    },
    {"name": "x", "inner": {"leastCount": -1}, "checked": {"leastCount": 5, "most": 3}},
    {"name": "x", "checked": {"leastCount": True, "most": 1}},
    {"name": "x", "checked": {"most": None}, "byName": None},
    {"name": "x", "byName": {"a": {}, "b": {"mode": 1}, "c": {}}},
    {"name": "x", "byName": {"a": {}, "b": {}, "c": {}}},
    {"name": "x", "byName": {1: {}, "b": None}},
    {"name": "x", "words": []},
    {"name": "x", "words": ["a", "a"]},
    {"name": "x", "words": ["a", 1, None]},
    {"name": "x", "words": ["a", "b", "c", "d"]},
    {"name": "x", "words": None, "for": None},
    {"name": "x", "inner": 2.5, "ratio": float("inf")},
]


def _outcome(model: Any, value: object) -> object:
    """What validating a value leads to: the values and what was written, or the errors."""
    try:
        instance = model.model_validate(value)
    except pydantic.ValidationError as error:
        return [{**each, "ctx": repr(each.get("ctx"))} for each in error.errors(include_url=False)]
    return _plain(instance), instance.model_fields_set


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return {key: _plain(entry) for key, entry in vars(value).items()} if hasattr(value, "model_fields_set") else value


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_read_as_pydantic_reads_it(value: object) -> None:
    """Values, and each error with its type, path, input and order."""
    ours, theirs = _outcome(Outer, value), _outcome(PydanticOuter, value)
    assert json.loads(json.dumps(repr(ours)).replace("Pydantic", "")) == json.loads(
        json.dumps(repr(theirs)).replace("Pydantic", "")
    )


def test_the_values_include_valid_ones_and_every_error() -> None:
    outcomes = [_outcome(Outer, value) for value in VALUES]
    errors = [error for outcome in outcomes if isinstance(outcome, list) for error in outcome]
    assert sum(isinstance(outcome, tuple) for outcome in outcomes) >= 3
    assert {error["type"] for error in errors} >= {
        *("missing", "extra_forbidden", "string_type", "int_type", "bool_type", "float_type", "literal_error", "berth"),
        *("greater_than_equal", "less_than_equal", "too_short", "too_long", "dict_type", "tuple_type", "model_type"),
    }


# --- all models -------------------------------------------------------------------------------------------------------


def models() -> list[type[Model]]:
    """Every model of the stack file."""
    for module in pkgutil.walk_packages(berth.spec.__path__, "berth.spec."):
        importlib.import_module(module.name)
    pending, every = [Model], list[type[Model]]()
    while pending:
        each = pending.pop()
        every += [each] if each.__module__.startswith("berth.spec.") and each is not Model else []
        pending += each.__subclasses__()
    return every


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_a_default_is_what_validating_it_gives(model: type[Model]) -> None:
    """Defaults of sections are made without a validator, so they must be such as it would accept."""
    for field in model.model_fields.values():
        default = field.get_default() if not field.is_required() else None
        if isinstance(default, Model):
            written = {
                type(default).model_fields[name].alias: getattr(default, name) for name in default.model_fields_set
            }
            validated = type(default).model_validate(written)
            assert (validated, validated.model_fields_set) == (default, default.model_fields_set)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_keys_are_spelled_as_pydantic_spells_them(model: type[Model]) -> None:
    assert {name: to_camel(name) for name in model.model_fields} == {
        name: pydantic_to_camel(name) for name in model.model_fields if not name.startswith("size_")
    } | {name: to_camel(name) for name in model.model_fields if name.startswith("size_")}


def test_a_model_is_immutable_and_compared_by_value() -> None:
    one, same, other = Inner.model_validate({"leastCount": 2}), Inner.model_validate({"leastCount": 2}), Inner()
    assert (one == same, hash(one) == hash(same), one == other, one == 2) == (True, True, False, False)
    assert Checked.model_validate({"leastCount": 2}) != one
    with pytest.raises(AttributeError, match="Inner is frozen"):
        one.mode = "b"  # pyright: ignore[reportAttributeAccessIssue]


_BUILT = """
from pathlib import Path
from berth.evaluate import evaluate_stack
from berth.spec.model import Model
evaluate_stack("dev", Path("."))
pending = [Model]
while pending:
    each = pending.pop()
    pending += each.__subclasses__()
    if each.__dict__.get("_validator"):
        print(each.__name__)
"""


def test_only_models_of_sections_that_are_written_are_built() -> None:
    done = subprocess.run([sys.executable, "-c", _BUILT], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        *("FleetSpec", "ClusterSpec", "ReservationSpec", "PoolSpec", "Capacity", "Range", "FixedCount"),
        *("PrioritySpec", "CohortSpec", "TeamSpec", "NamespaceSpec", "QueueSpec", "QuotaSpec"),
        *("ControlPlaneSpec", "MaintenanceSpec", "MaintenanceExclusionSpec"),
    }
