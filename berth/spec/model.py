"""Models of the stack file: frozen classes that pydantic-core validates, each built at its first value.

pydantic-core is the validator inside pydantic, so errors have the types, paths and order of pydantic. Unlike in
pydantic, a model costs almost nothing until it validates a value, so a command pays only for sections in use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, cast, dataclass_transform, get_origin

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from berth.names import to_camel
from berth.spec.core import FieldBounds, SchemaBuilder, annotated_schema

C = TypeVar("C", bound=Callable[..., Any])
M = TypeVar("M", bound="Model")
_REQUIRED: Any = object()
_CHECK_MARK = "__checks_model__"
_INSTANCE_SLOTS = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
"""Attributes in which pydantic-core stores an instance."""


class FieldInfo:
    """One field of a model: its key in the stack file, default and bounds."""

    def __init__(self, default: Any, default_factory: Callable[[], Any] | None, bounds: Mapping[str, float]) -> None:
        self.default, self.default_factory, self.bounds = default, default_factory, bounds
        self.alias = ""
        self.json_schema_extra: Mapping[str, Any] | None = None
        self.validate_default = False
        self._owner: type[Model] | None = None
        self._name = ""

    def declared_in(self, owner: type[Model], name: str) -> FieldInfo:
        """Return the field with its key: in camelCase, unless an alias is set."""
        self._owner, self._name, self.alias = owner, name, self.alias or to_camel(name)
        return self

    @property
    def full_annotation(self) -> Any:
        """Type with its metadata."""
        assert self._owner is not None
        return self._owner.own_annotations()[self._name]

    @property
    def annotation(self) -> Any:
        """Type without its metadata."""
        full = self.full_annotation
        return full.__origin__ if get_origin(full) is Annotated else full

    def is_required(self) -> bool:
        """Return whether the key must be written."""
        return self.default is _REQUIRED and self.default_factory is None

    def get_default(self) -> Any:
        """Return the value for an omitted key."""
        return self.default_factory() if self.default_factory else self.default

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Return the schema with the bounds, if the field is metadata of a type."""
        return FieldBounds(self.bounds).apply(inner)

    def core_schema(self) -> core_schema.ModelField:
        """Return the schema of the field."""
        schema = annotated_schema(self.full_annotation, [FieldBounds(self.bounds)] if self.bounds else [])
        metadata = {"pydantic_js_extra": self.json_schema_extra} if self.json_schema_extra else None
        return core_schema.model_field(self._with_default(schema), validation_alias=self.alias, metadata=metadata)

    def _with_default(self, schema: CoreSchema) -> CoreSchema:
        if self.is_required():
            return schema
        if self.default_factory is not None:
            return core_schema.with_default_schema(schema, default_factory=self.default_factory)
        return core_schema.with_default_schema(schema, default=self.default, validate_default=self.validate_default)


def Field(  # named and used as pydantic's
    default: Any = _REQUIRED,
    *,
    default_factory: Callable[[], Any] | None = None,
    alias: str = "",
    json_schema_extra: Mapping[str, Any] | None = None,
    validate_default: bool = False,
    **bounds: float,
) -> Any:
    """Declare a field with a default, an alias, or bounds: ge, le, min_length, max_length."""
    field = FieldInfo(default, default_factory, bounds)
    field.alias, field.json_schema_extra, field.validate_default = alias, json_schema_extra, validate_default
    return field


