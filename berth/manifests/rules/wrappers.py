"""Policy `berth-wrappers`: an AppWrapper has as many pods as it tells Kueue.

Its controller creates each component as a person wrote it, with the rights of a controller, so what other policies
refuse of people they do not see there. It counts the pods of some kinds itself and believes `podSets` about those of
others; of Ray it counts `replicas` alone, and not the pod that submits a RayJob (AppWrapper 1.2.2, pkg/utils,
`InferPodSets`). Kueue leaves a component to its AppWrapper, so pods that a Deployment has later are not counted, and
`berth-pods` and `berth-tolerations` keep them off accelerator machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import annotation, list_field
from berth.manifests.rules.admission import (
    IS_CONTROLLER,
    PEOPLE,
    QUEUE_LABEL,
    AdmissionPolicy,
    Requests,
    entry,
    keys,
    requests_accelerators,
    templates,
)
from berth.manifests.rules.growth import replicas, worker_groups
from berth.manifests.rules.reserved import has_reserved
from berth.names import TEAM_LABEL
from berth.plan.policies import PLAIN_MACHINES, PLAIN_QUEUES

GROUP: Final = "workload.codeflare.dev"
RAY_JOB: Final = "ray.io/v1/RayJob"
COUNTED: Final = (
    "batch/v1/Job",
    "jobset.x-k8s.io/v1alpha2/JobSet",
    "kubeflow.org/v1/PyTorchJob",
    "ray.io/v1/RayCluster",
    RAY_JOB,
    "v1/Pod",
)
"""API version and kind whose pods an AppWrapper counts itself, and nobody can scale."""
SCALED: Final = ("apps/v1/Deployment", "apps/v1/StatefulSet")
"""API version and kind whose pods it counts as they are at first; only people with services may scale them."""
WITHOUT_PODS: Final = (
    "networking.k8s.io/v1/Ingress",
    "networking.k8s.io/v1/NetworkPolicy",
    "policy/v1/PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1/Role",
    "rbac.authorization.k8s.io/v1/RoleBinding",
    "v1/ConfigMap",
    "v1/PersistentVolumeClaim",
    "v1/Secret",
    "v1/Service",
    "v1/ServiceAccount",
)
"""API version and kind without pods that jobs need beside them."""

_COMPONENTS: Final = "dyn(object).spec.components"


def _scales(cluster: str) -> str:
    """Return an expression for whether a Ray cluster has an autoscaler."""
    return f"(has({cluster}.enableInTreeAutoscaling) && {cluster}.enableInTreeAutoscaling == true)"


def _runs_beside_the_queue(accelerators: Sequence[str]) -> str:
    """Return an expression for whether the pods of a component may run although Kueue does not count them."""
    plain = f"variables.queue != '' && variables.queue in ({annotation(PLAIN_QUEUES)})"
    mixed = f"({annotation(PLAIN_MACHINES)}).exists(m, m.startsWith(variables.queue + '/'))"
    uses = f"({templates('c.template', 'c.template')}).exists(t, {requests_accelerators('t', accelerators)})"
    return f"((({plain}) || {mixed}) && !{uses})"


def wrappers_policy(
    job_kinds: Mapping[str, Sequence[str]], accelerators: Sequence[str], serving: Sequence[str]
) -> AdmissionPolicy | None:
    """Return the policy for AppWrappers; None if Kueue does not queue them. Teams have services in `serving`."""
    if GROUP not in job_kinds:
        return None
    return AdmissionPolicy(
        name="wrappers",
        refuses=(
            "AppWrappers with components that they do not count as they run: other kinds of jobs, services that people "
            "scale or in a queue of accelerators, Ray's `minReplicas` above `replicas`, its autoscaler, groups of "
            "several hosts and templates of submitters; finalizers, owners and controllers' keys of components"
        ),
        applies_to=PEOPLE,
        breaks="an AppWrapper around a kind of job that it does not count: submit that job itself",
        requests=(Requests(GROUP, ("appwrappers",)),),
        variables=(IS_CONTROLLER, ("queue", entry(QUEUE_LABEL))),
        rules=(
            (
                f"variables.isController || {_COMPONENTS}.all(c, (c.template.apiVersion + '/' + c.template.kind) in "
                f"(namespaceObject.metadata.name in {list(serving)} ? {[*COUNTED, *WITHOUT_PODS]} : "
                f"{[*COUNTED, *SCALED, *WITHOUT_PODS]}))",
                "an AppWrapper does not count the pods of this kind, and Kueue counts what it says; submit the object "
                f"itself, or wrap only {', '.join(COUNTED)}",
            ),
            (
                # In a namespace that Berth does not manage, its pods may.
                f"variables.isController || !('{TEAM_LABEL}' in {keys('namespaceObject', 'labels')}) || "
                f"{_COMPONENTS}.all(c, !((c.template.apiVersion + '/' + c.template.kind) in {list(SCALED)}) || "
                f"{_runs_beside_the_queue(accelerators)})",
                "Kueue does not count pods of a Deployment or a StatefulSet in an AppWrapper, so none may have "
                "accelerator machines; wrap a Job, or submit to a queue of machines without accelerators, which the "
                f"namespace's annotation {PLAIN_QUEUES} has",
            ),
            (
                f"variables.isController || {_COMPONENTS}.all(c, !(c.template.kind in ['RayCluster', 'RayJob']) || "
                f"{worker_groups('c.template')}.all(g, (!has(g.numOfHosts) || g.numOfHosts <= 1) && "
                f"(!has(g.minReplicas) || g.minReplicas <= {replicas('g')})))",
                "an AppWrapper counts replicas of Ray's groups, which start minReplicas and numOfHosts; write "
                "minReplicas of at most replicas, and submit a cluster with groups of several hosts itself",
            ),
            (
                f"variables.isController || {_COMPONENTS}.all(c, !(c.template.kind in ['RayCluster', 'RayJob']) || "
                f"!({_scales('c.template.spec')} || (has(c.template.spec.rayClusterSpec) && "
                f"{_scales('c.template.spec.rayClusterSpec')})))",
                "an AppWrapper counts neither Ray's autoscaler nor the pods that it adds; remove "
                "enableInTreeAutoscaling",
            ),
            (
                f"variables.isController || {_COMPONENTS}.all(c, c.template.kind != 'RayJob' || "
                "!has(c.template.spec.submitterPodTemplate))",
                "an AppWrapper does not count the pod that submits a RayJob; remove submitterPodTemplate, or submit "
                "the RayJob itself",
            ),
            (
                f"variables.isController || {_COMPONENTS}.all(c, !has(c.template.metadata) || "
                f"({list_field('c.template.metadata', 'finalizers')}.size() == 0 && "
                f"{list_field('c.template.metadata', 'ownerReferences')}.size() == 0))",
                "a finalizer or another owner keeps a deleted component and its pods, which Kueue no longer counts; "
                "remove metadata.finalizers and metadata.ownerReferences from the components",
            ),
            (
                f"variables.isController || {_COMPONENTS}.all(c, !({has_reserved('c.template')}) && "
                f"({templates('c.template', 'c.template')}).all(t, !({has_reserved('t')})))",
                "Kueue and JobSet count pods by these labels and annotations, which controllers write; remove those of "
                "kueue.x-k8s.io/ and jobset.sigs.k8s.io/ from the components and their pod templates",
            ),
        ),
    )
