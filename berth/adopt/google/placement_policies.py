"""Read what only the answer on a placement policy has: the topology of slices, and who connects their chips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth import catalog
from berth.adopt.api_objects import ApiObject, last_segment, mapping_at, value_at
from berth.plan.dynamic_slices import PROVISION_ONLY

_BY_POLICY = "workload_policy_high_throughput"
"""How hosts form a slice where the policy has the topology (a column of the table of machines)."""
_SLICE_CONTROLLER = "addonsConfig.sliceControllerConfig.enabled"


def policy_of(node_pool: ApiObject) -> str:
    """Return the name of a node pool's placement policy, "" if it has none."""
    return last_segment(str(value_at(node_pool, "placementPolicy.policyName") or ""))


def with_topology(node_pool: ApiObject, policies: Mapping[str, ApiObject]) -> ApiObject:
    """Return a node pool with the topology that only its policy has; as it is, if the policy has none."""
    topology = value_at(policies.get(policy_of(node_pool), {}), "workloadPolicy.acceleratorTopology")
    if not topology or not _names_only_policy(node_pool):
        return node_pool
    return {**node_pool, "placementPolicy": {**mapping_at(node_pool, "placementPolicy"), "tpuTopology": topology}}


def is_provision_only(node_pool: ApiObject, policies: Mapping[str, ApiObject]) -> bool:
    """Return whether a controller connects the chips of a node pool, as the mode of its policy says."""
    mode = value_at(policies.get(policy_of(node_pool), {}), "workloadPolicy.acceleratorTopologyMode")
    return mode == PROVISION_ONLY and _mode_label(node_pool) is not None


def unknown_policies(
    cluster: ApiObject, node_pools: Sequence[ApiObject], policies: Mapping[str, ApiObject], region: str
) -> Iterator[str]:
    """Yield a line for each node pool with a policy that no answer has and that alone says what its slices are."""
    connects = bool(value_at(cluster, _SLICE_CONTROLLER))
    for node_pool in node_pools:
        policy = policy_of(node_pool)
        if not policy or policy in policies:
            continue
        if _names_only_policy(node_pool):
            unknown = f"states no topology, so that of placement policy '{policy}' counts, and no answer has it"
        elif connects and _mode_label(node_pool) is not None:
            unknown = (
                "has fixed slices, or those that the cluster's slice controller connects, as the mode of placement "
                f"policy '{policy}' says, and no answer has it"
            )
        else:
            continue
        yield (
            f"node pool '{node_pool['name']}' {unknown}; add the answer of gcloud compute resource-policies list "
            f"--filter region:{region} --format json"
        )


def _mode_label(node_pool: ApiObject) -> str | None:
    """Return the label of nodes whose chips a controller connects; None for machines that have no such nodes."""
    machine = catalog.machines().get(str(value_at(node_pool, "config.machineType")))
    slicing = catalog.slicing_of(machine) if machine is not None else None
    return slicing.mode_label if slicing is not None else None


def _names_only_policy(node_pool: ApiObject) -> bool:
    """Return whether a policy, and no field of the node pool, says how many of its hosts form a slice."""
    machine = catalog.machines().get(str(value_at(node_pool, "config.machineType")))
    is_by_policy = machine is not None and machine.multi_host_placement == _BY_POLICY
    return is_by_policy and bool(policy_of(node_pool)) and not value_at(node_pool, "placementPolicy.tpuTopology")
