"""Plan the admission policies of a cluster: which jobs are queued, and what only their pods may request."""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.plan.configuration import ConfigurationPlan
from berth.plan.policies import ExclusivePlan, PoliciesPlan
from berth.plan.teams import NamespacePlan, TeamPlan
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
