"""The sentences of keys: each field of a model has its own, beside it, and the JSON Schema shows it."""

from __future__ import annotations

import inspect
import re
from collections import Counter

import pytest

from berth.planner.cluster.controllers import JOBSET_RELEASE, KUEUE_RELEASE
from berth.planner.machines.installers import DRA_DRIVER_RELEASE
from berth.planner.monitoring import PROMETHEUS_RELEASE
from berth.spec.controllers import ControllerSpec
from berth.spec.monitoring import PrometheusSpec
from berth.spec.schema import stack_schema
from berth.spec.sentences import key_sentences, models


@pytest.mark.parametrize("name", sorted(models()))
def test_every_key_has_a_sentence(name: str) -> None:
    """It stands below the field, as a string: begins with a capital, ends with a period."""
    model, written = models()[name], key_sentences(models()[name])
    assert written.keys() == {field.alias for field in model.model_fields.values()}
    texts = {**written, "the class": " ".join((model.__doc__ or "").split())}
    assert [key for key, text in texts.items() if not re.fullmatch(r"[A-Z`].*\.", text)] == []


def test_the_schema_describes_every_key() -> None:
    """An editor shows the description as the help of the key."""
    for name, each in stack_schema()["$defs"].items():
        shown = {key: value["description"] for key, value in each.get("properties", {}).items()}
        assert shown == {key: text for key, text in key_sentences(models()[name]).items() if key in shown}


def test_no_sentence_stands_in_two_places() -> None:
    """Two keys of one meaning are one field of a common base, or differ in their sentences."""
    declared = [
        key_sentences(model)[field.alias]
        for model in models().values()
        for name, field in model.model_fields.items()
        if name in inspect.get_annotations(model)
    ]
    assert [text for text, count in Counter(declared).items() if count > 1] == []


def test_sentences_name_the_releases_that_are_installed() -> None:
    assert (
        f"By default {KUEUE_RELEASE[0]} of Kueue, {JOBSET_RELEASE[0]} of JobSet, {DRA_DRIVER_RELEASE} of"
        in key_sentences(ControllerSpec)["version"]
    )
    assert f"By default {PROMETHEUS_RELEASE[0]}." in key_sentences(PrometheusSpec)["version"]
