"""Plan a manager and its workers (MultiKueue): quotas are on the manager, jobs run on the workers.

Each queue has one admission check, which lists the workers that can run its jobs. These workers have the same
namespaces and queues, with a share of the quotas.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import FieldPath
from berth.plan.admission_checks import (
    MultiKueueConfigPlan,
)
from berth.plan.fleet import AllowancesPlan, ExistingClusterPlan, FleetPlan, WorkerPlan
from berth.plan.gke import CHECKPOINT_DRIVER
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.plan.policies import PoliciesPlan
from berth.planner.allowances import allowances
from berth.planner.cluster_fleet import ClusterMachines, plan_cluster_fleet
from berth.planner.context import PlanningContext
from berth.planner.multikueue.dispatch import configs_and_checks, multikueue_check, multikueue_cluster_plan
from berth.planner.multikueue.quota_shares import compute_shares, plan_worker_cohort, worker_queues
from berth.planner.multikueue.worker_access import (
    check_reachable,
    note_required_crds,
    note_required_namespaces,
    reserve_manager_address,
    worker_access_plan,
)
from berth.planner.multikueue.worker_clusters import (
    WorkerContext,
    common_flavors,
    common_pools,
    fleet_path,
    plan_workers,
    report_problems,
    worker_capacities,
)
from berth.planner.queueing import cohorts, queues
from berth.planner.queueing.admission_checks import PlannedChecks, plan_checks

Origins = Mapping[tuple[str, str], FieldPath]


class _PlannedPerProject(Struct):
    """Resources that each project needs once, whatever its clusters: APIs, roles of people, permissions of pods."""

    services: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    access_projects: set[str] = field(default_factory=set[str])
    granted_teams: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def without_planned(self, plan: FleetPlan) -> FleetPlan:
        """Return the plan without resources that an earlier plan has, and record the others."""
        project = plan.project or ""
        seen_services = self.services.setdefault(project, set())
        services = tuple(api for api in plan.services if api not in seen_services)
        seen_services.update(services)
        access = plan.access and replace(plan.access, in_project=project not in self.access_projects)
        if access:
            self.access_projects.add(project)
        teams = tuple(
            replace(team, identity=replace(team.identity, granted=False))
            if team.identity and (project, team.name) in self.granted_teams
            else team
            for team in plan.teams
        )
        self.granted_teams.update((project, team.name) for team in teams)
        return replace(plan, services=services, access=access, teams=teams)


def plan_manager(
    context: PlanningContext, manager_machines: ClusterMachines, manager_allowances: AllowancesPlan
) -> tuple[FleetPlan, list[tuple[WorkerPlan, Origins]]]:
    """Return the manager's plan including its workers, and the plan and origins of each worker."""
    _check_no_machines(context)
    note_required_crds(context)
    worker_contexts = plan_workers(context)
    pools_by_name = common_pools(context, worker_contexts)
    flavors_by_name = common_flavors(context, worker_contexts, pools_by_name)
    queue_plans = queues.plan_cluster_queues(context, pools_by_name, flavors_by_name)
    note_required_namespaces(context, queue_plans)
    cohort_plans = cohorts.plan_cohorts(context, queue_plans, pools_by_name, flavors_by_name)
    capacities = worker_capacities(context, worker_contexts, flavors_by_name.values())
    worker_shares = compute_shares((*queue_plans, *cohort_plans), capacities)
    queues_by_worker = [
        worker_queues(queue_plans, index, worker_shares, capacities) for index in range(len(worker_contexts))
    ]
    configs, checks_by_queue = configs_and_checks(worker_contexts, queues_by_worker)
    queue_plans = tuple(replace(q, admission_checks=checks_by_queue.get(q.name, ())) for q in queue_plans)
    manager = plan_cluster_fleet(
        context,
        manager_machines,
        flavors_by_name,
        queue_plans,
        cohort_plans,
        PlannedChecks(tuple(multikueue_check(config) for config in configs), ()),
        manager_allowances,
    )
    planned_per_project = _PlannedPerProject()
    manager = planned_per_project.without_planned(manager)
    workers: list[tuple[WorkerPlan, Origins]] = []
    for index, worker_context in enumerate(worker_contexts):
        worker_cohorts = [plan_worker_cohort(cohort, index, worker_shares, capacities) for cohort in cohort_plans]
        plan = _worker_fleet(
            worker_context, queues_by_worker[index], _needed_cohorts(worker_cohorts, queues_by_worker[index])
        )
        worker = _worker_plan(context, worker_context, planned_per_project.without_planned(plan))
        worker_origins = {ref: fleet_path(worker_context, path) for ref, path in worker_context.context.origins.items()}
        workers.append((worker, ChainMap(worker_origins, context.origins)))
        report_problems(context, worker_context)
    _record_origins(context, worker_contexts, configs)
    manager, reachable = reserve_manager_address(context, manager, [worker for worker, _ in workers])
    workers = [(worker, origins) for worker, (_, origins) in zip(reachable, workers, strict=True)]
    plan = replace(
        manager,
        pools=tuple(
            replace(
                pool,
                name=f"{worker.name}/{pool.name}",
                worker=worker.name,
                formerly=f"{worker.name}/{pool.formerly}" if pool.formerly else None,
            )
            for worker, _ in workers
            for pool in worker.plan.pools
        ),
        flavors=tuple(
            replace(
                flavor,
                pools=tuple(
                    f"{each.name}/{pool.name}"
                    for each in worker_contexts
                    if flavor.name in each.machines.flavors
                    for pool in each.machines.flavors[flavor.name].pools
                ),
            )
            for flavor in manager.flavors
        ),
        held=tuple(
            replace(
                held_plan,
                key=f"{worker.name}/{held_plan.key}",
                pools=tuple(f"{worker.name}/{pool}" for pool in held_plan.pools),
            )
            for worker, _ in workers
            for held_plan in worker.plan.held
        ),
        workers=tuple(worker for worker, _ in workers),
        policies=_policies(manager, [worker for worker, _ in workers]),
        multikueue_configs=configs,
        multikueue_clusters=tuple(multikueue_cluster_plan(site) for site in worker_contexts),
    )
    return plan, workers


