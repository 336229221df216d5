"""`berth report --live FILE`: what a cluster holds, from the output of kubectl, beside the plan."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import typer
from msgspec import Struct

from berth.cli.arguments import EXIT_FAULTS, print_problems, project_root
from berth.diagnostics import Severity
from berth.document import Note, Table
from berth.jobs.files import ManifestDocument, read_kubectl_json
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import get_nested
from berth.loader.locate import display_path
from berth.manifests.workloads.values import as_list
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import FlavorPlan
from berth.report.page import LiveView
from berth.simulator.fleet import SimulatedFleet, build_simulated_fleet
from berth.simulator.live import ClusterState, RunningWorkload, read_cluster_state

_OPEN_ROWS = 30
"""Maximum of jobs that are shown without a click."""
_MAX_ROWS = 1000
"""Maximum of jobs in the table."""

QueueFlavor = tuple[str, str]
"""A cluster queue and a flavor."""


class ClusterReading(Struct, frozen=True):
    """The state of a cluster, and the nominal quotas of its cluster queues, in accelerators or milli-cpu."""

    fleet: SimulatedFleet
    state: ClusterState
    nominal: Mapping[QueueFlavor, int]
    queues: frozenset[str]


def live_view(file: pathlib.Path, plan: FleetPlan, *, prints_warnings: bool = True) -> LiveView:
    """Return the section of a file; print what is wrong with it and exit 1 if it cannot be read."""
    name = display_path(file, project_root())
    documents, problems = read_kubectl_json(file, name)
    fleet = build_simulated_fleet(plan)
    state, state_problems = read_cluster_state(documents, fleet)
    problems += state_problems
    has_faults = any(problem.severity == Severity.FAULT for problem in problems)
    if prints_warnings or has_faults:
        print_problems(problems)
    if has_faults:
        raise typer.Exit(EXIT_FAULTS)
    quotas = dict(_queue_quotas(documents))
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    cluster = ClusterReading(
        fleet=fleet,
        state=state,
        nominal={
            (queue, flavor): amount
            for (queue, flavor, resource), amount in quotas.items()
            if flavor in flavors and flavors[flavor].resource == resource
        },
        queues=frozenset(queue for queue, _, _ in quotas),
    )
    return LiveView(
        source=_describe_source(name, file, state),
        document=(
            _queue_table(plan, cluster),
            _job_table(plan, cluster),
            Note(list(_notes(plan, cluster, len(problems)))),
        ),
    )


def _describe_source(name: str, file: pathlib.Path, state: ClusterState) -> str:
    """Return where the figures are from: kubectl's output has no time of its own, so that of the file counts."""
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M UTC")
    times = [time for each in state.workloads for time in (each.created_at, each.reserved_at) if time]
    newest = f"; the newest event in it is of {max(times)}" if times else ""
    return (
        f"Read from {name}, a file written {written}{newest}. The figures of this section are the cluster's at that "
        "time unless a column says otherwise; capacity, guarantees and ceilings of other sections are those of the "
        "stack file."
    )


# --- tables -----------------------------------------------------------------------------------------------------------


def _queue_table(plan: FleetPlan, cluster: ClusterReading) -> Table:
    """Return what each queue holds of each flavor now, beside its guarantee in the cluster and in the stack file."""
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    used = _sum_by_flavor(cluster.state.workloads, flavors)
    rows: list[list[str]] = []
    for queue in plan.cluster_queues:
        for entry in queue.flavors:
            flavor = flavors[entry.flavor]
            planned = sum(each.nominal for each in entry.quotas if each.resource == flavor.resource)
            deployed = cluster.nominal.get((queue.name, flavor.name))
            rows.append(
                [
                    cluster.fleet.queue_display_names.get(queue.name, queue.name),
                    flavor.name,
                    _amount(flavor, used.get((queue.name, flavor.name), 0)),
                    "–" if deployed is None else _amount(flavor, deployed),
                    _amount(flavor, planned),
                    flavor.noun,
                    "" if deployed in (None, planned) else "differs: not deployed, or changed in the cluster",
                ]
            )
    header = ("queue", "flavor", "in use now", "guaranteed in the cluster", "guaranteed in the stack file", "of", "")
    return Table("In use now, by queue", header, rows, (2, 3, 4))


