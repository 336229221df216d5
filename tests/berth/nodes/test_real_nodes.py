"""Predicted nodes against real ones (`tests/vendored/facts/nodes.yaml`), and GKE's formulas computed by hand."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from berth.evaluate import evaluate_config
from berth.jobs.quantities import parse_quantity
from berth.nodes import NodeGroup, fleet_nodes
from berth.yaml_loader import load_table

ROOT = Path(__file__).parents[3]
REAL: dict[str, Any] = load_table(ROOT / "tests/vendored/facts/nodes.yaml")


def pool_group(pool: dict[str, object], region: str, cluster: dict[str, object], name: str = "real") -> NodeGroup:
    """The nodes of a fleet with this one pool."""
    fleet: dict[str, object] = {
        "project": "my-project",
        "region": region,
        "cluster": {"zones": [pool.get("zone", f"{region}-a")], **cluster},
        "pools": {name: pool},
        "teams": {"red": {"queues": {"any": {"flavors": [{"pool": name, "guaranteed": 0, "borrow": 0}]}}}},
    }
    evaluation = evaluate_config("test", fleet, ROOT)
    assert evaluation.fleet_plan is not None, [each.line() for each in evaluation.faults]
    return fleet_nodes(evaluation.fleet_plan).groups[0]


@pytest.mark.parametrize("machine", list(REAL))
def test_no_real_node_contradicts_the_prediction(machine: str) -> None:
    """Each label has the predicted value, or its value or presence is unknown; predicted labels are there."""
    real = REAL[machine]
    pool = {**real["pool"], "nodePoolName": real["node_pool"]}
    group = pool_group(pool, real["region"], real["cluster"])
    foreign = "projectcalico.org/ds-ready"
    for key, value in real["labels"].items():
        answer = group.label(key)
        assert answer.is_unknown or answer.values == (value,), key
        assert answer.present is not False, key
    assert group.label(foreign).present is None
    marked = {"berth.dev/capacity"}
    if "kubernetes.io/os" in real["labels"]:  # the kubelet's command line lacks what Kubernetes adds
        predicted = {key for key in group.labels if not key.startswith("cloud.google.com/gke-provisioning")} - marked
        assert predicted <= set(real["labels"])
    own = {taint for taint in group.taints if taint.key not in marked}
    assert {f"{t.key}={t.value}:{t.effect}" for t in own} == set(real.get("taints", []))


def test_a_real_node_has_no_more_for_pods_than_predicted() -> None:
    """The kernel and the operating system take what no formula tells: at most 5 % of memory, 11 % of the disk."""
    real = REAL["n2-standard-4"]
    group = pool_group({**real["pool"]}, real["region"], real["cluster"])
    shares = {"cpu": (1, 1), "pods": (1, 1), "memory": (0.95, 1), "ephemeral-storage": (0.89, 1)}
    for resource, (least, most) in shares.items():
        there = parse_quantity(resource, real["allocatable"][resource])
        assert there is not None
        assert least * group.allocatable[resource] <= there <= most * group.allocatable[resource], resource


def by_hand(cores: int, gib: Fraction, disk: int, ssds: int, streaming: bool) -> tuple[Fraction, Fraction, Fraction]:
    """GKE's reservations, one core, GiB and disk at a time: milli-cpu, GiB of memory, GiB of storage for pods."""
    cpu = Fraction(0)
    for core in range(1, cores + 1):
        cpu += 1000 - Fraction("60" if core == 1 else "10" if core == 2 else "5" if core <= 4 else "2.5")
    reserved = Fraction(0)
    for quarter in range(int(gib * 4)):  # a quarter of a GiB at a time
        at = Fraction(quarter, 4)
        rate = "0.25" if at < 4 else "0.2" if at < 8 else "0.1" if at < 16 else "0.06" if at < 128 else "0.02"
        reserved += Fraction(rate) / 4
    if streaming:
        reserved *= Fraction("1.04")
    size = ssds * 375 if ssds else disk
    held = (
        {1: 50, 2: 75}.get(ssds, 100) if ssds else min(Fraction(disk, 2), 6 + Fraction(disk * 35, 100), Fraction(100))
    )
    return cpu, gib - reserved - Fraction(100, 1024), size * Fraction(9, 10) - held