def check_model(method: C) -> C:
    """Mark a method that checks a model with valid fields; it returns the model or raises a fault."""
    setattr(method, _CHECK_MARK, True)
    return method


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class Model:
    """Base class of parts of the stack file: strict, without unknown keys, immutable."""

    __slots__ = _INSTANCE_SLOTS

    model_config: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}
    """Used by pydantic's generator of JSON Schema."""
    model_fields: ClassVar[dict[str, FieldInfo]] = {}
    """Fields by name, those of base classes first."""
    model_checks: ClassVar[tuple[Callable[[Any], Any], ...]] = ()
    _annotations: ClassVar[dict[str, Any] | None] = None
    _schema: ClassVar[CoreSchema | None] = None
    _validator: ClassVar[SchemaValidator | None] = None

    if TYPE_CHECKING:
        __pydantic_fields_set__: set[str]

    def __init_subclass__(cls) -> None:
        annotations = inspect.get_annotations(cls)
        own: dict[str, FieldInfo] = {}
        for name in (name for name, text in annotations.items() if not text.startswith("ClassVar")):
            default: Any = cls.__dict__.get(name, _REQUIRED)
            if default is not _REQUIRED:
                delattr(cls, name)  # instances have values of the same name
            field = default if isinstance(default, FieldInfo) else FieldInfo(default, None, {})
            own[name] = field.declared_in(cls, name)
        checks = tuple(each for each in vars(cls).values() if hasattr(each, _CHECK_MARK))
        bases = [base for base in cls.__bases__ if issubclass(base, Model)]
        cls.model_fields = {name: field for base in bases for name, field in base.model_fields.items()} | own
        cls.model_checks = (*(check for base in bases for check in base.model_checks), *checks)
        cls._annotations = cls._schema = cls._validator = None

    def __init__(self, **values: Any) -> None:
        type(self).validator().validate_python(values, self_instance=self)

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """Validate a mapping. Raises ValidationError with all errors, each with its path."""
        return (cls._validator or cls.validator()).validate_python(value)

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """Build a model from valid values by field, with defaults for the others, without validation."""
        fields = {
            name: values[name] if name in values else field.get_default()
            for name, field in cls.model_fields.items()
            if name in values or not field.is_required()
        }
        return _instance(cls, fields, set(values))

    def model_copy(self, update: Mapping[str, Any]) -> Self:
        """Return a copy with other values of some fields, without validation."""
        return _instance(type(self), {**self.__dict__, **update}, self.model_fields_set | update.keys())

    def model_part(self, base: type[M]) -> M:
        """Return the fields that this model has from one of its base classes, as an instance of that."""
        values = {name: self.__dict__[name] for name in base.model_fields}
        return _instance(base, values, self.model_fields_set & values.keys())

    @property
    def model_fields_set(self) -> set[str]:
        """Fields that the stack file contains."""
        return self.__pydantic_fields_set__

    @classmethod
    def own_annotations(cls) -> dict[str, Any]:
        """Return the types of the fields that this class declares, evaluated at first use."""
        if cls._annotations is None:
            cls._annotations = inspect.get_annotations(cls, eval_str=True)
        return cls._annotations

    @classmethod
    def core_schema(cls) -> CoreSchema:
        """Return the schema for pydantic-core: strict fields, no other keys, then the model's own checks."""
        if cls._schema is None:
            cls._schema = _model_schema(cls)
        return cls._schema

    @classmethod
    def validator(cls) -> SchemaValidator:
        """Return the validator, built at first use."""
        if cls._validator is None:
            cls._validator = SchemaValidator(cls.core_schema())
        return cls._validator

    @classmethod
    def reference_schema(cls) -> CoreSchema:
        """Return a schema for fields of this model that builds the validator at the first value."""

        def validate(value: object) -> object:
            return (cls._validator or cls.validator()).validate_python(value)

        return core_schema.no_info_plain_validator_function(validate, metadata={"model": cls})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy whose mappings and lists are its own."""
        made = object.__new__(type(self))
        for slot in _INSTANCE_SLOTS:
            object.__setattr__(made, slot, deepcopy(getattr(self, slot, None), memo))
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


def _model_schema(cls: type[Model]) -> CoreSchema:
    fields = {name: field.core_schema() for name, field in cls.model_fields.items()}
    schema: CoreSchema = core_schema.model_schema(
        cls,
        core_schema.model_fields_schema(fields, model_name=cls.__name__),
        config=core_schema.CoreConfig(title=cls.__name__, extra_fields_behavior="forbid", strict=True),
        frozen=True,
        ref=f"{cls.__module__}.{cls.__qualname__}:{id(cls)}",
    )
    for check in cls.model_checks:
        schema = core_schema.no_info_after_validator_function(check, schema)
    if hook := getattr(cls, "__get_pydantic_json_schema__", None):
        return cast("CoreSchema", {**schema, "metadata": {"pydantic_js_functions": [hook]}})
    return schema


def _instance(cls: type[Any], values: dict[str, Any], written: set[str]) -> Any:
    instance: Any = object.__new__(cls)
    for slot, value in zip(_INSTANCE_SLOTS, (values, written, None, None), strict=True):
        object.__setattr__(instance, slot, value)
    return instance
