"""What a fleet needs of each quota, counted a second time by hand."""

from __future__ import annotations

from typing import Any

import pytest

from berth.plan.fleet import FleetPlan
from berth.quota.machines import cluster_machines
from berth.quota.required import RequiredQuota, required_quotas
from tests import small_fleets
from tests.small_fleets import ZONE, fleet_with
from tests.stack_files import every_stack, plan

Needs = dict[tuple[str, str], tuple[int, int, int]]


def needs(quotas: tuple[RequiredQuota, ...]) -> Needs:
    """Location and metric → minimum, maximum, and what an upgrade adds."""
    return {(q.location, q.metric.name): (q.minimum, q.maximum, q.upgrade) for q in quotas}


def _small(changes: dict[str, Any]) -> FleetPlan:
    """The plan of the small fleet with changes."""
    return small_fleets.plan(fleet_with(changes))


def test_the_quotas_of_a_small_fleet() -> None:
    """3 slices of two ct5lp-hightpu-4t, 4 g2-standard-24 (2 L4, 24 vCPUs), 1 to 6 e2-standard-4: disks of 100 GB."""
    result = needs(required_quotas(_small({})))
    region = {name: amounts for (place, name), amounts in result.items() if place == "us-central1"}
    assert region == {
        "TPU_LITE_PODSLICE_V5": (24, 24, 0),
        "NVIDIA_L4_GPUS": (8, 8, 2),
        "CPUS": (4 * 24 + 4, 4 * 24 + 6 * 4, 24),
        "INSTANCES": (6 + 4 + 1, 6 + 4 + 6, 1),
        "SSD_TOTAL_GB": (1100, 1600, 100),
        "INSTANCE_GROUPS": (3 + 1 + 3, 3 + 1 + 3, 0),
        "INSTANCE_GROUP_MANAGERS": (7, 7, 0),
    }
    assert result["global", "GPUS_ALL_REGIONS"] == (8, 8, 2)
    assert result["global", "CPUS_ALL_REGIONS"] == (100, 120, 24)


def test_batch_platform_needs_about_what_its_source_tells_users_to_request() -> None:
    """The source: 60 L4, 30 A100 and 600 CPUs. docs/quota.md explains each difference."""
    values = {name: amounts for (_, name), amounts in needs(required_quotas(plan("batch-platform"))).items()}
    assert values["NVIDIA_L4_GPUS"] == (4 * 2, (4 + 24) * 2, 2)
    assert values["PREEMPTIBLE_NVIDIA_L4_GPUS"] == (0, 36 * 2, 2)
    assert values["PREEMPTIBLE_NVIDIA_A100_GPUS"] == (0, 8 * 1 + 10 * 2, 0)
    assert values["PREEMPTIBLE_NVIDIA_H100_GPUS"] == (0, 8, 0)
    assert values["CPUS"] == (4 * 24 + 6 * 4, (4 + 24) * 24 + 6 * 4, 24)
    assert values["PREEMPTIBLE_CPUS"] == (0, 36 * 24 + 8 * 12 + 10 * 24 + 208, 24)
    assert values["GPUS_ALL_REGIONS"] == (8, 56 + 72 + 28 + 8, 2)
    assert values["ACTIVE_RESIZE_REQUESTS"] == (0, 11, 0)


@pytest.mark.parametrize(
    ("capacity", "metric", "minimum"),
    [
        ("on-demand", "NVIDIA_L4_GPUS", 8),
        ("spot", "PREEMPTIBLE_NVIDIA_L4_GPUS", 8),
        ({"reservation": "r"}, "NVIDIA_L4_GPUS", 8),
    ],
)
def test_the_capacity_type_decides_the_quota(capacity: object, metric: str, minimum: int) -> None:
    changes: dict[str, Any] = {"pools.l4.capacity": capacity}
    if isinstance(capacity, dict):
        changes["reservations"] = {"r": {"machineType": "g2-standard-24", "zone": ZONE, "count": 4}}
    result = needs(required_quotas(_small(changes)))
    assert result["us-central1", metric][0] == minimum
    assert {name for _, name in result if "NVIDIA" in name} - {metric, "COMMITTED_NVIDIA_L4_GPUS"} == set()


def test_a_reservation_counts_once_and_its_pool_only_vms_and_disks() -> None:
    """4 reserved machines of which the pool uses 2: the quota of GPUs is for 4, INSTANCES for 2."""
    result = needs(
        required_quotas(
            _small(
                {
                    "reservations": {"r": {"machineType": "g2-standard-24", "zone": ZONE, "count": 4}},
                    "pools.l4.capacity": {"reservation": "r"},
                    "pools.l4.nodes": 2,
                    "teams.vision.queues.urgent.flavors": [{"pool": "l4", "guaranteed": 2}],
                    "teams.speech.queues.serve.flavors": [{"pool": "l4", "guaranteed": 2}],
                }
            )
        )
    )
    assert result["us-central1", "NVIDIA_L4_GPUS"] == (8, 8, 0)
    assert result["us-central1", "INSTANCES"] == (6 + 2 + 1, 6 + 2 + 6, 1)
    assert result["us-central1", "RESERVATIONS"] == (1, 1, 0)


def test_rules_of_a_compute_class_share_one_quota() -> None:
    """8 nodes of 8 H100 by reservation, flex-start or spot: 64 GPUs in all, not three times as many."""
    values = {name: amounts for (_, name), amounts in needs(required_quotas(plan("dws-autoprovisioned"))).items()}
    assert values["PREEMPTIBLE_NVIDIA_H100_GPUS"] == (0, 64, 0)
    assert values["GPUS_ALL_REGIONS"] == (0, 64 + 128, 0)
    assert values["INSTANCES"] == (1, 8 + 64 + 16 + 6, 1)


def test_workers_of_a_manager_count_in_their_own_regions() -> None:
    result = needs(required_quotas(plan("multikueue")))
    family = "GPUS_PER_GPU_FAMILY gpu_family=NVIDIA_H100"
    assert result["us-central1", family] == (64, 64, 0)
    assert result["us-east5", family] == (32, 32, 0)
    assert result["global", "GPUS_ALL_REGIONS"] == (96 + 16, 96 + 16, 8)
    assert result["global", "NETWORKS"] == (3, 3, 0)
    assert result["us-central1", "STATIC_ADDRESSES"] == (1, 1, 0), "the address of the manager's NAT"


def test_a_described_cluster_needs_no_quota() -> None:
    assert required_quotas(plan("local")) == ()


@every_stack
def test_no_quota_is_counted_twice_and_none_is_below_its_minimum(stack: str) -> None:
    quotas = required_quotas(plan(stack))
    keys = [(q.project, q.location, q.metric.name) for q in quotas]
    assert len(keys) == len(set(keys))
    assert all(0 <= q.minimum <= q.maximum and q.maximum > 0 for q in quotas)


@every_stack
def test_all_nodes_of_a_plan_are_machines(stack: str) -> None:
    """A second count over the pools of the plan, without the ways of compute classes."""
    the_plan = plan(stack)
    pools = [pool for pool in the_plan.own_pools if pool.compute_class is None and pool.made_by != "others"]
    counted = [m for m in cluster_machines(the_plan) if m.is_running and m.source.startswith("pools.")]
    if pools:
        assert sum(pool.nodes.max for pool in pools) == sum(machines.nodes.max for machines in counted)
