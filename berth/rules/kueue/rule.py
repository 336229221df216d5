"""Types of rules and violations, and checks that many rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from msgspec import Struct

from berth.diagnostics import FieldPath, Severity, did_you_mean, format_value, join_or
from berth.names import MAX_SUBDOMAIN, is_label_key, is_subdomain

T = TypeVar("T")

ObjectRef = tuple[str, str]
"""Kind (`cluster queue`, `flavor`, ...) and name of a planned object, as in `Planned.origins`."""

FieldError = tuple[FieldPath, str]
"""Path within the object, and the message."""


class KueueViolation(Struct, frozen=True):
    """A broken rule. `hint` is the path within the object, with Kueue's keys; for quotas with those of the stack file.

    `severity` is `fault` if Kueue rejects the object or never admits a job, `warning` if a setting has no effect.
    """

    severity: Severity
    code: str
    ref: ObjectRef
    path: FieldPath
    message: str


class Rule(Struct, Generic[T], frozen=True):
    """A rule over one object. `source` is what enforces it: a CRD's schema or CEL, a webhook, a controller, docs."""

    code: str
    source: str
    check: Callable[[T], Iterable[FieldError]]
    severity: Severity = Severity.FAULT


class FleetRule(Struct, Generic[T], frozen=True):
    """A rule over a whole fleet, which yields the object that breaks it."""

    code: str
    source: str
    check: Callable[[T], Iterable[tuple[ObjectRef, FieldPath, str]]]
    severity: Severity = Severity.FAULT


def find_violations(rules: Iterable[Rule[T]], ref: ObjectRef, plan: T) -> Iterator[KueueViolation]:
    """Yield every violation of `rules` by one object."""
    for rule in rules:
        for path, message in rule.check(plan):
            yield KueueViolation(rule.severity, rule.code, ref, path, message)


def check_max_items(path: FieldPath, count: int, limit: int, noun: str) -> Iterator[FieldError]:
    """Yield an error if there are more items than Kueue accepts."""
    if count > limit:
        yield path, f"'{count}' {noun} are more than Kueue's maximum of {limit}; name fewer"


def check_unique(path: FieldPath, names: Iterable[str], noun: str) -> Iterator[FieldError]:
    """Yield names that a list has more than once, each at its second occurrence."""
    seen = set[str]()
    for index, name in enumerate(names):
        if name in seen:
            yield (*path, index), f"{noun} '{format_value(name)}' is listed twice; write it once"
        seen.add(name)


def check_enum(path: FieldPath, value: str | None, allowed: tuple[str, ...]) -> Iterator[FieldError]:
    """Yield an error if a value is not one of `allowed`; None means that it is not set."""
    if value is not None and value not in allowed:
        suggestion = did_you_mean(value, allowed)
        message = (
            f"'{format_value(value)}' is not a value that Kueue accepts; "
            f"{suggestion.lstrip('; ') or f'write {join_or(allowed)}'}"
        )
        yield path, message


def check_subdomain(path: FieldPath, name: str, noun: str) -> Iterator[FieldError]:
    """Yield an error if a name is not an RFC 1123 subdomain."""
    if not is_subdomain(name):
        rule = f"lower-case letters, digits, '-' and '.', at most {MAX_SUBDOMAIN} characters"
        yield path, f"'{format_value(name)}' is not a valid name of {noun}: {rule}"


def check_label_key(path: FieldPath, key: str, noun: str) -> Iterator[FieldError]:
    """Yield an error if a key is not a Kubernetes qualified name."""
    if not is_label_key(key):
        message = (
            f"'{format_value(key)}' is not a {noun}; write a name of at most 63 characters, such as a-b or "
            "example.com/a-b"
        )
        yield path, message


def check_range(path: FieldPath, number: int, minimum: int, maximum: int) -> Iterator[FieldError]:
    """Yield an error if a number is outside its range."""
    if not minimum <= number <= maximum:
        yield path, f"'{number}' is out of range; write {minimum} to {maximum}"
