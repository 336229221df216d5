"""The forms of values in files, as tables: what a value must be, and the values inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from berth.jobs.values import SourceValue

Form = Callable[[SourceValue], object]
"""Adds a fault for every value inside a value that is not in the format."""


def text_form(expected: str) -> Form:
    """Return the form of a text that is not empty."""
    return lambda value: value.text(expected)


def whole_form(expected: str, minimum: int = 0, maximum: int = 2**63 - 1) -> Form:
    """Return the form of a whole number from `minimum` to `maximum`."""
    return lambda value: value.integer(expected, minimum, maximum)


def choice_form(*choices: str) -> Form:
    """Return the form of one of some words."""
    return lambda value: value.one_of(choices)


def items_form(expected: str, form: Form) -> Form:
    """Return the form of a list with items of a form."""
    return lambda value: [form(each) for each in value.sequence(expected) or ()]


def values_form(expected: str, form: Form) -> Form:
    """Return the form of a mapping from any keys to values of a form."""
    return lambda value: [form(each) for each in (value.mapping(expected) or {}).values()]


def fields_form(
    required: str, optional: str, forms: Mapping[str, Form]
) -> Callable[[SourceValue], dict[str, SourceValue]]:
    """Return the form of a mapping with these keys, which returns its values; none if a required one is missing."""

    def check(value: SourceValue) -> dict[str, SourceValue]:
        found = value.known_fields(required.split(), optional.split()) or {}
        for key, form in forms.items():
            if key in found:
                form(found[key])
        return found

    return check
