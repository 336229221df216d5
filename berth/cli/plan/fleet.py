"""The plan of a fleet as the JSON of docs/plan.md."""

from __future__ import annotations

from typing import Any

from berth.cli import prices as costs
from berth.cost.fleet import FleetCost
from berth.evaluate import Evaluation
from berth.manifests.quantities import quantity
from berth.overview.calendar import calendar_as_json
from berth.overview.fleet import most_borrowed, priority_machine, provisioning_model, spot_part
from berth.overview.forms import form_ceilings
from berth.plan.capacity import CapacityBufferPlan, HeldPlan
from berth.plan.compute_classes import ComputeClassPlan
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan, FleetPlan, PoolPlan, WorkerPlan
from berth.plan.gke import ClusterPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan, QuotaPlan
from berth.plan.node_settings import Bounds
from berth.plan.teams import TeamPlan
from berth.planner.queueing.quota_tree import QuotaTree, largest_jobs


def fleet_plan_as_json(evaluation: Evaluation, cost: FleetCost | None = None) -> dict[str, Any]:
    """Return the plan, its problems and its cost, if given, as JSON values; without a plan, lists are empty."""
    plan = evaluation.fleet_plan
    priced = {"cost": costs.cost_as_json(cost)} if cost else {}
    clusters = [plan, *(worker.plan for worker in plan.workers if worker.made_here)] if plan else []
    return {
        "stack": evaluation.stack,
        "clusters": [_cluster(p) for p in clusters],
        "reservations": [_reservation(each) for each in plan.held] if plan else [],
        "pools": [_pool(p) for p in plan.pools] if plan else [],
        "flavors": _flavors(plan) if plan else [],
        "cohorts": _cohorts(plan) if plan else [],
        "computeClasses": [_compute_class(c) for p in clusters for c in p.compute_classes],
        "clusterQueues": _cluster_queues(plan) if plan else [],
        "teams": [_team(t) for t in plan.teams] if plan else [],
        "networks": [each for p in clusters for each in _networks(p)],
        "workers": [_worker(each) for each in plan.workers] if plan else [],
        "calendar": calendar_as_json(plan) if plan else [],
        **priced,
        "leftOut": list(evaluation.left_out),
        "problems": [p.as_json() for p in evaluation.problems],
    }


def _cluster(plan: FleetPlan) -> dict[str, Any]:
    cluster = plan.cluster
    saved = None if isinstance(cluster, ExistingClusterPlan) else cluster.checkpointing
    checkpointing = saved and {
        "bucket": saved.bucket,
        "machineType": saved.machine_type,
        "inMemoryVolumeSize": quantity("memory", saved.memory),
    }
    existing_cluster = cluster if isinstance(cluster, ExistingClusterPlan) else None
    channel = None if isinstance(cluster, ExistingClusterPlan) else cluster.release_channel
    return {
        "name": cluster.name,
        "project": plan.project,
        "location": cluster.location if isinstance(cluster, ExistingGkeClusterPlan) else plan.region,
        "existing": not isinstance(cluster, ClusterPlan),
        "mode": cluster.mode,
        "releaseChannel": channel.lower() if channel else None,
        "version": None if isinstance(cluster, ExistingClusterPlan) else cluster.version,
        "checkpointing": checkpointing,
        "kubeconfig": existing_cluster.kubeconfig if existing_cluster else None,
        "context": existing_cluster.context if existing_cluster else None,
    }


def _pool(pool: PoolPlan) -> dict[str, Any]:
    return {
        "name": pool.name,
        "machineType": pool.machine_type,
        "topology": pool.topology,
        "slices": pool.slices.max if pool.slices else None,
        "hostsPerSlice": pool.hosts_per_slice,
        "nodes": bounds_as_json(pool.nodes),
        "accelerators": bounds_as_json(pool.accelerators),
        "resource": pool.resource,
        "capacity": pool.capacity,
        "computeClass": pool.compute_class,
        "reservation": pool.reservation,
        "madeBy": pool.made_by,
        "zones": list(pool.zones),
        "flavor": pool.flavor,
        "nodePools": [n.name for n in pool.node_pools],
    }


def bounds_as_json(interval: Bounds) -> dict[str, int]:
    """Return a range of counts as JSON values, `{min, max}`."""
    return {"min": interval.min, "max": interval.max}


def _flavors(plan: FleetPlan) -> list[dict[str, Any]]:
    borrowed = most_borrowed(plan)
    return [_flavor(plan, each, borrowed.get(each.name, 0)) for each in plan.flavors]


def _flavor(plan: FleetPlan, flavor: FlavorPlan, may_borrow: int) -> dict[str, Any]:
    return {
        "name": flavor.name,
        "resource": flavor.resource,
        "capacity": bounds_as_json(flavor.capacity),
        "guaranteed": flavor.promised,
        "guaranteedSpot": spot_part(plan, flavor.name, flavor.promised),
        "mayBorrow": may_borrow,
        "pods": flavor.pods,
        "unit": flavor.unit,
        "spare": flavor.spare,
        "oversubscription": flavor.oversubscription,
        "nodeLabels": dict(flavor.node_labels),
        "pools": list(flavor.pools),
        "topologyName": flavor.topology,
    }


