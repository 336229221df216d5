"""What two readers of YAML would understand differently is refused, with its line and a remedy."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.loader import document
from berth.loader.positions import SourceMap
from tests.problem_lines import line_without_code

RETYPED = "Pulumi would change the type of '{}'; put it in quotes"


def parsed(text: str) -> tuple[Any, list[str]]:
    """The value of a document and its faults as lines."""
    result, problems = document.parse(text, "f.yaml")
    return result and result.value, [line_without_code(problem) for problem in problems]


def faults(text: str) -> list[str]:
    """Return only the faults."""
    return parsed(text)[1]


def codes(text: str) -> list[str]:
    """Return only the codes of the faults."""
    return [problem.code for problem in document.parse(text, "f.yaml")[1]]


# --- scalars ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("8", 8),
        ("-3", -3),
        ("+5", 5),
        ("0", 0),
        (str(2**63 - 1), 2**63 - 1),
        ("1.5", 1.5),
        ("1.30", 1.3),
        (".5", 0.5),
        ("1.5e-3", 0.0015),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'0777'", "0777"),
        ('"yes"', "yes"),
        ("'2026-12-01'", "2026-12-01"),
    ],
)
def test_an_unambiguous_scalar_keeps_its_value_and_type(written: str, value: object) -> None:
    """Quoted strings, decimal integers, booleans, null and fractions mean the same to every reader."""
    assert parsed(f"a: {written}") == ({"a": value}, [])
    assert type(parsed(f"a: {written}")[0]["a"]) is type(value)


WORDS_LIKE_NUMBERS = """
v5e 2x4 50% 4x4x8 10.0.0.0/16 1.30.5 16-32 acme.example 1k 96Gi 604800s - . y n = null-1 1e3x 2026-1
2026-12-01x
"""


@pytest.mark.parametrize("word", WORDS_LIKE_NUMBERS.split())
def test_text_that_resembles_a_number_is_text(word: str) -> None:
    """Topologies, shares, CIDR blocks and quantities are written without quotes all day."""
    assert parsed(f"[{word}, x]") == ([word, "x"], [])


@pytest.mark.parametrize("date", ["2026-12-01", "2026-1-2", "2026-12-01T00:00:00Z", "2026-12-01 10:00:00.5 +01:00"])
def test_an_unquoted_date_is_refused(date: str) -> None:
    """The engine turns it into `2026-12-01 00:00:00 +0000 UTC`, in the program and in the file it rewrites."""
    assert parsed(f"a: {date}") == ({"a": date}, [f"f.yaml:1: a: {RETYPED.format(date)}"])


ODD_NUMBERS = """
0777 0x1F 0b101 0o17 1_000 1_ 08 00 12:30:45 22:00 03:00 .inf -.INF .nan 1e400 0x_1 1_0.5
"""


@pytest.mark.parametrize("number", ODD_NUMBERS.split())
def test_a_number_in_any_other_spelling_is_refused(number: str) -> None:
    """Each is an integer to one reader, text or another integer to the next."""
    assert faults(f"a: {number}") == [f"f.yaml:1: a: {RETYPED.format(number)}, or write plain digits for a number"]


@pytest.mark.parametrize("number", ["99999999999999999999", "-9223372036854775809", "9" * 5000])
def test_plain_digits_that_no_reader_keeps_are_too_large(number: str) -> None:
    assert faults(f"a: {number}") == [
        f"f.yaml:1: a: '{number}' is too large for a number; write a smaller number, or put it in quotes if it is text"
    ]


@pytest.mark.parametrize(("number", "plain"), [("1.0", "1"), ("1.", "1"), ("1e3", "1000"), ("-2.50e1", "-25")])
def test_a_float_without_a_fraction_is_refused(number: str, plain: str) -> None:
    """The engine hands it over as an integer: offline it would be a float, and there would be two plans."""
    assert faults(f"a: {number}") == [f"f.yaml:1: a: {RETYPED.format(number)}, or write {plain} for a number"]


@pytest.mark.parametrize(("word", "boolean"), [("yes", "true"), ("On", "true"), ("NO", "false"), ("off", "false")])
def test_a_boolean_of_yaml_1_1_is_refused(word: str, boolean: str) -> None:
    """PyYAML reads a boolean, the engine reads text."""
    remedy = f'write {boolean}, or "{word}" in quotes for the word'
    message = f"'{word}' is {boolean} to some YAML parsers and text to others; {remedy}"
    assert faults(f"a: {word}") == [f"f.yaml:1: a: {message}"]


@given(st.text(alphabet="0123456789+-._:eExXoOb aTZinfy", max_size=12))
@settings(deadline=None, max_examples=500)
def test_a_scalar_without_fault_survives_json(text: str) -> None:
    """The engine passes JSON to the program: accepted values must survive the round trip."""
    value, result = parsed(f"- {text}")
    if not result:
        assert json.loads(json.dumps(value)) == value
        assert "inf" not in repr(value).split()


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["1", "1.5", "true", "null", "yes", "2026-12-01", "0x1F"])
def test_a_key_that_is_not_text_must_be_quoted(key: str) -> None:
    """The engine makes text of it in its own way; a person who quotes it knows what it will be."""
    assert parsed(f"{key}: x") == ({key: "x"}, [f"f.yaml:1: key '{key}' is not text; write \"{key}\""])
    assert parsed(f"'{key}': x") == ({key: "x"}, [])


@pytest.mark.parametrize("key", ["[a, b]", "{a: b}", "*a"])
def test_a_key_is_plain_text(key: str) -> None:
    """A list as a key has no path, and an alias as a key hides a name."""
    message = "a key must be text, not an alias, a list or a mapping; write a name"
    assert parsed(f"x: &a y\n? {key}\n: 1\nz: 2") == ({"x": "y", "z": 2}, [f"f.yaml:2: {message}"])


def test_a_key_written_twice_names_both_lines() -> None:
    """The engine refuses it, PyYAML takes the last one in silence."""
    text = "pools:\n  a: {x: 1}\n  b: {}\n  a: {x: 2}\n"
    message = "key 'a' is defined twice, first on line 2; keep one"
    assert parsed(text) == ({"pools": {"a": {"x": 1}, "b": {}}}, [f"f.yaml:4: pools.a: {message}"])


def test_a_merge_key_is_refused() -> None:
    """The engine flattens it when it rewrites the file; what a team has must be read where the team stands."""
    message = "Pulumi drops the merge key '<<' when it rewrites the file; write its entries here"
    assert parsed("a: &a {x: 1}\nb:\n  <<: *a\n  y: 2") == ({"a": {"x": 1}, "b": {"y": 2}}, [f"f.yaml:3: b: {message}"])


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    """Only the plain `<<` merges."""
    assert parsed("'<<': 1") == ({"<<": 1}, [])


# --- tags, anchors, secrets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["!include", "!!str", "!!timestamp", "!"])
def test_a_tag_is_refused(tag: str) -> None:
    """The engine drops it when it rewrites the file: `!include x` becomes the text `x`."""
    message = f"Pulumi drops the tag '{tag}' when it rewrites the file; remove '{tag}'"
    assert faults(f"a: {tag} x") == [f"f.yaml:1: a: {message}"]
    assert faults(f"a:\n- {tag} {{}}") == [f"f.yaml:2: a[0]: {message}"]


def test_an_alias_has_the_value_of_its_anchor_and_its_own_place() -> None:
    """Repeating one list of flavors by an alias is harmless, and it must be edited where it is written."""
    result, problems = document.parse("a: &a\n  x: 1\nb: *a\nc: [*a]", "f.yaml")
    assert result is not None
    assert (result.value, problems) == ({"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}]}, [])
    places = SourceMap("f.yaml", document.Mark(1, result.marks))
    assert [places.place_of(path) for path in [("b",), ("b", "x"), ("c", 0), ("c", 0, "x")]] == [
        "f.yaml:3",
        "f.yaml:2",
        "f.yaml:4",
        "f.yaml:2",
    ]


@pytest.mark.parametrize("text", ["a: *a", "a: &a [*a]"])
def test_an_alias_without_an_anchor_before_it_is_refused(text: str) -> None:
    """That takes in the anchor that would hold itself, which has no end."""
    assert codes(text) == ["yaml-alias"]
    assert faults("a: *a") == ["f.yaml:1: a: the alias '*a' has no anchor '&a' before it; write the value"]


def test_yaml_alias_expansion_is_rejected_quickly() -> None:
    """Twelve lines of aliases could fill the memory of the machine that checks a pull request."""
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    start = time.process_time()
    value, result = parsed(text)
    message = "YAML aliases add more than 10,000 values; use fewer aliases"
    assert (value, result) == (None, [f"f.yaml:4: a3[7]: {message}"])
    assert time.process_time() - start < 10


def test_a_secret_leaf_is_refused() -> None:
    """One secret leaf makes the engine hand over the whole object as a secret, and no plan could be shown."""
    message = "a secret inside berth:fleet makes all of berth:fleet secret; move it to its own config key"
    assert faults("a:\n  b: {secure: v1:abc}") == [f"f.yaml:2: a.b: {message}"]


# --- what is no YAML -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1\nb: 2", "f.yaml:1:4: '[' opens here and is not closed; write ']' at its end"),
        ("a: 'x", "f.yaml:1:4: ''' opens here and is not closed; write ''' at its end"),
        ("a: b: c", "f.yaml:1:5: a second ': ' on one line; quote the value, or begin a new line"),
        ("a:\n\tb: 1", "f.yaml:2:1: a tab cannot indent YAML; use spaces"),
        ("a:\n  b:\n\t\tc: 1", "f.yaml:3:1: a tab cannot indent YAML; use spaces"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: a second YAML document begins here; keep one, and remove '---'"),
        (
            "a: @x",
            "f.yaml:1:4: a value cannot begin with '@'; quote the value",
        ),
    ],
)
def test_invalid_yaml_is_one_line_with_line_and_column(text: str, line: str) -> None:
    """A parser error of four lines with a caret is unreadable in a pull request."""
    assert (faults(text), codes(text)) == ([line], ["bad-yaml"])


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_deep_nesting_is_rejected_quickly(opening: str) -> None:
    """PyYAML's own composer takes the process down on thirty thousand open brackets, and slows down long before."""
    start = time.process_time()
    assert codes(opening * (1_000_000 // len(opening))) == ["bad-yaml"]
    assert time.process_time() - start < 10


def test_faults_before_a_syntax_error_are_reported() -> None:
    """All faults at once: the date must not wait until the bracket is mended."""
    assert codes("a: 2026-12-01\nb: [") == ["unquoted", "bad-yaml"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null"])
def test_an_empty_document_is_skipped(text: str) -> None:
    """Its meaning is the caller's affair."""
    assert parsed(text) == (None, [])


def test_the_parser_in_python_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML's C half is not built everywhere."""
    text = "a: &a [1, 0777, {b: yes}]\nc: *a\nd: !x y\n1: z\nc: 2\n<<: 3\ne: 'q'\nf: {secure: s}\n"
    fast = document.parse(text, "f.yaml")
    monkeypatch.setattr(document, "LOADER", yaml.SafeLoader)
    assert document.parse(text, "f.yaml") == fast


WORDS = st.text(st.characters(max_codepoint=0x7E), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
@settings(deadline=None)
def test_json_is_read_unchanged(value: object) -> None:
    """The plan of a file equals the plan of its key-sorted JSON: the reader must give both the same values."""
    text = json.dumps(value, sort_keys=True)
    assert parsed(text) == (value, [])
