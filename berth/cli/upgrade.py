"""`berth upgrade`: what a change of versions does to a stack and its jobs."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec.structs import replace

from berth.cli.arguments import (
    EXIT_BLOCKED,
    EXIT_OK,
    StackArgument,
    evaluate_or_exit,
    exit_with_error,
    exit_with_problems,
    format_json,
    print_answer,
    print_problems,
    project_root,
)
from berth.cli.manifests import read_files
from berth.evaluate import Evaluation, evaluate_changed

if TYPE_CHECKING:
    from berth.upgrade.evidence import Evidence
    from berth.upgrade.findings import Upgrade
    from berth.upgrade.moves import Key, Move

OutputFormat = Literal["text", "markdown", "json"]
EPILOG = "Example: berth upgrade dev --kueue 0.20.0 --jobs stacks/jobs"
_JOBS = pathlib.PurePath("stacks", "jobs")
"""The manifests that are read without --jobs, if the project has them."""
_BETWEEN = ".."
"""Separates the version that runs from the one it becomes, for what the stack file does not say."""


def upgrade_command(
    stack: StackArgument,
    kueue: Annotated[
        str | None, typer.Option("--kueue", metavar="VERSION", help="Kueue's new release, or OLD..NEW.")
    ] = None,
    jobset: Annotated[
        str | None, typer.Option("--jobset", metavar="VERSION", help="JobSet's new release, or OLD..NEW.")
    ] = None,
    gke: Annotated[str | None, typer.Option("--gke", metavar="VERSION", help="GKE's new version, or OLD..NEW.")] = None,
    jobs: Annotated[
        list[str] | None,
        typer.Option("--jobs", metavar="FILE", help="Manifests of jobs, or folders. By default stacks/jobs."),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="Output for a terminal, a pull request comment or a program.")
    ] = "text",
) -> None:
    """Show what a change of versions does to a stack and its jobs.

    Says which required actions apply and why, what turns, which jobs must change, which known holes close or open, and
    in which order to go. Exits 3 if the change would break what runs.
    """
    written: dict[Key, str | None] = {"gke": gke, "jobset": jobset, "kueue": kueue}
    options: dict[Key, str] = {key: value for key, value in written.items() if value is not None}
    if not options:
        raise typer.BadParameter("write --kueue, --jobset or --gke with the new version")
    evaluation = evaluate_or_exit(stack)
    moves = tuple(move for key, value in options.items() for move in _moves(evaluation, key, value))
    upgrade = _upgrade(evaluation, moves, _evidence(evaluation, jobs))
    _print(upgrade, output_format)
    raise typer.Exit(EXIT_BLOCKED if upgrade.breaks else EXIT_OK)


def _print(upgrade: Upgrade, output_format: OutputFormat) -> None:
    from berth.upgrade.as_json import upgrade_as_json
    from berth.upgrade.document import upgrade_document

    if output_format == "json":
        typer.echo(format_json(upgrade_as_json(upgrade)))
    elif output_format == "text":
        print_answer(upgrade_document(upgrade))
    else:
        from berth.document.markdown import render_markdown

        typer.echo(render_markdown(upgrade_document(upgrade)), nl=False)


def _moves(evaluation: Evaluation, key: Key, written: str) -> Iterator[Move]:
    """Yield the moves of an option: to the version, or from one to another. A wrong one exits 2.

    That of GKE is for each cluster of the stack whose version is known.
    """
    from berth.upgrade.moves import NAMES, Move, known_versions
    from berth.versions.standing import newest_run

    before, between, after = written.rpartition(_BETWEEN)
    for version in (after, *([before] if between else [])):
        _require_version(key, version)
    known = known_versions(evaluation.fleet, key)
    if not between and not any(version for _, version, _ in known):
        reason = "follows its release channel" if key == "gke" else f"does not install {NAMES[key]}"
        example = "1.34..1.36" if key == "gke" else f"{newest_run(key)}..{after}"
        raise typer.BadParameter(
            f"the stack {reason}, so the version that runs is not in it; write OLD..NEW, such as {example}",
            param_hint=f"--{key}",
        )
    for worker, version, origin in known:
        if between or version:
            yield Move(key, before if between else version, after, worker, origin)


def _require_version(key: Key, version: str) -> None:
    """Exit 2 for text that is not a version of a component."""
    from berth.catalog import InvalidVersionError, parse_version
    from berth.versions.numbers import InvalidReleaseError, parse_release

    try:
        if key == "gke":
            parse_version(version)
        else:
            parse_release(version)
    except InvalidVersionError as error:
        raise typer.BadParameter(str(error), param_hint=f"--{key}") from None
    except InvalidReleaseError as error:
        bare = version.removeprefix("v")
        remedy = f"; write {bare}" if bare != version else "; write its three numbers, without a v"
        raise typer.BadParameter(f"{error}{remedy}", param_hint=f"--{key}") from None


def _evidence(evaluation: Evaluation, jobs: Iterable[str] | None) -> tuple[Evidence, int]:
    """Return the objects of manifests with the plan; print the problems of files that were named, and exit 1."""
    from berth.upgrade.evidence import Evidence, objects_of

    root = project_root()
    names = list(jobs or sorted({str(file.parent) for file in (root / _JOBS).rglob("*.yaml")}))
    manifests = read_files(names, root)
    if jobs and any(problem.severity == "fault" for problem in manifests.problems):
        exit_with_problems(manifests.problems)
    if jobs:
        print_problems(manifests.problems)
    objects, others = objects_of(manifests.documents, evaluation.fleet)
    source = ", ".join(jobs) if jobs else str(_JOBS) if names else ""
    return Evidence(evaluation.fleet, None, objects, source), others


def _upgrade(evaluation: Evaluation, moves: tuple[Move, ...], evidence: tuple[Evidence, int]) -> Upgrade:
    """Evaluate the stack with the old and the new versions, and return what the moves mean."""
    from berth.upgrade.findings import upgrade_by

    changed = tuple(move for move in moves if move.before != move.after)
    if not changed:
        versions = dict.fromkeys(f"{each.name} {each.after}" for each in moves)
        exit_with_error(f"{evaluation.stack} has {', '.join(versions)} already")
    mine = [move for move in changed if move.is_written]
    old = evaluate_changed(evaluation, {move.path: move.before for move in mine}, project_root())
    new = evaluate_changed(evaluation, {move.path: move.after for move in mine}, project_root())
    result = upgrade_by(changed, new.fleet_plan or evaluation.fleet, evidence[0])
    known = {(problem.code, problem.path) for problem in old.problems}
    warnings = (each for each in new.warnings if (each.code, each.path) not in known and each.code not in _TOLD)
    faulty = {(problem.code, problem.path) for problem in new.faults}
    earlier = tuple(problem for problem in old.faults if (problem.code, problem.path) not in faulty)
    return replace(result, faults=new.faults, earlier=earlier, warnings=tuple(warnings), others=evidence[1])


_TOLD = ("version-not-run", "version-unknown")
"""Codes of warnings that the document has in a place of their own."""
