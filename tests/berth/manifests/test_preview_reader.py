"""The ClusterRole for previews reads every kind of the stack except Secrets, and nothing else."""

from __future__ import annotations

from typing import Any, cast

import pytest

from berth.evaluate import evaluate_stack
from berth.manifests.fleet import all_manifests
from berth.manifests.preview_reader import plural, preview_reader
from tests.stack_files import GKE_STACKS, ROOT

PLURALS = {
    "AdmissionCheck": "admissionchecks",
    "ComputeClass": "computeclasses",
    "LimitRange": "limitranges",
    "NetworkPolicy": "networkpolicies",
    "PriorityClass": "priorityclasses",
    "Topology": "topologies",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "GKENetworkParamSet": "gkenetworkparamsets",
    "DaemonSet": "daemonsets",
}


@pytest.mark.parametrize(("kind", "resource"), PLURALS.items())
def test_the_resource_of_a_kind(kind: str, resource: str) -> None:
    assert plural(kind) == resource


@pytest.mark.parametrize("stack", GKE_STACKS)
def test_it_reads_every_kind_of_the_stack_and_no_secret(stack: str) -> None:
    plan = evaluate_stack(str(GKE_STACKS[stack]), ROOT).fleet_plan
    assert plan is not None
    objects = list(all_manifests(plan))
    rules = cast("list[dict[str, Any]]", preview_reader(objects)["rules"])
    granted = {(rule["apiGroups"][0], each) for rule in rules for each in rule["resources"]}
    kinds = {(str(each["apiVersion"]).rpartition("/")[0], str(each["kind"])) for each in objects}
    assert granted == {(group, plural(kind)) for group, kind in kinds if kind != "Secret"}
    assert {tuple(rule["verbs"]) for rule in rules} == {("get", "list", "watch")}
    assert not {each for _, each in granted} & {"secrets", "*"}
