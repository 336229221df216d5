"""Phrases for parts of a plan, shared by all outputs."""

from __future__ import annotations

from berth.diagnostics import join_words
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan, FleetPlan, PoolPlan, WorkerPlan
from berth.plan.node_settings import Bounds

NODES_WITHOUT_ACCOUNT = "they could no longer pull images, write logs or report metrics"
"""What nodes can no longer do once their service account is deleted."""
_MAX_NAMES = 8
"""Maximum number of names in one line."""


def pluralize(number: int, noun: str) -> str:
    """Return `1 node` or `2 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_range(bounds: Bounds) -> str:
    """Return `4` or `0–24`."""
    return str(bounds.max) if bounds.min == bounds.max else f"{bounds.min}–{bounds.max}"


def format_duration(seconds: int) -> str:
    """Return seconds as a stack file has them, in the largest unit that divides them: `90s`, `10m`, `36h` or `7d`."""
    size, unit = next((size, unit) for size, unit in _TIME_UNITS if seconds % size == 0)
    return f"{seconds // size}{unit}"


_TIME_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def abbreviate_names(names: list[str]) -> str:
    """Return names as text; of many, the first ones and the number of others (JSON has all of them)."""
    return join_words(
        names if len(names) <= _MAX_NAMES else [*names[: _MAX_NAMES - 1], f"{len(names) - _MAX_NAMES + 1} more"]
    )


def format_slices(pool: PoolPlan) -> str:
    """Return the slices of a pool, `3 × 2x4 (2 hosts)`; `–` for GPUs."""
    if pool.slices is None:
        return "–"
    return f"{format_range(pool.slices)} × {pool.topology} ({pluralize(pool.hosts_per_slice or 1, 'host')})"


def capacity_source(pool: PoolPlan) -> str:
    """Return where a pool's machines come from: `reservation r1`, `spot`, `class c1, created by GKE`."""
    description = f"reservation {pool.reservation}" if pool.reservation else pool.capacity
    description = f"class {pool.compute_class}" if pool.compute_class else description
    return f"{description}{_MADE_BY_SUFFIX[pool.made_by]}"


_MADE_BY_SUFFIX = {"berth": "", "gke": ", created by GKE", "others": ", existing"}


def cluster_summary(plan: FleetPlan) -> str:
    """Return `acme-ml-dev · us-central1 · cluster dev (standard, rapid channel)`; shorter for an existing cluster."""
    cluster = plan.cluster
    is_existing = isinstance(cluster, ExistingGkeClusterPlan)
    release_channel = None if isinstance(cluster, ExistingClusterPlan) else cluster.release_channel
    channel = [f"{release_channel.lower()} channel"] if release_channel else []
    cluster_text = f"cluster {cluster.name} ({', '.join([*(['existing'] * is_existing), cluster.mode, *channel])})"
    place = cluster.location if is_existing else plan.region
    return " · ".join(filter(None, [plan.project, place, cluster_text]))


def worker_target(worker: WorkerPlan) -> str:
    """Return where a worker is: `worker-east (us-east5)`, `stack acme/berth/far`, `by berth:far`."""
    if worker.made_here:
        return f"{worker.plan.cluster.name} ({worker.plan.region})"
    return f"stack {worker.stack}" if worker.stack else f"by berth:{worker.kubeconfig}"
