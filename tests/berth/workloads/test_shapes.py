"""Machines of every shape: single hosts, topologies, accelerator networks, taints, sizes; and random workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from typer.testing import CliRunner

from berth import catalog
from berth.cli import app
from berth.diagnostics import Problems
from berth.jobs.files import ManifestDocument
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.plan.fleet import FleetPlan
from berth.plan.node_settings import NodeNetworkPlan
from berth.plan.workloads import JobPlan, JobSetPlan
from berth.planner import plan_fleet
from berth.simulator.arrivals import read_arrivals
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import JobState
from berth.spec.parse import parse_fleet
from berth.workloads.derive import derive_workload
from berth.workloads.options import WorkloadOptions
from tests.berth.workloads.made import answer
from tests.stack_files import plan

SLICE = "kueue.x-k8s.io/podset-slice-required-topology"


def fleet(flavors: str = "v5e", mode: str = "standard", **pools: dict[str, Any]) -> FleetPlan:
    """Return the plan of a fleet of these pools, with one team whose queue `q` is promised all of the flavors."""
    entries = [{"pool": name, "guaranteed": "all"} for name in flavors.split()]
    values: dict[str, Any] = {
        "project": "acme-ml-dev",
        "region": "us-central1",
        "cluster": {"zones": ["us-central1-a"], "mode": mode},
        "pools": pools,
        "teams": {"team": {"queues": {"q": {"flavors": entries}}}},
    }
    planned = plan_fleet("test", parse_fleet(values, []))
    assert planned is not None
    assert [each.line() for each in planned.problems if each.severity == "fault"] == []
    return planned.plan


def job_set(fleet_plan: FleetPlan, **request: Any) -> JobSetPlan:
    draft = derive_workload(fleet_plan, "team", "q", WorkloadOptions(kind="jobset", **request))
    assert [each.line() for each in draft.problems] == []
    assert isinstance(draft.workload, JobSetPlan)
    return draft.workload


V5E = {"machineType": "ct5lp-hightpu-4t", "topology": "4x4", "slices": 2, "zone": "us-central1-a"}
HOST = {"machineType": "ct5lp-hightpu-8t", "topology": "2x4", "slices": 2, "zone": "us-central1-a"}


def test_a_slice_of_one_host_is_one_pod_with_all_its_chips() -> None:
    """No annotation: a node pool of single hosts holds many slices."""
    result = job_set(fleet("host", host=HOST), slices=2)
    assert (result.replicas, result.pods, result.pod.resources) == (2, 1, {"google.com/tpu": 8})
    assert result.exclusive_topology is None
    draft = derive_workload(fleet("host", host=HOST), "team", "q", WorkloadOptions(kind="job", slices=2))
    assert isinstance(draft.workload, JobPlan)
    assert draft.workload.pods == 2


def test_with_topology_aware_scheduling_kueue_keeps_a_slice_together() -> None:
    result = job_set(fleet(v5e={**V5E, "topologyAware": True}), slices=2)
    assert result.exclusive_topology is None
    assert result.pod.annotations == {
        SLICE: "cloud.google.com/gke-nodepool",
        "kueue.x-k8s.io/podset-slice-size": "4",
    }


def test_topology_aware_gpu_pods_prefer_the_lowest_level() -> None:
    h100 = {"machineType": "a3-megagpu-8g", "nodes": 4, "topologyAware": True}
    near = {"kueue.x-k8s.io/podset-preferred-topology": "cloud.google.com/gce-topology-block"}
    assert job_set(fleet("h100", h100=h100), pods=4).pod.annotations == near
    assert job_set(fleet("h100", h100=h100), pods=1).pod.annotations == {}


@pytest.mark.parametrize(
    ("slices", "profile", "mode", "wanted"),
    [
        (2, None, "standard", True),
        (1, None, "standard", False),
        (2, "auto", "standard", False),
        (2, None, "autopilot", False),
    ],
)
def test_the_network_of_the_nodes_is_used_only_where_slices_need_it(
    slices: int, profile: str | None, mode: str, wanted: bool
) -> None:
    """Not by one slice, not where GKE wires the accelerator network into pods, and never on Autopilot."""
    made = fleet(mode=mode, v5e=V5E)
    network = NodeNetworkPlan(private_nodes=True, accelerator_profile=profile)
    pools = tuple(
        replace(pool, node_pools=tuple(replace(each, network=network) for each in pool.node_pools))
        for pool in made.pools
    )
    assert job_set(replace(made, pools=pools), slices=slices).pod.host_network == wanted


def test_a_queue_of_two_topologies_is_narrowed_to_one() -> None:
    """Kueue would use the first flavor with quota, although the pods fit only one shape."""
    both = fleet("small large", small=V5E | {"topology": "2x4"}, large=V5E)
    assert job_set(both).pod.node_selector == {"cloud.google.com/gke-tpu-topology": "2x4"}
    large = job_set(both, flavor="large")
    assert (large.pods, large.pod.node_selector) == (4, {"cloud.google.com/gke-tpu-topology": "4x4"})


def test_pods_on_the_network_of_their_nodes_are_refused_by_autopilot() -> None:
    made = answer("multislice", "multislice", "train", slices=2).objects[0]
    (finding,) = lint_documents([ManifestDocument("a.yaml", made)], LintContext(plan("multislice-autopilot")))
    assert [each.message for each in finding.faults] == [
        "Autopilot refuses pods with hostNetwork; remove it: slices there communicate over the pod network"
    ]


@pytest.mark.parametrize(
    ("machine", "cpu", "gib"),
    [
        # vCPUs less 6 % of the first, 1 % of the second, 0.5 % of two more and 0.25 % of the rest;
        # GiB less 25 % of four, 20 % of four, 10 % of eight, 6 % of 112 and 2 % of the rest, and 100 MiB.
        ("g2-standard-24", 24_000 - 60 - 10 - 10 - 50, 96 - 1 - 0.8 - 0.8 - 4.8),
        ("ct5lp-hightpu-4t", 112_000 - 60 - 10 - 10 - 270, 192 - 1 - 0.8 - 0.8 - 6.72 - 1.28),
        ("n1-standard-8", 8_000 - 60 - 10 - 10 - 10, 30 - 1 - 0.8 - 0.8 - 0.84),
    ],
)
def test_the_allocatable_part_of_a_machine(machine: str, cpu: int, gib: float) -> None:
    result = catalog.allocatable(machine)
    assert result is not None
    assert (result.cpu, result.memory) == (cpu, int(gib * 2**30) - 100 * 2**20)
    assert catalog.allocatable("e2-standard-4") is None


# --- random workloads -------------------------------------------------------------------------------------------------

DOORS = [
    (stack, team.name, door.name)
    for stack in ("dev", "batch-platform", "dws", "flex-start", "hotswap")
    for team in plan(stack).teams
    for door in team.local_queues
]
NUMBERS = st.none() | st.integers(1, 12)


@given(
    where=st.sampled_from(DOORS),
    kind=st.sampled_from(["jobset", "job", "pytorchjob"]),
    number=NUMBERS,
    gpus=NUMBERS,
    cpu=st.none() | st.integers(1, 60),
)
def test_a_printed_workload_is_admitted_or_refused_with_a_fault(
    where: tuple[str, str, str], kind: str, number: int | None, gpus: int | None, cpu: int | None
) -> None:
    """Lint says yes exactly where Kueue's own decision on an empty fleet is yes and the pods fit their nodes."""
    stack, team, queue = where
    tpu = any(word in f"{stack}/{queue}" for word in ("dev/train", "flex-start/tpu", "hotswap"))
    options: dict[str, Any] = {"slices": number} if tpu else {"pods": number, "gpus": gpus}
    made = answer(stack, team, queue, kind=kind, **options, cpu=None if cpu is None else str(cpu))
    if not made.objects:
        assert made.faults
        return
    book = build_simulated_fleet(plan(stack))
    problems = Problems()
    jobs = [
        each.job
        for value in made.objects
        for each in read_arrivals(ManifestDocument("", value).root_value(problems), book)
    ]
    assert (len(jobs), problems.entries) == (1, [])
    simulator = Simulator(book.setup)
    simulator.submit(jobs[0])
    assert simulator.workloads[jobs[0].name].state in (JobState.ADMITTED, JobState.RESERVED)


