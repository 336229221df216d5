"""Recorded decisions of Kueue, replayed: `berth admit --cases FILE`."""

from __future__ import annotations

import pathlib

from berth.diagnostics import Problem
from berth.simulator.agreement import find_mismatches, format_features, format_late_steps, format_summary
from berth.simulator.recorded_cases import RecordedCase, read_cases, with_simulated_states


def answer_cases(path: pathlib.Path) -> tuple[list[RecordedCase], str, tuple[Problem, ...]]:
    """Replay recorded cases.

    Returns the cases with the simulated `then`, the differences from the recorded ones as text, and the problems.
    """
    recorded, problems = read_cases(path)
    mismatches = list(find_mismatches(recorded))
    mismatch_lines = [line for each in mismatches for line in each.lines()]
    late, features = format_late_steps(recorded) if mismatches else "", format_features(recorded, mismatches)
    return (
        list(with_simulated_states(recorded)),
        "\n".join([*mismatch_lines, *filter(None, [late]), *features, format_summary(recorded, mismatches)]),
        tuple(problems),
    )
