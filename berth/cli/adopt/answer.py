"""The result of `berth adopt`: a stack file and import files for an existing cluster."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Collection, Generator, Iterator, Sequence
from typing import cast

from msgspec import Struct

from berth.adopt.api_objects import Fate, InvalidInventory, NotAdopted
from berth.adopt.first_update import disturbed_pools, first_update_changes, lost_node_pools, would_replace
from berth.adopt.google.monitoring import absent_alerts, monitoring_changes
from berth.adopt.google.rights import display_name_changes, other_rights
from berth.adopt.imports import import_files, not_imported, unused_answers
from berth.adopt.inventory import ClusterInventory, read_inventory
from berth.adopt.kubernetes.kueue_configuration import configuration_changes, configuration_keys
from berth.adopt.stack_file import AdoptedFleet, adopt, render_stack_file, with_kueue_keys, without_alerts
from berth.cli import drain
from berth.cli.preview import tree as preview
from berth.diagnostics import Problem
from berth.evaluate import Evaluation
from berth.loader.text_file import MAX_ANSWER_BYTES, read_bytes
from berth.plan.fleet import FleetPlan
from berth.text import pluralize

_LONGEST_CAUSE = 200
"""Maximum length of Python's own message in a fault."""
_ANSWER_REMEDY = "write it with --format json of gcloud, or -o json of kubectl"


class AdoptionResult(Struct, frozen=True):
    """The files to write (name → text), what was not adopted, and the faults of the stack file."""

    output_files: dict[str, str]
    not_adopted: tuple[NotAdopted, ...]
    faults: tuple[Problem, ...]


class LosesResources(InvalidInventory):
    """The stack file would lose what exists, or the first update replace it; each resource has a line."""


def adopt_cluster(
    stack: str,
    answer_files: Sequence[pathlib.Path],
    root: pathlib.Path,
    context: str | None = None,
    *,
    keep_cluster: bool = False,
    accepted: Collection[str] = (),
) -> AdoptionResult:
    """Build a stack file and import files from the output of gcloud and kubectl.

    Raises InvalidInventory, and LosesResources if node pools of the answers would not be imported, or the first update
    would replace a resource that is not `accepted` by name.

    Import files list the resources that the program registers for the stack file, so there are none if it has a fault.
    With a `context`, only objects inside the cluster are adopted, with `keep_cluster` also its node pools. Nothing is
    written yet.
    """
    texts = _read_texts(answer_files)
    with _reporting_bad_input():
        inventory = read_inventory(texts, context, keeps_cluster=keep_cluster)
    stack_file, adopted, evaluation = adopt_inventory(inventory, stack)
    output_files = {f"Pulumi.{stack}.yaml": stack_file}
    if evaluation.faults or evaluation.fleet_plan is None:
        return AdoptionResult(output_files, adopted.not_adopted, evaluation.faults)
    subjects = {each.subject for each in adopted.not_adopted}
    with _reporting_bad_input():
        lost = [
            *lost_node_pools(inventory, evaluation.fleet_plan, subjects),
            *would_replace(inventory, evaluation.fleet_plan, accepted),
        ]
    if lost:
        raise LosesResources(*lost)
    # Without preview, names that one resource takes from another are known.
    resources = preview.run_stack_program(evaluation, root, preview=False).resources
    with _reporting_bad_input():
        files_by_provider = import_files(resources, inventory, evaluation.fleet_plan)
    for provider, content in files_by_provider.items():
        output_files[f"{stack}.{provider}.import.json"] = json.dumps(content, indent=2) + "\n"
    with _reporting_bad_input():
        first_changes = first_update_changes(inventory, evaluation.fleet_plan)
        changes = [  # without the objects that stay and have a line already
            *(each for each in first_changes if each.fate != Fate.LEFT or each.subject not in subjects),
            *configuration_changes(inventory, evaluation.fleet_plan),
            *other_rights(inventory, evaluation.fleet_plan),
            *display_name_changes(inventory, resources),
            *monitoring_changes(inventory, resources),
        ]
        told = (*adopted.not_adopted, *changes)
        rest = (*unused_answers(inventory, files_by_provider, told), *not_imported(resources, files_by_provider))
    return AdoptionResult(output_files, (*told, *rest), ())


