"""Values are shown whole: only what two long texts have in common may be left out; some with what they mean."""

from __future__ import annotations

from berth.diff.fields import FieldChange, format_change, format_on_one_line
from berth.diff.text import describe_field


def test_a_long_list_is_shown_to_its_last_entry() -> None:
    roles = [f"roles/number.{number}" for number in range(40)] + ["roles/owner"]
    assert format_on_one_line(roles).endswith("roles/owner]")
    assert format_change(roles[:-1], roles).endswith("roles/number.39, roles/owner]")


def test_the_difference_of_long_texts_is_shown_in_full() -> None:
    before, after = "a" * 100 + "x" * 200 + "b" * 100, "a" * 100 + "y" * 300 + "b" * 100
    assert format_change(before, after) == (f"…{'a' * 32}{'x' * 200}{'b' * 32}… → …{'a' * 32}{'y' * 300}{'b' * 32}…")
    assert format_change("a" * 200, "a" * 201) == f"…{'a' * 32} → …{'a' * 33}"
    assert format_change("short", "shorter") == "short → shorter"


def test_a_queue_that_begins_to_count_pods_says_what_becomes_of_jobs_that_run() -> None:
    path, few, more = "spec.resourceGroups[0].coveredResources", ["cpu", "memory"], ["cpu", "memory", "pods"]
    begins, ends = FieldChange(path, few, more), FieldChange(path, more, few)
    assert "jobs that run go on, and count no pods until they are admitted again" in describe_field(begins)
    assert "pods are no longer counted" in describe_field(ends)
    assert describe_field(FieldChange(path, few, ["cpu"])) == f"{path}: [cpu, memory] → [cpu]"
