"""Plan dashboards and alerts of a cluster of others, for Cloud Monitoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from berth.diagnostics import Problem, format_value
from berth.monitoring.metrics import MANAGED
from berth.names import is_gke_name
from berth.parts.context import finds_every_fault, part_problems
from berth.parts.queues import described_context, queues_part
from berth.plan.monitoring import BackendPlan, MonitoringPlan
from berth.planner.cluster.gke import resource_labels
from berth.planner.machines.node_pools import plan_pools
from berth.planner.machines.pools import derive_pools
from berth.planner.monitoring import monitoring
from berth.planner.queueing.flavors import plan_flavors
from berth.planner.queueing.quota_tree import QuotaTree
from berth.planner.tenancy.teams import plan_teams

_OF_FLEETS: Final = ("project", "labels", "pools", "flavors", "kueue", "cohorts", "teams")
"""Arguments that are keys of a fleet."""
_CLUSTER_NAME: Final = "lower-case letters, digits and '-', starting with a letter, at most 40 characters"


class ViewsPart(Struct, frozen=True):
    """Dashboards and alerts with the Google Cloud labels of the latter; incomplete with a fault in `problems`."""

    monitoring: MonitoringPlan
    labels: Mapping[str, str]
    problems: tuple[Problem, ...]

    @property
    def managed(self) -> BackendPlan:
        """The dashboards and alerts of Cloud Monitoring, the only backend."""
        assert self.monitoring.managed is not None
        return self.monitoring.managed


@finds_every_fault
def plan_views(name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()) -> ViewsPart:
    """Plan the views of the queues, capacity and devices that the `pools`, `cohorts` and `teams` have.

    Pools have the names of their NodePools, and are described by the same arguments. The `cluster` is known by name.
    """
    own = {key: value for key, value in arguments.items() if key not in ("cluster", *_OF_FLEETS)}
    sections: dict[str, Any] = {key: arguments[key] for key in _OF_FLEETS if key in arguments}
    sections["monitoring"] = {**own, "backends": [MANAGED]}
    path = ("monitoring",)
    stack = str(arguments.get("cluster", name))
    context = described_context(stack, sections, path, known_problems, cluster_of_others=False)
    if "cluster" in arguments and not is_gke_name(stack):
        message = f"'{format_value(stack)}' is not the name of a cluster: {_CLUSTER_NAME}"
        context.problems.fault("bad-value", (*path, "cluster"), message)
    pools = derive_pools(context, {})
    flavors = plan_flavors(context, pools)
    part = queues_part(context, pools, flavors)
    tree = QuotaTree.shared(part.cluster_queues, part.cohorts, {each.name: each.resource for each in part.flavors})
    teams = plan_teams(context, part.cluster_queues, tree, flavors)
    pool_plans = plan_pools(
        context, pools, {pool.name: each.name for each in flavors.values() for pool in each.pools}, ()
    )
    views = monitoring(context, pool_plans, part.flavors, part.cohorts, part.cluster_queues, teams)
    assert views is not None  # its backend is set above
    return ViewsPart(views, resource_labels(context), part_problems(context.problems.entries, path))
