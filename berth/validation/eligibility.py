"""Check that jobs can reach what queues guarantee: by topology, labels, taints and nodes, not by quota alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from berth import catalog
from berth.diagnostics import Problems, join_quoted
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import FlavorPlan
from berth.validation.quota_claims import FleetQuotaClaims, QuotaClaim

if TYPE_CHECKING:
    from berth.placement.forms import JobForm
    from berth.placement.kueue import ResourceFlavor
    from berth.placement.node_classes import NodeClass


def check_eligibility(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report guarantees that no job can reach, and warn of queues whose flavors no single job can use.

    Only a topology bars a flavor of a plan from jobs of some form, so a fleet without one is not looked at.
    """
    plan = claims.plan
    if not plan.topologies:
        return
    from berth.nodes import fleet_nodes
    from berth.placement.forms import is_split, kueue_flavors, queue_forms
    from berth.placement.node_classes import installed_daemons, node_classes

    flavors, matched = {flavor.name: flavor for flavor in plan.flavors}, kueue_flavors(plan.flavors, plan.topologies)
    classes = () if plan.workers else node_classes(fleet_nodes(plan), daemons=installed_daemons(plan))
    reasons: dict[tuple[str, JobForm], str | None] = {}
    for queue_claims in claims.by_queue.values():
        forms = queue_forms(queue_claims[0].queue, flavors, matched)
        if is_split(forms):
            _warn_split(queue_claims, forms, plan, problems)
        for claim in queue_claims if classes else ():
            flavor = flavors[claim.flavor]
            # Topology-aware scheduling places pods on nodes that exist; only queued nodes are requested before.
            never_exists = flavor.topology is not None and all(
                pool.made_by != "others" and pool.capacity != "queued" and not pool.nodes.min
                for pool in plan.pools
                if pool.flavor == flavor.name
            )
            if claim.quota.nominal and never_exists:
                _report_from_zero(claim, flavor, problems)
            elif claim.quota.nominal:
                _check_guarantee(claim, flavor, forms[claim.flavor], matched, classes, reasons, problems)


def _check_guarantee(
    claim: QuotaClaim,
    flavor: FlavorPlan,
    forms: Iterable[JobForm],
    matched: Mapping[str, ResourceFlavor],
    classes: tuple[NodeClass, ...],
    reasons: dict[tuple[str, JobForm], str | None],
    problems: Problems,
) -> None:
    """Report a guarantee that no pod can use; `reasons` remembers the answers of other queues."""
    found: list[str] = []
    for form in forms:
        key = (flavor.name, form)
        if key not in reasons:
            reasons[key] = _unplaceable(flavor, form, matched[flavor.name], classes)
        if (reason := reasons[key]) is None:
            return
        found.append(reason)
    path = (*claim.path, "flavors", claim.index)
    amount = f"{claim.quota.nominal} {flavor.noun} of '{flavor.name}'"
    message = f"no job can use the {amount} that are guaranteed: {found[0] if found else 'Kueue gives it to no job'}"
    problems.fault(
        "unreachable-guarantee", path, f"{message}; write guaranteed: 0, or remove topologyAware from its pools"
    )


def _report_from_zero(claim: QuotaClaim, flavor: FlavorPlan, problems: Problems) -> None:
    message = (
        f"no job can use the {claim.quota.nominal} {flavor.noun} of '{flavor.name}' that are guaranteed: Kueue places "
        "jobs in a topology on nodes that exist, and none exists before a job is placed; remove topologyAware from its "
        "pools, or write a fixed number of machines or capacity: queued"
    )
    problems.fault("unreachable-guarantee", (*claim.path, "flavors", claim.index), message)


def _unplaceable(
    flavor: FlavorPlan, form: JobForm, matched: ResourceFlavor, classes: tuple[NodeClass, ...]
) -> str | None:
    """Return why one pod with one accelerator of a flavor is never placed on empty nodes; None if it may be."""
    from berth.placement.forms import smallest_pods
    from berth.placement.reasons import AssignedPods
    from berth.placement.scheduler import unplaceable_reasons
    from berth.placement.topology import assign_topology, topology_leaves

    pods = smallest_pods(flavor, form)
    nodes = None
    if matched.levels is not None:
        placed = assign_topology([pods], matched, topology_leaves(classes, matched, [pods]))
        if placed.failure:
            own = [each for each in classes if each.group.flavor == flavor.name]
            absent = [level for level in matched.levels if own and all(n.label(level).present is False for n in own)]
            return f"its nodes have no label {absent[0]}, a level of its topology" if absent else placed.failure
        nodes = placed.nodes[0]
    found = unplaceable_reasons([AssignedPods(pods, flavor.name, matched, nodes)], classes)
    if any(each.is_unknown for each in found):
        return None
    return found[0].message if found else None


def _warn_split(
    queue_claims: list[QuotaClaim], forms: Mapping[str, tuple[JobForm, ...]], plan: FleetPlan, problems: Problems
) -> None:
    """Warn of a queue whose flavors take different forms of jobs, and say how to divide it."""
    by_form: dict[tuple[JobForm, ...], list[str]] = {}
    for flavor, accepted in forms.items():
        by_form.setdefault(accepted, []).append(flavor)
    users = [f"jobs {accepted[0]} use {join_quoted(names)}" for accepted, names in by_form.items() if accepted]
    plain = [flavor for flavor in plan.flavors if flavor.name in forms and flavor.topology is None]
    pools = [pool for pool in plan.pools if pool.flavor in {flavor.name for flavor in plain}]
    machines = catalog.machines()
    can_have = [
        (pool.nodes.min == pool.nodes.max or pool.capacity == "queued")
        and pool.machine_type in machines
        and bool(machines[pool.machine_type].topology_levels)
        for pool in pools
    ]
    amounts = {claim.flavor: claim.quota.nominal for claim in queue_claims}
    entries = ", ".join(f"{{flavor: {flavor.name}, guaranteed: {amounts[flavor.name]}}}" for flavor in plain)
    name = queue_claims[0].path[-1]
    remedy = f"move {join_quoted([flavor.name for flavor in plain])} to {name}-plain: {{flavors: [{entries}]}}"
    if can_have and all(can_have):
        remedy = f"write topologyAware: true for {join_quoted([pool.name for pool in pools])}, or {remedy}"
    message = f"no job can use all flavors of this queue: {' and '.join(users)}; {remedy}"
    problems.warning("split-queue", (*queue_claims[0].path, "flavors"), message)
