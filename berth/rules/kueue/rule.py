"""What a rule is, what breaking one yields, and how it is put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from msgspec import Struct

from berth.diagnostics import FieldPath, Severity, did_you_mean, format_value, join_words
from berth.names import MAX_SUBDOMAIN, is_label_key, is_subdomain

T = TypeVar("T")

ObjectRef = tuple[str, str]
"""What a plan is of: its kind (`cluster queue`, `flavor`, ...) and its name, as in `Planned.origins`."""

FieldError = tuple[FieldPath, str]
"""Where in the thing, and what to say."""


class KueueViolation(Struct, frozen=True):
    """A broken rule. `hint` is the path within the thing, in Kueue's words; of quotas in the stack file's.

    `severity` is `fault` where Kueue refuses or never admits anything, `warning` where what is written has no effect.
    """

    severity: Severity
    code: str
    ref: ObjectRef
    path: FieldPath
    message: str


class Rule(Struct, Generic[T], frozen=True):
    """A rule over one plan. `source` says who enforces it: a CRD's schema or CEL, a webhook, a controller, the docs."""

    code: str
    source: str
    check: Callable[[T], Iterable[FieldError]]
    severity: Severity = Severity.FAULT


class FleetRule(Struct, Generic[T], frozen=True):
    """A rule over a whole fleet, which says of which thing it is broken."""

    code: str
    source: str
    check: Callable[[T], Iterable[tuple[ObjectRef, FieldPath, str]]]
    severity: Severity = Severity.FAULT


def find_violations(rules: Iterable[Rule[T]], ref: ObjectRef, plan: T) -> Iterator[KueueViolation]:
    """Every violation of `rules` by one plan."""
    for rule in rules:
        for path, message in rule.check(plan):
            yield KueueViolation(rule.severity, rule.code, ref, path, message)


def check_max_items(path: FieldPath, count: int, limit: int, noun: str, remedy: str) -> Iterator[FieldError]:
    """More of something than Kueue takes."""
    if count > limit:
        yield path, f"'{count}' {noun} are more than the {limit} that Kueue takes; {remedy}"


def check_unique(path: FieldPath, names: Iterable[str], noun: str) -> Iterator[FieldError]:
    """Names that stand in a list more than once, each reported at its second place."""
    seen = set[str]()
    for index, name in enumerate(names):
        if name in seen:
            yield (*path, index), f"{noun} '{format_value(name)}' is here twice; write it once"
        seen.add(name)


def check_enum(path: FieldPath, value: str | None, allowed: tuple[str, ...]) -> Iterator[FieldError]:
    """A value that is none of those allowed; None is not written at all."""
    if value is not None and value not in allowed:
        suggestion = did_you_mean(value, allowed)
        yield (
            path,
            f"'{format_value(value)}' is no value of Kueue's; {suggestion.lstrip('; ') or f'write {join_or(allowed)}'}",
        )


def join_or(words: tuple[str, ...]) -> str:
    """`a, b or c`."""
    return join_words([*words]).replace(" and ", " or ")


def check_subdomain(path: FieldPath, name: str, noun: str) -> Iterator[FieldError]:
    """A name that is no RFC 1123 subdomain."""
    if not is_subdomain(name):
        rule = f"lower-case letters, digits, '-' and '.', {MAX_SUBDOMAIN} at most"
        yield path, f"'{format_value(name)}' is no name for {noun}: {rule}"


def check_label_key(path: FieldPath, key: str, noun: str) -> Iterator[FieldError]:
    """A key that is no Kubernetes qualified name."""
    if not is_label_key(key):
        yield (
            path,
            f"'{format_value(key)}' is no {noun}: write a name such as a-b or example.com/a-b, 63 characters at most",
        )


def check_range(path: FieldPath, number: int, minimum: int, maximum: int, noun: str) -> Iterator[FieldError]:
    """A number outside its range."""
    if not minimum <= number <= maximum:
        yield path, f"'{number}' is no {noun}; write {minimum} to {maximum}"