def _cluster_queues(plan: FleetPlan) -> list[dict[str, Any]]:
    by_queue: dict[str, list[dict[str, Any]]] = {}
    for each in form_ceilings(plan):
        by_queue.setdefault(each.queue, []).append({"form": each.form, "ceiling": each.ceiling})
    return [_cluster_queue(queue, by_queue.get(queue.name, [])) for queue in plan.cluster_queues]


def _cluster_queue(queue: ClusterQueuePlan, form_ceilings_of: list[dict[str, Any]]) -> dict[str, Any]:
    preemption = queue.preemption
    return {
        "name": queue.name,
        "teams": list(queue.teams),
        "cohort": queue.cohort,
        "strategy": queue.queueing_strategy,
        "priority": queue.priority,
        "preemption": {
            "withinClusterQueue": preemption.within_cluster_queue,
            "reclaimWithinCohort": preemption.reclaim_within_cohort,
            "borrowWithinCohort": preemption.borrow_within_cohort or "Never",
        },
        "quotas": [_quota(entry.flavor, quota) for entry in queue.flavors for quota in entry.quotas],
        "formCeilings": form_ceilings_of,
    }


def _team(team: TeamPlan) -> dict[str, Any]:
    return {
        "name": team.name,
        "state": team.settings.state,
        "namespaces": [place.name for place in team.namespaces],
        "queues": sorted({local_queue.name for local_queue in team.local_queues}),
        "guaranteed": dict(team.guaranteed),
        "ceiling": dict(team.ceiling),
        "capacityBuffers": [_buffer(each) for each in team.buffers],
    }


def _buffer(buffer: CapacityBufferPlan) -> dict[str, Any]:
    settings = buffer.settings
    return {
        "name": buffer.name,
        "namespace": buffer.namespace,
        "pool": buffer.pool,
        "provisioningStrategy": settings.provisioning_strategy,
        "unit": {each: quantity(each, amount) for each, amount in sorted(buffer.requests.items())},
        "replicas": settings.replicas,
        "percentage": settings.percentage,
        "units": buffer.units,
        "nodes": buffer.nodes,
    }


def _reservation(reservation: HeldPlan) -> dict[str, Any]:
    """Return an entry of `reservations[]` (docs/plan.md)."""
    return {
        "name": reservation.key,
        "reservation": reservation.name,
        "existing": reservation.existing,
        "project": reservation.project,
        "block": reservation.block,
        "subBlock": reservation.sub_block,
        "machineType": reservation.machine_type,
        "zone": reservation.zone,
        "count": reservation.count,
        "chips": reservation.chips,
        "start": reservation.start,
        "end": reservation.end,
        "mode": reservation.mode,
        "delivered": reservation.delivered,
        "pools": list(reservation.pools),
    }


def _cohorts(plan: FleetPlan) -> list[dict[str, Any]]:
    """Return every cohort as JSON values (docs/plan.md), by name."""
    tree, capacities = QuotaTree.from_plan(plan), {f.name: f.capacity.max for f in plan.flavors}
    return [
        {
            "name": cohort.name,
            "parent": cohort.parent,
            "fairShareWeight": cohort.fair_share_weight,
            "guaranteed": {flavor: node.guaranteed for flavor, node in sorted(tree.cohort_nodes(cohort.name).items())},
            "ceiling": {
                f: min(node.ceiling, capacities[f]) for f, node in sorted(tree.cohort_nodes(cohort.name).items())
            },
            "quotas": [_quota(entry.flavor, each) for entry in cohort.flavors for each in entry.quotas],
        }
        for cohort in plan.cohorts
    ]


def _quota(flavor: str, plan: QuotaPlan) -> dict[str, Any]:
    """Return a quota of a queue or cohort as JSON values."""
    return {
        "flavor": flavor,
        "resource": plan.resource,
        "nominal": plan.nominal,
        "borrowingLimit": plan.borrowing_limit,
        "lendingLimit": plan.lending_limit,
    }


def _compute_class(plan: ComputeClassPlan) -> dict[str, Any]:
    """Return a compute class as JSON values (docs/plan.md)."""
    return {
        "name": plan.name,
        "whenUnsatisfiable": plan.when_unsatisfiable,
        "priorities": [
            {"accelerator": priority_machine(p), "capacity": provisioning_model(p), "zones": list(p.zones)}
            for p in plan.priorities
        ],
    }


def _networks(plan: FleetPlan) -> list[dict[str, Any]]:
    """Return a record for each interface, by set of networks, in the order of the node's interfaces."""
    return [
        {
            "set": networks.key,
            "network": vpc.name,
            "subnetwork": subnet.name,
            "ipRange": subnet.ip_range,
            "device": subnet.device,
            "deviceMode": subnet.device_mode,
            "pools": list(plan.pools_on(networks.key)),
        }
        for networks in plan.accelerator_networks
        for vpc in networks.vpcs
        for subnet in vpc.subnets
    ]


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
                "quotas": [_quota(entry.flavor, quota) for entry in queue.flavors for quota in entry.quotas],
            }
            for queue in worker.plan.cluster_queues
        ],
    }
