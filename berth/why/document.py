"""The answer of `berth why`, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from berth.document import Block, Heading, Lines, Note
from berth.why.answer import WhyAnswer
from berth.why.words import Reading

VERSION = 1
"""Version of the JSON of `berth why`."""


def why_document(answers: Sequence[WhyAnswer]) -> Iterator[Block]:
    """Yield what is in the way of each job, how much, until when, and who could help."""
    for answer in answers:
        yield Heading(f"{answer.job} in {answer.namespace}, queue {answer.queue}: {answer.status}")
        yield Lines("What is in the way", [(each.fill(each.words.means), _quote(each)) for each in answer.obstacles])
        yield Lines("How much", answer.amounts)
        yield Lines("Until when", [] if answer.until is None else [answer.until.text])
        yield Lines("Who could help", answer.helps)
        yield Lines("Before", [(each.fill(each.words.means), _quote(each)) for each in answer.before])
        yield Note([f"Note: {each}." for each in answer.notes])


def _quote(reading: Reading) -> str:
    return f"Kueue: {reading.message}" if reading.words.condition != "StrictFIFO" else "Kueue has not tried it"


def why_as_json(answers: Sequence[WhyAnswer]) -> dict[str, Any]:
    """Return the answers as JSON values (docs/for-teams.md)."""
    return {
        "version": VERSION,
        "workloads": [
            {
                "job": each.job,
                "namespace": each.namespace,
                "queue": each.queue,
                "status": each.status,
                "obstacles": [_reading(reading) for reading in each.obstacles],
                "amounts": list(each.amounts),
                "until": None
                if each.until is None
                else {
                    "known": each.until.at is not None,
                    "at": each.until.at and each.until.at.isoformat(),
                    "text": each.until.text,
                },
                "helps": list(each.helps),
                "before": [_reading(reading) for reading in each.before],
                "notes": list(each.notes),
            }
            for each in answers
        ],
    }


def _reading(reading: Reading) -> dict[str, str]:
    return {"code": reading.words.code, "means": reading.fill(reading.words.means), "kueue": reading.message}
