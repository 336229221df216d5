"""The guard on previews in which what a whole program registers is deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from berth.backends.interface import check_preview, compare
from berth.diff.guard import text as guard_text
from berth.diff.guard.preview_file import read_preview
from berth.engine import RecordedResource
from tests.stack_files import every_stack, plan, run_stack


def deleted(made: Iterable[RecordedResource]) -> dict[str, Any]:
    """A preview in which these are deleted."""
    states = {each.urn: {"inputs": each.inputs, "protect": each.protect} for each in made}
    stack = {"op": "same", "urn": "urn:pulumi:dev::berth::pulumi:pulumi:Stack::berth-dev"}
    return {"steps": [stack, *({"op": "delete", "urn": urn, "oldState": state} for urn, state in states.items())]}


@every_stack
def test_the_guard_knows_every_protected_kind(stack: str) -> None:
    """A kind that is protected without a row of the table would be lost unsaid where a preview goes through."""
    protected = [each for each in run_stack(stack, False).resources if each.protect]
    judged = check_preview(read_preview(deleted(protected)), plan(stack))
    assert judged.blocked == judged.losses
    assert sum(len(loss.parts) or 1 for loss in judged.losses) == len(protected)


def test_the_loss_of_a_future_reservation_is_worded_as_in_diff() -> None:
    old = plan("reservations")
    requests = [each for each in run_stack("reservations", False).resources if each.name.endswith("-request")]
    by_diff = [
        guard_text.describe_guarded_change(loss) for loss in compare(old, replace(old, future_reservations=())).losses
    ]
    assert [
        guard_text.describe_guarded_change(loss) for loss in check_preview(read_preview(deleted(requests)), old).blocked
    ] == by_diff
    assert len(by_diff) == len(requests) > 0
