"""From a capacity to node pools, flavors and checks: what follows from it is derived, and never a choice."""

from __future__ import annotations

from typing import Any

import pytest

from berth.plan.admission_checks import RetryPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import Bounds
from berth.planner import plan_fleet
from berth.spec.parse import parse_fleet


def planned(pool: dict[str, Any], queue: dict[str, Any] | None = None, **more: Any) -> FleetPlan:
    """The plan of a fleet of one pool, and of one queue that is guaranteed all of it."""
    flavors = [{"pool": "p", "guaranteed": "all"}]
    fleet = {
        "project": "acme-dev", "region": "us-central1", "pools": {"p": pool},
        "teams": {"t": {"queues": {"q": {"flavors": flavors, **(queue or {})}}}}, **more,
    }  # fmt: skip
    result = plan_fleet("dev", parse_fleet(fleet))
    assert result is not None
    assert [p.line() for p in result.problems if p.severity == "fault"] == []
    return result.plan


def only(plan: FleetPlan) -> NodePoolPlan:
    (pool,) = plan.pools[0].node_pools
    return pool


def test_a_queued_pool_scales_from_zero_and_is_never_repaired() -> None:
    """A repair would break a job that has all its nodes, and a kept idle node would cost money."""
    pool = only(planned({"machineType": "g2-standard-24", "nodes": {"max": 10}, "capacity": "queued"}))
    assert (pool.queued, pool.auto_repair, pool.total_nodes) == (True, False, Bounds(min=0, max=10))
    assert pool.reservation is None and pool.affinity is None
    assert pool.labels["cloud.google.com/gke-queued"] == "true"


def test_a_queue_requests_queued_machines_by_its_admission_check() -> None:
    """Without the check Kueue would admit jobs to machines that were never requested."""
    plan = planned(
        {"machineType": "g2-standard-24", "nodes": {"max": 10}, "capacity": {"queued": {"maxRunDuration": "2h"}}}
    )
    (check,), (config,) = plan.admission_checks, plan.provisioning_configs
    assert check.parameters is not None and check.parameters.name == config.name
    assert (config.parameters, config.max_run_seconds) == ({}, 7200) and config.managed_resources == ("nvidia.com/gpu",)
    (request,) = plan.cluster_queues[0].admission_checks
    assert (request.name, request.on_flavors) == (check.name, ("p",))


def test_a_check_binds_only_the_flavors_that_are_queued() -> None:
    """Reserved machines come first in such a queue, without an admission check."""
    pools = {
        "reserved": {"machineType": "g2-standard-24", "nodes": 2, "capacity": {"reservation": "r"}},
        "queued": {"machineType": "g2-standard-24", "nodes": {"max": 4}, "capacity": "queued"},
    }
    fleet = {
        "project": "acme-dev", "region": "us-central1", "pools": pools,
        "reservations": {"r": {"machineType": "g2-standard-24", "zone": "us-central1-a", "count": 2}},
        "teams": {"t": {"queues": {"q": {"flavors": [{"pool": p, "guaranteed": "all"} for p in pools]}}}},
    }  # fmt: skip
    result = plan_fleet("dev", parse_fleet(fleet))
    assert result is not None
    (request,) = result.plan.cluster_queues[0].admission_checks
    assert request.on_flavors == ("queued",)


def test_flex_start_machines_live_as_long_as_is_written() -> None:
    pool = only(
        planned(
            {"machineType": "g2-standard-24", "nodes": {"max": 4}, "capacity": {"flexStart": {"maxRunDuration": "36h"}}}
        )
    )
    assert (pool.flex_start, pool.queued, pool.max_run_seconds) == (True, False, 36 * 3600)


def test_flex_start_machines_have_a_default_run_duration() -> None:
    """Seven days, the longest that DWS gives: the plan then says what GKE does."""
    pool = only(planned({"machineType": "g2-standard-24", "nodes": {"max": 4}, "capacity": "flex-start"}))
    assert pool.max_run_seconds == 7 * 24 * 3600


def test_flex_start_slices_are_bounded_in_their_zone() -> None:
    """The provider's bounds for the whole pool break flex-start of TPUs (GKE docs: DWS)."""
    plan = planned({
        "machineType": "ct6e-standard-4t", "topology": "4x4", "slices": {"max": 2}, "zone": "us-central1-a",
        "capacity": "flex-start",
    })  # fmt: skip
    assert [(n.zone_nodes, n.total_nodes) for n in plan.pools[0].node_pools] == [(Bounds(min=0, max=4), None)] * 2


