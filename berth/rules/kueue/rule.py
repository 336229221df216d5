"""What a rule is, what breaking one yields, and how it is put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from msgspec import Struct

from berth.diagnostics import Path, in_words, near_miss, shown
from berth.names import SUBDOMAIN, is_label_key, is_label_value, is_subdomain

T = TypeVar("T")

Thing = tuple[str, str]
"""What a plan is of: its kind (`cluster queue`, `flavor`, ...) and its name, as in `Planned.origins`."""

Fault = tuple[Path, str]
"""Where in the thing, and what to say."""


class Violation(Struct, frozen=True):
    """A broken rule. `hint` is the path within the thing, in Kueue's words; of quotas in the stack file's.

    `severity` is `fault` where Kueue refuses or never admits anything, `warning` where what is written has no effect.
    """

    severity: str
    code: str
    thing: Thing
    hint: Path
    message: str


class Rule(Struct, Generic[T], frozen=True):
    """A rule over one plan. `source` says who enforces it: a CRD's schema or CEL, a webhook, a controller, the docs."""

    code: str
    source: str
    check: Callable[[T], Iterable[Fault]]
    severity: str = "fault"


class FleetRule(Struct, Generic[T], frozen=True):
    """A rule over a whole fleet, which says of which thing it is broken."""

    code: str
    source: str
    check: Callable[[T], Iterable[tuple[Thing, Path, str]]]
    severity: str = "fault"


def broken(rules: Iterable[Rule[T]], thing: Thing, plan: T) -> Iterator[Violation]:
    """Every violation of `rules` by one plan."""
    for rule in rules:
        for hint, message in rule.check(plan):
            yield Violation(rule.severity, rule.code, thing, hint, message)


def too_many(hint: Path, count: int, most: int, what: str, remedy: str) -> Iterator[Fault]:
    """More of something than Kueue takes."""
    if count > most:
        yield hint, f"'{count}' {what} are more than the {most} that Kueue takes; {remedy}"


def twice(hint: Path, names: Iterable[str], what: str) -> Iterator[Fault]:
    """Names that stand in a list more than once, each reported at its second place."""
    seen = set[str]()
    for index, name in enumerate(names):
        if name in seen:
            yield (*hint, index), f"{what} '{shown(name)}' is here twice; write it once"
        seen.add(name)


def one_of(hint: Path, value: str | None, allowed: tuple[str, ...]) -> Iterator[Fault]:
    """A value that is none of those allowed; None is not written at all."""
    if value is not None and value not in allowed:
        close = near_miss(value, allowed)
        yield hint, f"'{shown(value)}' is no value of Kueue's; {close.lstrip('; ') or f'write {either(allowed)}'}"


def either(words: tuple[str, ...]) -> str:
    """`a, b or c`."""
    return in_words([*words]).replace(" and ", " or ")


def subdomain(hint: Path, name: str, what: str) -> Iterator[Fault]:
    """A name that is no RFC 1123 subdomain."""
    if not is_subdomain(name):
        rule = f"lower-case letters, digits, '-' and '.', {SUBDOMAIN} at most"
        yield hint, f"'{shown(name)}' is no name for {what}: {rule}"


def label_key(hint: Path, key: str, what: str) -> Iterator[Fault]:
    """A key that is no Kubernetes qualified name."""
    if not is_label_key(key):
        yield hint, f"'{shown(key)}' is no {what}: write a name such as a-b or example.com/a-b, 63 characters at most"


def label_value(hint: Path, value: str) -> Iterator[Fault]:
    """A value that no Kubernetes label can have."""
    if not is_label_value(value):
        yield hint, f"'{shown(value)}' is no label value: 63 letters, digits, '-', '_' and '.' at most"


def within(hint: Path, number: int, least: int, most: int, what: str) -> Iterator[Fault]:
    """A number outside its range."""
    if not least <= number <= most:
        yield hint, f"'{number}' is no {what}; write {least} to {most}"
