"""What a CEL expression asks where the request is known: less, and never something else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.manifests.rules.partial import partly_evaluated
from tests.cel import evaluate

_KNOWN = {"request.kind": "'jobs'", "request.is": "true", "request.not": "false", "has(request.sub)": "false"}


@pytest.mark.parametrize(
    ("expression", "left"),
    [
        ("request.kind == 'jobs'", "true"),
        ("request.kind != 'jobs' || a", "a"),
        ("request.kind in ['pods', 'jobs'] && a", "a"),
        ("!(request.kind in ['pods']) || a", "true"),
        ("request.kind in []", "false"),
        ("has(request.sub) && request.sub == 'x'", "false"),
        ("(has(request.sub) ? request.sub : '') == a", "('') == a"),
        ("request.is ? a : b", "a"),
        ("request.not ? a : request.is ? b : c", "b"),
        ("a ? request.not ? b : c : d", "a ? c : d"),
        ("list.all(t, request.not || f(t, request.is && b))", "list.all(t, f(t, b))"),
        ("list.map(t, request.is ? t : u).size() > 0", "list.map(t, t).size() > 0"),
        ("!request.is || !(a && request.is)", "!a"),
        ("!(a || b) && request.is", "!(a || b)"),
        ("(request.is && (a || request.not)) == b", "(a) == b"),
        ("a == ' || request.kind'", "a == ' || request.kind'"),
        ("a == '(' || request.is", "true"),
        ("request.kinds == 'jobs' && x.request.kind == 'jobs'", "request.kinds == 'jobs' && x.request.kind == 'jobs'"),
        ("a || (b ? c : d)", "a || (b ? c : d)"),
    ],
)
def test_what_is_known_is_evaluated_and_the_rest_stays(expression: str, left: str) -> None:
    assert partly_evaluated(expression, _KNOWN) == left


_ATOMS = st.sampled_from(["a", "b", "c", "k == 'jobs'", "k != 'jobs'", "k in ['jobs', 'pods']", "k in []"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from([" || ", " && "]), inner).map(lambda t: f"({t[0]}){t[1]}({t[2]})"),
        st.lists(inner.map(lambda text: f"({text})"), min_size=3, max_size=3).map(" || ".join),
        inner.map(lambda text: f"!({text})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]}) ? ({t[1]}) : ({t[2]})"),
        inner.map(lambda text: f"[true, false].exists(x, x && ({text}))"),
    )


@given(st.recursive(_ATOMS, _larger, max_leaves=8), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_an_expression_keeps_its_value(expression: str, values: tuple[bool, bool, bool]) -> None:
    given: dict[str, Any] = dict(zip("abc", values, strict=True))
    left = partly_evaluated(expression, {"k": "'jobs'", "a": str(values[0]).lower()})
    assert evaluate(left, given) == evaluate(expression, {**given, "k": "jobs"})
