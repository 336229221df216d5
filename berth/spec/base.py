"""Common parts of the schema: strict models, camelCase keys, and types with plain error messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeVar, cast, get_args

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from berth.diagnostics import format_value
from berth.diagnostics.hints import repaired
from berth.spec.core import AfterValidator, BeforeValidator, Handler, Lax, SchemaBuilder, with_json_schema
from berth.spec.model import Field, Model

K = TypeVar("K")
T = TypeVar("T")
M = TypeVar("M", bound=Model)


def written_keys(model: Model, fields: Collection[str]) -> Iterator[str]:
    """Yield those keys of `fields` that the stack file contains."""
    for field, info in type(model).model_fields.items():
        if field in fields and field in model.model_fields_set:
            yield info.alias or field


def validation_fault(code: str, message: str) -> PydanticCustomError:
    """Return an error with Berth's own message for a validator to raise; braces in `message` are kept."""
    return PydanticCustomError("berth", "{message}", {"code": code, "message": message})


def yaml_type(value: object) -> str:
    """Return the name of a value's type for people who write YAML, such as "a mapping"."""
    names_by_type: dict[type, str] = {
        bool: "a boolean", int: "a number", float: "a number", str: "text",
        dict: "a mapping", list: "a list",
    }  # fmt: skip
    return names_by_type.get(type(value), "of another type")


def wrong_type(value: object, remedy: str) -> PydanticCustomError:
    """Return an error for a value of the wrong type; `remedy` is what to write instead."""
    subject = "is empty" if value is None else f"'{format_value(value)}' is {yaml_type(value)}"
    return validation_fault("bad-type", f"{subject}; {remedy}")


def short_form(model: type[Model], key: str, kind: type, remedy: str) -> BeforeValidator:
    """Return a validator that takes a value of a kind in the place of the mapping whose only key it is."""

    def expand(value: Any) -> Any:
        if isinstance(value, dict | model):
            return cast("object", value)
        if not isinstance(value, kind):
            raise wrong_type(value, remedy)
        return {key: value}

    return BeforeValidator(expand, json_schema_input_type=kind | model)


class JsonSchema:
    """Metadata that gives a type its JSON Schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Return the type's schema unchanged, because this adds no validation."""
        return with_json_schema(inner(), lambda core, generate: dict(self.schema))


def default_field(model: type[M], **values: int) -> M:
    """Return a field whose default is written as YAML would be: one instance for all, created at first use.

    The default is not validated, so that sections that the stack file omits cost nothing.
    """
    return Field(default_factory=cache(lambda: model.model_construct(**values)), json_schema_extra={"default": values})


class Text:
    """Metadata of a string type that must match `pattern` in full; `what` completes the sentence "'x' is not …"."""

    def __init__(self, pattern: str, what: str) -> None:
        self.pattern, self.what = pattern, what

    def matches(self, value: str) -> bool:
        """Return whether the pattern matches the whole value; it is compiled at first use."""
        return re.fullmatch(self.pattern, value) is not None

    def check(self, value: str) -> str:
        """Return the value; raise a fault if it does not match, with the nearest valid text."""
        if not self.matches(value):
            near = repaired(value, self.matches)
            remedy = f"; write '{near}'" if near else ""
            raise validation_fault("bad-value", f"'{format_value(value)}' is not {self.what}{remedy}")
        if not value.isprintable():
            raise validation_fault("bad-value", f"'{format_value(value)}' is not one printable line")
        return value

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Add the check of the text to the schema. What the text must be says more than that it must be one line."""
        text = inner()
        schema = core_schema.no_info_after_validator_function(
            self.check, core_schema.str_schema() if text["type"] == "str" else text
        )
        return with_json_schema(schema, self._json_schema)

    def _json_schema(self, core: Any, generate: Handler) -> Any:
        return {**generate(core), "pattern": f"^(?:{self.pattern})$"}


def text_rule(annotation: Any) -> Text | None:
    """Return the rule of a text type, also of an optional one."""
    return next(_text_rules(annotation), None)


def _text_rules(annotation: Any) -> Iterator[Text]:
    for argument in get_args(annotation):
        if isinstance(argument, Text):
            yield argument
        else:
            yield from _text_rules(argument)


class NullIsEmpty:
    """Metadata of a mapping that can be empty: a key without a value means an empty mapping."""

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Replace an empty value by an empty mapping."""
        schema = core_schema.no_info_before_validator_function(lambda value: {} if value is None else value, inner())
        return with_json_schema(schema, self._json_schema)

    def _json_schema(self, core: Any, generate: Handler) -> Any:
        schema = generate(core)
        strict = {"additionalProperties": False} if "patternProperties" in schema else {}
        return {"anyOf": [{**schema, **strict}, {"type": "null"}]}


