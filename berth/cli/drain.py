"""`berth drain`: a stack file with every queue drained, to deploy before the stack is destroyed."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import typer
import yaml
from msgspec.structs import replace

from berth.cli.arguments import EXIT_BLOCKED, EXIT_OK, StackArgument, evaluate_or_exit, exit_with_problems, write_output
from berth.evaluate import Evaluation, evaluate_stack
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.yaml_loader import load_yaml

Entries = Mapping[str, Any]
_REWRITTEN = ("base", "without", "teamFiles", "teamDefaults", "teams", "clusterQueues")
"""Sections that a drained stack file has in another form: every team is in it with its defaults, and so is the base."""


EPILOG = "Example: berth drain dev -o build/drained/Pulumi.dev.yaml"


def drain_command(
    stack: StackArgument,
    output: Annotated[
        pathlib.Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead of stdout."),
    ] = None,
) -> None:
    """Print the stack file with every queue drained.

    `make down` deploys this file before it destroys a stack. Exits 3 if something in the stack is protected.
    """

    evaluation = evaluate_or_exit(stack)
    drained_text = drained_stack_file(evaluation)
    drained = evaluate_drained(drained_text, evaluation.stack)
    if drained.faults or drained.fleet_plan is None:
        exit_with_problems(drained.faults)
    write_output(drained_text, output)
    refusals = list(destroy_refusals(drained.fleet_plan))
    for line in refusals:
        typer.echo(line, err=True)
    raise typer.Exit(EXIT_BLOCKED if refusals else EXIT_OK)


def drained_stack_file(evaluation: Evaluation) -> str:
    """Return a complete stack file: it includes the teams of team files, and the engine's keys beside the config."""
    assert evaluation.loaded.file is not None
    stack_file = cast("dict[str, Any]", load_yaml(evaluation.loaded.file.read_text(encoding="utf-8")))
    stack_file["config"] = {
        **evaluation.loaded.config,
        "berth:fleet": drain_fleet(cast("Entries", evaluation.loaded.fleet)),
    }
    return yaml.safe_dump(stack_file, sort_keys=False, width=120, allow_unicode=True)


def evaluate_drained(stack_text: str, stack: str) -> Evaluation:
    """Evaluate a stack file given as text."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        file = pathlib.Path(folder) / f"Pulumi.{stack}.yaml"
        file.write_text(stack_text, encoding="utf-8")
        return evaluate_stack(str(file), file.parent, stack)


def drain_fleet(fleet: Entries) -> dict[str, Any]:
    """Return the fleet with every team and every shared queue drained."""
    sections = {key: value for key, value in fleet.items() if key not in _REWRITTEN}
    teams = {name: _drain_team(team) for name, team in _section(fleet, "teams").items()}
    queues = {name: {**queue, "stopPolicy": "HoldAndDrain"} for name, queue in _section(fleet, "clusterQueues").items()}
    return {**sections, **({"teams": teams} if teams else {}), **({"clusterQueues": queues} if queues else {})}


def _drain_team(team: Entries) -> dict[str, Any]:
    """Return a team with `state: drained`, and without `stopPolicy` in its queues, which would contradict it."""
    queues = {
        name: {key: value for key, value in queue.items() if key != "stopPolicy"}
        for name, queue in _section(team, "queues").items()
    }
    return {**team, "state": "drained", **({"queues": queues} if queues else {})}


def _section(entries: Entries, key: str) -> Mapping[str, Entries]:
    """Return a section of the fleet as a mapping, and an empty one for null."""
    entries_by_name = cast("Mapping[str, Entries | None]", entries.get(key) or {})
    return {name: entry or {} for name, entry in entries_by_name.items()}


def protected_keys(plan: FleetPlan) -> Iterator[str]:
    """Yield the keys under `allowDeletion` of everything protected; those of a worker are relative to the worker."""
    yield from _protected_in_cluster(plan)
    yield from (f"workers.{name}.{key}" for name, worker in _own_workers(plan) for key in _protected_in_cluster(worker))


def _own_workers(plan: FleetPlan) -> Iterator[tuple[str, FleetPlan]]:
    """Yield the name and plan of each worker that this stack creates, and so destroys."""
    for worker in plan.workers:
        if worker.made_here:
            yield worker.name, replace(worker.plan, cluster_queues=())


def _protected_in_cluster(plan: FleetPlan) -> Iterator[str]:
    if isinstance(plan.cluster, ClusterPlan) and plan.cluster.protect:
        yield "cluster"
    yield from (f"reservations.{each.key}" for each in (*plan.reservations, *plan.future_reservations) if each.protect)
    yield from (pool.name for pool in plan.own_pools if any(nodes.protect for nodes in pool.node_pools))
    yield from (f"clusterQueues.{queue.name}" for queue in plan.cluster_queues if queue.protect)


def destroy_refusals(plan: FleetPlan) -> Iterator[str]:
    """Yield why the fleet cannot be destroyed yet, and what to write in the stack file; nothing if it can."""
    for prefix, cluster in (("", plan), *((f"workers.{name}.", worker) for name, worker in _own_workers(plan))):
        if names := list(_protected_in_cluster(cluster)):
            allowances = ", ".join(f"{name}: <why>" for name in names)
            yield f"{plan.stack}: protected from deletion: {', '.join(prefix + name for name in names)}"
            yield f"    write {prefix}allowDeletion: {{{allowances}}}, or protect: false"
        if isinstance(cluster.cluster, ClusterPlan) and cluster.cluster.settings.deletion_protection:
            yield f"{plan.stack}: GKE refuses to delete cluster '{cluster.cluster.name}': its deletion protection is on"
            yield f"    write {prefix}cluster.deletionProtection: false"