CLASS = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster:
      controlPlane: {publicEndpoint: false}
      nodeAutoProvisioning: {cpu: {max: 5000}, memory: {max: 50000}, accelerators: {nvidia-h100-80gb: 64}}
    computeClasses:
      h100:
        priorities:
          - {machineType: a3-highgpu-8g, capacity: spot}
          - {machineType: a3-highgpu-4g, capacity: spot}
          - {machineType: a3-highgpu-1g, capacity: flex-start}
    pools:
      h100: {machineType: a3-highgpu-8g, nodes: {max: 4}, computeClass: h100}
    teams:
      a: {queues: {train: {flavors: [{pool: h100, guaranteed: all}]}}}
"""


@pytest.mark.parametrize(
    ("gpus", "note"),
    [
        ("8", "Of compute class 'h100' only nodes of priority 1 (a3-highgpu-8g) have room for such a pod."),
        ("4", "only nodes of priorities 1 (a3-highgpu-8g) and 2 (a3-highgpu-4g) have room for such a pod."),
        ("1", ""),
    ],
)
def test_pods_of_a_compute_class_are_told_on_which_nodes_they_fit(tmp_path: Path, gpus: str, note: str) -> None:
    stack = tmp_path / "stack.yaml"
    stack.write_text(CLASS, encoding="utf-8")
    result = CliRunner().invoke(app, ["workload", str(stack), "a", "train", "--gpus", gpus, "--pods", "2"])
    assert result.exit_code == 0, result.stderr
    assert note in result.stdout
    assert ("compute class" in result.stdout) == bool(note)
