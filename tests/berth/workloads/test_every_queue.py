"""What `berth workload` prints for every queue of every stack: lint passes it, schemas do, and Kueue would admit it.

The figures are checked against a second way: topologies multiplied out as the stack file writes them, GPUs as the table
has them, and ceilings as the planner works them out; the command itself goes by pools, and by the admission model.
"""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from berth import catalog
from berth.cli import lint
from berth.cli.workload import generate as workload
from berth.diagnostics import Problems
from berth.jobs.files import read_documents
from berth.jobs.kinds import kinds
from berth.jobs.quantities import parse_quantity
from berth.plan.configuration import SERVING_FRAMEWORKS
from berth.plan.kueue import ClusterQueuePlan
from berth.planner.queueing.quota_tree import QuotaTree
from berth.simulator.arrivals import read_arrivals
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.scheduler.model import RUNNING
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import JobState
from berth.workloads.options import KINDS, workload_kinds
from tests.berth.manifests import test_crd_schemas as crds
from tests.berth.workloads.made import answer, objects
from tests.stack_files import GKE_STACKS, evaluation, fleet_values, plan

QUEUES = [
    (stack, team.name, door.name) for stack in GKE_STACKS for team in plan(stack).teams for door in team.local_queues
]
every_queue = pytest.mark.parametrize(("stack", "team", "queue"), QUEUES)


@cache
def fitting(stack: str, team: str, queue: str) -> dict[str, list[dict[str, Any]]]:
    """Kind → objects; left out are kinds that do not go with the queue's machines, or that workers may not know."""
    values: dict[str, list[dict[str, Any]]] = {}
    for kind in KINDS:
        made = answer(stack, team, queue, kind=kind, **_needed_options(kind))
        if made.objects:
            assert {problem.code for problem in made.problems} <= {"held", "not-checked", "operator-unknown"}
            values[kind] = [dict(each) for each in made.objects]
        else:
            expected = set[str]() if _is_queued(stack, team, kind) else {"not-queued"}
            operators, operator = plan(stack).operators, workload_kinds()[kind].operator
            expected |= {"no-operator"} if operators is not None and operator and operator not in operators else set()
            assert {problem.code for problem in made.faults} in ({"wrong-kind"}, expected or {"wrong-kind"}), (
                made.faults
            )
    return values


def _is_queued(stack: str, team: str, kind: str) -> bool:
    row = next((row for name, row in kinds().items() if name.lower() == kind), None)
    configuration = plan(stack).kueue
    if row is None or configuration is None:
        return True
    (home, *_), *_ = (each.namespaces for each in plan(stack).teams if each.name == team)
    return row.framework in configuration.frameworks and (home.serving or row.framework not in SERVING_FRAMEWORKS)


def _needed_options(kind: str) -> dict[str, Any]:
    given = {"image": "trainer:1", "command": ("python", "train.py")}
    return {option: given[option] for option in workload_kinds()[kind].needs}


def written(folder: pathlib.Path, manifests: list[dict[str, Any]]) -> pathlib.Path:
    """Return a file with them, as the command prints it."""
    file = folder / "workload.yaml"
    file.write_text(
        workload.workload_text(workload.WorkloadResult(tuple(manifests), ("a note",), ())) + "\n", encoding="utf-8"
    )
    return file


@every_queue
def test_printed_workloads_pass_lint(stack: str, team: str, queue: str, tmp_path: pathlib.Path) -> None:
    """Without a warning too, except for requests that no queue covers, and operators that the stack does not name."""
    made = fitting(stack, team, queue)
    assert "jobset" in made
    for kind, manifests in made.items():
        result = lint.lint_files(evaluation(stack), [str(written(tmp_path, manifests))], None, tmp_path)
        assert not result.has_faults
        finding, *others = result.findings
        assert finding.admission
        warned = {each.code for each in finding.problems} - {"held"}
        expected = {"provisioning-request": {"no-queue-asked"}, "trainjob": {"not-checked"}}.get(kind, set())
        operator = workload_kinds()[kind].operator
        unnamed = {"operator-unknown"} if operator and operator not in (plan(stack).operators or ()) else set[str]()
        assert warned == expected | unnamed
        assert [each.code for other in others for each in other.problems] == ["unqueued"] * len(others)
        assert not others or kind == "provisioning-request"


@every_queue
def test_an_empty_fleet_admits_what_lint_passes(stack: str, team: str, queue: str, tmp_path: pathlib.Path) -> None:
    """As in `berth admit`: the manifests are read again, in the fleet with held queues resumed."""
    for kind, manifests in fitting(stack, team, queue).items():
        if kind == "provisioning-request":
            continue  # no queue admits its job
        book = build_simulated_fleet(plan(stack))
        result, problems = read_documents(written(tmp_path, manifests), "workload.yaml")
        assert problems == []
        faults = Problems()
        jobs = [each.job for document in result for each in read_arrivals(document.root_value(faults), book)]
        assert faults.entries == []
        assert len(jobs) == len([each for each in manifests if each["kind"] in kinds()])
        simulator = Simulator(book.setup)
        for name in [each.name for each in book.setup.queues if each.stop_policy != RUNNING]:
            simulator.resume(name)
        for job in jobs:
            simulator.submit(job)
            assert simulator.workloads[job.name].state in (JobState.ADMITTED, JobState.RESERVED)


