"""Pods on machines with RDMA that do not ask for its network: they run, over the first network of their nodes."""

from __future__ import annotations

from berth.lint.fleet import SubmittedJob
from berth.lint.job_pods import list_job_pods
from berth.plan.node_settings import INTERFACES, NETWORK_RESOURCE
from berth.workloads.node_shapes import pod_networks


def check_networks(job: SubmittedJob) -> None:
    """Warn of several pods that do not name the network for RDMA that all machines of their queue have."""
    shapes = job.context.node_shapes(job.queue)
    for pods in list_job_pods(job):
        used = [each for each in shapes if pods.pod_set.requests.get(each.flavor.resource)]
        is_alone = pods.pod_set.count < 2 or not used or any(each.rdma is None for each in used)
        named = any(each.startswith(NETWORK_RESOURCE) for each in pods.pod_set.added)
        if is_alone or named or pods.pod_set.host_network:
            continue
        names = pod_networks(job.context.plan, [each.pool.name for each in used])
        message = "its pods name no network for RDMA, so they reach each other only over the node's first network"
        remedy = f"write the annotation {INTERFACES} with {', '.join(names)}, as berth workload does"
        job.warn("no-interface", pods.settings.field("containers").path, f"{message}; {remedy}")
