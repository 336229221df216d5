"""The sentences of keys: each field of a model has its own, beside it, and the JSON Schema shows it."""

from __future__ import annotations

import re

import pytest

from berth.spec.schema import stack_schema
from berth.spec.sentences import models, sentences


@pytest.mark.parametrize("name", sorted(models()))
def test_every_key_has_a_sentence(name: str) -> None:
    """It stands below the field, as a string: begins with a capital, ends with a period."""
    model, written = models()[name], sentences(models()[name])
    assert written.keys() == {field.alias for field in model.model_fields.values()}
    texts = {**written, "the class": " ".join((model.__doc__ or "").split())}
    assert [key for key, text in texts.items() if not re.fullmatch(r"[A-Z`].*\.", text)] == []


def test_the_schema_describes_every_key() -> None:
    """An editor shows the description as the help of the key."""
    for name, each in stack_schema()["$defs"].items():
        shown = {key: value["description"] for key, value in each.get("properties", {}).items()}
        assert shown == {key: text for key, text in sentences(models()[name]).items() if key in shown}
