"""Whether the pods of a job reach each other over NVLink: ComputeDomains, the channels that pods claim, one domain.

A ComputeDomain has nodes of one NVLink domain. NVIDIA's DRA driver makes a ResourceClaimTemplate from it, by which pods
claim the one channel of their node (kubernetes-sigs/dra-driver-nvidia-gpu, release 25.8).
"""

from __future__ import annotations

from berth.jobs.claims import ClaimTemplate
from berth.lint.job_pods import JobPods
from berth.plan.kueue import CHANNEL_CLASS
from berth.workloads.node_shapes import NodeShape

_REQUIRED = "kueue.x-k8s.io/podset-required-topology"


def domain_shapes(pods: JobPods) -> list[NodeShape]:
    """List the nodes of the queue's NVLink domains that pods could be placed on, by their requests."""
    shapes = pods.submitted.context.node_shapes(pods.submitted.queue)
    return [each for each in shapes if each.domain_nodes and pods.pod_set.requests.get(each.flavor.resource)]


def check_domain(pods: JobPods) -> None:
    """Report a ComputeDomain that no NVLink domain can be, and pods of several nodes that use no NVLink."""
    shapes = domain_shapes(pods)
    if not shapes:
        return
    job = pods.submitted
    claims, namespace = job.context.claims, job.local_queue.namespace
    domains = [
        (claim, known)
        for claim in pods.pod_set.claims
        if (known := claims.templates.get((namespace, claim.name))) is not None and CHANNEL_CLASS in known.devices
    ]
    for claim, known in domains:
        if (message := _size_fault(pods, known, shapes[0])) is not None:
            pods.at(claim.path).fault("bad-domain", message)
    if domains:
        _warn_spread(pods, shapes)
    elif all(claims.templates.get((namespace, claim.name)) for claim in pods.pod_set.claims):
        _warn_without(pods, shapes)


def _size_fault(pods: JobPods, known: ClaimTemplate, shape: NodeShape) -> str | None:
    count, most, nodes = pods.pod_set.count, shape.domain_nodes, known.domain_nodes
    domain = f"an NVLink domain of {shape.pool.machine_type} has {most} nodes"
    if count > most:
        return (
            f"{domain}, and {count} pods claim a channel of one; write at most {most} pods, and a job for each domain"
        )
    if nodes is not None and nodes > most:
        return f"{domain}, and numNodes of the ComputeDomain is {nodes}; write numNodes: {count}"
    if nodes and nodes != count:
        return f"numNodes of the ComputeDomain is {nodes}, and {count} pods claim its channels; write numNodes: {count}"
    return None


def _warn_spread(pods: JobPods, shapes: list[NodeShape]) -> None:
    """Warn of pods that Kueue may spread over several domains."""
    level, request = shapes[0].domain_level, pods.pod_set.topology
    of_fleet = pods.submitted.context.plan.topologies
    levels = next((each.levels for each in of_fleet if each.name == shapes[0].flavor.topology), ())
    if pods.pod_set.count < 2 or len({each.pool.name for each in shapes}) < 2 or level not in levels:
        return
    within = levels[levels.index(level) :]
    if request is None or request.required not in within:
        message = "nothing keeps its pods in one NVLink domain, and those in another have no NVLink to them"
        remedy = f"write the annotation {_REQUIRED}: {level}"
        pods.submitted.warn("no-claim", pods.settings.field("containers").path, f"{message}; {remedy}")


def _warn_without(pods: JobPods, shapes: list[NodeShape]) -> None:
    channels = shapes[0].flavor.channels
    number = pods.pod_set.requests.get(shapes[0].flavor.resource, 0)
    if channels is None or pods.pod_set.count < 2 or not channels.claimed(number):
        return
    message = "its pods claim no channel of a ComputeDomain, so they reach each other only over the network, not NVLink"
    remedy = "write a ComputeDomain and a claim of its template, as berth workload does"
    pods.submitted.warn("no-claim", pods.settings.field("containers").path, f"{message}; {remedy}")
