"""Whether Kueue counts the devices that pods claim, and whether their nodes have them; whether pods reach each other.

A ComputeDomain has nodes of one NVLink domain. NVIDIA's DRA driver makes a ResourceClaimTemplate from it, by which pods
claim the one channel of their node (kubernetes-sigs/dra-driver-nvidia-gpu, release 25.8).
"""

from __future__ import annotations

from berth.diagnostics import did_you_mean, join_quoted
from berth.jobs.claims import TEMPLATE_KIND, ClaimTemplate
from berth.jobs.pod_set import ObjectReference
from berth.jobs.pod_settings import PodSettings
from berth.jobs.values import get_nested
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.manifests.workloads.values import as_list
from berth.plan.kueue import CHANNEL_CLASS, ClaimTemplatePlan, FlavorPlan, NetworkDevicesPlan
from berth.plan.node_settings import INTERFACES, NETWORK_RESOURCE
from berth.workloads.node_shapes import NodeShape, pod_networks

_API_REFUSES = "so the API server refuses its pods"


def check_claims(job: SubmittedJob) -> None:
    """Report claims that Kueue refuses or cannot count, and pods that leave the network of their nodes unused."""
    for each in job.job.settings:
        _check_references(each)
    for pods in list_job_pods(job):
        for claim in pods.pod_set.claims:
            _check_claim(pods, claim)
        _check_network(pods)
        check_domain(pods)


def _check_references(pods: PodSettings) -> None:
    """Report containers that use a claim which the pod does not have."""
    names = [str(get_nested(each, "name")) for each in as_list(pods.field("resourceClaims").value)]
    for container in pods.containers:
        for used in container.claims:
            name = str(get_nested(used.value, "name"))
            if name not in names:
                hint = did_you_mean(name, names) or "; write the claim there"
                message = f"a container uses claim '{name}', which resourceClaims does not list, {_API_REFUSES}"
                used.fault("bad-claim", message + hint)


def _check_claim(pods: JobPods, claim: ObjectReference) -> None:
    job, source = pods.submitted, pods.at(claim.path)
    claims, namespace = job.context.claims, job.local_queue.namespace
    if claims.is_known and not claims.resource_of:
        message = "no device class is mapped to a resource, so Kueue never admits pods with claims"
        remedy = "write kueue.resources.deviceClassMappings, or request an extended resource"
        source.fault("not-covered", f"{message}; {remedy}")
        return
    if claim.kind != TEMPLATE_KIND:
        message = f"its pods share the ResourceClaim '{claim.name}': Kueue does not count its devices"
        job.warn("not-checked", source.path, f"{message}, and they run only where those devices are")
        return
    if not claims.is_known:
        message = (
            "not checked: whether the configuration of Kueue, which the stack file does not say, counts its devices"
        )
        job.warn("not-checked", source.path, message)
    known = claims.templates.get((namespace, claim.name))
    if known is None:
        names = [name for space, name in claims.templates if space == namespace]
        if hint := did_you_mean(claim.name, names):
            message = f"no ResourceClaimTemplate '{claim.name}' in namespace '{namespace}'{hint}"
            source.fault("bad-claim", message)
            return
        known_names = f"; the platform has {join_quoted(names)}" if names else ""
        message = (
            f"not checked: whether '{namespace}' has the ResourceClaimTemplate '{claim.name}', which is not in the"
        )
        job.warn("not-checked", source.path, f"{message} files{known_names}")
        return
    if known.refusal:
        message = f"ResourceClaimTemplate '{claim.name}' {known.refusal}, or Kueue never admits the job"
        team = next(each for each in job.context.plan.teams if each.name == job.local_queue.team)
        same = [each.name for each in team.claim_templates if each.device_class in known.devices]
        remedy = f"; or write resourceClaimTemplateName: {same[0]}, which the platform provides" if same else ""
        source.fault("bad-claim", message + remedy)
    if claims.is_known:
        for device_class in known.devices.keys() - claims.resource_of.keys():
            message = f"no resource counts devices of the class '{device_class}', so Kueue never admits the job"
            remedy = "map the class in kueue.resources.deviceClassMappings of the platform's stack file"
            if device_class == CHANNEL_CLASS and domain_shapes(pods):
                remedy = "write nvidiaDraDriver: {} in the platform's stack file"
            source.fault("not-covered", f"{message}; {remedy}")


def _check_network(pods: JobPods) -> None:
    """Warn of several pods that claim none of the network devices that their nodes have."""
    job = pods.submitted
    devices = [each.devices for each in _flavors(pods) if each.devices is not None]
    claims, namespace = job.context.claims, job.local_queue.namespace
    known = [claims.templates.get((namespace, each.name)) for each in pods.pod_set.claims]
    claimed = {name for each in known if each is not None for name in each.devices}
    is_known = all(each is not None and not each.refusal for each in known)
    has_none = is_known and claimed <= {CHANNEL_CLASS}
    if devices and len(devices) == len(_flavors(pods)) and has_none and _needs_network(pods):
        remedy = _remedy(pods, devices[0])
        message = "its pods claim no network device, so they reach each other only over the node's first network"
        job.warn("no-claim", pods.settings.field("containers").path, f"{message}; {remedy}")


def _flavors(pods: JobPods) -> list[FlavorPlan]:
    shapes = pods.submitted.context.node_shapes(pods.submitted.queue)
    by_name = {shape.flavor.name: shape.flavor for shape in shapes if pods.pod_set.requests.get(shape.flavor.resource)}
    return list(by_name.values())


def _needs_network(pods: JobPods) -> bool:
    """Whether pods use the network of nodes: GPUs of several nodes do, chips of one slice do not."""
    shape = next(
        each
        for each in pods.submitted.context.node_shapes(pods.submitted.queue)
        if pods.pod_set.requests.get(each.flavor.resource)
    )
    return pods.pod_set.count > (shape.hosts if shape.is_tpu else 1)


def _remedy(pods: JobPods, devices: NetworkDevicesPlan) -> str:
    resources = [shape.flavor.resource for shape in pods.submitted.context.node_shapes(pods.submitted.queue)]
    number = max(pods.pod_set.requests.get(each, 0) for each in resources)
    size = next(each for each in devices.claim_sizes if (devices.claimed(number) or devices.per_node) % each == 0)
    name = ClaimTemplatePlan(device_class=devices.device_class, count=size).name
    return f"write resourceClaims: [{{name: {name}, resourceClaimTemplateName: {name}}}]"


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
