"""A manager and its workers (MultiKueue): queues promise on the manager, and jobs run where machines are.

Each queue has one admission check, which names the workers that can run its jobs. Those have the same namespaces and
queues, with their share of the quotas.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import Path
from berth.names import LABEL, shorten
from berth.plan.admission_checks import (
    MULTIKUEUE,
    MULTIKUEUE_CONFIG,
    AdmissionCheckPlan,
    MultiKueueClusterPlan,
    MultiKueueConfigPlan,
    ParametersPlan,
)
from berth.plan.allowances import AllowancesPlan
from berth.plan.capacity import HeldPlan
from berth.plan.fleet import FleetPlan, PoolPlan, WorkerPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QueueCheckPlan
from berth.planner.allowances import allowances
from berth.planner.cluster_fleet import Machines, cluster_fleet
from berth.planner.context import Draft
from berth.planner.multikueue.quota_shares import cohort_on, queues_on, shares
from berth.planner.multikueue.worker_access import (
    ACCOUNT,
    access_plan,
    kinds_are_there,
    namespaces_are_there,
    reached,
    secret,
)
from berth.planner.multikueue.worker_clusters import Site, common_flavors, common_pools, held, placed, sites, tell
from berth.planner.queueing import cohorts, queues
from berth.planner.queueing.admission_checks import checks

Origins = Mapping[tuple[str, str], Path]


class _Done(Struct):
    """What is seen to once in each project, whatever clusters there are: APIs, people's view, rights of teams' pods."""

    services: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    viewed: set[str] = field(default_factory=set[str])
    granted: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def rest(self, plan: FleetPlan) -> FleetPlan:
        """A plan without what is seen to already; it counts as seen to then."""
        project = plan.project or ""
        seen = self.services.setdefault(project, set())
        services = tuple(api for api in plan.services if api not in seen)
        seen.update(services)
        access = plan.access and replace(plan.access, in_project=project not in self.viewed)
        if access:
            self.viewed.add(project)
        teams = tuple(
            replace(team, identity=replace(team.identity, granted=False))
            if team.identity and (project, team.name) in self.granted
            else team
            for team in plan.teams
        )
        self.granted.update((project, team.name) for team in teams)
        return replace(plan, services=services, access=access, teams=teams)


def managed(
    draft: Draft, here: Machines, allowed: AllowancesPlan
) -> tuple[FleetPlan, list[tuple[WorkerPlan, Origins]]]:
    """The manager's plan with its workers', and where each worker's things come from."""
    _nothing_runs_here(draft)
    kinds_are_there(draft)
    found = sites(draft)
    known = common_pools(draft, found)
    kinds = common_flavors(draft, found, known)
    asked = queues.cluster_queues(draft, known, kinds)
    namespaces_are_there(draft, asked)
    shared = cohorts.cohorts(draft, asked, known, kinds)
    holds = held(draft, found, kinds.values())
    parts = shares((*asked, *shared), holds)
    on = [queues_on(asked, index, parts, holds) for index in range(len(found))]
    configs, check_of = _checks(found, on)
    asked = tuple(replace(q, admission_checks=check_of.get(q.name, ())) for q in asked)
    manager = cluster_fleet(draft, here, kinds, asked, shared, (tuple(_check(c) for c in configs), ()), allowed)
    done = _Done()
    manager = done.rest(manager)
    workers: list[tuple[WorkerPlan, Origins]] = []
    for index, site in enumerate(found):
        above = [cohort_on(cohort, index, parts, holds) for cohort in shared]
        plan = _fleet(site, on[index], _needed(above, on[index]))
        worker = _worker(draft, site, done.rest(plan))
        own = {thing: placed(site, path) for thing, path in site.draft.origins.items()}
        workers.append((worker, ChainMap(own, draft.origins)))
        tell(draft, site)
    _origins_of(draft, found, configs)
    plan = replace(
        manager,
        pools=tuple(_listed(worker.name, pool) for worker, _ in workers for pool in worker.plan.pools),
        flavors=tuple(replace(f, pools=tuple(_pools_of(found, f.name))) for f in manager.flavors),
        held=tuple(_reserved(worker.name, each) for worker, _ in workers for each in worker.plan.held),
        workers=tuple(worker for worker, _ in workers),
        multikueue_configs=configs,
        multikueue_clusters=tuple(_cluster(site) for site in found),
    )
    return plan, workers


def _nothing_runs_here(draft: Draft) -> None:
    spec = draft.spec
    for section, entries in (
        ("pools", spec.pools),
        ("reservations", spec.reservations),
        ("computeClasses", spec.compute_classes),
    ):
        if entries:
            message = "jobs of every queue are sent to workers, and none would run here; write them in a worker"
            draft.problems.fault("machines-on-manager", (section,), message)


# --- where queues send to ---------------------------------------------------------------------------------------------


def _checks(
    found: Sequence[Site], on: Sequence[Sequence[ClusterQueuePlan]]
) -> tuple[tuple[MultiKueueConfigPlan, ...], dict[str, tuple[QueueCheckPlan, ...]]]:
    """A config for each set of workers that some queue is on, and for each queue the check that is called like its."""
    where: dict[str, list[str]] = {}
    for site, those in zip(found, on, strict=True):
        for queue in those:
            where.setdefault(queue.name, []).append(site.name)
    configs = {tuple(workers): _config(workers, len(workers) == len(found)) for workers in where.values()}
    check_of = {queue: (QueueCheckPlan(name=configs[tuple(workers)].name),) for queue, workers in where.items()}
    return tuple(sorted(configs.values(), key=lambda config: config.name)), check_of


