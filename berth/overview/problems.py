"""The problems of a stack, and what a plan with faults leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Severity
from berth.document import Block, Note, ProblemList
from berth.evaluate import Evaluation
from berth.text import abbreviate_names, pluralize


def left_out_note(evaluation: Evaluation) -> Iterator[Note]:
    """Yield what a plan with faults leaves out, as the first thing to read; nothing without faults."""
    if not evaluation.faults:
        return
    head = f"{evaluation.stack} has {pluralize(len(evaluation.faults), 'error')}, listed at the end."
    cause = "it" if len(evaluation.faults) == 1 else "them"
    if evaluation.plan is None:
        head += f" Because of {cause} there is no plan."
    elif evaluation.left_out:
        head += f" Because of {cause} this plan leaves out {abbreviate_names(list(evaluation.left_out))}."
    yield Note([head])


def problem_lists(evaluation: Evaluation) -> Iterator[ProblemList]:
    """Yield the faults, the warnings and the notes."""
    for severity in Severity:
        problems = [each for each in evaluation.problems if each.severity == severity]
        yield ProblemList(pluralize(len(problems), severity.word), problems, folded=severity == Severity.NOTE)


def all_problems(evaluation: Evaluation) -> Iterator[Block]:
    """Yield the problems, after a sentence if there are only notes or none."""
    if not evaluation.faults and not evaluation.warnings:
        yield Note(["No faults or warnings."])
    yield from problem_lists(evaluation)