@every_queue
def test_printed_workloads_match_the_published_schemas(stack: str, team: str, queue: str) -> None:
    checked = [
        each
        for manifests in fitting(stack, team, queue).values()
        for each in manifests
        if each["kind"] not in ("Job", "Service", "Deployment", "PodTemplate")
    ]
    assert checked
    assert [fault for each in checked for fault in crds.faults(each)] == []


def test_a_request_names_the_topology_of_slices_of_several_hosts_and_of_nothing_else() -> None:
    """Without it GKE would make nodes that form no slice."""
    asked: dict[str, str | None] = {}
    for where in QUEUES:
        made = {each["kind"]: each for each in fitting(*where).get("provisioning-request", ())}
        if made:
            request, template = made["ProvisioningRequest"]["spec"], made["PodTemplate"]["template"]["spec"]
            topology = template["nodeSelector"].get("cloud.google.com/gke-tpu-topology")
            expected = topology if request["podSets"][0]["count"] > 1 else None
            assert request["parameters"].get("tpu-topology") == expected, where
            asked["/".join(where)] = expected
    assert None in asked.values()
    assert set(asked.values()) - {None}


# --- figures, a second way --------------------------------------------------------------------------------------------


def pods(manifest: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """How many pods of which spec, straight from the objects."""
    spec = manifest["spec"]
    match manifest["kind"]:
        case "JobSet":
            for job in spec["replicatedJobs"]:
                inner = job["template"]["spec"]
                yield job["replicas"] * inner["parallelism"], inner["template"]["spec"]
        case "PyTorchJob":
            for role in spec["pytorchReplicaSpecs"].values():
                yield role["replicas"], role["template"]["spec"]
        case _:
            yield spec["parallelism"], spec["template"]["spec"]


def total(manifest: dict[str, Any], resource: str) -> int:
    """Return all that a workload requests of a resource."""
    return sum(
        number * (parse_quantity(resource, container["resources"]["requests"].get(resource, "0")) or 0)
        for number, spec in pods(manifest)
        for container in spec["containers"]
    )


def queue_plan(stack: str, team: str, queue: str) -> ClusterQueuePlan:
    (door,) = [d for t in plan(stack).teams if t.name == team for d in t.local_queues if d.name == queue]
    (value,) = [each for each in plan(stack).cluster_queues if each.name == door.cluster_queue]
    return value


def reach(stack: str, queue: ClusterQueuePlan) -> dict[str, int]:
    """Flavor → the most accelerators or milli-cores of one job: the ceiling of its queue, or the largest on workers."""
    most: dict[str, int] = {}
    for one in [worker.plan for worker in plan(stack).workers] or [plan(stack)]:
        resource_of = {flavor.name: flavor.resource for flavor in one.flavors}
        of_name = [each for each in one.cluster_queues if each.name == queue.name]
        tree = QuotaTree(one.cluster_queues, one.cohorts, resource_of, in_milli=True)
        for flavor, ceiling in tree.ceilings(of_name).items():
            most[flavor] = max(ceiling, most.get(flavor, 0))
    return most


CORES_OF_A_NODE = {
    "n2-standard-32": 31,
    "c3-standard-88": 87,
    "c2d-standard-112": 111,
    "h4d-highmem-192-lssd": 190,
    "c4d-standard-96": 95,
}
"""Whole cores that pods can request, worked out by hand from GKE's page."""


def of_a_unit(stack: str, flavor: str) -> int:
    """Chips of a slice, GPUs or milli-cores of a node: from what the stack file says of the pool, and the table."""
    named = next(pool for pool in plan(stack).pools if pool.flavor == flavor)
    worker, _, pool = named.name.rpartition("/")
    written = (fleet_values(stack)["workers"][worker] if worker else fleet_values(stack))["pools"][pool]
    if "topology" in written:
        return math.prod(int(side) for side in written["topology"].split("x"))
    machine = catalog.machines().get(written["machineType"])
    return machine.accelerators if machine else CORES_OF_A_NODE[written["machineType"]] * 1000


def held(stack: str, flavor: str, cores: int) -> int:
    """Return the most pods of so many milli-cores on a flavor's nodes, whole pods on each; no limit of accelerators."""
    named = [pool for pool in plan(stack).pools if pool.flavor == flavor]
    if named[0].machine_type not in CORES_OF_A_NODE:
        return 10**9
    written = {pool.name: fleet_values(stack)["pools"][pool.name]["nodes"] for pool in named}
    counts = {name: nodes if isinstance(nodes, int) else nodes["max"] for name, nodes in written.items()}
    return sum(counts[pool.name] * (CORES_OF_A_NODE[pool.machine_type] * 1000 // cores) for pool in named)


@every_queue
def test_the_largest_workload_equals_the_ceiling(stack: str, team: str, queue: str) -> None:
    """A job stands on one flavor, so its ceiling is that of the flavor that holds the most whole slices or pods."""
    behind = queue_plan(stack, team, queue)
    first = behind.flavors[0].flavor
    resources = {flavor.name: flavor.resource for flavor in plan(stack).flavors}
    labels = {flavor.name: flavor.node_labels for flavor in plan(stack).flavors}
    accelerator = "cloud.google.com/gke-accelerator"
    alike = [f for f in reach(stack, behind) if labels[f].get(accelerator) == labels[first].get(accelerator)]
    unit = min(of_a_unit(stack, flavor) for flavor in alike)
    most = max(min(reach(stack, behind)[flavor] // unit, held(stack, flavor, unit)) for flavor in alike)
    option = "slices" if resources[first] == "google.com/tpu" else "pods"
    largest = objects(stack, team, queue, kind="jobset", **{option: most})[-1]
    assert total(largest, resources[first]) == most * unit
    refused = answer(stack, team, queue, kind="jobset", **{option: most + 1})
    codes = ("above-ceiling", "above-worker", "no-place", "wrong-shape")
    (fault,) = [each for each in refused.faults if each.code in codes]
    if fault.code == "wrong-shape":  # more than one NVLink domain has
        assert f"; write --pods {most}, " in fault.message
        return
    if fault.code == "no-place":
        assert f"; write at most {most} pods, " in fault.message
        return
    asked = (most + 1) * unit // (1000 if resources[first] == "cpu" else 1)
    assert f"{asked} " in fault.message
    noun = option[:-1]
    assert fault.message.endswith(f"the largest that fits is {most} {noun}{'' if most == 1 else 's'}")


@every_queue
def test_cpu_and_memory_have_the_unit_of_the_quota(stack: str, team: str, queue: str) -> None:
    """Where a pod asks for them, a workload with all of the accelerators has all of the cpu and memory too."""
    behind = queue_plan(stack, team, queue)
    (job_set,) = fitting(stack, team, queue)["jobset"]
    for resource in ("cpu", "memory"):
        request = total(job_set, resource)
        entry = max(behind.flavors, key=lambda each: max(quota.nominal for quota in each.quotas))
        quotas = {quota.resource: quota.nominal for quota in entry.quotas}
        accelerator = next((each for each in quotas if each not in ("cpu", "memory", "pods") and quotas[each]), "cpu")
        if accelerator == "cpu":  # pods fit on the nodes of each flavor, so they have the least memory per core
            quotas = min(
                ({quota.resource: quota.nominal for quota in each.quotas} for each in behind.flavors),
                key=lambda each: each["memory"] / each["cpu"],
            )
        if request:
            share = quotas[resource] * total(job_set, accelerator)
            # The kernel takes memory that the quota of whole machines counts.
            least = 0.95 if (accelerator, resource) == ("cpu", "memory") else 1
            assert least * share <= request * quotas[accelerator] <= share


@pytest.mark.parametrize(
    ("stack", "team", "queue", "requests"),
    [
        ("batch-platform", "team-a", "lq-team-a-compact", {"cpu": "10", "memory": "60Gi", "nvidia.com/gpu": "1"}),
        ("batch-platform", "team-a", "lq-team-a-hp", {"cpu": "2", "memory": "10Gi", "nvidia.com/gpu": "2"}),
        ("batch-platform", "team-a", "lq-team-a-lp", {"cpu": "2", "memory": "10Gi", "nvidia.com/gpu": "2"}),
        ("batch-platform", "team-a", "dws-local-queue", {"nvidia.com/gpu": "2"}),
        ("dev", "vision", "urgent", {"nvidia.com/gpu": "2"}),
    ],
)
def test_a_pod_asks_for_the_share_of_its_accelerators(
    stack: str, team: str, queue: str, requests: dict[str, str]
) -> None:
    """Of 20 cpu and 2 GPUs a pod of one GPU gets 10; none of a quota of whole machines, which no node has free."""
    (job,) = objects(stack, team, queue, kind="job", image="trainer:1")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == requests


def test_every_kind_has_a_queue_that_admits_it() -> None:
    """Services fit where Kueue is an existing one, whose integrations Berth does not know."""
    assert {kind for each in QUEUES for kind in fitting(*each)} == set(KINDS)


def test_the_json_is_what_kubectl_takes() -> None:
    """The same objects as data."""
    made = answer("dev", "vision", "train", slices=2)
    assert json.loads(json.dumps(workload.workload_as_json(made)))["objects"] == [dict(each) for each in made.objects]
