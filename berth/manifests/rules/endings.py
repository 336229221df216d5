"""Policy `berth-endings`: a finished job takes its pods along.

Kueue frees the quota of a job that its operator calls finished. Kubeflow's operators then leave the pods that still
run where `cleanPodPolicy` is `None`, their default (Training Operator 1.9.3, pkg/apis; MPI Operator 0.8.2), and KubeRay
keeps the cluster of a RayJob for `ttlSecondsAfterFinished`, or as its `deletionStrategy` says (KubeRay 1.6.2,
`rayjob_controller.go`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Rule
from berth.manifests.rules.admission import EVERYONE, TEMPLATES, AdmissionPolicy, Requests, requests_accelerators
from berth.manifests.rules.grace import LIMIT

KUBEFLOW: Final = "kubeflow.org"
CLEAN: Final = ("All", "Running")
"""Values of `cleanPodPolicy` that delete the pods of a finished job that still run."""
KEPT_BY_RAY: Final = ("DeleteNone", "DeleteWorkers")
"""Policies of a RayJob's `deletionStrategy` that keep pods of its cluster."""


def _clean(holder: str) -> str:
    policy = f"dyn({holder}).spec.runPolicy"
    return f"(has({policy}) && has({policy}.cleanPodPolicy) ? {policy}.cleanPodPolicy : 'None')"


def _keeps(outcome: str) -> str:
    strategy = "dyn(object).spec.deletionStrategy"
    return f"(has({strategy}.{outcome}) && {strategy}.{outcome}.policy in {list(KEPT_BY_RAY)})"


_RULES: Final[tuple[Rule, ...]] = (
    (
        # Jobs that are older than the policy may go on, and their controllers may write them.
        f"request.resource.group != '{KUBEFLOW}' || {_clean('object')} in {list(CLEAN)} || "
        "!variables.usesAccelerators || (request.operation == 'UPDATE' && "
        f"{_clean('object')} == {_clean('oldObject')})",
        "Kueue frees the quota of a finished job, and its pods that still run stay on the machines; write "
        "runPolicy.cleanPodPolicy: Running",
    ),
    (
        "request.resource.resource != 'rayjobs' || !variables.isLimited || "
        "!has(dyn(object).spec.ttlSecondsAfterFinished) || "
        "dyn(object).spec.ttlSecondsAfterFinished <= variables.most || (request.operation == 'UPDATE' && "
        "has(dyn(oldObject).spec.ttlSecondsAfterFinished) && "
        "dyn(object).spec.ttlSecondsAfterFinished == dyn(oldObject).spec.ttlSecondsAfterFinished)",
        "Kueue frees the quota of a finished RayJob, and its cluster keeps the machines for ttlSecondsAfterFinished; "
        "write at most the fleet's longest grace period, such as 60",
    ),
    (
        "request.resource.resource != 'rayjobs' || !has(dyn(object).spec.deletionStrategy) || "
        f"!({_keeps('onSuccess')} || {_keeps('onFailure')} || has(dyn(object).spec.deletionStrategy.deletionRules)) || "
        "(request.operation == 'UPDATE' && has(dyn(oldObject).spec.deletionStrategy) && "
        "dyn(object).spec.deletionStrategy == dyn(oldObject).spec.deletionStrategy)",
        "Kueue frees the quota of a finished RayJob, and this deletionStrategy keeps pods of its cluster; write "
        "DeleteCluster, or remove deletionStrategy",
    ),
)


def endings_policy(job_kinds: Mapping[str, Sequence[str]], accelerators: Sequence[str]) -> AdmissionPolicy | None:
    """Return the policy for the queued kinds of Kubeflow and Ray; None if there is none."""
    kinds = {KUBEFLOW: tuple(sorted(job_kinds.get(KUBEFLOW, ())))}
    kinds["ray.io"] = tuple(kind for kind in job_kinds.get("ray.io", ()) if kind == "rayjobs")
    requests = tuple(Requests(group, names) for group, names in kinds.items() if names)
    if not requests:
        return None
    return AdmissionPolicy(
        name="endings",
        refuses=(
            "jobs whose pods outlive their end: Kubeflow's on accelerators without `cleanPodPolicy: Running` or `All`, "
            "RayJobs with a `ttlSecondsAfterFinished` above the team's `maxGracePeriod` or a `deletionStrategy` that "
            "keeps pods"
        ),
        applies_to=EVERYONE,
        breaks="a job of Kubeflow on accelerators without `runPolicy.cleanPodPolicy`: write `Running`",
        requests=requests,
        variables=(
            *LIMIT,
            TEMPLATES,
            ("usesAccelerators", f"variables.templates.exists(t, {requests_accelerators('t', accelerators)})"),
        ),
        rules=_RULES,
    )
