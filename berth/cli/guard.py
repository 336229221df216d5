"""`berth guard`: what the real engine's preview would lose, in the words of `berth diff`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from berth.cli.diff.plain_text import plain
from berth.diff import text as words
from berth.diff.guard.preview import Judged, NoPreview

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def read(text: str) -> object:
    """The preview that was printed; what other programs printed before it is passed over. Raises NoPreview."""
    try:
        return cast("object", json.loads(text[max(text.find("{"), 0) :]))
    except ValueError:
        said = "it is empty" if not text.strip() else "it is no JSON"
        raise NoPreview(f"this is not what `pulumi preview --json` prints: {said}") from None


def as_json(judged: Judged, stack: str) -> dict[str, Any]:
    """The judgement as docs/diff.md says."""
    told = {"version": VERSION, "stack": stack, **cast("dict[str, Any]", plain(judged))}
    return {**told, "guarded": plain(judged.guarded)}


def lines(judged: Judged, stack: str) -> Iterator[str]:
    """What is guarded and what to do, what is allowed and why, and why there was no whole preview."""
    for loss in judged.losses:
        yield words.loss(loss) + (f" ({loss.allowed})" if loss.allowed else "")
        if loss.allowed is None:
            yield f"    {words.remedy(loss)}"
    if not judged.losses and not judged.errors:
        yield f"{stack}: the preview loses nothing that is guarded"
    yield from (f"the preview failed: {' '.join(error.split())}" for error in judged.errors)