def test_tpu7x_slices_of_one_topology_share_a_workload_policy() -> None:
    """Their hosts are wired by a policy of Compute Engine, which the placement names beside the topology."""
    plan = planned({"machineType": "tpu7x-standard-4t", "topology": "4x4x4", "slices": 2, "zone": "us-central1-c"})
    (policy,) = plan.workload_policies
    assert policy.accelerator_topology == "4x4x4"
    for pool in plan.pools[0].node_pools:
        assert pool.placement is not None
        assert (pool.placement.policy, pool.placement.tpu_topology) == (policy.name, "4x4x4")


@pytest.mark.parametrize(
    ("options", "each"),
    [
        ({}, 8),
        ({"gpuPartition": "1g.10gb"}, 8 * 7),
        ({"gpuSharing": {"maxSharedClients": 4}}, 8 * 4),
        ({"gpuPartition": "3g.40gb", "gpuSharing": {"maxSharedClients": 2}}, 8 * 2 * 2),
    ],
)
def test_quota_counts_what_jobs_can_ask_for(options: dict[str, Any], each: int) -> None:
    """GPUs × partitions × clients: a node offers that many of `nvidia.com/gpu`, and cpu is shared out among them."""
    plan = planned({"machineType": "a3-highgpu-8g", "nodes": {"max": 3}, "capacity": "spot", **options})
    quotas = {q.resource: q.nominal for q in plan.cluster_queues[0].flavors[0].quotas}
    assert plan.flavors[0].capacity.max == 3 * each == quotas["nvidia.com/gpu"]
    assert 3 * 208_000 <= quotas["cpu"] < 3 * 208_000 + each * 3


def test_an_existing_reservation_is_used_and_not_created() -> None:
    """Whose it is decides who may delete it."""
    reservation = {
        "machineType": "a4-highgpu-8g", "zone": "us-central1-b", "count": 2, "existing": True, "name": "dense",
        "project": "other-project", "block": "b1", "subBlock": "s1",
    }  # fmt: skip
    plan = planned(
        {"machineType": "a4-highgpu-8g", "nodes": 2, "capacity": {"reservation": "r"}}, reservations={"r": reservation}
    )
    assert plan.reservations == ()
    path = "projects/other-project/reservations/dense/reservationBlocks/b1/reservationSubBlocks/s1"
    assert only(plan).reservation == path


def test_tpu_reservations_are_treated_as_existing() -> None:
    """They are bought as totals, which Compute Engine's reservations cannot say (GKE docs: consuming reservations)."""
    reservation = {"machineType": "ct5p-hightpu-4t", "zone": "us-central1-a", "count": 2, "name": "bought"}
    pool = {"machineType": "ct5p-hightpu-4t", "topology": "2x2x2", "slices": 1, "capacity": {"reservation": "r"}}
    assert planned(pool, reservations={"r": reservation}).reservations == ()


def test_a_held_queue_is_held() -> None:
    plan = planned(
        {"machineType": "g2-standard-24", "nodes": {"max": 4}}, {"stopPolicy": "Hold", "fairShareWeight": 2.0}
    )
    assert (plan.cluster_queues[0].stop_policy, plan.cluster_queues[0].fair_share_weight) == ("Hold", 2.0)


def test_a_check_is_configured_as_written() -> None:
    """The retry strategy, pod sets and managed resources are Kueue's own keys, and go there as they are."""
    queued = {
        "retryStrategy": {"backoffLimitCount": 5, "backoffBaseSeconds": 120},
        "podSetMergePolicy": "IdenticalPodTemplates", "managedResources": ["nvidia.com/gpu", "example.com/nic"],
    }  # fmt: skip
    plan = planned({"machineType": "g2-standard-24", "nodes": {"max": 10}, "capacity": {"queued": queued}})
    (config,) = plan.provisioning_configs
    assert config.retry == RetryPlan(limit_count=5, base_seconds=120, max_seconds=1800)
    assert config.merge_policy == "IdenticalPodTemplates"
    assert config.managed_resources == ("nvidia.com/gpu", "example.com/nic")


def test_a_range_with_equal_ends_is_a_range() -> None:
    """A range that keeps three nodes has a least, and no fixed count."""
    pool = {"machineType": "g2-standard-24", "capacity": "queued", "zone": "us-central1-a"}
    values = {
        str(nodes): plan_fleet(
            "dev",
            parse_fleet({"project": "acme-dev", "region": "us-central1", "pools": {"p": {**pool, "nodes": nodes}}}),
        )
        for nodes in (3, {"min": 3, "max": 3})
    }
    output = {
        nodes: [p.message[:25] for p in each.problems if p.code == "dws-static"]
        for nodes, each in values.items()
        if each
    }
    assert output == {"3": ["a fixed number of 3 nodes"], "{'min': 3, 'max': 3}": ["a minimum of '3' nodes is"]}
