"""Admission policies for teams' namespaces, as plain dicts: some ValidatingAdmissionPolicies for a cluster.

Settings of a team are annotations of its namespaces (`berth.plan.policies`), so that 1000 teams need no more objects
than one. Each policy is a record with its expressions (`berth.manifests.rules.admission`). Some rules apply to
everyone. Rules on who may create, own, delete or start something apply to everyone without the same permission in the
whole cluster: people and service accounts of a team have permissions only in their namespaces, but the controllers of
jobs and Kueue have them everywhere (Kubernetes docs: "Validating Admission Policy", CEL library `authorizer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from berth.manifests.rules import (
    affinity,
    control,
    deletion,
    endings,
    grace,
    growth,
    jobs,
    machines,
    platform,
    reserved,
    runs,
    shared_queues,
    submission,
    tolerations,
    volumes,
    wrappers,
)
from berth.manifests.rules.admission import QUEUE_LABEL, AdmissionPolicy, Requests, checked_first
from berth.manifests.serving import rules as serving
from berth.manifests.serving.rules import scale_policy
from berth.names import TEAM_LABEL, berth_labels
from berth.plan.policies import PoliciesPlan

Manifest = dict[str, object]

API: Final = "admissionregistration.k8s.io/v1"
_TEAM_NAMESPACES: Final[Manifest] = {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}


def admission_policies(plan: PoliciesPlan) -> tuple[tuple[str, Manifest], ...]:
    """Return the name in the Pulumi program and the manifest of every policy, each followed by its bindings."""
    return _manifests(msgspec.json.encode(plan))


@lru_cache(maxsize=16)  # both sides of a diff and all clusters of an owner have the same, and they are long
def _manifests(encoded: bytes) -> tuple[tuple[str, Manifest], ...]:
    plan = msgspec.json.decode(encoded, type=PoliciesPlan)
    manifests: list[tuple[str, Manifest]] = []
    for policy in objects(plan):
        name = object_name(policy)
        actions = ["Warn", "Audit"] if policy.name in plan.audited else ["Deny"]
        manifests.append((f"{policy.name}-policy", _manifest(policy)))
        selector = None if policy.everywhere else _TEAM_NAMESPACES
        manifests.append((f"{policy.name}-binding", _binding(name, name, selector, actions)))
        if plan.shared_namespaces and policy.in_shared:
            shared = _labelled("kubernetes.io/metadata.name", plan.shared_namespaces)
            manifests.append((f"{policy.name}-shared-binding", _binding(f"{name}-shared", name, shared, actions)))
    return tuple(manifests)


def object_name(policy: AdmissionPolicy) -> str:
    """Return the name of a policy's object."""
    return f"berth-{policy.name}"


def objects(plan: PoliciesPlan) -> list[AdmissionPolicy]:
    """Return the policies of a cluster as it has them, in the order in which they are created."""
    return submission.with_submission(policies(plan), plan.audited, plan.shared_namespaces)


def policies(plan: PoliciesPlan) -> list[AdmissionPolicy]:
    """Return the policies of a cluster by what they refuse."""
    kinds = plan.job_kinds
    made = [
        jobs.pods_policy(plan),
        jobs.jobs_policy(kinds),
        jobs.SERVICES,
        control.control_policy(kinds),
        platform.platform_policy(plan.shared_namespaces),
        deletion.deletion_policy(kinds),
        deletion.WORKLOADS,
        grace.grace_policy(kinds),
        reserved.reserved_policy(kinds, plan.accelerators),
        affinity.affinity_policy(kinds, plan.exclusive),
        growth.growth_policy(kinds, elastic=plan.elastic),
        volumes.volumes_policy(kinds, plan.csi_drivers),
        tolerations.tolerations_policy(kinds, plan.accelerators),
    ]
    if (of_operators := endings.endings_policy(kinds, plan.accelerators)) is not None:
        made.append(of_operators)
    if (of_wrappers := wrappers.wrappers_policy(kinds, plan.accelerators, plan.serving)) is not None:
        made.append(of_wrappers)
    if plan.mixed_queues:
        made.append(machines.machines_policy(kinds, plan.accelerators, plan.mixed_queues))
    if plan.shared_queues:
        made.append(shared_queues.shared_queue_policy(kinds, plan.shared_queues, plan.ordered_queues))
    if plan.serving:
        made += [serving.serving_policy(plan.serving, plan.accelerators), scale_policy(plan.serving)]
    if plan.limited_queues:
        made.append(runs.runs_policy(kinds, plan.limited_queues, plan.shared_run_limits))
    return made


def _manifest(policy: AdmissionPolicy) -> Manifest:
    """Return the policy's object.

    By default it ignores updates that change neither the spec nor the owners: an object that is older than the policy
    can still be labelled, finalized and deleted.
    """
    variables = [{"name": name, "expression": text} for name, text in policy.variables]
    named = (("changed", policy.condition), ("concerned", policy.concern))
    conditions = [{"name": name, "expression": text} for name, text in named if text]
    spec: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [_rule(each) for each in policy.requests],
            **({"objectSelector": _labelled(QUEUE_LABEL, policy.queues)} if policy.queues else {}),
        },
        **({"matchConditions": conditions} if conditions else {}),
        **({"variables": variables} if variables else {}),
        "validations": [
            {"expression": checked_first(expression), "message": message, "reason": "Forbidden"}
            for expression, message in policy.rules
        ],
    }
    return _object("ValidatingAdmissionPolicy", object_name(policy)) | {"spec": spec}


def _rule(requests: Requests) -> Manifest:
    return {
        "apiGroups": [requests.group],
        "apiVersions": ["*"],
        "operations": list(requests.operations),
        "resources": sorted(requests.resources),
    }


def _binding(name: str, policy: str, namespaces: Manifest | None, actions: Sequence[str]) -> Manifest:
    spec = {
        "policyName": policy,
        "validationActions": list(actions),
        **({"matchResources": {"namespaceSelector": namespaces}} if namespaces is not None else {}),
    }
    return _object("ValidatingAdmissionPolicyBinding", name) | {"spec": spec}


def _labelled(key: str, values: Sequence[str]) -> Manifest:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": sorted(values)}]}


def _object(kind: str, name: str) -> Manifest:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "labels": berth_labels()}}
