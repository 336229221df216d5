"""A run, or the difference between two, as plain values for JSON. docs/admission.md describes them."""

from __future__ import annotations

from typing import Any

from berth.simulator.compare import Difference, compare
from berth.simulator.lenders import Take
from berth.simulator.pending_reasons import Why
from berth.simulator.story import Loss, Moment, Row, Story
from berth.simulator.text import Words


def told(story: Story) -> dict[str, Any]:
    """A run: every step with what it changed, and where every unfinished job stands in the end."""
    return {
        "stack": story.book.name,
        "steps": [_moment(moment, Words(story, moment)) for moment in story.moments],
        "standing": [_row(row, Words(story)) for row in story.standing],
    }


def differing(old: Story, new: Story) -> dict[str, Any]:
    """What differs between two runs of the same jobs."""
    found = [_difference(each, Words(old), Words(new)) for each in compare(old, new)]
    return {"old": old.book.name, "new": new.book.name, "differences": found}


def _moment(moment: Moment, words: Words) -> dict[str, Any]:
    rows = [_row(row, words) for row in moment.rows]
    return {"step": moment.number, "kind": moment.kind, "said": moment.said, "changes": rows}


def _row(row: Row, words: Words) -> dict[str, Any]:
    said: dict[str, Any] = {"job": words.job(row.job), "queue": row.queue, "verdict": row.verdict}
    said |= {"text": words.details(row)}
    if row.takes:
        said["takes"] = [_take(take) for take in row.takes]
    if row.lost is not None:
        said["pushedOut"] = _loss(row.lost, words)
    if row.pushed:
        said["pushes"] = [_loss(loss, words) for loss in row.pushed]
    if row.why is not None:
        said["why"] = _why(row.why, words)
    return said


def _take(take: Take) -> dict[str, Any]:
    flavor, resource = take.cell
    amounts = {"amount": take.amount, "guaranteed": take.own, "borrowed": take.borrowed, "from": list(take.lenders)}
    return {"flavor": flavor, "resource": resource, **amounts}


def _loss(loss: Loss, words: Words) -> dict[str, Any]:
    by = words.job(loss.by) if loss.by else None
    return {"job": words.job(loss.job), "by": by, "byQueue": loss.by_queue, "reason": loss.reason}


def _why(why: Why, words: Words) -> dict[str, Any]:
    short = [
        {"flavor": s.cell[0], "resource": s.cell[1], "wants": s.wants, "free": s.free, "ceiling": s.most}
        for s in why.short
    ]
    others = [words.job(name) for name in why.others]
    said = {"code": why.code, "short": short, "others": others, "names": list(why.names)}
    workers = [{"worker": name, **_why(reason, words)} for name, reason in why.workers]
    return said | ({"workers": workers} if workers else {})


def _difference(difference: Difference, old: Words, new: Words) -> dict[str, Any]:
    return {
        "step": difference.number,
        "said": difference.said,
        "job": old.job(difference.job),
        "old": _row(difference.old, old) if difference.old else None,
        "new": _row(difference.new, new) if difference.new else None,
    }
