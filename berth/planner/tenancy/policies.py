"""Plan admission policies: which jobs are queued, for how long, and what they may have to themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from berth import catalog
from berth.plan.configuration import ConfigurationPlan
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan
from berth.plan.policies import ExclusivePlan, PoliciesPlan
from berth.plan.teams import NamespacePlan, TeamPlan
from berth.planner.queueing.admission_checks import PlannedChecks
from berth.planner.tenancy.access import job_kinds, queued_frameworks
from berth.spec.tenancy import PlatformSpec

_ELASTIC_GATE = "ElasticJobsViaWorkloadSlices"
"""Kueue's feature gate for jobs whose additional pods it admits while they run, on by default since 0.18."""


def plan_policies(
    teams: Iterable[TeamPlan],
    kueue: ConfigurationPlan | None,
    platform: PlatformSpec,
    exclusive: tuple[ExclusivePlan, ...],
    *,
    csi_drivers: tuple[str, ...] = (),
) -> PoliciesPlan | None:
    """Return the policies for these teams; None if no team has a namespace."""
    namespaces = [namespace for team in teams for namespace in team.namespaces]
    if not namespaces:
        return None
    return PoliciesPlan(
        job_kinds=job_kinds(queued_frameworks(kueue)),
        accelerators=tuple(sorted({machine.resource for machine in catalog.machines().values()})),
        shared_namespaces=tuple(sorted(each.name for each in namespaces if not each.owned)),
        serving=tuple(sorted(each.name for each in namespaces if each.serving)),
        elastic=kueue is None or kueue.feature_gates.get(_ELASTIC_GATE, True),
        shared_queues=tuple(sorted({queue.name for each in namespaces if each.owned for queue in each.shared_queues})),
        ordered_queues=tuple(
            sorted({queue.name for each in namespaces if each.owned for queue in each.shared_queues if queue.ceilings})
        ),
        exclusive=exclusive,
        mixed_queues=tuple(sorted({queue for each in namespaces if each.owned for queue in each.plain_machines})),
        audited={name: each.until for name, each in sorted(platform.policies.items()) if each.until is not None},
        csi_drivers=csi_drivers,
        limited_queues=tuple(sorted({queue for each in namespaces for queue in each.run_limits})),
        shared_run_limits=_shared_run_limits(each for each in namespaces if not each.owned),
    )


def _shared_run_limits(namespaces: Iterable[NamespacePlan]) -> dict[str, dict[str, int]]:
    """Return namespace → local queue → seconds; teams may share a namespace."""
    limits: dict[str, dict[str, int]] = {}
    for namespace in namespaces:
        if namespace.run_limits:
            limits.setdefault(namespace.name, {}).update(namespace.run_limits)
    return limits


def run_limits(queues: Iterable[ClusterQueuePlan], checks: PlannedChecks) -> dict[str, int]:
    """Return cluster queue → seconds that every queued flavor of it allows; without the queues that have none."""
    configs = {each.name: each for each in checks.provisioning_configs}
    config_of = {each.name: configs.get(each.parameters.name) for each in checks.checks if each.parameters}
    limits: dict[str, int] = {}
    for queue in queues:
        queued_configs = [
            config for check in queue.admission_checks if (config := config_of.get(check.name)) is not None
        ]
        if queued_configs:
            longest = catalog.limits().max_run_seconds
            limits[queue.name] = min(config.max_run_seconds or longest for config in queued_configs)
    return limits


def with_run_limits(
    namespaces: Iterable[NamespacePlan], team: str, queues: Iterable[ClusterQueuePlan], limits: Mapping[str, int]
) -> tuple[NamespacePlan, ...]:
    """Return a team's namespaces with the limits of its local queues there."""
    doors = [door for queue in queues if queue.name in limits for door in queue.local_queues if door.team == team]
    return tuple(
        replace(
            each,
            run_limits={
                door.name: limits[door.cluster_queue]
                for door in sorted(doors, key=lambda door: door.name)
                if door.namespace == each.name
            },
        )
        for each in namespaces
    )


def exclusive_domains(pools: Iterable[PoolPlan], flavors: Mapping[str, FlavorPlan]) -> tuple[ExclusivePlan, ...]:
    """Return the node labels of each accelerator's domains, with the selectors of their machines.

    Where all machines of an accelerator have such a domain, every selector will do, and none is listed. What machines
    no table knows have is unknown, so it is not refused.
    """
    keys = catalog.exclusive_keys()
    domains: dict[str, dict[str, set[str]]] = {}
    known = [pool for pool in pools if pool.flavor in flavors]
    for flavor in flavors.values():
        if all(pool.flavor != flavor.name for pool in known):
            domains.setdefault(flavor.resource, {})[flavor.name] = set(catalog.exclusive_keys())
    for pool in known:
        domains.setdefault(pool.resource, {}).setdefault(pool.flavor, set()).update(_domains(pool))
    return tuple(
        ExclusivePlan(key=key, resource=resource, selectors=_selectors(key, of_flavors, flavors))
        for resource, of_flavors in sorted(domains.items())
        if resource != catalog.CPU
        for key in sorted({key for each in of_flavors.values() for domain in each for key in keys[domain]})
    )


def _domains(pool: PoolPlan) -> set[str]:
    machine = catalog.machines().get(pool.machine_type)
    if machine is None:
        return set(catalog.exclusive_keys())
    is_slice = (pool.hosts_per_slice or 1) > 1
    found = (("node", True), ("slice", is_slice), ("domain", machine.domain_topology is not None))
    return {domain for domain, has in found if has}


def _selectors(
    key: str, domains: Mapping[str, set[str]], flavors: Mapping[str, FlavorPlan]
) -> tuple[Mapping[str, str], ...]:
    of_key = {domain for domain, keys in catalog.exclusive_keys().items() if key in keys}
    fitting = [name for name, each in sorted(domains.items()) if each & of_key]
    if len(fitting) == len(domains):
        return ()
    return tuple(flavors[name].node_labels for name in fitting)
