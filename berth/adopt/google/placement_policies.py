"""Read the topology of slices whose node pools name only a placement policy: the answer on the policy has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth import catalog
from berth.adopt.api_objects import ApiObject, last_segment, mapping_at, value_at

_BY_POLICY = "workload_policy_high_throughput"
"""How hosts form a slice where the policy has the topology (a column of the table of machines)."""


def policy_of(node_pool: ApiObject) -> str:
    """Return the name of a node pool's placement policy, "" if it has none."""
    return last_segment(str(value_at(node_pool, "placementPolicy.policyName") or ""))


def with_topology(node_pool: ApiObject, policies: Mapping[str, ApiObject]) -> ApiObject:
    """Return a node pool with the topology that only its policy has; as it is, if the policy has none."""
    topology = value_at(policies.get(policy_of(node_pool), {}), "workloadPolicy.acceleratorTopology")
    if not topology or not _names_only_policy(node_pool):
        return node_pool
    return {**node_pool, "placementPolicy": {**mapping_at(node_pool, "placementPolicy"), "tpuTopology": topology}}


def unknown_topologies(
    node_pools: Sequence[ApiObject], policies: Mapping[str, ApiObject], region: str
) -> Iterator[str]:
    """Yield a line for each node pool whose topology stands only in a policy that no answer has."""
    for node_pool in node_pools:
        policy = policy_of(node_pool)
        if _names_only_policy(node_pool) and policy not in policies:
            yield (
                f"node pool '{node_pool['name']}' states no topology, so that of placement policy '{policy}' counts, "
                "and no answer has it; add the answer of gcloud compute resource-policies list --filter "
                f"region:{region} --format json"
            )


def _names_only_policy(node_pool: ApiObject) -> bool:
    """Return whether a policy, and no field of the node pool, says how many of its hosts form a slice."""
    machine = catalog.machines().get(str(value_at(node_pool, "config.machineType")))
    is_by_policy = machine is not None and machine.multi_host_placement == _BY_POLICY
    return is_by_policy and bool(policy_of(node_pool)) and not value_at(node_pool, "placementPolicy.tpuTopology")
