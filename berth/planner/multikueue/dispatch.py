"""Plan where a manager's queues send jobs: MultiKueueConfigs, their admission checks, and MultiKueueClusters."""

from __future__ import annotations

from collections.abc import Sequence

from berth.names import MAX_LABEL, shorten
from berth.plan.admission_checks import (
    MULTIKUEUE,
    MULTIKUEUE_CONFIG,
    AdmissionCheckPlan,
    MultiKueueClusterPlan,
    MultiKueueConfigPlan,
    ParametersPlan,
)
from berth.plan.grouping import grouped
from berth.plan.kueue import ClusterQueuePlan, QueueCheckPlan
from berth.planner.multikueue.worker_access import MULTIKUEUE_ACCOUNT, kubeconfig_secret_name
from berth.planner.multikueue.worker_clusters import WorkerContext


def configs_and_checks(
    worker_contexts: Sequence[WorkerContext], queues_by_worker: Sequence[Sequence[ClusterQueuePlan]]
) -> tuple[tuple[MultiKueueConfigPlan, ...], dict[str, tuple[QueueCheckPlan, ...]]]:
    """Return a config for each set of workers that shares a queue, and the admission check of each queue."""
    workers_by_queue = grouped(
        (queue.name, worker_context.key)
        for worker_context, plans in zip(worker_contexts, queues_by_worker, strict=True)
        for queue in plans
    )
    configs: dict[tuple[str, ...], MultiKueueConfigPlan] = {}
    for workers in workers_by_queue.values():
        # Names are unique, because no worker has `--` in its name.
        parts = [] if len(workers) == len(worker_contexts) else workers
        name = shorten("--".join([MULTIKUEUE_ACCOUNT, *parts]), MAX_LABEL)
        configs[tuple(workers)] = MultiKueueConfigPlan(name=name, clusters=tuple(workers))
    checks_by_queue = {
        queue: (QueueCheckPlan(name=configs[tuple(workers)].name),) for queue, workers in workers_by_queue.items()
    }
    return tuple(sorted(configs.values(), key=lambda config: config.name)), checks_by_queue


def multikueue_check(config: MultiKueueConfigPlan) -> AdmissionCheckPlan:
    """Return the admission check of a config, which has the same name."""
    parameters = ParametersPlan(kind=MULTIKUEUE_CONFIG, name=config.name)
    return AdmissionCheckPlan(name=config.name, controller=MULTIKUEUE, parameters=parameters)


def multikueue_cluster_plan(worker_context: WorkerContext) -> MultiKueueClusterPlan:
    """Return the MultiKueueCluster of a worker, with a kubeconfig in a Secret or a ClusterProfile."""
    profile = worker_context.spec.cluster_profile
    return MultiKueueClusterPlan(
        name=worker_context.key,
        kubeconfig=None if profile else kubeconfig_secret_name(worker_context),
        profile=profile,
    )
