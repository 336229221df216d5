"""Short jobs that prove each pool after `pulumi up`: the accelerators that a program sees, and how fast they talk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from berth import catalog
from berth.names import shorten
from berth.nodes import NodeGroup, pool_nodes
from berth.nodes.model import NODE_POOL
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import FlavorPlan
from berth.workloads.options import WorkloadOptions
from berth.yaml_loader import load_table

_MAX_NAME = 30
_GPU_HOSTS = 2
"""Nodes of a job that measures the network between GPU nodes."""


class AcceptanceTrial(Struct, frozen=True):
    """A job for one pool in a team's queue. Of several for one pool, the first that can run is enough."""

    pool: str
    team: str
    queue: str
    options: WorkloadOptions


def acceptance_trials(
    plan: FleetPlan, pool: PoolPlan, team: str | None, queue: str | None
) -> Iterator[AcceptanceTrial]:
    """Yield jobs for one pool, the most telling first: on several GPU nodes where it has them, in each queue of it.

    `team` and `queue` limit the queues, by the names of the team and of the cluster queue or local queue.
    """
    groups = pool_nodes(plan, pool)
    if not groups or missing_image(plan, pool) is not None:
        return
    flavors = {each.name: each for each in plan.flavors}
    flavor = flavors[pool.flavor]
    images = _row(pool)["images"]
    image = images.get(groups[0].arch) or images["amd64"]
    for cluster_queue in plan.cluster_queues:
        names = [entry.flavor for entry in cluster_queue.flavors]
        if flavor.name not in names:
            continue
        only_on = _only_on(flavor, groups[0], [flavors[name] for name in names if name != flavor.name])
        for local_queue in cluster_queue.local_queues:
            if team in (None, local_queue.team) and queue in (None, local_queue.name, cluster_queue.name):
                for hosts in _hosts(pool, flavor):
                    options = _options(pool, flavor, only_on, hosts, image)
                    yield AcceptanceTrial(pool.name, local_queue.team, local_queue.name, options)


def missing_image(plan: FleetPlan, pool: PoolPlan) -> str | None:
    """Return why no image is known to run on the nodes of a pool; None if one is."""
    groups = pool_nodes(plan, pool)
    row = _row(pool)
    if not groups or groups[0].arch is None or groups[0].arch in row["images"]:
        return None
    return f"no image is known to run on its {groups[0].arch} nodes; build one, and use berth workload"


def _row(pool: PoolPlan) -> dict[str, Any]:
    return _table()["tpu" if pool.slices is not None else "gpu" if pool.accelerator else "cpu"]


def _hosts(pool: PoolPlan, flavor: FlavorPlan) -> tuple[int, ...]:
    """Return numbers of nodes to try: the hosts of a slice, two nodes and one with whole GPUs, else one."""
    if pool.slices is not None:
        return (pool.hosts_per_slice or 1,)
    is_divided = _is_divided(flavor)
    return (_GPU_HOSTS, 1) if pool.accelerator and not is_divided and pool.nodes.max >= _GPU_HOSTS else (1,)


def _is_divided(flavor: FlavorPlan) -> bool:
    """Return whether a program uses a part of a GPU: a process sees one partition, and one client of a shared GPU."""
    keys = catalog.labels()
    return keys.gpu_sharing_strategy in flavor.node_labels or keys.gpu_partition in flavor.node_labels


def _options(
    pool: PoolPlan, flavor: FlavorPlan, only_on: Mapping[str, object], hosts: int, image: str
) -> WorkloadOptions:
    """Return the options of a job on one slice, or on `hosts` nodes of a pool, in the team's own pod template."""
    is_tpu, is_gpu = pool.slices is not None, bool(pool.accelerator) and pool.slices is None
    row = _row(pool)
    name = shorten(f"accept-{pool.name.replace('/', '-')}", _MAX_NAME)
    is_divided = _is_divided(flavor)
    per_node = 1 if is_divided else pool.accelerators.max // pool.nodes.max
    environment = {
        "EXPECTED": str(per_node * hosts),
        "HOSTS": str(hosts),
        "FIRST_HOST": f"{name}-worker-0-0.{name}" if hosts > 1 else "localhost",
    }
    container = {
        "name": "main",
        "image": image,
        "command": [*row["command"], row["script"]],
        "env": [{"name": key, "value": value} for key, value in environment.items()],
    }
    spec: dict[str, object] = {**only_on, "containers": [container]}
    return WorkloadOptions(
        kind="jobset" if is_tpu or hosts > 1 else "job",
        name=name,
        flavor=flavor.name,
        pods=hosts if is_gpu and hosts > 1 else None,
        gpus=1 if is_divided else None,
        max_restarts=0,
        template={"spec": spec},
    )


def _only_on(flavor: FlavorPlan, group: NodeGroup, others: Iterable[FlavorPlan]) -> dict[str, object]:
    """Return the affinity that keeps the pods on the pool, and that lets Kueue assign no other flavor of the queue.

    Kueue compares an expression with the labels of a flavor if some flavor of the queue has its key.
    """
    expressions: list[dict[str, object]] = []
    if group.node_pools:
        expressions.append({"key": NODE_POOL, "operator": "In", "values": list(group.node_pools)})
    excluded: dict[str, set[str]] = {}
    for other in others:
        for key, value in other.node_labels.items():
            if key not in flavor.node_labels and value not in group.label(key).values:
                excluded.setdefault(key, set()).add(value)
    for key, values in sorted(excluded.items()):
        label = group.label(key)
        if label.present is False:
            expressions.append({"key": key, "operator": "DoesNotExist"})
        elif not label.is_unknown:
            expressions.append({"key": key, "operator": "NotIn", "values": sorted(values)})
    if not expressions:
        return {}
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


@cache
def _table() -> dict[str, Any]:
    return load_table(Path(__file__).with_name("acceptance.yaml"))
