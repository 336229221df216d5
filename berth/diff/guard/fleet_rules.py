"""What the guard has to know of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import classify_urn, plan_of_worker
from berth.diff.guard.preview_accounts import lost_accounts
from berth.diff.guard.preview_ranges import refused_ranges
from berth.diff.guard.preview_rules import PreviewRules
from berth.diff.guard.protected import GuardedResource
from berth.diff.guard.settings import unprotected_cluster
from berth.diff.kinds import ResourceKind
from berth.diff.resources import FieldEffect
from berth.diff.update_effects import UpdateEffect
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan

_OFF_INPUT = "deletionProtection"


class FleetPreviewRules(PreviewRules, frozen=True):
    """The rules for a fleet with this plan, and for the clusters of its workers."""

    plan: FleetPlan

    def classify(self, urn: str, inputs: Mapping[str, Any]) -> GuardedResource | None:
        """Return the cluster, pool, reservation or queue with a guarantee that a URN belongs to."""
        return classify_urn(urn, inputs, self.plan)

    def losses(self, steps: Sequence[Mapping[str, Any]]) -> Iterator[GuardedChange]:
        """Yield clusters without deletion protection, changed ranges of addresses, and lost accounts of nodes."""
        yield from self._unprotected_clusters(steps)
        yield from refused_ranges(steps, self.plan)
        yield from lost_accounts(steps, self.plan)

    def allowances_of(self, worker: str | None) -> AllowancesPlan:
        """Return the allowances of the fleet, or of one of its workers."""
        return self.plan.allowances if worker is None else plan_of_worker(self.plan, worker).allowances

    def _unprotected_clusters(self, steps: Iterable[Mapping[str, Any]]) -> Iterator[GuardedChange]:
        """Yield the remaining clusters whose deletion protection is switched off."""
        for step in steps:
            before, after = (_deletion_protection(step.get(state)) for state in ("oldState", "newState"))
            resource = self.classify(str(step["urn"]), {}) if before is True and after is False else None
            if resource is not None and resource.kind == ResourceKind.CLUSTER:
                effect = FieldEffect(_OFF_INPUT, _OFF_INPUT, before, after, UpdateEffect.UPDATE)
                change = unprotected_cluster(effect, self.allowances_of(resource.worker or None))
                yield replace(change, name=resource.name, worker=resource.worker)


def _deletion_protection(state: Mapping[str, Any] | None) -> object:
    inputs: Mapping[str, object] = (state or {}).get("inputs") or {}
    return inputs.get(_OFF_INPUT)


def fleet_rules(plan: FleetPlan) -> FleetPreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, node pools, teams, queues, priorities."""
    node_pools = sum(len(pool.node_pools) for pool in plan.own_pools)
    return FleetPreviewRules(
        1 + node_pools + len(plan.teams) + 2 * len(plan.cluster_queues) + len(plan.priorities), plan
    )
