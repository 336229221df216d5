"""`berth guard`: what the real engine's preview would lose, in the words of `berth diff`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from berth.cli.diff.plain_text import to_json_value
from berth.diff import text as diff_text
from berth.diff.guard.preview import GuardReport, PreviewFormatError

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def parse_preview(text: str) -> object:
    """The preview that was printed; what other programs printed before it is passed over. Raises NoPreview."""
    try:
        return cast("object", json.loads(text[max(text.find("{"), 0) :]))
    except ValueError:
        reason = "it is empty" if not text.strip() else "it is no JSON"
        raise PreviewFormatError(f"this is not what `pulumi preview --json` prints: {reason}") from None


def as_json(result: GuardReport, stack: str) -> dict[str, Any]:
    """The judgement as docs/diff.md says."""
    fields = {"version": VERSION, "stack": stack, **cast("dict[str, Any]", to_json_value(result))}
    return {**fields, "guarded": to_json_value(result.blocked)}


def lines(result: GuardReport, stack: str) -> Iterator[str]:
    """What is guarded and what to do, what is allowed and why, and why there was no whole preview."""
    for guarded_change in result.losses:
        yield diff_text.describe_guarded_change(guarded_change) + (
            f" ({guarded_change.allowed})" if guarded_change.allowed else ""
        )
        if guarded_change.allowed is None:
            yield f"    {diff_text.describe_remedy(guarded_change)}"
    if not result.losses and not result.errors:
        yield f"{stack}: the preview loses nothing that is guarded"
    yield from (f"the preview failed: {' '.join(error.split())}" for error in result.errors)
