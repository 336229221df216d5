"""Plan worker clusters as fleets, and the pools and flavors that they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath
from berth.plan.grouping import grouped
from berth.plan.node_settings import Bounds
from berth.planner.cluster.gke import cluster_name
from berth.planner.cluster_fleet import ClusterMachines, plan_machines
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool
from berth.planner.multikueue.quota_shares import WorkerCapacity
from berth.planner.queueing.flavors import FlavorGroup, with_counted_pods
from berth.planner.written_references import check_former_names
from berth.rules.gke.gpu import gpu_labels
from berth.spec.workers import WorkerSpec

WORKER_SECTIONS = frozenset(
    {"cluster", "pools", "computeClasses", "reservations", "region"}
    | {f"allow{x}" for x in ("Replacement", "Deletion", "Change")}
)
"""Sections that a worker has instead of the manager's."""


class WorkerContext(Struct, frozen=True):
    """A worker being planned, as a fleet that shares other sections with the manager."""

    name: str
    spec: WorkerSpec
    context: PlanningContext
    machines: ClusterMachines

    @property
    def key(self) -> str:
        """The name under which the worker was created."""
        return self.spec.formerly or self.name


def plan_workers(context: PlanningContext) -> list[WorkerContext]:
    """Plan the machines of every worker, by key; omitted entries are also marked as omitted in the fleet.

    What remains of a division goes to the first ones, so that a rename changes no share.
    """
    check_former_names(context, ("workers",), context.spec.workers)
    by_key = sorted(context.spec.workers.items(), key=lambda entry: entry[1].formerly or entry[0])
    contexts = [_worker_context(context, name, spec) for name, spec in by_key]
    for worker_context in contexts:
        context.set_aside |= {part for part in worker_context.context.set_aside if part[0] in ("pools", "flavors")}
    _check_cluster_names(context, contexts)
    _check_unique_clusters(context, contexts)
    return contexts


def _worker_context(context: PlanningContext, name: str, spec: WorkerSpec) -> WorkerContext:
    fleet = context.spec
    project = spec.project or fleet.project
    worker_fleet = fleet.model_copy(
        update={
            "project": project,
            "project_number": spec.project_number or (fleet.project_number if project == fleet.project else None),
            "region": spec.region or fleet.region,
            "cluster": spec.cluster or type(fleet.cluster).model_validate({}),
            "reservations": spec.reservations,
            "pools": spec.pools,
            "compute_classes": spec.compute_classes,
            "flavors": {},
            "workers": {},
            "kueue": fleet.kueue.model_copy(update={"multi_kueue": None}),
            "allow_replacement": spec.allow_replacement | _queue_allowances(fleet.allow_replacement),
            "allow_deletion": spec.allow_deletion | _queue_allowances(fleet.allow_deletion),
            "allow_change": spec.allow_change,
        }
    )
    shared_set_aside = {part for part in context.set_aside if part[0] not in WORKER_SECTIONS | {"flavors"}}
    if spec.region is None:
        shared_set_aside |= {part for part in context.set_aside if part[0] == "region"}
    worker_planning = PlanningContext(
        f"{context.stack}-{spec.formerly or name}", worker_fleet, shared_set_aside, machines_exist=not spec.made_here
    )
    return WorkerContext(name, spec, worker_planning, plan_machines(worker_planning))


def _queue_allowances(allowed: Mapping[str, str]) -> dict[str, str]:
    return {key: reason for key, reason in allowed.items() if key.startswith("clusterQueues.")}


def fleet_path(worker_context: WorkerContext, path: FieldPath) -> FieldPath:
    """Return the path in the stack file for a path within a worker."""
    return ("workers", worker_context.name, *path) if path and path[0] in WORKER_SECTIONS else path


def report_problems(context: PlanningContext, worker_context: WorkerContext) -> None:
    """Report the problems of a worker, except those of sections that it shares with the manager."""
    for problem in worker_context.context.problems.entries:
        if problem.path and problem.path[0] in WORKER_SECTIONS:
            context.problems.entries.append(replace(problem, path=fleet_path(worker_context, problem.path)))