def _job_table(plan: FleetPlan, cluster: ClusterReading) -> Table:
    """Return the unfinished workloads, those with quota first, in the order in which they got it."""
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    ordered = sorted(
        cluster.state.workloads, key=lambda each: (each.reserved_at is None, each.reserved_at, each.created_at)
    )
    rows = [
        [
            f"{each.job.name.partition('/')[0]}/{each.display_name}",
            cluster.fleet.queue_display_names.get(each.job.queue, each.job.queue),
            "pending" if each.reserved_at is None else "admitted" if each.is_admitted else "quota reserved",
            each.reserved_at or each.created_at,
            ", ".join(
                f"{_amount(flavors[flavor], amount)} {flavors[flavor].noun} of {flavor}"
                for (_, flavor), amount in _sum_by_flavor([each], flavors).items()
            ),
        ]
        for each in ordered[:_MAX_ROWS]
    ]
    return Table(
        f"Jobs now ({len(ordered)})", ("job", "queue", "status", "since", "quota"), rows, folded=len(rows) > _OPEN_ROWS
    )


def _sum_by_flavor(workloads: Iterable[RunningWorkload], flavors: Mapping[str, FlavorPlan]) -> dict[QueueFlavor, int]:
    """Return what workloads with quota hold of each flavor's accelerators (or milli-cpu), by queue."""
    totals: dict[QueueFlavor, int] = {}
    for workload in workloads:
        for pod_set, assigned in zip(workload.job.pod_sets, workload.flavors, strict=False):
            for resource, flavor in assigned.items():
                if flavor in flavors and flavors[flavor].resource == resource:
                    key = (workload.job.queue, flavor)
                    totals[key] = totals.get(key, 0) + pod_set.count * pod_set.requests.get(resource, 0)
    return totals


def _amount(flavor: FlavorPlan, amount: int) -> str:
    """Return a number of accelerators or cores."""
    return f"{amount / flavor.scale:g}" if flavor.scale > 1 else str(amount)


def _queue_quotas(documents: Iterable[ManifestDocument]) -> Iterator[tuple[tuple[str, str, str], int]]:
    """Yield cluster queue, flavor and resource with the nominal quota of every ClusterQueue."""
    for document in documents:
        for item in as_list(get_nested(document.value, "items")) or [document.value]:
            if get_nested(item, "kind") != "ClusterQueue":
                continue
            for group in as_list(get_nested(item, "spec", "resourceGroups")):
                for flavor in as_list(get_nested(group, "flavors")):
                    for resource in as_list(get_nested(flavor, "resources")):
                        name = str(get_nested(resource, "name"))
                        amount = parse_quantity(name, get_nested(resource, "nominalQuota"))
                        if amount is not None:
                            key = (str(get_nested(item, "metadata", "name")), str(get_nested(flavor, "name")), name)
                            yield key, amount


def _notes(plan: FleetPlan, cluster: ClusterReading, problems: int) -> Iterator[str]:
    names = cluster.fleet.queue_display_names
    if not cluster.queues:
        yield "The file has no ClusterQueue, so the guarantees in the cluster are not known."
    else:
        for queue in plan.cluster_queues:
            if queue.name not in cluster.queues:
                yield f"The cluster has no queue {names.get(queue.name, queue.name)} yet."
    for queue, policy in cluster.state.stop_policies.items():
        yield f"The queue {names.get(queue, queue)} is stopped in the cluster ({policy})."
    if problems:
        subject = "workload of a queue" if problems == 1 else "workloads of queues"
        yield f"{problems} {subject} that the stack file does not have: not in the tables."
    omitted = len(cluster.state.workloads) - _MAX_ROWS
    if omitted > 0:
        yield f"{omitted} more jobs are not in the table of jobs, and counted in that of queues."
