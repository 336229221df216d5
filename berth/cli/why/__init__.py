"""`berth why`: why a job does not run, from the state of a cluster."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    exit_with_problems,
    print_answer,
    print_problems,
    project_root,
)

if TYPE_CHECKING:
    from berth.diagnostics import Problem
    from berth.why.cluster import Asked, LiveWorkload

EPILOG = "Example: berth why dev train-llm --live state.json"

_COMMAND = "kubectl get workloads,clusterqueues,localqueues,nodes -A -o json"


def why_command(
    stack: StackArgument,
    jobs: Annotated[list[str], typer.Argument(metavar="JOB", help="Names of jobs or workloads, or their manifests.")],
    live: Annotated[
        list[pathlib.Path],
        typer.Option("--live", metavar="FILE", help=f"Output of `{_COMMAND}`; repeatable."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Show why a job does not run, until when, and who could help.

    Reads Kueue's conditions, queues and nodes of a cluster from files, and compares them with the stack.
    """
    from berth.cli.manifests import read_kubectl_files
    from berth.diagnostics import Problem, Severity, did_you_mean
    from berth.loader.locate import display_path
    from berth.simulator.fleet import build_simulated_fleet
    from berth.simulator.live import is_cluster_state, read_cluster_state
    from berth.why.answer import explain_workload
    from berth.why.cluster import SeenCluster
    from berth.why.document import why_as_json, why_document

    evaluation = evaluate_or_exit(stack)
    documents, problems = read_kubectl_files(live, project_root())
    fleet = build_simulated_fleet(evaluation.fleet)
    state, state_problems = read_cluster_state(
        [each for each in documents if is_cluster_state(each)] or documents, fleet
    )
    problems += state_problems
    asked = list(_asked(jobs, problems))
    faults = [each for each in problems if each.severity == Severity.FAULT]
    if faults:
        exit_with_problems(faults)
    cluster = SeenCluster(evaluation.fleet, fleet, documents, state)
    chosen: list[LiveWorkload] = []
    for each in asked:
        matching = [workload for workload in cluster.workloads if each.matches(workload)]
        if not matching:
            names = {name for workload in cluster.workloads for name in (workload.name, workload.job.split("/")[1])}
            message = (
                f"no workload of {each}{did_you_mean(each.name, names)}; submit it, or write the state again with "
                f"{_COMMAND}"
            )
            faults.append(Problem(Severity.FAULT, "no-workload", (), message, display_path(live[0], project_root())))
        chosen += (workload for workload in matching if workload not in chosen)
    print_problems(faults)
    answers = [explain_workload(cluster, workload) for workload in chosen]
    if answers:
        print_answer(why_document(answers), why_as_json(answers) if as_json else None)
    raise typer.Exit(EXIT_FAULTS if faults else EXIT_OK)


def _asked(jobs: list[str], problems: list[Problem]) -> Iterator[Asked]:
    """Yield the jobs that names mean, and those of manifests."""
    from berth.cli.manifests import read_files
    from berth.jobs.values import get_nested
    from berth.manifests.workloads.values import as_list
    from berth.why.cluster import Asked

    for job in jobs:
        if job != "-" and not pathlib.Path(job).exists() and not job.endswith((".yaml", ".yml", ".json")):
            namespace, _, name = job.rpartition("/")
            yield Asked(name, namespace or None)
            continue
        files = read_files([job], project_root())
        problems += files.problems
        for document in files.documents:
            for item in as_list(get_nested(document.value, "items")) or [document.value]:
                name, prefix = (get_nested(item, "metadata", key) for key in ("name", "generateName"))
                namespace, kind = get_nested(item, "metadata", "namespace"), get_nested(item, "kind")
                if (name or prefix) and (get_nested(item, "spec") is not None):
                    yield Asked(
                        str(name or prefix), None if namespace is None else str(namespace), str(kind), name is None
                    )