def _policies(manager: FleetPlan, workers: Iterable[WorkerPlan]) -> PoliciesPlan | None:
    """Return the manager's policies, which let jobs mount what some worker has for pods of every team."""
    clusters = [each.plan.cluster for each in workers]
    has_volume = any(not isinstance(each, ExistingClusterPlan) and each.checkpointing is not None for each in clusters)
    if manager.policies is None or not has_volume:
        return manager.policies
    return replace(manager.policies, csi_drivers=(CHECKPOINT_DRIVER,))


def _check_no_machines(context: PlanningContext) -> None:
    spec = context.spec
    for section, entries in (
        ("pools", spec.pools),
        ("reservations", spec.reservations),
        ("computeClasses", spec.compute_classes),
    ):
        if entries:
            message = "the manager runs no jobs, because all queues send them to workers; move this to a worker"
            context.problems.fault("machines-on-manager", (section,), message)


def _record_origins(
    context: PlanningContext, worker_contexts: Sequence[WorkerContext], configs: Iterable[MultiKueueConfigPlan]
) -> None:
    """Record the paths of the manager's objects in the stack file, for messages about them."""
    for config in configs:
        context.origins["multikueue config", config.name] = context.origins["admission check", config.name] = (
            "workers",
        )
    for worker_context in worker_contexts:
        context.origins["multikueue cluster", worker_context.key] = ("workers", worker_context.name)
    for ref, path in list(context.origins.items()):
        if path[0] == "pools":
            worker_context = next(site for site in worker_contexts if path[1] in site.machines.pools)
            context.origins[ref] = fleet_path(worker_context, path)


# --- a worker ---------------------------------------------------------------------------------------------------------


