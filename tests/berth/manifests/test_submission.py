"""The object with the rules for new Jobs: it has those of each policy that refuses, and refuses nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from berth.manifests.policies import admission_policies, object_name, objects, policies
from berth.plan.policies import PoliciesPlan
from tests import hostile
from tests.cel import Request, refusals

Manifest = dict[str, Any]
_LONG: Manifest = {"terminationGracePeriodSeconds": 100_000}
_HOST: Manifest = {"hostPID": True}
_AUDITED = {"grace": "2027-01-31"}


@cache
def plan() -> PoliciesPlan:
    made = hostile.fleet().policies
    assert made is not None
    return made


def asked(pod: Manifest, labels: dict[str, str]) -> Request:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}], **pod}
    job = {"metadata": {"name": "x"}, "spec": {"suspend": True, "template": {"spec": spec}}}
    namespace = {"metadata": {"name": "place", "labels": labels}}
    return Request("batch", "jobs", namespace, job, None, everywhere=False)


def bound(plan: PoliciesPlan, *names: str) -> list[Manifest]:
    """Return the manifests of the policies of these names."""
    made = [each for _, each in admission_policies(plan)]
    return [each for each in made if each["metadata"]["name"].removesuffix("-shared") in names]  # type: ignore[index]


@pytest.mark.parametrize("pod", [_LONG, _HOST])
def test_a_new_job_is_refused_by_this_object_alone(pod: Manifest) -> None:
    request = asked(pod, {"berth.dev/team": "vision"})
    assert len(refusals(bound(plan(), "berth-submission"), request)) == 1
    assert len(refusals([each for _, each in admission_policies(plan())], request)) == 1


def test_in_namespaces_that_berth_does_not_manage_the_policies_of_jobs_apply_and_those_of_pods_do_not() -> None:
    shared = replace(plan(), shared_namespaces=("place",))
    made = [each for _, each in admission_policies(shared)]
    (message,) = refusals(made, asked(_LONG, {}))
    assert "longest grace period" in message
    assert refusals(made, asked(_HOST, {})) == []


def test_a_policy_that_only_warns_keeps_its_rules_of_new_jobs() -> None:
    warned = replace(plan(), audited=_AUDITED)
    request = asked(_LONG, {"berth.dev/team": "vision"})
    assert refusals(bound(warned, "berth-submission"), request) == []
    assert len(refusals(bound(warned, "berth-grace"), request)) == 1
    assert len(refusals(bound(warned, "berth-submission"), asked(_HOST, {"berth.dev/team": "vision"}))) == 1


def test_only_policies_that_know_the_queue_look_at_a_new_job_besides() -> None:
    others = [
        object_name(each)
        for each in objects(plan())
        if any("jobs" in r.resources and "CREATE" in r.operations for r in each.requests) and not each.queues
    ]
    assert others == ["berth-submission"]
    assert {each.name for each in objects(plan())} == {"submission", *(each.name for each in policies(plan()))}


def test_it_has_no_rule_and_no_variable_that_only_another_request_needs() -> None:
    made = next(each for each in objects(plan()) if each.name == "submission")
    parts = [text for _, text in made.variables] + [text for text, _ in made.rules] + [str(made.concern)]
    for other in ("request.", "oldObject", "jobsets", "kubeflow", "ray.io", "isDeletion", "isShared"):
        assert not [text for text in parts if other in text], other
    used = " ".join(parts)
    assert not [name for name, _ in made.variables if f"variables.{name}" not in used]
    assert len(made.rules) < sum(len(each.rules) for each in policies(plan()) if "jobs" in str(each.requests)) / 2
