"""`berth lint` says before submission what an admission policy refuses: row by row of the hostile table."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from berth.jobs.files import ManifestDocument
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.manifests.policies import policies
from berth.plan.fleet import FleetPlan
from tests import hostile
from tests.hostile import Attempt

_POLICIES = (
    "affinity",
    "deletion",
    "endings",
    "grace",
    "growth",
    "machines",
    "queues",
    "reserved",
    "volumes",
    "wrappers",
)
"""The policies that look at what a person submits."""
_QUEUES = {"vision": "l4", "language": "urgent"}
_KINDS = (
    "job",
    "jobset",
    "deployment",
    "statefulset",
    "leaderworkerset",
    "pytorchjob",
    "raycluster",
    "rayjob",
    "rayservice",
    "trainjob",
    "appwrapper",
)


@cache
def messages() -> list[str]:
    plan = hostile.fleet().policies
    assert plan is not None
    return [message for policy in policies(plan) if policy.name in _POLICIES for _, message in policy.rules]


def is_refused(attempt: Attempt) -> bool:
    return any(text in message for text in attempt.refused for message in messages())


CREATED = [
    each
    for each in hostile.attempts()
    if each.verb == "create" and each.kind in _KINDS and each.who in ("member", "other")
]
SUBMITTED = [each for each in CREATED if "uid" not in str(each.after)]
REFUSED = [each for each in SUBMITTED if is_refused(each)]
TAKEN = [each for each in SUBMITTED if not each.refused]


def submitted(attempt: Attempt) -> Any:
    """Return the manifest of a row in a queue of its team."""
    made: Any = copy.deepcopy(attempt.after)
    labels = made["metadata"].setdefault("labels", {})
    if labels.get("kueue.x-k8s.io/queue-name", "nowhere") == "nowhere":
        labels["kueue.x-k8s.io/queue-name"] = _QUEUES[attempt.namespace]
    return made


def linted(attempt: Attempt, plan: FleetPlan) -> list[tuple[str, str]]:
    (finding,) = lint_documents([ManifestDocument("a.yaml", submitted(attempt))], LintContext(plan))
    return [(each.severity, each.message) for each in finding.problems if each.code == "policy"]


def test_the_table_has_rows_of_every_policy() -> None:
    plan = hostile.fleet().policies
    assert plan is not None
    for policy in policies(plan):
        texts = [message for _, message in policy.rules]
        rows = [each for each in REFUSED if any(text in m for text in each.refused for m in texts)]
        assert rows or policy.name not in _POLICIES, policy.name


@pytest.mark.parametrize("attempt", REFUSED, ids=lambda attempt: attempt.title)
def test_lint_reports_what_a_policy_refuses(attempt: Attempt) -> None:
    assert [severity for severity, _ in linted(attempt, hostile.fleet())][:1] == ["fault"]


OTHERS = [each for each in CREATED if each.refused and each.refused != ("rbac",) and not is_refused(each)]
"""Rows that policies refuse whose rules lint has in other rooms: of pods, of owners, and of run durations."""


@pytest.mark.parametrize("attempt", OTHERS, ids=lambda attempt: attempt.title)
def test_lint_refuses_what_the_other_policies_refuse(attempt: Attempt) -> None:
    (finding,) = lint_documents([ManifestDocument("a.yaml", submitted(attempt))], LintContext(hostile.fleet()))
    faults = [each.code for each in finding.problems if each.severity == "fault"]
    assert set(faults) & {"policy", "pod-security", "pod-priority", "above-run-limit", "dws"}, faults


@pytest.mark.parametrize("attempt", TAKEN, ids=lambda attempt: attempt.title)
def test_lint_is_silent_where_no_policy_refuses(attempt: Attempt) -> None:
    assert linted(attempt, hostile.fleet()) == []


def test_a_policy_that_only_warns_is_a_warning() -> None:
    plan = hostile.fleet()
    assert plan.policies is not None
    audited = replace(plan, policies=replace(plan.policies, audited={"grace": "2027-01-31"}))
    attempt = next(each for each in REFUSED if "longer grace period" in each.title)
    (found,) = linted(attempt, audited)
    assert found[0] == "warning"
    assert found[1].endswith("(policy berth-grace, which only warns until 2027-01-31)")


_TOLERANT: Any = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "vision"},
    "spec": {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {
                "containers": [{"name": "main", "image": "x"}],
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            },
        },
    },
}


@pytest.mark.parametrize("audited", [{}, {"tolerations": "2027-01-31"}])
def test_pods_that_kueue_does_not_count_may_not_tolerate_accelerators(audited: dict[str, str]) -> None:
    plan = hostile.fleet()
    assert plan.policies is not None
    fleet = LintContext(replace(plan, policies=replace(plan.policies, audited=audited)))
    (finding,) = lint_documents([ManifestDocument("a.yaml", copy.deepcopy(_TOLERANT))], fleet)
    (found,) = (each for each in finding.problems if each.code == "policy")
    assert (found.severity, "berth-tolerations" in found.message) == ("warning" if audited else "fault", True)


def test_pods_may_tolerate_other_taints() -> None:
    made: Any = copy.deepcopy(_TOLERANT)
    made["spec"]["template"]["spec"]["tolerations"][0]["key"] = "mine.example/role"
    (finding,) = lint_documents([ManifestDocument("a.yaml", made)], LintContext(hostile.fleet()))
    assert "policy" not in {each.code for each in finding.problems}


@pytest.mark.parametrize(
    ("kind", "queue", "resource", "field", "is_refused"),
    [
        ("Deployment", "l4", "cpu", "containers", True),
        ("StatefulSet", "train", "google.com/tpu", "containers", True),
        ("Deployment", "mixed", "nvidia.com/gpu", "containers", True),
        ("Deployment", "mixed", "nvidia.com/gpu", "initContainers", True),
        ("Deployment", "mixed", "cpu", "containers", False),
    ],
)
def test_pods_of_a_service_in_an_app_wrapper_keep_off_accelerators(
    kind: str, queue: str, resource: str, field: str, is_refused: bool
) -> None:
    """Kueue gives such pods the toleration of the machines, and another policy would refuse each of them."""
    plan = hostile.fleet()
    (team,) = (each for each in plan.teams if each.name == "vision")
    plain = dict(team.namespaces[0].plain_machines["mixed"])
    container = {"name": "main", "image": "x", "resources": {"limits": {resource: "1"}}}
    pod = {"containers": [{"name": "main", "image": "x"}], field: [container], "nodeSelector": plain}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    service = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "d"}, "spec": spec}
    made: Any = {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "a", "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"components": [{"podSets": [{"path": "template.spec.template", "replicas": 1}], "template": service}]},
    }
    (finding,) = lint_documents([ManifestDocument("a.yaml", made)], LintContext(plan))
    reported = [each.message for each in finding.problems if "berth-wrappers" in each.message]
    assert bool(reported) is is_refused, finding.problems