def _worker_fleet(
    worker_context: WorkerContext, queue_plans: tuple[ClusterQueuePlan, ...], cohort_plans: tuple[CohortPlan, ...]
) -> FleetPlan:
    """Return a worker as a fleet: its machines, and the teams that have queues there."""
    spec = worker_context.context.spec
    served_teams = {team for queue in queue_plans for team in queue.teams}
    worker_context.context.spec = spec.model_copy(
        update={"teams": {n: t for n, t in spec.teams.items() if n in served_teams}}
    )
    names = [key.partition(".")[2] for key in (*spec.allow_replacement, *spec.allow_deletion)]
    worker_allowances = allowances(worker_context.context, names)
    worker_flavors = worker_context.machines.flavors
    queue_plans = tuple(_with_checks(worker_context, queue) for queue in queue_plans)
    plan = plan_cluster_fleet(
        worker_context.context,
        worker_context.machines,
        worker_flavors,
        queue_plans,
        cohort_plans,
        plan_checks(worker_context.context, worker_flavors),
        worker_allowances,
    )
    return plan if worker_context.spec.made_here else _without_cloud_resources(plan)


def _with_checks(worker_context: WorkerContext, queue: ClusterQueuePlan) -> ClusterQueuePlan:
    """Return the queue with the checks of the worker's flavors; protected unless the worker's cluster is not."""
    flavor_checks = queues.queue_checks([worker_context.machines.flavors[entry.flavor] for entry in queue.flavors])
    protect = queue.protect and queues.is_queue_protected(worker_context.context, queue.name)
    if (flavor_checks, protect) == (queue.admission_checks, queue.protect):
        return queue
    return replace(queue, admission_checks=flavor_checks, protect=protect)


def _without_cloud_resources(plan: FleetPlan) -> FleetPlan:
    """Return what Berth creates in an existing cluster: no machines, and no controllers."""
    return replace(
        plan,
        services=(),
        system_pool=None,
        reservations=(),
        future_reservations=(),
        pools=tuple(replace(pool, node_pools=()) for pool in plan.pools),
        charts=(),
        compute_classes=(),
        kueue=None,
        workload_policies=(),
        accelerator_networks=(),
        installers=None,
        monitoring=None,
    )


def _needed_cohorts(
    cohort_plans: Sequence[CohortPlan], queue_plans: Sequence[ClusterQueuePlan]
) -> tuple[CohortPlan, ...]:
    """Return the cohorts above a queue, and above a cohort with its own quota."""
    parents = {cohort.name: cohort.parent for cohort in cohort_plans}
    needed_names: set[str] = set()
    for start in (*(q.cohort for q in queue_plans), *(c.name for c in cohort_plans if c.resource_groups)):
        current = start
        while current is not None and current not in needed_names:
            needed_names.add(current)
            current = parents.get(current)
    return tuple(cohort for cohort in cohort_plans if cohort.name in needed_names)


def _worker_plan(context: PlanningContext, worker_context: WorkerContext, plan: FleetPlan) -> WorkerPlan:
    path: FieldPath = ("workers", worker_context.name)
    if not (worker_context.machines.pools or worker_context.context.lacks_entries("pools")):
        context.problems.fault("empty-worker", path, "has no pools, so no job is ever sent here; write pools")
    lacks_project_number = any(
        problem.code == "missing-project-number" for problem in worker_context.context.problems.entries
    )
    if lacks_project_number and plan.project != context.spec.project:
        context.problems.fault(
            "missing-project-number",
            (*path, "projectNumber"),
            f"is missing, but direct grants to teams need the number of project {plan.project}; write projectNumber",
        )
    check_reachable(context, worker_context)
    return WorkerPlan(
        name=worker_context.name,
        formerly=worker_context.spec.formerly,
        plan=replace(
            plan,
            manager_access=None if worker_context.spec.cluster_profile else worker_access_plan(context, worker_context),
        ),
        stack=worker_context.spec.stack,
        kubeconfig=worker_context.spec.kubeconfig,
        identifier=worker_context.spec.identifier,
    )


# --- what the manager shows of them -----------------------------------------------------------------------------------
