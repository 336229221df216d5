"""Policy `berth-wrappers`: an AppWrapper has as many pods as it tells Kueue.

Its controller creates each component as a person wrote it, with the rights of a controller, so what other policies
refuse of people they do not see there. It counts the pods of some kinds itself and believes `podSets` about those of
others; of Ray it counts `replicas` alone (AppWrapper 1.2.2, pkg/utils, `InferPodSets`). Kueue leaves a component to its
AppWrapper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import list_field
from berth.manifests.rules.admission import IS_CONTROLLER, PEOPLE, AdmissionPolicy, Requests
from berth.manifests.rules.growth import replicas, worker_groups

GROUP: Final = "workload.codeflare.dev"
COUNTED: Final = ("Deployment", "Job", "JobSet", "Pod", "PyTorchJob", "RayCluster", "RayJob", "StatefulSet")
"""Kinds whose pods an AppWrapper counts itself."""
WITHOUT_PODS: Final = (
    "ConfigMap",
    "Ingress",
    "NetworkPolicy",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
)
"""Kinds without pods that jobs need beside them."""

_COMPONENTS: Final = "dyn(object).spec.components"


def wrappers_policy(job_kinds: Mapping[str, Sequence[str]]) -> AdmissionPolicy | None:
    """Return the policy for AppWrappers; None if Kueue does not queue them."""
    if GROUP not in job_kinds:
        return None
    return AdmissionPolicy(
        name="wrappers",
        refuses=(
            "AppWrappers with components that they do not count as they run: other kinds of jobs, Ray's `minReplicas` "
            "above `replicas` and its groups of several hosts; finalizers of components"
        ),
        applies_to=PEOPLE,
        breaks="an AppWrapper around a kind of job that it does not count: submit that job itself",
        requests=(Requests(GROUP, ("appwrappers",)),),
        variables=(IS_CONTROLLER,),
        rules=(
            (
                f"variables.isController || {_COMPONENTS}.all(c, c.template.kind in {[*COUNTED, *WITHOUT_PODS]})",
                "an AppWrapper does not count the pods of this kind, and Kueue counts what it says; submit the object "
                f"itself, or wrap only {', '.join(COUNTED)}",
            ),
            (
                f"variables.isController || {_COMPONENTS}.all(c, !(c.template.kind in ['RayCluster', 'RayJob']) || "
                f"{worker_groups('c.template')}.all(g, (!has(g.numOfHosts) || g.numOfHosts <= 1) && "
                f"(!has(g.minReplicas) || g.minReplicas <= {replicas('g')})))",
                "an AppWrapper counts replicas of Ray's groups, which start minReplicas and numOfHosts; write "
                "minReplicas of at most replicas, and submit a cluster with groups of several hosts itself",
            ),
            (
                f"variables.isController || {_COMPONENTS}.all(c, !has(c.template.metadata) || "
                f"{list_field('c.template.metadata', 'finalizers')}.size() == 0)",
                "a finalizer keeps a deleted component and its pods, which Kueue no longer counts; remove "
                "metadata.finalizers from the components",
            ),
        ),
    )
