"""Admission policies for teams' namespaces, as plain dicts: at most six ValidatingAdmissionPolicies for a cluster.

Settings of a team are annotations of its namespaces (`berth.plan.policies`), so that 1000 teams need no more objects
than one. The rules for pods and services apply to everyone. Rules on who may create, own or start something apply to
everyone without the same permission in the whole cluster: people and service accounts of a team have permissions only
in their namespaces, but the controllers of jobs and Kueue have them everywhere (Kubernetes docs: "Validating Admission
Policy", CEL library `authorizer`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests import policy_rules as rules
from berth.manifests.rules import jobs as job_rules
from berth.manifests.rules import runs as run_rules
from berth.manifests.serving import rules as serving
from berth.names import TEAM_LABEL, berth_labels
from berth.plan.policies import PoliciesPlan

Manifest = dict[str, object]

API: Final = "admissionregistration.k8s.io/v1"
PODS: Final = "berth-pods"
JOBS: Final = "berth-jobs"
SERVICES: Final = "berth-services"
CONTROLLERS: Final = "berth-controllers"
SERVING: Final = "berth-serving"
RUNS: Final = "berth-runs"

_TEAM_NAMESPACES: Final[Manifest] = {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}


def admission_policies(plan: PoliciesPlan) -> list[tuple[str, Manifest]]:
    """Return the name in the Pulumi program and the manifest of every policy, each followed by its binding."""
    # Jobs too, by their template, so that the person who submits the job sees the rejection.
    pods = [_resources("", ["pods", "pods/ephemeralcontainers"]), _resources("batch", ["jobs"])]
    of_controllers = [_resources("", ["pods/binding"]), _resources("kueue.x-k8s.io", ["workloads"])]
    policies = [
        ("pods", _policy(PODS, pods, rules.pod_variables(plan.accelerators), rules.pod_rules(plan))),
        ("jobs", _policy(JOBS, _job_resources(plan.job_kinds), job_rules.JOB_VARIABLES, job_rules.JOB_RULES)),
        (
            "services",
            _policy(SERVICES, [_resources("", ["services"])], job_rules.SERVICE_VARIABLES, job_rules.SERVICE_RULES),
        ),
        (
            "controllers",
            _policy(CONTROLLERS, of_controllers, [], job_rules.CONTROLLER_RULES, condition=None),
        ),
    ]
    if plan.serving:
        variables = serving.variables(plan.serving, plan.accelerators)
        served = [_resources("", ["pods"]), *(_resources(group, kinds) for group, kinds in serving.KINDS.items())]
        policies.append(("serving", _policy(SERVING, served, variables, serving.RULES)))
    if plan.limits_runs:
        variables = run_rules.run_variables(plan.shared_run_limits)
        # Jobs, and the services and pods that Kueue queues in namespaces with serving.
        kinds: dict[str, tuple[str, ...]] = {"": ("pods",)}
        for group in {*serving.KINDS, *plan.job_kinds}:
            kinds[group] = tuple({*serving.KINDS.get(group, ()), *plan.job_kinds.get(group, ())})
        runs = _policy(
            RUNS,
            _job_resources(kinds),
            variables,
            run_rules.RULES,
            condition=run_rules.CHANGED,
        )
        policies.append(("runs", runs))
    manifests: list[tuple[str, Manifest]] = []
    for role, policy in policies:
        name = f"berth-{role}"
        manifests += [(f"{role}-policy", policy), (f"{role}-binding", _binding(name, name, _TEAM_NAMESPACES))]
        if plan.shared_namespaces and name in (JOBS, CONTROLLERS, RUNS, SERVING):
            selector = _named(plan.shared_namespaces)
            manifests.append((f"{role}-shared-binding", _binding(f"{name}-shared", name, selector)))
    return manifests


def _job_resources(job_kinds: Mapping[str, Sequence[str]]) -> list[Manifest]:
    return [_resources(group, kinds) for group, kinds in sorted(job_kinds.items())]


def _resources(group: str, kinds: Sequence[str]) -> Manifest:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": sorted(kinds),
    }


def _policy(
    name: str,
    resources: Sequence[Manifest],
    variables: Sequence[rules.Variable],
    validations: Sequence[rules.Rule],
    *,
    condition: str | None = rules.CHANGED,
) -> Manifest:
    """Return a policy for requests that meet the condition.

    By default it ignores updates that change neither the spec nor the owners: an object that is older than the policy
    can still be labelled, finalized and deleted.
    """
    spec: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": list(resources)},
        **({"matchConditions": [{"name": "changed", "expression": condition}]} if condition else {}),
        **({"variables": [{"name": name, "expression": text} for name, text in variables]} if variables else {}),
        "validations": [
            {"expression": expression, "message": message, "reason": "Forbidden"} for expression, message in validations
        ],
    }
    return _object("ValidatingAdmissionPolicy", name) | {"spec": spec}


def _binding(name: str, policy: str, namespaces: Manifest) -> Manifest:
    spec = {
        "policyName": policy,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": namespaces},
    }
    return _object("ValidatingAdmissionPolicyBinding", name) | {"spec": spec}


def _named(namespaces: Sequence[str]) -> Manifest:
    expression = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(namespaces)}
    return {"matchExpressions": [expression]}


def _object(kind: str, name: str) -> Manifest:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "labels": berth_labels()}}
