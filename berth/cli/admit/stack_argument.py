"""Which stack `berth admit` simulates: the arguments that are stacks, or the one that scenarios name."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Sequence

from berth.diagnostics import Problem, Severity
from berth.jobs.files import STDIN, ManifestDocument, read_documents
from berth.loader.locate import locate
from berth.manifests.workloads.values import as_mapping
from berth.simulator.scenario import scenario_values


def is_stack(argument: str, root: pathlib.Path) -> bool:
    """Return whether the argument is a stack's name, or a file with `config` at its top level."""
    if argument == str(STDIN):
        return False
    located = locate(argument, root)
    if located.by_name:
        return os.path.isfile(located.file) or not os.path.exists(argument)
    if not os.path.isfile(located.file):
        return False
    parsed, _ = read_documents(located.file, located.display_path)
    return any("config" in as_mapping(each.value) for each in parsed)


def scenario_stack(job_documents: Iterable[ManifestDocument], jobs: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """Return the stack that the scenarios name, or faults if there is none or more than one."""
    stack_entries = list(scenario_values(job_documents, "stack"))
    names = [str(at.value) for _, at in stack_entries]
    if len(set(names)) == 1:
        return names[:1], []
    if not names:
        reason = f"'{jobs[0]}' is not a stack" if jobs else "a stack is missing"
        return [], [Problem(Severity.FAULT, "no-stack", (), f"{reason}; write berth admit STACK JOBS...")]
    document, at = stack_entries[1]
    message = f"'{names[1]}' differs from '{names[0]}' in another scenario; name the stack on the command line"
    return [], document.locate_problems([Problem(Severity.FAULT, "no-stack", at.path, message)])
