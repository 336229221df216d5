"""Workload policies: how accelerators of several nodes are wired to each other."""

from __future__ import annotations

from berth.plan.capacity import WorkloadPolicyPlan
from berth.registration import Registration, without_none


def workload_policy(plan: WorkloadPolicyPlan) -> Registration:
    """Return a Compute Engine resource policy with a workload policy."""
    return Registration(
        type="gcp:compute/resourcePolicy:ResourcePolicy",
        arguments={
            "name": plan.name,
            "region": plan.region,
            "workload_policy": without_none(
                {
                    "type": "HIGH_THROUGHPUT",
                    "accelerator_topology": plan.accelerator_topology,
                    "accelerator_topology_mode": plan.topology_mode,
                }
            ),
        },
        delete_before_replace=True,  # the name is fixed
    )
