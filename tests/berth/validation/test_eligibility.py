"""Guarantees that no job can reach, and queues whose flavors no single job can use; the remedies typed as written."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from berth.backends.gke import BACKEND
from berth.diagnostics import Problem, Problems, Severity
from berth.document.text import render_text
from berth.evaluate import Evaluation, evaluate_config
from berth.jobs.files import ManifestDocument
from berth.jobs.pod_set import PodSet, TopologyRequest
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.nodes import fleet_nodes
from berth.overview.forms import form_ceilings, form_lines
from berth.placement.forms import JobForm, is_split, kueue_flavors, queue_forms
from berth.placement.kueue import flavor_refusal
from berth.validation.eligibility import check_eligibility
from berth.validation.quota_claims import collect_claims
from berth.workloads.options import WorkloadOptions
from tests.stack_files import ROOT, every_stack, plan

RESERVED = {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": 8, "zone": "us-east5-b"}
SPOT = {**RESERVED, "slices": {"max": 8}, "capacity": "spot"}


def fleet(pools: dict[str, Any], queues: dict[str, Any]) -> Evaluation:
    """A fleet in us-east5 with these pools, and these queues of one team."""
    reservations = {
        "v6e": {"existing": True, "name": "held", "machineType": "ct6e-standard-4t", "zone": "us-east5-b", "count": 32}
    }
    value: dict[str, Any] = {
        "project": "my-project",
        "region": "us-east5",
        "cluster": {"zones": ["us-east5-b"]},
        "reservations": reservations,
        "pools": pools,
        "teams": {"red": {"queues": queues}},
    }
    return evaluate_config("test", value, ROOT)


def mixed(**spot: Any) -> Evaluation:
    """A reserved flavor with a topology, and a plain spot flavor behind it: the commonest queue with both."""
    pools = {
        "v6e": {**RESERVED, "capacity": {"reservation": "v6e"}, "topologyAware": True},
        "v6e-spot": {**SPOT, **spot},
    }
    flavors = [{"pool": "v6e", "guaranteed": "all"}, {"pool": "v6e-spot", "guaranteed": "all"}]
    return fleet(pools, {"train": {"flavors": flavors}})


def of(evaluation: Evaluation, *codes: str) -> list[Problem]:
    return [problem for problem in evaluation.problems if problem.code in codes]


CODES = ("split-queue", "unreachable-guarantee")


@every_stack
def test_no_stack_of_the_repository_guarantees_what_no_job_can_reach(stack: str) -> None:
    fleet_plan = plan(stack)
    flavors, matched = (
        {flavor.name: flavor for flavor in fleet_plan.flavors},
        kueue_flavors(fleet_plan.flavors, fleet_plan.topologies),
    )
    for queue in fleet_plan.cluster_queues:
        assert all(queue_forms(queue, flavors, matched).values())


def test_a_topology_before_a_plain_flavor_is_a_split_queue_and_typing_the_remedy_ends_it() -> None:
    (problem,) = of(mixed(), *CODES)
    assert problem.severity == Severity.WARNING
    assert problem.message == (
        "no job can use all flavors of this queue: jobs with a topology request use 'v6e' and jobs without a topology "
        "request use 'v6e-spot'; move 'v6e-spot' to train-plain: {flavors: [{flavor: v6e-spot, guaranteed: 128}]}"
    )
    pools = {
        "v6e": {**RESERVED, "capacity": {"reservation": "v6e"}, "topologyAware": True},
        "v6e-spot": SPOT,
    }
    moved = {
        "train": {"flavors": [{"pool": "v6e", "guaranteed": "all"}]},
        "train-plain": {"flavors": [{"flavor": "v6e-spot", "guaranteed": 128}]},
    }
    after = fleet(pools, moved)
    assert after.faults == ()
    assert of(after, *CODES) == []


def test_the_other_remedy_is_offered_where_the_machines_exist_and_ends_it_too() -> None:
    (problem,) = of(mixed(slices=8), *CODES)
    assert "write topologyAware: true for 'v6e-spot', or move 'v6e-spot' to train-plain" in problem.message
    after = mixed(slices=8, topologyAware=True)
    assert after.faults == ()
    assert of(after, *CODES) == []


def test_a_guarantee_of_machines_that_never_exist_is_a_fault() -> None:
    (problem,) = of(mixed(topologyAware=True), *CODES)
    assert (problem.severity, problem.code) == (Severity.FAULT, "unreachable-guarantee")
    assert "the 128 v6e chips of 'v6e-spot'" in problem.message
    assert problem.path == ("teams", "red", "queues", "train", "flavors", 1)
    assert of(mixed(topologyAware=True, capacity="queued"), *CODES) == []


def test_levels_that_the_nodes_lack_are_a_fault() -> None:
    """No stack file has them today: the plan is changed."""
    evaluation = mixed(slices=8, topologyAware=True)
    changed = evaluation.fleet_plan
    assert changed is not None
    topologies = tuple(replace(each, levels=("cloud.google.com/rack", *each.levels)) for each in changed.topologies)
    changed = replace(changed, topologies=topologies)
    origins: dict[tuple[str, str], Any] = {
        ("cluster queue", queue.name): ("teams", "red", "queues", "train") for queue in changed.cluster_queues
    }
    problems = Problems()
    check_eligibility(collect_claims(changed, origins), problems)
    messages = [each.message for each in problems.entries if each.code == "unreachable-guarantee"]
    assert len(messages) == 2
    assert all("its nodes have no label cloud.google.com/rack, a level of its topology" in each for each in messages)


def test_described_nodes_have_the_levels_that_topology_aware_states() -> None:
    """Without values, which a stack file of an existing cluster does not have."""
    pools = {"h200": {"machineType": "a3-ultragpu-8g", "nodes": 2, "topologyAware": True}}
    value = {
        "cluster": {"existing": {"context": "there"}},
        "pools": pools,
        "teams": {"red": {"queues": {"train": {"flavors": [{"pool": "h200", "guaranteed": "all"}]}}}},
    }
    evaluation = evaluate_config("test", value, ROOT)
    assert evaluation.fleet_plan is not None
    assert evaluation.faults == ()
    (group,) = fleet_nodes(evaluation.fleet_plan).groups
    levels = evaluation.fleet_plan.topologies[0].levels
    assert [(group.label(level).present, group.label(level).values) for level in levels] == [(True, ())] * 4
    result = BACKEND.workload(evaluation, "red", "train", WorkloadOptions())
    assert [each.message for each in result.faults] == []


def test_the_forms_are_those_of_kueue() -> None:
    """By the rule itself, for requests of every kind: any topology request, and none."""
    evaluation = mixed()
    fleet_plan = evaluation.fleet_plan
    assert fleet_plan is not None
    (queue,) = fleet_plan.cluster_queues
    matched = kueue_flavors(fleet_plan.flavors, fleet_plan.topologies)
    forms = queue_forms(queue, {flavor.name: flavor for flavor in fleet_plan.flavors}, matched)
    assert forms == {"v6e": (JobForm.TOPOLOGY,), "v6e-spot": (JobForm.PLAIN,)}
    assert is_split(forms)
    hostname = "kubernetes.io/hostname"
    requests = [
        TopologyRequest(required=hostname),
        TopologyRequest(preferred=hostname),
        TopologyRequest(unconstrained=True),
    ]
    for request in (None, *requests):
        pods = PodSet(name="main", count=1, requests={"google.com/tpu": 4}, tolerations=(), topology=request)
        taken = [n for n, f in matched.items() if flavor_refusal(pods, f, only_topologies=False) is None]
        assert taken == (["v6e-spot"] if request is None else ["v6e"])


def test_plan_shows_the_ceiling_of_each_form() -> None:
    evaluation = mixed(slices={"max": 4})
    fleet_plan = evaluation.fleet_plan
    assert fleet_plan is not None
    ceilings = {(each.queue, each.form): each.ceiling for each in form_ceilings(fleet_plan)}
    assert ceilings == {("red-train", "topology"): {"v6e": 8 * 16}, ("red-train", "plain"): {"v6e-spot": 4 * 16}}
    text = render_text([form_lines(fleet_plan)])
    assert "red-train: jobs with a topology request use at most 128 v6e chips of v6e" in text
    assert "red-train: jobs without a topology request use at most 64 v6e chips of v6e-spot" in text
    assert list(form_ceilings(plan("dev"))) == []


GPUS = {"nodes": 4, "zone": "us-east5-b", "capacity": "spot", "acceptZone": True}
SPLIT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "slices": ({**RESERVED, "capacity": {"reservation": "v6e"}, "topologyAware": True}, SPOT),
    "single nodes": (
        {**GPUS, "machineType": "a3-ultragpu-8g", "topologyAware": True},
        {**GPUS, "machineType": "a3-highgpu-8g"},
    ),
}


@pytest.mark.parametrize("flavor", ["near", "far"])
@pytest.mark.parametrize("machines", list(SPLIT))
def test_workload_reaches_each_flavor_of_a_split_queue(flavor: str, machines: str) -> None:
    """Slices of several hosts, and single nodes, whose pods need a request too."""
    near, far = SPLIT[machines]
    flavors = [{"pool": "near", "guaranteed": "all"}, {"pool": "far", "guaranteed": "all"}]
    evaluation = fleet({"near": near, "far": far}, {"train": {"flavors": flavors}})
    fleet_plan = evaluation.fleet_plan
    assert fleet_plan is not None
    assert evaluation.faults == ()
    result = BACKEND.workload(evaluation, "red", "train", WorkloadOptions(flavor=flavor, name="job"))
    assert [each.message for each in result.faults] == []
    (finding,) = lint_documents([ManifestDocument("", each) for each in result.objects], LintContext(fleet_plan))
    assert finding.admission.endswith(f" of {flavor}")
