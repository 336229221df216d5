"""Kueue accepts every plan of a sound stack file: its objects fit the CRDs, and no invariant is broken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from msgspec.structs import replace

from berth.evaluate import evaluate_stack
from berth.manifests import fleet as manifests
from berth.plan.admission_checks import AdmissionCheckPlan, MultiKueueClusterPlan, MultiKueueConfigPlan
from berth.plan.dynamic_slices import SlicingPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QueueCheckPlan, TopologyPlan
from tests import small_fleets, stack_files
from tests.berth.manifests.test_crd_schemas import faults as schema_faults
from tests.berth.planner import kueue_invariants, sound_fleets
from tests.berth.rules.kueue import rule_cases
from tests.components.kueue import plans

CHECK, REMOTE = rule_cases.CHECK, rule_cases.REMOTE
ON_ALL = (QueueCheckPlan(name="dws"),)


def _of(queue: ClusterQueuePlan | None = None, **changes: Any) -> FleetPlan:
    """A plan that Kueue accepts before it is changed."""
    return replace(sound(), **(changes | ({"cluster_queues": (queue,)} if queue else {})))


def sound() -> FleetPlan:
    """The sound plan of the rules' tests, in which the pool of the checked flavor is queued and every name exists."""
    fields: dict[str, Any] = dict.fromkeys(PoolPlan.__struct_fields__)
    pool = PoolPlan(**{**fields, "flavor": "v5e-spot", "capacity": "queued"})
    return replace(
        rule_cases.sound(),
        pools=(pool,),
        cohorts=(CohortPlan(name="research", parent=None),),
        multikueue_configs=(MultiKueueConfigPlan(name="remote", clusters=()),),
    )


QUEUE = sound().cluster_queues[0]
FLAVOR, OTHER = sound().flavors
SLICING = SlicingPlan(
    block="4x4x4", blocks=1, chips_per_node=4, parts=(), joins=True, label="{}", most_chips=64, controller="a/slice"
)
SLICED = replace(FLAVOR, slicing=SLICING)
FORMING = AdmissionCheckPlan(name="slices", controller="a/slice")
FORMED = (*QUEUE.admission_checks, QueueCheckPlan(name="slices", on_flavors=(FLAVOR.name,)))


def _sliced(*checks: AdmissionCheckPlan) -> FleetPlan:
    """The sound plan, in which a controller forms the slices of the flavor that is not queued."""
    queue = replace(QUEUE, admission_checks=FORMED)
    return _of(queue, flavors=(SLICED, OTHER), admission_checks=(CHECK, REMOTE, *checks))


