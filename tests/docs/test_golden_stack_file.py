"""docs/stack-file.md: its tables are those of the models, with every key; its prose says no sentence of a key again."""

from __future__ import annotations

from collections import Counter

from berth.spec.schema import stack_schema
from berth.spec.sentences import key_sentences, models
from tests.docs.key_tables import MARKER, expanded_models, with_tables
from tests.stack_files import ROOT, assert_golden

PAGE = ROOT / "docs" / "stack-file.md"


def test_golden_stack_file_page() -> None:
    assert_golden(with_tables(PAGE.read_text(encoding="utf-8")), PAGE)


def test_every_key_is_in_exactly_one_table() -> None:
    """A model that two keys contain gets a heading and a table of its own, to which both rows refer."""
    declared = {base.__name__ for name in stack_schema()["$defs"] for base in models()[name].__mro__[:-2]}
    shown = expanded_models(PAGE.read_text(encoding="utf-8"))
    assert [name for name, count in Counter(shown).items() if count > 1] == []
    assert declared - set(shown) == {"Range"}  # a count, which the head of the page explains


def test_the_prose_repeats_no_sentence_of_a_key() -> None:
    prose = " ".join(MARKER.sub("", PAGE.read_text(encoding="utf-8")).split())
    texts = {part for model in models().values() for text in key_sentences(model).values() for part in text.split(". ")}
    assert [each for each in sorted(texts) if len(each.split()) > 5 and each.rstrip(".") in prose] == []
