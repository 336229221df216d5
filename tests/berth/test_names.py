"""Names fit the limits of their APIs, and a shortened name is stable."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth import names

TEXT = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", max_size=120)
LIMITS = st.integers(8, 253)


@given(text=TEXT, limit=LIMITS)
def test_a_name_within_the_limit_is_unchanged(text: str, limit: int) -> None:
    assert names.shorten(text[:limit], limit) == text[:limit]


@given(text=TEXT, limit=LIMITS)
def test_a_shortened_name_fits_and_never_ends_in_a_hyphen(text: str, limit: int) -> None:
    name = names.shorten(text, limit)
    assert len(name) <= limit
    if len(text) > limit:
        assert re.search(r"-[0-9a-f]{6}$", name)
        assert "--" not in name[-8:]


@given(first=TEXT, second=TEXT)
def test_two_long_names_with_one_head_stay_apart(first: str, second: str) -> None:
    head = "a" * 40
    same = names.shorten(head + first, names.MAX_NODE_POOL_NAME) == names.shorten(
        head + second, names.MAX_NODE_POOL_NAME
    )
    assert same == (first == second)


@given(text=st.from_regex(r"[a-z]([-a-z0-9]{0,80}[a-z0-9])?", fullmatch=True))
def test_a_shortened_node_pool_name_is_a_node_pool_name(text: str) -> None:
    assert names.is_gke_name(names.shorten(text, names.MAX_NODE_POOL_NAME))


def test_shortening_is_the_same_in_every_release() -> None:
    """Written down, because a node pool whose name changes is replaced."""
    assert names.shorten("trillium-training-pool-us-central1-a-4x4-0", 40) == "trillium-training-pool-us-central-fdbdb4"


def test_a_limit_below_the_minimum_is_rejected() -> None:
    with pytest.raises(ValueError, match="no room"):
        names.shorten("anything", 7)


CASES: list[tuple[Callable[[str], bool], list[str], list[str]]] = [
    (names.is_dns_label, ["a", "0", "team-a", "a" * 63], ["", "-a", "a-", "A", "a.b", "a_b", "a\n", "a" * 64]),
    (names.is_dns_1035_label, ["a", "slice-0", "a" * 63], ["", "0a", "a-", "a.b", "a" * 64]),
    (names.is_subdomain, ["a", "a.b", "l4-spot.v2", "a" * 253], ["", ".a", "a..b", "a.", "a.-b", "A", "a" * 254]),
    (names.is_label_value, ["", "a", "A_b.c", "4x4", "a" * 63], ["-a", "a-", "a b", "a/b", "a" * 64]),
    (
        names.is_label_key,
        ["a", "berth.dev/team", "cloud.google.com/gke-tpu-topology", "a.b/C_d"],
        ["", "/a", "a/", "a/b/c", "A/b", "-a", "a/" + "b" * 64],
    ),
    (names.is_gke_name, ["a", "v5e-train-0", "a" * 40], ["", "0a", "a-", "A", "a.b", "a" * 41]),
    (names.is_compute_name, ["a", "net-1", "a" * 63], ["", "0a", "a-", "a" * 64]),
    (names.is_service_account_id, ["berth1", "wi-team-a", "a" * 30], ["short", "0abcdef", "abcdef-", "a" * 31]),
]


@pytest.mark.parametrize(("predicate", "good", "bad"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_predicate_takes_what_its_api_takes(
    predicate: Callable[[str], bool], good: list[str], bad: list[str]
) -> None:
    assert [text for text in good if not predicate(text)] == []
    assert [text for text in bad if predicate(text)] == []


def test_labels_name_the_manager_and_the_team_of_an_object() -> None:
    assert names.berth_labels() == {"app.kubernetes.io/managed-by": "berth"}
    assert names.berth_labels("vision") == {"app.kubernetes.io/managed-by": "berth", "berth.dev/team": "vision"}
    assert all(names.is_label_key(key) for key in names.berth_labels("vision"))
