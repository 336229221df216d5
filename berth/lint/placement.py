"""Checks of where a job's pods are placed: slices kept apart, nodes close to each other, the network of nodes."""

from __future__ import annotations

from berth import catalog
from berth.lint.fleet import JobPods
from berth.lint.ray import is_of_ray, warn_of_webhook
from berth.workloads.node_identity import has_grants, keep_identity_remedy, node_account
from berth.workloads.node_shapes import NodeShape
from berth.workloads.placement import SLICE_SIZE, SLICE_TOPOLOGY

EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_GROUP_TOPOLOGY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""LeaderWorkerSet's own annotation: each group on nodes of its own (LeaderWorkerSet 0.9, docs)."""
_NODE_POOL = "cloud.google.com/gke-nodepool"


def is_exclusive(pods: JobPods) -> bool:
    """Whether an annotation gives each child job, or each group, node pools of its own."""
    return pods.pod_set.exclusive_topology is not None


def check_slice_placement(pods: JobPods, shape: NodeShape) -> None:
    """Report a missing annotation that keeps the pods of a slice on the nodes of one slice."""
    has_many_slices = shape.pool.slices is not None and shape.pool.slices.max > 1
    topology = pods.pod_set.topology
    # JobSet's annotation keeps slices apart, or Kueue's if Kueue places the pods.
    is_apart = (
        is_exclusive(pods)
        if shape.flavor.topology is None
        else topology is not None and topology.slice_level is not None
    )
    if shape.is_multi_host and has_many_slices and is_of_ray(pods):
        warn_of_webhook(pods, shape)
    elif shape.is_multi_host and has_many_slices and not is_apart:
        together = pods.submitted.job.row is not None and pods.submitted.job.row.together
        remedy = f"a JobSet with the annotation {EXCLUSIVE_TOPOLOGY}: {_NODE_POOL}"
        if together:
            remedy = f"the annotation {_GROUP_TOPOLOGY}: {_NODE_POOL}"
        if shape.flavor.topology is not None:
            remedy = f"the annotations {SLICE_TOPOLOGY}: {_NODE_POOL} and {SLICE_SIZE}: '{shape.hosts}' on its pods"
        message = f"nothing keeps the {shape.hosts} pods of a slice on one slice; write {remedy}"
        if all(each.message != message for each in pods.submitted.job.source.problems.entries):
            pods.submitted.warn("split-slice", pods.submitted.job.metadata.path, message)
    networked = shape.has_pod_network or pods.submitted.context.plan.cluster.mode == "autopilot"
    on_host = pods.settings.field("hostNetwork").value is True
    if shape.is_tpu and pods.pod_set.child_jobs > 1 and not networked and not on_host:
        message = "slices communicate over the network of their nodes; write hostNetwork: true in the pods"
        pods.submitted.warn("no-host-network", pods.settings.path, message)
    if on_host and pods.submitted.context.plan.cluster.mode == "autopilot":
        pods.settings.field("hostNetwork").fault(
            "host-network",
            "Autopilot refuses pods with hostNetwork; remove it: slices there communicate over the pod network",
        )
    elif on_host:
        _check_node_identity(pods, shape)


def check_placement_group(pods: JobPods, shape: NodeShape) -> None:
    """Warn about several pods that select no placement group: GKE would create their nodes anywhere in the zone."""
    selector = catalog.labels().placement_group
    if shape.pool.grouped and pods.pod_set.count > 1 and selector not in pods.pod_set.node_selector:
        message = f"nothing keeps its {pods.pod_set.count} pods close to each other; write the node selector {selector}"
        pods.submitted.warn("no-placement-group", pods.settings.path, f"{message} with a value of its own")


def _check_node_identity(pods: JobPods, shape: NodeShape) -> None:
    """Report host-network pods of a team with rights: their metadata server gives them the nodes' account.

    GKE docs: Workload Identity Federation for GKE, restrictions; quoted in GoogleCloudPlatform/oss-test-infra#2476
    (2025-05-06) and appvia/kore#165.
    """
    submitted = pods.submitted
    team = next((each for each in submitted.context.plan.teams if each.name == submitted.local_queue.team), None)
    volumes = [each.value for each in pods.settings.volumes]
    if team is None or node_account(shape.pool) is not None:
        return
    if not has_grants(team, pods.settings.field("serviceAccountName").value, volumes):
        return
    message = (
        f"pods on the host network act as the nodes' service account, so the rights of team '{team.name}' "
        f"do not apply; {keep_identity_remedy(shape.pool)}"
    )
    submitted.warn("node-identity", pods.settings.field("hostNetwork").path, message)
