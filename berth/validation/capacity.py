"""Check that guarantees have accelerators, provisioning limits allow them, and their nodes have addresses."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import IPv4Network
from math import ceil

from berth.catalog import DEFAULT_MAX_PODS
from berth.diagnostics import FieldPath, Problems, join_words
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.plan.gke import ClusterPlan, ExistingNetworkPlan
from berth.plan.kueue import FlavorPlan
from berth.text import pluralize
from berth.validation.quota_claims import FleetQuotaClaims, FleetQuotas, QuotaClaims

_MAX_OVERSUBSCRIPTION = 100  # the maximum in the stack file's schema


def check_guarantees(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Report flavors whose guarantees exceed the capacity of their pools times the accepted oversubscription."""
    for flavor in claims.plan.flavors:
        if _is_overcommitted(flavor):
            problems.fault("overcommitted", _largest_claim_path(claims, flavor), _overcommitted_message(claims, flavor))


def _is_overcommitted(flavor: FlavorPlan) -> bool:
    # exact: in floats, 100 × 4.35 is less than 435
    return flavor.promised > flavor.shared * Fraction(str(flavor.oversubscription))


def check_reserved_guarantees(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report guarantees above a reservation whose pools can together grow above it, which each flavor alone fits."""
    pools = {pool.name: pool for pool in claims.plan.pools}
    for held in (each for each in claims.plan.held if each.may_overlap):
        needed, reserved = Fraction(0), Fraction(held.chips or held.count or 0)
        flavors = [each for each in claims.plan.flavors if set(each.pools) & set(held.pools)]
        for flavor in flavors:
            own = [pools[name] for name in flavor.pools]
            others = sum(each.accelerators.max for each in own if each.name not in held.pools)
            machines = [each for each in own if each.name in held.pools and each.nodes.max]
            need = max(Fraction(0), flavor.promised / Fraction(str(flavor.oversubscription)) - others)
            per_node = max((Fraction(each.accelerators.max, each.nodes.max) for each in machines), default=Fraction(1))
            needed += need if held.chips is not None else need / per_node
        if needed > reserved and len(flavors) > 1:
            noun = "machines" if held.chips is None else "chips"
            names = join_words([flavor.name for flavor in flavors])
            message = (
                f"flavors {names} guarantee {ceil(needed)} {noun} of reservation '{held.key}', which has {reserved}; "
                "guarantee less"
            )
            problems.fault("overcommitted", ("reservations", held.key, "acceptOverlap"), message)


def warn_oversubscription(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Warn of oversubscription that is accepted, and of one that is not needed."""
    for flavor in claims.plan.flavors:
        path: FieldPath = ("flavors", flavor.name)
        capacity, factor = flavor.shared, flavor.oversubscription
        if _is_overcommitted(flavor):
            continue
        if factor > 1 and flavor.promised <= capacity:
            message = (
                f"'{factor:g}' is not needed: {flavor.promised} of {capacity} {flavor.noun} are guaranteed; "
                "remove oversubscription"
            )
            problems.warning("needless-oversubscription", (*path, "oversubscription"), message)
        elif factor > 1 and flavor.oversubscription_reason:
            message = (
                f"{flavor.promised} {flavor.noun} are guaranteed with only {capacity} in the pools; accepted with the "
                f"reason: '{flavor.oversubscription_reason}'"
            )
            problems.accepted_risk("oversubscribed", (*path, "oversubscription"), message)
        if factor > 1 and flavor.promised > capacity and not flavor.oversubscription_reason:
            message = "is missing, but an oversubscription needs one; write reason: <why>"
            problems.fault("missing-key", (*path, "reason"), message)


def _largest_claim_path(claims: QuotaClaims[FleetQuotas], flavor: FlavorPlan) -> FieldPath:
    """Return the path of the entry that claims the most of a flavor; of several, the last one.

    A pull request that adds a claim then has the fault at a line of its own.
    """
    by_amount: list[tuple[int, FieldPath]] = [
        (amount, ("cohorts", name, "flavors")) for name, amount in claims.cohort_quotas(flavor.name)
    ]
    by_amount += [
        (claim.quota.nominal, (*claim.path, "flavors", claim.index, "guaranteed"))
        for claim in claims.by_flavor.get(flavor.name, [])
    ]
    return max(enumerate(by_amount), key=lambda entry: (entry[1][0], entry[0]))[1][1]


def _overcommitted_message(claims: QuotaClaims[FleetQuotas], flavor: FlavorPlan) -> str:
    claim_texts = [f"{c.label} {c.quota.nominal}" for c in claims.by_flavor.get(flavor.name, []) if c.quota.nominal]
    claim_texts += [f"cohort {name} itself {amount}" for name, amount in claims.cohort_quotas(flavor.name)]
    pools, is_one = join_words(list(flavor.pools)), len(flavor.pools) == 1
    upper_bound = "at most " if flavor.capacity.min < flavor.capacity.max else ""
    factor = f", times {flavor.oversubscription:g}" if flavor.oversubscription > 1 else ""
    spare = f", of which {_amount(flavor, flavor.spare)} are spare" if flavor.spare else ""
    return (
        f"flavor '{flavor.name}' guarantees {_amount(flavor, flavor.promised, flavor.noun)}, but "
        f"{'pool' if is_one else 'pools'} {pools} {'has' if is_one else 'have'} "
        f"{upper_bound}{_amount(flavor, flavor.capacity.max)}{spare}{factor}: "
        f"{', '.join(claim_texts)}; guarantee less"
        f"{_remedies(flavor)}"
    )


def _amount(flavor: FlavorPlan, accelerators: int, noun: str = "") -> str:
    """Return an amount with the number of slices where the flavor consists of slices: `24 v5e chips (3 slices)`."""
    text = f"{accelerators} {noun}".rstrip()
    unit, word = (flavor.unit, "slice") if flavor.slicing is None else (flavor.slicing.block_chips, "sub-block")
    is_whole = unit > 1 and accelerators % unit == 0
    return f"{text} ({pluralize(accelerators // unit, word)})" if is_whole else text


def _remedies(flavor: FlavorPlan) -> str:
    """Return the other remedies: more machines, or the least oversubscription that is enough."""
    machines = "slices" if flavor.unit > 1 else "nodes"
    more = f"add {machines} to {f'pool {flavor.pools[0]}' if len(flavor.pools) == 1 else 'one of the pools'}"
    tenths = -(-flavor.promised * 10 // max(1, flavor.shared))
    if not flavor.shared or tenths > 10 * _MAX_OVERSUBSCRIPTION:
        return f", or {more}"
    accepted = f"{{oversubscription: {tenths / 10:g}, reason: <why>}}"
    return f", {more}, or accept it: flavors.{flavor.name}: {accepted}"


def check_provisioning_limits(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report pools that exceed the limits of auto-provisioning, which apply to the whole cluster."""
    plan, cluster = claims.plan, claims.plan.cluster
    if isinstance(cluster, ExistingClusterPlan):
        return
    gke_pools = [p for p in plan.pools if p.made_by == "gke"] if cluster.mode == "standard" else []
    provisioning = cluster.auto_provisioning
    limits = {limit.resource: limit.maximum for limit in provisioning.limits} if provisioning else {}
    for pool in gke_pools:
        path: FieldPath = ("pools", pool.name, "computeClass" if pool.compute_class else "autoProvisioned")
        if provisioning is None and pool.compute_class is None:
            message = (
                "auto-provisioning is off, so these nodes are never created; write cluster.nodeAutoProvisioning with "
                "its limits"
            )
            problems.fault("no-auto-provisioning", path, message)
        if provisioning is None:
            continue
        limit = limits.get(pool.accelerator, 0)
        requested = sum(p.accelerators.max for p in plan.pools if p.accelerator == pool.accelerator)
        if requested > limit:
            message = (
                f"the pools with {pool.accelerator} can have {requested} in all, but "
                f"auto-provisioning creates at most {limit}; "
                f"write cluster.nodeAutoProvisioning.accelerators.{pool.accelerator}: {requested} or more"
            )
            problems.fault("auto-provisioning-limit", path, message)


def check_provisioning_room(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report limits of cpu and memory below what the nodes of minimum sizes and guarantees have.

    The system pool is not counted, because its machine type is not in the catalog. The limits of an existing cluster
    are a fact that Berth cannot change, so they are a warning there.
    """
    plan, cluster = claims.plan, claims.plan.cluster
    if isinstance(cluster, ExistingClusterPlan) or cluster.mode != "standard" or cluster.auto_provisioning is None:
        return
    provisioning = cluster.auto_provisioning
    limits = {limit.resource: limit.maximum for limit in provisioning.limits}
    for resource, unit in (("cpu", "cores"), ("memory", "GB")):
        requested = sum(_node_resources(plan, flavor, resource) for flavor in plan.flavors)
        standby = _standby_resources(plan, resource)
        requested += standby
        if requested > limits[resource]:
            also = f", with {standby} {unit} of standby buffers," if standby else ","
            message = (
                f"'{limits[resource]}' {unit} is less than the {requested} {unit} of the nodes that guarantees and "
                f"minimum sizes need{also} without the system pool; write max: {requested} or more"
            )
            report = problems.fault if isinstance(cluster, ClusterPlan) else problems.warning
            report("auto-provisioning-limit", ("cluster", "nodeAutoProvisioning", resource), message)


def _node_resources(plan: FleetPlan, flavor: FlavorPlan, resource: str) -> int:
    """Return the cores or GB of the nodes that a flavor guarantees, assuming its machine type with the most of them."""
    pools = [pool for pool in plan.pools if pool.flavor == flavor.name and pool.accelerators.max]
    count = max(flavor.capacity.min, min(flavor.promised, flavor.capacity.max))
    rates = [
        Fraction(pool.vcpu if resource == "cpu" else pool.memory_gb) * pool.nodes.max / pool.accelerators.max
        for pool in pools
    ]
    return ceil(count * max(rates, default=Fraction(0)))


def _standby_resources(plan: FleetPlan, resource: str) -> int:
    """Return the cores or GB that standby buffers keep, which count as those of other nodes."""
    per_unit = 1000 if resource == "cpu" else 2**30
    standby = [each for team in plan.teams for each in team.buffers if each.is_standby]
    return ceil(sum(Fraction(each.requests.get(resource, 0) * (each.units or 0), per_unit) for each in standby))


def check_addresses(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report a subnet or pod range without room for every node at the maximum size of all pools."""
    plan, cluster = claims.plan, claims.plan.cluster
    if not isinstance(cluster, ClusterPlan) or isinstance(cluster.network, ExistingNetworkPlan):
        return  # the ranges are not known
    network = cluster.network
    nodes = sum(p.nodes.max for p in plan.pools) + _max_system_nodes(plan)
    max_nodes = IPv4Network(network.node_range).num_addresses - 4
    if nodes > max_nodes:
        message = too_few_nodes(f"'{network.node_range}'", max_nodes, "the pools", nodes)
        problems.fault("range-too-small", ("cluster", "network", "nodeCidrBlock"), message)
    blocks = [(_max_system_nodes(plan), pod_block_size(None))]
    for pool in plan.pools:
        pods_per_node = next((node_pool.settings.max_pods_per_node for node_pool in pool.node_pools), None)
        blocks.append((pool.nodes.max, pod_block_size(pods_per_node)))
    required, available = sum(count * block for count, block in blocks), IPv4Network(network.pod_range).num_addresses
    if required > available and {block for _, block in blocks} == {pod_block_size(None)}:
        max_pod_nodes = available // pod_block_size(None)
        message = too_few_nodes(f"'{network.pod_range}'", max_pod_nodes, "the pools", nodes)
        problems.fault("range-too-small", ("cluster", "network", "podCidrBlock"), message)
    elif required > available:
        message = f"'{network.pod_range}' has {available} addresses, but the pods of all nodes need {required}"
        remedy = "write a larger range, or fewer maxPodsPerNode"
        problems.fault("range-too-small", ("cluster", "network", "podCidrBlock"), f"{message}; {remedy}")


def too_few_nodes(ip_range: str, room: int, pools: str, nodes: int) -> str:
    """Return the message for an address range with room for fewer nodes than the pools can have."""
    return f"{ip_range} has room for {room} nodes, but {pools} can have {nodes}; write a larger range"


def pod_block_size(pods: int | None) -> int:
    """Return the addresses that GKE gives a node for its pods: twice the maximum, rounded up to a power of two.

    None is GKE's default of 110 pods.
    """
    return 2 ** (2 * (pods or DEFAULT_MAX_PODS) - 1).bit_length()


def _max_system_nodes(plan: FleetPlan) -> int:
    system = plan.system_pool
    if system is None:
        return 0
    return system.total_nodes.max if system.total_nodes else (system.nodes_per_zone or 0) * max(1, len(system.zones))


_RESERVED_ADDRESSES = 4
"""Addresses that Google Cloud reserves in every subnet."""


def check_accelerator_addresses(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report sets of networks that are too small: each node uses one address of every subnet of its set."""
    path: FieldPath = ("cluster", "network", "acceleratorCidrBlock")
    for networks in claims.plan.accelerator_networks:
        pools = claims.plan.pools_on(networks.key)
        nodes = sum(pool.nodes.max for pool in claims.plan.pools if pool.name in pools)
        smallest = min(
            (subnet for vpc in networks.vpcs for subnet in vpc.subnets), key=lambda s: _max_nodes(s.ip_range)
        )
        if nodes > _max_nodes(smallest.ip_range):
            subnet = f"subnet {smallest.ip_range} of '{networks.key}'"
            message = too_few_nodes(subnet, _max_nodes(smallest.ip_range), join_words(list(pools)), nodes)
            problems.fault("range-too-small", path, message)


def _max_nodes(ip_range: str) -> int:
    return IPv4Network(ip_range).num_addresses - _RESERVED_ADDRESSES
