"""Values are shown whole: only what two long texts have in common may be left out."""

from __future__ import annotations

from berth.diff.values import format_change, format_on_one_line


def test_a_long_list_is_shown_to_its_last_entry() -> None:
    roles = [f"roles/number.{number}" for number in range(40)] + ["roles/owner"]
    assert format_on_one_line(roles).endswith("roles/owner]")
    assert format_change(roles[:-1], roles).endswith("roles/number.39, roles/owner]")


def test_the_difference_of_long_texts_is_shown_in_full() -> None:
    before, after = "a" * 100 + "x" * 200 + "b" * 100, "a" * 100 + "y" * 300 + "b" * 100
    assert format_change(before, after) == (f"…{'a' * 32}{'x' * 200}{'b' * 32}… → …{'a' * 32}{'y' * 300}{'b' * 32}…")
    assert format_change("a" * 200, "a" * 201) == f"…{'a' * 32} → …{'a' * 33}"
    assert format_change("short", "shorter") == "short → shorter"