def _config(workers: Sequence[str], everywhere: bool) -> MultiKueueConfigPlan:
    """No worker has `--` in its name, so no two sets are called the same."""
    name = ACCOUNT if everywhere else shorten("--".join([ACCOUNT, *workers]), LABEL)
    return MultiKueueConfigPlan(name=name, clusters=tuple(workers))


def _check(config: MultiKueueConfigPlan) -> AdmissionCheckPlan:
    parameters = ParametersPlan(kind=MULTIKUEUE_CONFIG, name=config.name)
    return AdmissionCheckPlan(name=config.name, controller=MULTIKUEUE, parameters=parameters)


def _cluster(site: Site) -> MultiKueueClusterPlan:
    profile = site.spec.cluster_profile
    return MultiKueueClusterPlan(name=site.name, kubeconfig=None if profile else secret(site), profile=profile)


def _origins_of(draft: Draft, found: Sequence[Site], configs: Iterable[MultiKueueConfigPlan]) -> None:
    """Where the manager's things come from, for whoever finds fault with them."""
    for config in configs:
        draft.origins["multikueue config", config.name] = draft.origins["admission check", config.name] = ("workers",)
    for site in found:
        draft.origins["multikueue cluster", site.name] = ("workers", site.name)
    for thing, path in list(draft.origins.items()):
        if path[0] == "pools":
            site = next(site for site in found if path[1] in site.here.pools)
            draft.origins[thing] = placed(site, path)


# --- a worker ---------------------------------------------------------------------------------------------------------


def _fleet(site: Site, asked: tuple[ClusterQueuePlan, ...], shared: tuple[CohortPlan, ...]) -> FleetPlan:
    """The worker as a fleet: its machines, and the teams that have queues there."""
    spec = site.draft.spec
    served = {team for queue in asked for team in queue.teams}
    site.draft.spec = spec.model_copy(update={"teams": {n: t for n, t in spec.teams.items() if n in served}})
    names = [key.partition(".")[2] for key in (*spec.allow_replacement, *spec.allow_deletion)]
    allowed = allowances(site.draft, names)
    kinds = site.here.flavors
    asked = tuple(_with_checks(site, queue) for queue in asked)
    plan = cluster_fleet(site.draft, site.here, kinds, asked, shared, checks(site.draft, kinds), allowed)
    return plan if site.spec.made_here else _only_inside(plan)


def _with_checks(site: Site, queue: ClusterQueuePlan) -> ClusterQueuePlan:
    """The queue with the checks of the worker's flavors, and protected unless the worker's own cluster is not."""
    checks = queues.checks_of([site.here.flavors[entry.flavor] for entry in queue.flavors])
    protect = queue.protect and queues.queue_protected(site.draft, queue.name)
    if (checks, protect) == (queue.admission_checks, queue.protect):
        return queue
    return replace(queue, admission_checks=checks, protect=protect)


def _only_inside(plan: FleetPlan) -> FleetPlan:
    """What Berth makes in a cluster that exists: who made it has made its machines and controllers."""
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


def _needed(shared: Sequence[CohortPlan], asked: Sequence[ClusterQueuePlan]) -> tuple[CohortPlan, ...]:
    """The cohorts above a queue, or above a quota of a cohort's own."""
    parents = {cohort.name: cohort.parent for cohort in shared}
    wanted: set[str] = set()
    for start in (*(q.cohort for q in asked), *(c.name for c in shared if c.resource_groups)):
        step = start
        while step is not None and step not in wanted:
            wanted.add(step)
            step = parents.get(step)
    return tuple(cohort for cohort in shared if cohort.name in wanted)


def _worker(draft: Draft, site: Site, plan: FleetPlan) -> WorkerPlan:
    path: Path = ("workers", site.name)
    if not site.here.pools and not any(section == "pools" for section, _ in site.draft.set_aside):
        draft.problems.fault("empty-worker", path, "holds nothing, so no job is ever sent here; write pools")
    numberless = any(problem.code == "missing-project-number" for problem in site.draft.problems.found)
    if numberless and plan.project != draft.spec.project:
        message = f"is missing; direct grants to teams name project {plan.project} by its number: write projectNumber"
        draft.problems.fault("missing-project-number", (*path, "projectNumber"), message)
    reached(draft, site)
    return WorkerPlan(
        name=site.name,
        plan=replace(plan, manager_access=None if site.spec.cluster_profile else access_plan(draft, site)),
        stack=site.spec.stack,
        kubeconfig=site.spec.kubeconfig,
    )


# --- what the manager shows of them -----------------------------------------------------------------------------------


def _listed(worker: str, pool: PoolPlan) -> PoolPlan:
    former = f"{worker}/{pool.formerly}" if pool.formerly else None
    return replace(pool, name=f"{worker}/{pool.name}", worker=worker, formerly=former)


def _reserved(worker: str, plan: HeldPlan) -> HeldPlan:
    return replace(plan, key=f"{worker}/{plan.key}", pools=tuple(f"{worker}/{pool}" for pool in plan.pools))


def _pools_of(found: Sequence[Site], flavor: str) -> Iterable[str]:
    for site in found:
        if flavor in site.here.flavors:
            yield from (f"{site.name}/{pool.name}" for pool in site.here.flavors[flavor].pools)
