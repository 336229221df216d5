"""Workers in `berth plan`: capacity, share of the guarantees, and the largest job of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from berth.cli.plan import cohorts
from berth.cli.tables import table
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.planner.queueing.quota_tree import largest_jobs
from berth.text import worker_target


def as_json(plan: FleetPlan) -> list[dict[str, Any]]:
    """Return every worker as JSON values (docs/plan.md), by name."""
    return [_worker(worker) for worker in plan.workers]


def _worker(worker: WorkerPlan) -> dict[str, Any]:
    largest = largest_jobs(worker.plan)
    return {
        "name": worker.name,
        "cluster": worker.plan.cluster.name if worker.made_here else None,
        "stack": worker.stack,
        "kubeconfig": worker.kubeconfig,
        "flavors": [
            {
                "name": flavor.name,
                "capacity": {"min": flavor.capacity.min, "max": flavor.capacity.max},
                "guaranteed": flavor.promised,
                "largestJob": largest.get(flavor.name, 0),
            }
            for flavor in worker.plan.flavors
        ],
        "clusterQueues": [
            {
                "name": queue.name,
                "quotas": [
                    cohorts.quota_as_json(entry.flavor, quota) for entry in queue.flavors for quota in entry.quotas
                ],
            }
            for queue in worker.plan.cluster_queues
        ],
    }


def text(plan: FleetPlan) -> str:
    """Return a table with a row for each flavor of each worker; "" without workers."""
    rows = [row for worker in plan.workers for row in _rows(worker)]
    head = ["Workers", "cluster", "flavor", "accelerators", "guaranteed", "largest job"]
    return table(head, rows, right=(4, 5)) if rows else ""


def _rows(worker: WorkerPlan) -> Iterator[list[str]]:
    plan, largest = worker.plan, largest_jobs(worker.plan)
    names = [worker.name, worker_target(worker)]
    for flavor in plan.flavors:
        capacity = f"{flavor.capacity.max} {flavor.noun}"
        yield [*names, flavor.name, capacity, str(flavor.promised), str(largest.get(flavor.name, 0) or "–")]
        names = ["", ""]