def adopt_inventory(inventory: ClusterInventory, stack: str) -> tuple[str, AdoptedFleet, Evaluation]:
    """Return the stack file of a cluster, and what Berth makes of it. Raises InvalidInventory.

    Which alerts a fleet has and how Kueue is configured follows from its plan, so what differs is added afterwards. So
    does which pools must be `adopted`: those whose nodes the first update would replace or recreate.
    """
    with _reporting_bad_input():
        adopted = adopt(inventory, stack)
        stack_file = render_stack_file(adopted)
    evaluation = drain.evaluate_drained(stack_file, stack)
    if not isinstance(evaluation.fleet_plan, FleetPlan):
        return stack_file, adopted, evaluation
    with _reporting_bad_input():
        if disturbed := disturbed_pools(inventory, evaluation.fleet_plan):
            kept = adopt(inventory, stack, disturbed)
            kept_file = render_stack_file(kept)
            kept_evaluation = drain.evaluate_drained(kept_file, stack)
            if isinstance(kept_evaluation.fleet_plan, FleetPlan):
                stack_file, adopted, evaluation = kept_file, kept, kept_evaluation
    with _reporting_bad_input():
        plan, completed = cast("FleetPlan", evaluation.fleet_plan), adopted
        if keys := configuration_keys(inventory, plan):
            completed = with_kueue_keys(completed, keys)
        if absent := absent_alerts(inventory, stack, plan.monitoring) if plan.monitoring else []:
            completed = without_alerts(completed, absent)
        if completed != adopted:
            adopted, stack_file = completed, render_stack_file(completed)
            evaluation = drain.evaluate_drained(stack_file, stack)
    return stack_file, adopted, evaluation


@contextlib.contextmanager
def _reporting_bad_input() -> Generator[None]:
    """Raise InvalidInventory if the block fails on input of an unexpected shape, because other programs wrote it."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_CAUSE]
        raise InvalidInventory(
            f"cannot read the files ({cause}); save the output of gcloud --format json and kubectl -o json unchanged"
        ) from error


def _read_texts(answer_files: Sequence[pathlib.Path]) -> dict[str, str]:
    texts: dict[str, str] = {}
    errors: list[str] = []
    for file in answer_files:
        content = read_bytes(file, str(file), _ANSWER_REMEDY, _ANSWER_REMEDY, MAX_ANSWER_BYTES)
        if isinstance(content, Problem):
            errors.append(content.line())
            continue
        try:
            texts[str(file)] = content.decode()
        except UnicodeDecodeError:
            errors.append(f"{file}: not UTF-8 text; save the output of gcloud --format json or kubectl -o json")
    if errors:
        raise InvalidInventory(*errors)
    return texts


def write_adopted_files(result: AdoptionResult, folder: pathlib.Path) -> None:
    """Write the files. Raises InvalidInventory, and writes none, if one of them exists."""
    if existing := [name for name in result.output_files if (folder / name).exists()]:
        raise InvalidInventory(
            *(f"{name} exists and is not overwritten; choose another name, or delete the file" for name in existing)
        )
    for name, content in result.output_files.items():
        (folder / name).write_text(content, encoding="utf-8")


def change_lines(result: AdoptionResult) -> Iterator[str]:
    """Yield a line for each part of the cluster that is not adopted, changes or is created."""
    for fate in Fate:
        told = [each.line() for each in result.not_adopted if each.fate == fate]
        if told:
            yield f"{fate.value} ({len(told)}):"
            yield from (f"  {line}" for line in told)


def written_lines(result: AdoptionResult) -> Iterator[str]:
    """Yield a line for each file that is written, and the next step."""
    for name, content in result.output_files.items():
        entries = json.loads(content)["resources"] if name.endswith(".json") else ()
        importable = sum("id" in each for each in entries)
        summary = f"{pluralize(importable, 'resource')} to import" if name.endswith(".json") else "written"
        yield f"{name}: {summary}"
    if not result.faults:
        yield "next: read these lines, then import the resources (docs/adopt.md, step 3)"