Section = Annotated[dict[K, T], NullIsEmpty()]
"""A mapping from names to entries; a key without a value means an empty mapping."""

Entry = Annotated[T, NullIsEmpty()]
"""An entry whose fields all have defaults: `research:` alone is enough."""

Sequence = Annotated[tuple[T, ...], Lax()]
"""A YAML list."""


def unique_items(values: tuple[T, ...]) -> tuple[T, ...]:
    """Return the values; raise a fault if a value occurs twice."""
    seen: set[T] = set()
    for value in values:
        if value in seen:
            raise validation_fault("bad-value", f"'{format_value(value)}' is listed twice; write it once")
        seen.add(value)
    return values


EMPTY_TEXT: Final = "berth_empty"
"""Type of the error for blank text. Its message proposes an example, which depends on the key."""


class NotBlank:
    """Metadata of text that is not blank; `error` is raised for blank text."""

    def __init__(self, error: PydanticCustomError) -> None:
        self.error = error

    def check(self, value: str) -> str:
        """Return the value; raise the error if it is blank."""
        if not value.strip():
            raise self.error
        return value

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Add the check of the text to the schema."""
        schema = core_schema.no_info_after_validator_function(self.check, inner())
        return with_json_schema(schema, lambda core, generate: {"type": "string", "pattern": r"\S"})


NonEmptyText = Annotated[str, NotBlank(PydanticCustomError(EMPTY_TEXT, "is empty"))]
"""Text that is not blank."""

_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"

DnsLabel = Annotated[str, Text(_LABEL, "a DNS label: lower-case letters, digits and '-', at most 63 characters")]
DnsName = Annotated[
    str,
    Text(
        rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*",
        "a Kubernetes name: lower-case letters, digits, '-' and '.', at most 253 characters",
    ),
]


class _NotProjectNumber:
    """Metadata of a project ID. People often write the project's number instead."""

    def check(self, value: Any) -> Any:
        """Return the value; raise a fault if it is a project number, as a number or as text."""
        if not isinstance(value, bool) and re.fullmatch("[0-9]{6,20}", str(value)):
            find = f"gcloud projects describe {value} --format='value(projectId)'"
            raise validation_fault("bad-value", f"'{value}' is the project number; write the project ID ({find})")
        return value

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Check the value before its type; the JSON Schema remains that of the text."""
        return core_schema.no_info_before_validator_function(self.check, inner())


ProjectId = Annotated[
    str,
    Text(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", "a project ID: 6 to 30 lower-case letters, digits and '-'"),
    _NotProjectNumber(),
]
ProjectNumber = Annotated[str, Text(r"[0-9]{6,20}", 'a project number such as "123456789012"')]
MachineType = Annotated[
    str,
    Text(
        r"[a-z][a-z0-9]*(-[a-z0-9]+)+",
        "a machine type such as g2-standard-24 or ct5lp-hightpu-4t, as in docs/hardware.md",
    ),
]
Region = Annotated[str, Text(r"[a-z]+-[a-z]+[0-9]+", "a region such as us-central1")]
Zone = Annotated[str, Text(r"[a-z]+-[a-z]+[0-9]+-([a-z]|ai[0-9]+[a-z])", "a zone such as us-central1-a")]
Zones = Annotated[Sequence[Zone], AfterValidator(unique_items)]
GkeVersion = Annotated[
    str,
    Text(
        r"[1-9][0-9]*\.(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)(-gke\.[0-9]+)?)?",
        'a GKE version such as "1.34" or "1.34.1-gke.1829001"',
    ),
]
SemVer = Annotated[
    str,
    Text(
        r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?",
        'a release such as "0.19.2" (without a v)',
    ),
]
NetworkTags = Annotated[
    Sequence[
        Annotated[
            str,
            Text(
                r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
                "a network tag: lower-case letters, digits and '-', starting with a letter, at most 63 characters",
            ),
        ]
    ],
    AfterValidator(unique_items),
]
MaintenanceInterval = Literal["PERIODIC", "AS_NEEDED"]
"""How often the hosts of machines are maintained: at planned times, or as updates become available."""
ConfidentialType = Literal["SEV", "SEV_SNP", "TDX"]
"""Technology that encrypts the memory of confidential nodes."""

BackendLoss = Literal[
    "borrow-within-cohort",
    "default-requests",
    "fair-sharing",
    "flavor-order",
    "flavor-quotas",
    "groups",
    "identity",
    "max-jobs",
    "network-policy",
    "pod-security",
    "preemption",
    "queueing-strategy",
    "reclaim",
    "state",
    "workload-priority",
]
"""Every loss, for both backends."""

AcceptLoss = Annotated[Sequence[BackendLoss], AfterValidator(unique_items)]
