"""Words for what a plan holds, the same wherever people read them."""

from __future__ import annotations

from berth.diagnostics import in_words
from berth.plan.fleet import FleetPlan, PoolPlan, WorkerPlan
from berth.plan.gke import ClusterPlan
from berth.plan.nodes import Bounds

_MANY = 8
"""More names than a person reads in a line."""


def many(number: int, what: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def span(bounds: Bounds) -> str:
    """`4`, or `0–24`."""
    return str(bounds.max) if bounds.min == bounds.max else f"{bounds.min}–{bounds.max}"


def some(names: list[str]) -> str:
    """Names in words; of many, the first ones and how many more (the JSON has them all)."""
    return in_words(names if len(names) <= _MANY else [*names[: _MANY - 1], f"{len(names) - _MANY + 1} more"])


def shape(pool: PoolPlan) -> str:
    """The slices of a pool, `3 × 2x4 (2 hosts)`; `–` for GPUs."""
    if pool.slices is None:
        return "–"
    return f"{span(pool.slices)} × {pool.topology} ({many(pool.hosts_per_slice or 1, 'host')})"


def source(pool: PoolPlan) -> str:
    """Where a pool's machines come from: `reservation r1`, `spot`, `class c1, made by GKE`."""
    how = f"reservation {pool.reservation}" if pool.reservation else pool.capacity
    how = f"class {pool.compute_class}" if pool.compute_class else how
    return f"{how}{_MADE[pool.made_by]}"


_MADE = {"berth": "", "gke": ", made by GKE", "others": ", there already"}


def whereabouts(plan: FleetPlan) -> str:
    """`acme-ml-dev · us-central1 · cluster dev (standard, rapid channel)`; of an existing cluster what is known."""
    cluster = plan.cluster
    channel = [f"{cluster.release_channel.lower()} channel"] if isinstance(cluster, ClusterPlan) else []
    named = f"cluster {cluster.name} ({', '.join([cluster.mode, *channel])})"
    return " · ".join(filter(None, [plan.project, plan.region, named]))


def reached(worker: WorkerPlan) -> str:
    """Where a worker is: `worker-east (us-east5)`, `stack acme/berth/far`, `by berth:far`."""
    if worker.made_here:
        return f"{worker.plan.cluster.name} ({worker.plan.region})"
    return f"stack {worker.stack}" if worker.stack else f"by berth:{worker.kubeconfig}"