def _check_cluster_names(context: PlanningContext, contexts: Sequence[WorkerContext]) -> None:
    """Report clusters of one project with the same name, because their networks would have the same name too."""
    owner_by_name = {(context.spec.project, cluster_name(context)): "the manager"}
    for worker_context in contexts:
        name = cluster_name(worker_context.context)
        first_owner = owner_by_name.setdefault(
            (worker_context.context.spec.project, name), f"worker '{worker_context.name}'"
        )
        if first_owner != f"worker '{worker_context.name}'" and worker_context.spec.made_here:
            context.problems.fault(
                "duplicate-name",
                ("workers", worker_context.name, "cluster", "name"),
                f"'{name}' is already the cluster of {first_owner} in project {worker_context.context.spec.project}"
                "; write another name",
            )


def _check_unique_clusters(context: PlanningContext, contexts: Sequence[WorkerContext]) -> None:
    """Report an existing cluster that is two workers: its capacity would count twice."""
    for field, key in (("stack", "stack"), ("kubeconfig", "kubeconfig"), ("cluster_profile", "clusterProfile")):
        worker_by_cluster: dict[str, str] = {}
        for worker_context in contexts:
            connection: str | None = getattr(worker_context.spec, field)
            if (
                connection is not None
                and (first_worker := worker_by_cluster.setdefault(connection, worker_context.name))
                != worker_context.name
            ):
                context.problems.fault(
                    "duplicate-name",
                    ("workers", worker_context.name, key),
                    f"workers '{first_worker}' and '{worker_context.name}' connect to the same cluster "
                    f"('{connection}'); merge their pools into one worker",
                )


# --- what they have in common -----------------------------------------------------------------------------------------


def common_pools(context: PlanningContext, contexts: Sequence[WorkerContext]) -> dict[str, PlannedPool]:
    """Return pools by name; pools of the same name in several workers are one pool for queues."""
    pools_by_name = grouped(
        (pool.name, (worker_context, pool))
        for worker_context in contexts
        for pool in worker_context.machines.pools.values()
    )
    merged: dict[str, PlannedPool] = {}
    for name, worker_pools in sorted(pools_by_name.items()):
        (first_worker, pool), *others = worker_pools
        flavor = _pool_flavor(first_worker, name)
        other_worker = next((site for site, _ in others if _pool_flavor(site, name) != flavor), None)
        if other_worker is not None:
            context.problems.fault(
                "mixed-flavor",
                ("workers", other_worker.name, "pools", name),
                f"pool '{name}' has flavor '{_pool_flavor(other_worker, name)}' here but '{flavor}' in worker "
                f"'{first_worker.name}', so queues cannot refer to it; write another name for one of them",
            )
            context.set_aside |= {("pools", name), ("flavors", flavor)}
        else:
            merged[name] = _merge_pools(pool, [p for _, p in worker_pools])
    return merged


def _pool_flavor(worker_context: WorkerContext, pool: str) -> str:
    return next((f.name for f in worker_context.machines.flavors.values() for p in f.pools if p.name == pool), pool)


def _merge_pools(first: PlannedPool, pools: Sequence[PlannedPool]) -> PlannedPool:
    """Return one pool with the accelerators of all; if their nodes differ, as nodes with one accelerator."""
    accelerator_bounds = [p.hardware.accelerators for p in pools]
    per_node = _common_size([p.hardware.per_node for p in pools])
    nodes = Bounds(
        min=sum(h.min for h in accelerator_bounds) // per_node, max=sum(h.max for h in accelerator_bounds) // per_node
    )
    return replace(first, hardware=replace(first.hardware, nodes=nodes, per_node=per_node))


def _common_size(sizes: Iterable[int]) -> int:
    """Return the size that all nodes have; 1 if they differ."""
    distinct_sizes = set(sizes)
    return distinct_sizes.pop() if len(distinct_sizes) == 1 else 1


