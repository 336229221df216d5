"""`berth drain`: the stack file of a fleet that is about to go: every queue drained, all else as it stands."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import typer
import yaml
from msgspec.structs import replace

from berth.cli.arguments import EXIT_BLOCKED, EXIT_FAULTS, EXIT_OK, StackArgument, evaluate_or_exit, print_problems
from berth.cli.output_file import write_output
from berth.evaluate import Evaluation, evaluate_stack
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan

FLEET_KEY = "berth:fleet"
Entries = Mapping[str, Any]


EPILOG = "Example: berth drain dev -o build/drained/Pulumi.dev.yaml"


def command(
    stack: StackArgument,
    output: Annotated[
        pathlib.Path | None, typer.Option("-o", "--output", help="The file to write; stdout otherwise.")
    ] = None,
) -> None:
    """Print the stack file with every queue drained.

    What `make down` deploys before it destroys a stack. Exits 3 when something is protected that would have to go.
    """

    evaluation = evaluate_or_exit(stack)
    drained_text = drained_stack_file(evaluation)
    drained = evaluate_drained(drained_text, evaluation.stack)
    if drained.faults or drained.plan is None:
        print_problems(drained.faults)
        raise typer.Exit(EXIT_FAULTS)
    write_output(drained_text, output)
    refusals = list(destroy_refusals(drained.plan))
    for line in refusals:
        typer.echo(line, err=True)
    raise typer.Exit(EXIT_BLOCKED if refusals else EXIT_OK)


def drained_stack_file(evaluation: Evaluation) -> str:
    """A stack file of its own: teams of team files are in it, and so is what the engine keeps beside the config."""
    assert evaluation.file is not None
    assert evaluation.file.file is not None
    stack_file = cast("dict[str, Any]", yaml.safe_load(evaluation.file.file.read_text(encoding="utf-8")))
    stack_file["config"] = {**evaluation.file.config, FLEET_KEY: drain_fleet(cast("Entries", evaluation.file.fleet))}
    return yaml.safe_dump(stack_file, sort_keys=False, width=120, allow_unicode=True)


def evaluate_drained(stack_text: str, stack: str) -> Evaluation:
    """What is to be said of such a file."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        file = pathlib.Path(folder) / f"Pulumi.{stack}.yaml"
        file.write_text(stack_text, encoding="utf-8")
        return evaluate_stack(str(file), file.parent, stack)


def drain_fleet(fleet: Entries) -> dict[str, Any]:
    """The fleet with every team drained, and with it its queues and its doors to shared ones, which are drained too."""
    sections = {key: value for key, value in fleet.items() if key not in ("teamFiles", "teams", "clusterQueues")}
    teams = {name: _drain_team(team) for name, team in _section(fleet, "teams").items()}
    queues = {name: {**queue, "stopPolicy": "HoldAndDrain"} for name, queue in _section(fleet, "clusterQueues").items()}
    return {**sections, **({"teams": teams} if teams else {}), **({"clusterQueues": queues} if queues else {})}


def _drain_team(team: Entries) -> dict[str, Any]:
    """A drained team; what its queues said themselves would contradict it."""
    queues = {
        name: {key: value for key, value in queue.items() if key != "stopPolicy"}
        for name, queue in _section(team, "queues").items()
    }
    return {**team, "state": "drained", **({"queues": queues} if queues else {})}


def _section(entries: Entries, key: str) -> Mapping[str, Entries]:
    """A mapping of entries, one that is left empty as an empty one."""
    entries_by_name = cast("Mapping[str, Entries | None]", entries.get(key) or {})
    return {name: entry or {} for name, entry in entries_by_name.items()}


def protected_keys(plan: FleetPlan) -> Iterator[str]:
    """What the engine would refuse to destroy, by the key that allows it; what workers have, by their own keys."""
    yield from _protected_in_cluster(plan)
    yield from (f"workers.{name}.{key}" for name, worker in _own_workers(plan) for key in _protected_in_cluster(worker))


def _own_workers(plan: FleetPlan) -> Iterator[tuple[str, FleetPlan]]:
    """Workers that go with the fleet; their queues are allowed as the fleet's are."""
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
    """Why a fleet cannot be destroyed as its stack file stands, and what to write; nothing where it can."""
    for prefix, cluster in (("", plan), *((f"workers.{name}.", worker) for name, worker in _own_workers(plan))):
        if names := list(_protected_in_cluster(cluster)):
            allowances = ", ".join(f"{name}: <why>" for name in names)
            yield f"{plan.stack}: protected, and not to be destroyed: {', '.join(prefix + name for name in names)}"
            yield f"    write {prefix}allowDeletion: {{{allowances}}}, or protect: false"
        if isinstance(cluster.cluster, ClusterPlan) and cluster.cluster.deletion_protection:
            yield f"{plan.stack}: GKE does not delete the cluster '{cluster.cluster.name}' either"
            yield f"    write {prefix}cluster.deletionProtection: false"