ENTRY = plans.quotas("v5e", 8)
BROKEN: tuple[tuple[str, FleetPlan], ...] = (
    ("unique_names", _of(flavors=(FLAVOR, FLAVOR, OTHER))),
    ("names_are_names", _of(priorities=(replace(plans.priority(), name="system-x"),))),
    ("names_are_names", _of(replace(QUEUE, namespaces=("a.b",)))),
    ("references_exist", _of(topologies=())),
    ("references_exist", _of(replace(QUEUE, cohort="nobody"))),
    ("checks_are_configured", _of(provisioning_configs=())),
    ("checks_are_configured", _of(admission_checks=(CHECK, replace(REMOTE, parameters=None)))),
    ("checks_are_configured", _sliced(replace(FORMING, parameters=CHECK.parameters))),
    ("checks_are_configured", _sliced(FORMING, replace(FORMING, name="other", controller="nobody/slice"))),
    ("cohorts_form_trees", _of(cohorts=(CohortPlan(name="research", parent="a"), CohortPlan(name="a", parent="a")))),
    ("groups_are_whole", _of(replace(QUEUE, covered_resources=("memory", "cpu", plans.TPU)))),
    ("groups_are_whole", _of(replace(QUEUE, flavors=(*QUEUE.flavors, QUEUE.flavors[0])))),
    ("quotas_are_amounts", _of(replace(QUEUE, flavors=(plans.quotas("v5e", 8, lend=9), QUEUE.flavors[1])))),
    ("limits_need_others", _of(replace(QUEUE, cohort=None, flavors=(plans.quotas("v5e", 8, borrow=8),)))),
    ("queues_cover_every_pod", _of(replace(QUEUE, covered_resources=(plans.TPU,)))),
    ("preemption_fits", _of(replace(QUEUE, preemption=replace(plans.PREEMPTION, reclaim_within_cohort="Never")))),
    ("checks_fit_flavors", _of(replace(QUEUE, admission_checks=()))),
    ("checks_fit_flavors", _of(replace(QUEUE, admission_checks=ON_ALL))),
    ("checks_fit_flavors", _of(flavors=(SLICED, OTHER), admission_checks=(CHECK, REMOTE, FORMING))),
    ("checks_fit_flavors", replace(_sliced(FORMING), flavors=(SLICED, replace(OTHER, slicing=SLICING)))),
    (
        "provisioning_asks_for_accelerators",
        _of(provisioning_configs=(replace(rule_cases.CONFIG, managed_resources=()),)),
    ),
    ("multikueue_is_alone", _of(replace(QUEUE, admission_checks=(*ON_ALL, QueueCheckPlan(name="remote"))))),
    ("multikueue_is_alone", _of(multikueue_clusters=(MultiKueueClusterPlan(name="east"),))),
    ("topologies_are_ordered", _of(topologies=(TopologyPlan(name="gke", levels=(kueue_invariants.HOSTNAME, "a")),))),
    ("flavors_select_nodes", _of(flavors=(replace(FLAVOR, node_labels={"a b": "x"}), OTHER))),
    ("priorities_are_free", _of(priorities=(replace(plans.priority(), value=10**9 + 1),))),
    (
        "gates_are_in_one_place",
        _of(charts=(replace(rule_cases.CHART, values={"controllerManager": {"featureGates": []}}),)),
    ),
)


def test_every_invariant_can_be_broken() -> None:
    assert {name for name, _ in BROKEN} == {each.__name__ for each in kueue_invariants.INVARIANTS}


@pytest.mark.parametrize(("name", "plan"), BROKEN, ids=[f"{n}-{name}" for n, (name, _) in enumerate(BROKEN)])
def test_a_plan_that_breaks_an_invariant_is_caught(name: str, plan: FleetPlan) -> None:
    assert name in {line.partition(":")[0] for line in kueue_invariants.broken(plan)}


@pytest.mark.parametrize("plan", [sound(), _sliced(FORMING)], ids=["sound", "sliced"])
def test_a_plan_breaks_nothing_before_it_is_changed(plan: FleetPlan) -> None:
    """So what is caught above is what each case changes."""
    assert kueue_invariants.broken(plan) == []


def refusals(plan: FleetPlan) -> list[str]:
    """What Kueue would refuse, or never act on, in this cluster and in its workers."""
    objects = [m for m in manifests.all_manifests(plan) if str(m["apiVersion"]).startswith("kueue.x-k8s.io/")]
    inside = [fault for worker in plan.workers for fault in refusals(worker.plan)]
    return [*(fault for each in objects for fault in schema_faults(each)), *kueue_invariants.broken(plan), *inside]


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(fleet=sound_fleets.fleets())
def test_every_plan_of_a_sound_stack_file_is_accepted(fleet: dict[str, Any]) -> None:
    assume(small_fleets.faults(fleet) == [])
    assert refusals(small_fleets.run_planner(fleet).plan) == []


@pytest.mark.parametrize("stack", sorted(stack_files.GKE_STACKS))
def test_the_plan_of_every_stack_file_is_accepted(stack: str) -> None:
    plan = evaluate_stack(str(stack_files.GKE_STACKS[stack]), stack_files.ROOT).fleet_plan
    assert plan is not None
    assert refusals(plan) == []