def common_flavors(
    context: PlanningContext, contexts: Sequence[WorkerContext], known_pools: Mapping[str, PlannedPool]
) -> dict[str, FlavorGroup]:
    """Return flavors by name, with the node labels common to all workers, because no job runs on the manager."""
    flavors_by_name = grouped(
        (flavor.name, (worker_context, flavor))
        for worker_context in contexts
        for flavor in worker_context.machines.flavors.values()
    )
    merged = with_counted_pods(
        {
            name: _merge_flavors(context, worker_flavors, known_pools)
            for name, worker_flavors in sorted(flavors_by_name.items())
        }
    )
    for name in sorted(context.spec.flavors):
        context.resolve("flavors", name, merged, ("flavors", name))
    return merged


def _merge_flavors(
    context: PlanningContext,
    worker_flavors: Sequence[tuple[WorkerContext, FlavorGroup]],
    known_pools: Mapping[str, PlannedPool],
) -> FlavorGroup:
    (first_worker, flavor), *others = worker_flavors
    for worker_context, other in others:
        if difference := _pool_difference(flavor.pools[0], other.pools[0]):
            context.problems.fault(
                "mixed-flavor",
                ("workers", worker_context.name, "pools", other.pools[0].name),
                f"flavor '{flavor.name}' has a different {difference} in worker "
                f"'{first_worker.name}'; write another flavor name",
            )
            context.set_aside.add(("flavors", flavor.name))
    all_flavors = [worker_flavor for _, worker_flavor in worker_flavors]
    pods = [each.pods_per_accelerator for each in all_flavors if each.pods_per_accelerator is not None]
    names = dict.fromkeys(pool.name for f in all_flavors for pool in f.pools)
    tolerations = dict.fromkeys(toleration for f in all_flavors for toleration in f.tolerations)
    return replace(
        flavor,
        pools=tuple(known_pools[name] for name in names if name in known_pools) or flavor.pools,
        node_labels={
            k: v for k, v in flavor.node_labels.items() if all(f.node_labels.get(k) == v for f in all_flavors)
        },
        tolerations=tuple(tolerations),
        capacity=Bounds(min=sum(f.capacity.min for f in all_flavors), max=sum(f.capacity.max for f in all_flavors)),
        spare=sum(f.spare for f in all_flavors),
        cpu_per_accelerator=max(f.cpu_per_accelerator for f in all_flavors),
        memory_per_accelerator=max(f.memory_per_accelerator for f in all_flavors),
        pods_per_accelerator=min(pods) if len(pods) == len(all_flavors) else None,
    )


def worker_capacities(
    context: PlanningContext, contexts: Sequence[WorkerContext], merged_flavors: Iterable[FlavorGroup]
) -> dict[str, WorkerCapacity]:
    """Return the capacity of each worker for each flavor."""
    return {
        flavor.name: WorkerCapacity(
            resource=flavor.resource,
            capacity=tuple(
                each.capacity.max - each.spare
                if (each := worker_context.machines.flavors.get(flavor.name)) is not None
                else 0
                for worker_context in contexts
            ),
            oversubscription=flavor_spec.oversubscription
            if (flavor_spec := context.spec.flavors.get(flavor.name))
            else 1,
            unit=flavor.unit,
            per_node=_common_size(pool.hardware.per_node for pool in flavor.pools),
        )
        for flavor in merged_flavors
    }


def _pool_difference(first: PlannedPool, other: PlannedPool) -> str | None:
    """Return why pools of two clusters cannot share a flavor, as a noun for messages; None if they can."""
    accelerators = [
        (p.hardware.machine.accelerator, p.hardware.shape and p.hardware.shape.topology) for p in (first, other)
    ]
    if accelerators[0] != accelerators[1]:
        return "accelerator or topology"
    sharing_labels = [gpu_labels(p.request) for p in (first, other)]
    if sharing_labels[0] != sharing_labels[1]:
        return "way of sharing and partitioning GPUs"
    capacities = [(p.spec.capacity.kind, p.spec.compute_class) for p in (first, other)]
    if capacities[0] != capacities[1]:
        return "capacity"
    levels = [p.hardware.machine.topology_levels if p.spec.topology_aware else None for p in (first, other)]
    return None if levels[0] == levels[1] else "way of placing its jobs (topologyAware)"
