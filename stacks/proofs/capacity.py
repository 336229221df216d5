"""What was promised exists: accelerators behind guarantees, limits that allow them, addresses for their nodes."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import IPv4Network

from components.plan.fleet import FleetPlan
from components.plan.kueue import FlavorPlan
from stacks.problems import Path, Problems, in_words
from stacks.proofs.ledger import Ledger

_MOST_OVERSUBSCRIPTION = 100  # as the spec has it

PODS_PER_NODE_PREFIX = 24
"""GKE gives each node a /24 of the pod range at its default of 110 pods."""


def promises_are_kept(ledger: Ledger, found: Problems) -> None:
    """Σ nominal over all queues is at most what the flavor's pools can hold, times an accepted factor."""
    for flavor in ledger.plan.flavors:
        path: Path = ("flavors", flavor.name)
        held, factor = flavor.capacity.max, flavor.oversubscription
        if flavor.promised > held * Fraction(str(factor)):  # as written: in floats, 100 × 4.35 is less than 435
            found.fault("overcommitted", ("pools", flavor.pools[0]), _overcommitted(ledger, flavor))
        elif factor > 1 and flavor.promised <= held:
            message = f"'{factor:g}' is not needed: {flavor.promised} {flavor.noun} promised, {held} held; leave it out"
            found.warning("needless-oversubscription", (*path, "oversubscription"), message)
        elif factor > 1 and flavor.oversubscription_reason:
            message = (
                f"{flavor.promised} {flavor.noun} promised over {held}, accepted: {flavor.oversubscription_reason}"
            )
            found.warning("oversubscribed", (*path, "oversubscription"), message)
        if factor > 1 and flavor.promised > held and not flavor.oversubscription_reason:
            message = "is missing; an oversubscription is accepted with a reason: write reason: <why>"
            found.fault("missing-key", (*path, "reason"), message)


def _overcommitted(ledger: Ledger, flavor: FlavorPlan) -> str:
    claims = [f"{c.label} {c.quota.nominal}" for c in ledger.of_flavor.get(flavor.name, []) if c.quota.nominal]
    claims += [f"cohort {name} itself {amount}" for name, amount in ledger.own_of_cohorts(flavor.name)]
    held = (
        f"{flavor.capacity.max} at the most" if flavor.capacity.min < flavor.capacity.max else str(flavor.capacity.max)
    )
    allowed = f", times {flavor.oversubscription:g}" if flavor.oversubscription > 1 else ""
    return (
        f"flavor '{flavor.name}' guarantees {flavor.promised} {flavor.noun}, but {in_words(list(flavor.pools))} "
        f"{'holds' if len(flavor.pools) == 1 else 'hold'} {held}{allowed} ({', '.join(claims)}); guarantee less"
        f"{_or_more(flavor)}"
    )


def _or_more(flavor: FlavorPlan) -> str:
    """The other remedies: more nodes, or an oversubscription as large as may be written."""
    tenths = -(-flavor.promised * 10 // max(1, flavor.capacity.max))
    if not flavor.capacity.max or tenths > 10 * _MOST_OVERSUBSCRIPTION:
        return " or add nodes"
    accepted = f"{{oversubscription: {tenths / 10:g}, reason: <why>}}"
    return f", add nodes, or accept it: flavors.{flavor.name}: {accepted}"


def auto_provisioning_allows(ledger: Ledger, found: Problems) -> None:
    """Pools that GKE makes itself fit under the limits of auto-provisioning, which count the whole cluster."""
    plan = ledger.plan
    auto = [p for p in plan.pools if p.made_by == "gke"] if plan.cluster.mode == "standard" else []
    provisioning = plan.cluster.auto_provisioning
    limits = {limit.resource: limit.maximum for limit in provisioning.limits} if provisioning else {}
    for pool in auto:
        path: Path = ("pools", pool.name, "autoProvisioned")
        if provisioning is None:
            message = "nothing makes these nodes: write cluster.nodeAutoProvisioning with its limits"
            found.fault("no-auto-provisioning", path, message)
            continue
        limit = limits.get(pool.accelerator, 0)
        asked = sum(p.accelerators.max for p in plan.pools if p.accelerator == pool.accelerator)
        if asked > limit:
            message = (
                f"all pools of {pool.accelerator} reach {asked}, and auto-provisioning stops the cluster at {limit}; "
                f"write cluster.nodeAutoProvisioning.accelerators.{pool.accelerator}: {asked} or more"
            )
            found.fault("auto-provisioning-limit", path, message)


def addresses_suffice(ledger: Ledger, found: Problems) -> None:
    """The subnet and the pod range have room for every node at the maximum of every pool."""
    plan, network = ledger.plan, ledger.plan.cluster.network
    nodes = sum(p.nodes.max for p in plan.pools) + _most(plan)
    room = {
        "nodeCidrBlock": (network.node_range, IPv4Network(network.node_range).num_addresses - 4),
        "podCidrBlock": (
            network.pod_range,
            2 ** max(0, PODS_PER_NODE_PREFIX - IPv4Network(network.pod_range).prefixlen),
        ),
    }
    for key, (written, most) in room.items():
        if IPv4Network(written).prefixlen > PODS_PER_NODE_PREFIX and key == "podCidrBlock":
            most = 0
        if nodes > most:
            message = f"'{written}' has room for {most} nodes, and the pools reach {nodes}; write a larger range"
            found.fault("range-too-small", ("cluster", "network", key), message)


def _most(plan: FleetPlan) -> int:
    system = plan.system_pool
    if system is None:
        return 0
    return system.total_nodes.max if system.total_nodes else (system.nodes_per_zone or 0) * max(1, len(system.zones))