@pytest.mark.parametrize(
    ("pool", "cores", "gib", "disk", "ssds"),
    [
        ({"machineType": "g2-standard-24", "nodes": {"max": 2}}, 24, 96, 100, 0),
        ({"machineType": "ct6e-standard-4t", "topology": "2x2", "slices": {"max": 2}}, 180, 720, 100, 0),
        ({"machineType": "a2-ultragpu-1g", "nodes": {"max": 1}, "diskSizeGb": 400}, 12, 170, 400, 1),
        ({"machineType": "a3-highgpu-8g", "nodes": {"max": 1}}, 208, 1872, 100, 16),
        ({"machineType": "n2-highmem-16", "nodes": {"max": 1}, "diskSizeGb": 40}, 16, 128, 40, 0),
        ({"machineType": "g2-standard-4", "nodes": {"max": 1}, "localSsd": {"ephemeral": 1}}, 4, 16, 100, 1),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
def test_allocatable_is_what_the_published_formulas_leave(
    pool: dict[str, object], cores: int, gib: int, disk: int, ssds: int, streaming: bool
) -> None:
    group = pool_group({**pool, "zone": "us-central1-a"}, "us-central1", {"imageStreaming": streaming})
    cpu, memory, storage = by_hand(cores, Fraction(gib), disk, ssds, streaming)
    assert group.allocatable["cpu"] == int(cpu)
    assert group.allocatable["memory"] == int(memory * 2**30)
    assert group.allocatable["ephemeral-storage"] == int(storage * 2**30)
    assert group.allocatable["pods"] == 110


def test_more_pods_and_huge_pages_leave_less() -> None:
    plain = pool_group(
        {"machineType": "n2-standard-8", "nodes": {"max": 1}, "zone": "us-central1-a"}, "us-central1", {}
    )
    settings = {"maxPodsPerNode": 200, "nodeSystemConfig": {"hugepages": {"size2m": 512, "size1g": 2}}}
    written = {"machineType": "n2-standard-8", "nodes": {"max": 1}, "zone": "us-central1-a", **settings}
    group = pool_group(written, "us-central1", {})
    assert group.allocatable["pods"] == 200
    assert group.allocatable["cpu"] == plain.allocatable["cpu"] - 400
    assert group.allocatable["hugepages-2Mi"] == 2**30
    assert group.allocatable["hugepages-1Gi"] == 2 * 2**30
    assert group.allocatable["memory"] == plain.allocatable["memory"] - 3 * 2**30
    assert plain.amount("hugepages-1Gi") == 0


def test_an_adopted_pool_keeps_what_its_creation_chose() -> None:
    """Disk, streaming, driver and pods per node are not in the plan, and labels of the other tool may be there."""
    written = {"machineType": "g2-standard-24", "nodes": 2, "zone": "us-central1-a"}
    plain = pool_group(written, "us-central1", {})
    adopted = pool_group({**written, "adopted": True, "nodePoolName": "theirs"}, "us-central1", {})
    kept = ("cloud.google.com/gke-boot-disk", "cloud.google.com/gke-image-streaming", "cloud.google.com/private-node")
    for key in (*kept, "cloud.google.com/gke-gpu-driver-version", "cloud.google.com/gke-max-pods-per-node"):
        assert not plain.label(key).is_unknown
        assert adopted.label(key).present is None
    assert (plain.label("tier").present, adopted.label("tier").present) == (False, None)
    assert adopted.label("cloud.google.com/gke-spot").present is False
    assert (plain.amount("pods"), adopted.amount("pods")) == (110, None)


def test_what_is_certain_of_a_node_is_less_than_a_real_one_has() -> None:
    """The real node's allocatable resources, less the most that the system's pods are taken to request."""
    real = REAL["n2-standard-4"]
    group = pool_group({**real["pool"]}, real["region"], real["cluster"])
    there = {name: parse_quantity(name, real["allocatable"][name]) or 0 for name in group.least}
    assert set(there) == {"cpu", "memory", "pods", "ephemeral-storage"}
    assert group.least["cpu"] == there["cpu"] - 500
    assert 0.97 * (there["memory"] - 2**30) <= group.least["memory"] <= there["memory"] - 2**30
    assert 0.95 * there["ephemeral-storage"] <= group.least["ephemeral-storage"] <= there["ephemeral-storage"]
    assert group.least["pods"] == there["pods"] - 11
