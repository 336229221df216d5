"""Clusters that others made, adopted without the cluster: their node pools keep names and settings.

The answers are written from public definitions: the GKE tutorial of TPU Multislice (gcloud), the Terraform of the GKE
batch reference architecture, and xpk (`cluster create --tpu-type v5litepod-16 --num-slices 2`).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
import yaml
from hypothesis import example, given
from typer.testing import CliRunner

from berth.adopt.api_objects import ApiObject, value_at
from berth.adopt.first_update import first_update_changes
from berth.adopt.inventory import read_inventory
from berth.adopt.slice_names import MAX_POOL_NAME, NodePoolGroup, slice_groups, with_own_keys
from berth.adopt.stack_file import adopt as adopt_fleet
from berth.adopt.stack_file import render_stack_file
from berth.cli import app, drain
from berth.cli.adopt.answer import adopt_inventory
from berth.manifests.fleet import all_manifests
from berth.nodes import fleet_nodes
from berth.plan.fleet import ExistingGkeClusterPlan, FleetPlan
from berth.plan.gke import CHECKPOINT_DRIVER, ClusterPlan, NodePoolPlan
from berth.yaml_loader import LOADER
from tests.gke_answers import files
from tests.stack_files import assert_golden, plan

HERE = Path(__file__).parent / "kept"
SOURCES = ("batch", "multislice", "xpk")


def adopt(source: str, *words: str) -> Any:
    files = [str(file) for file in sorted((HERE / source).glob("*.json"))]
    return CliRunner().invoke(app, ["adopt", source, *files, "--keep-cluster", *words])


@pytest.mark.parametrize("source", SOURCES)
def test_golden_of_what_is_adopted_and_printed(source: str, folder: Path) -> None:
    result = adopt(source)
    assert result.exit_code == 0, result.stderr
    assert_golden(result.stdout, HERE / f"{source}.txt")
    assert_golden((folder / f"Pulumi.{source}.yaml").read_text(encoding="utf-8"), HERE / f"Pulumi.{source}.yaml")


@pytest.mark.parametrize("source", SOURCES)
def test_no_node_pool_with_accelerators_is_left_alone_or_changed(source: str, folder: Path) -> None:
    """Counted from the answers: each becomes a resource to import, under the name that it has."""
    lines = adopt(source).stdout.splitlines()
    assert [line for line in lines if line.startswith("  node pool") and "has no accelerators" not in line] == []
    answers = json.loads((HERE / source / "node-pools.json").read_text(encoding="utf-8"))
    machines = {each["name"] for each in answers if not each["config"]["machineType"].startswith("e2-")}
    imported = json.loads((folder / f"{source}.google.import.json").read_text(encoding="utf-8"))["resources"]
    ids = {each["id"].rpartition("/")[2] for each in imported if each["type"] == "gcp:container/nodePool:NodePool"}
    assert ids == machines


_RIGHTS = {
    "gcp:serviceaccount/account:Account",
    "gcp:projects/iAMMember:IAMMember",
    "gcp:serviceaccount/iAMMember:IAMMember",
}


@pytest.mark.parametrize("source", SOURCES)
def test_no_cluster_network_or_account_of_nodes_is_imported(source: str, folder: Path) -> None:
    """Accounts are those of teams, which the answers of the batch architecture have."""
    adopt(source)
    imported = json.loads((folder / f"{source}.google.import.json").read_text(encoding="utf-8"))["resources"]
    kinds = {each["type"] for each in imported if "id" in each}
    machines = {"gcp:container/nodePool:NodePool", "gcp:compute/reservation:Reservation"}
    assert kinds - machines == (_RIGHTS if source == "batch" else set())
    assert [each["id"] for each in imported if "id" in each and "wi-team-" not in each["id"]] == [
        each["id"] for each in imported if each.get("type") in machines
    ]


EXPECTED_LEFT = {
    "batch": {
        "node pool default-pool": "the nodes of controllers, not of jobs",
        "Namespace team-a, team-b, team-c, team-d": "queues of teams are in it, and nobody asked for limits",
    },
    "multislice": {"node pool default-pool": "see batch", "Namespace default": "see batch"},
    "xpk": {"node pool default-pool": "see batch", "Namespace default": "see batch"},
}
"""All that stays as it is of each cluster, and why nobody would expect it to be adopted."""


@pytest.mark.parametrize("source", SOURCES)
def test_every_expected_resource_is_adopted(source: str, folder: Path) -> None:
    lines = [line.strip() for line in adopt(source).stdout.splitlines() if line.startswith("  ")]
    left = [line for line in lines if any(word in line for word in _STAYS)]
    assert [line for line in left if line.partition(": ")[0] not in EXPECTED_LEFT[source]] == []
    assert len(left) == len(EXPECTED_LEFT[source])


_STAYS = ("stays", "stay", "ignored", "not adopted", "not managed", "cannot express", "left out", "holds a team's")
"""Words of lines about something that is left alone."""


def test_equal_slices_are_one_pool_with_a_pattern(folder: Path) -> None:
    pools: dict[str, Any] = {}
    for source in ("multislice", "xpk"):
        adopt(source)
        stack = yaml.load((folder / f"Pulumi.{source}.yaml").read_text(encoding="utf-8"), LOADER)
        pools |= stack["config"]["berth:fleet"]["pools"]
    assert {key: (pool["slices"], pool["nodePoolName"]) for key, pool in pools.items()} == {
        "nodepool": (3, "nodepool{n}"),
        "demo-np": (2, "demo-np-{i}"),
    }


def test_a_pool_keeps_its_own_pod_range() -> None:
    """As a key where Berth's settings of creation are the pool's, and by `adopted` where they are not."""
    here = {name: json.loads(text) for name, text in files(plan("dws"), noise=True).items()}
    for pool in here["node-pools.json"]:
        pool["networkConfig"]["podRange"] = "more-pods" if pool["name"] == "dws" else "pods"
    found = adopt_inventory(
        read_inventory({name: json.dumps(each) for name, each in here.items()}, None, keeps_cluster=True), "dws"
    )
    fleet, evaluation = found[1].fleet, found[2]
    assert fleet["pools"]["dws"]["podRangeName"] == "more-pods"
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    ranges = {
        each.name: each.settings.pod_range_name for pool in evaluation.fleet_plan.own_pools for each in pool.node_pools
    }
    assert ranges == {"dws": "more-pods"}
    for pool in here["node-pools.json"]:
        pool["config"]["oauthScopes"] = ["https://www.googleapis.com/auth/devstorage.read_only"]
    texts = {name: json.dumps(each) for name, each in here.items()}
    pools = adopt_inventory(read_inventory(texts, None, keeps_cluster=True), "dws")[1].fleet["pools"]
    assert (pools["dws"]["adopted"], "podRangeName" in pools["dws"]) == (True, False)


def test_keep_cluster_and_inside_exclude_each_other(folder: Path) -> None:
    result = adopt("xpk", "--inside", "some-context")
    assert result.exit_code == 2
    assert "leave one of them out" in result.stderr
    assert not (folder / "Pulumi.xpk.yaml").exists()


def slices(*names: str, **config: str) -> list[ApiObject]:
    return [
        {
            "name": name,
            "selfLink": f"x/{name}",
            "etag": name,
            "config": config,
            "placementPolicy": {"tpuTopology": "2x4"},
        }
        for name in names
    ]


@pytest.mark.parametrize(
    ("node_pools", "expected"),
    [
        (slices("np1", "np2"), {"np": (["np1", "np2"], "np{n}")}),
        (slices("np-0", "np-1"), {"np": (["np-0", "np-1"], "np-{i}")}),
        (slices("np-1"), {"np-1": (["np-1"], "np-1")}),
        (slices("np1", "np3"), {"np": (["np1", "np3"], "np{n}", [1, 3])}),
        (slices("np-0", "np-2"), {"np": (["np-0", "np-2"], "np-{n}", [0, 2])}),
        (slices("np5", "np6"), {"np": (["np5", "np6"], "np{n}", [5, 6])}),
        (slices("a", "b"), {"a": (["a"], "a"), "b": (["b"], "b")}),
        (slices("np01", "np02"), {"np0": (["np01", "np02"], "np0{n}")}),
        (slices("np1") + slices("np2", diskType="pd-ssd"), {"np1": (["np1"], "np1"), "np2": (["np2"], "np2")}),
        (slices("v5e-2x4-1", "v5e-2x4-2"), {"v5e": (["v5e-2x4-1", "v5e-2x4-2"], None)}),
        (slices("v5e-4x4-1"), {"v5e-4x4-1": (["v5e-4x4-1"], "v5e-4x4-1")}),
        (slices("v5e-2x4-0", "v5e-2x4-1"), {"v5e-2x4": (["v5e-2x4-0", "v5e-2x4-1"], "v5e-2x4-{i}")}),
        (slices("v5e-2x4-1", "v5e-2x4-3"), {"v5e": (["v5e-2x4-1", "v5e-2x4-3"], None, [1, 3])}),
        (slices("v5e-2x4-2", "v5e-2x4-3"), {"v5e": (["v5e-2x4-2", "v5e-2x4-3"], None, [2, 3])}),
        (slices("v5e-2x4-3"), {"v5e": (["v5e-2x4-3"], None, [3])}),
        (slices("v5e-2x4-0", "v5e-2x4-2"), {"v5e-2x4": (["v5e-2x4-0", "v5e-2x4-2"], "v5e-2x4-{n}", [0, 2])}),
        (slices("v5e-2x4-01", "v5e-2x4-02"), {"v5e-2x4-0": (["v5e-2x4-01", "v5e-2x4-02"], "v5e-2x4-0{n}")}),
    ],
)
def test_slices_are_grouped_by_equal_settings_and_by_the_numbers_of_their_names(
    node_pools: list[ApiObject], expected: dict[str, tuple[Any, ...]]
) -> None:
    """Members and pattern, then the numbers if they are not 1 to n."""
    groups = {
        g.key: ([str(m["name"]) for m in g.members], g.node_pool_name, *([g.numbers] if g.numbers else ()))
        for g in slice_groups(node_pools)
    }
    assert groups == expected


@given(st.sets(st.integers(0, 12), min_size=1), st.sets(st.integers(0, 3)), st.booleans())
def test_every_slice_is_in_one_pool_that_gives_it_its_name(numbers: set[int], others: set[int], is_long: bool) -> None:
    stem = "v5e-for-the-many-large-trainings" if is_long else "v5e"
    names = [f"{stem}-2x4-{number}" for number in numbers] + [f"{stem}-4x4-{number}" for number in others]
    node_pools = [*slices(*names[: len(numbers)]), *other_topology(names[len(numbers) :])]
    groups = list(with_own_keys(slice_groups(node_pools)))
    assert len({group.key for group in groups}) == len(groups)
    assert all(len(group.key) <= MAX_POOL_NAME for group in groups)
    given_names: list[str] = []
    for group in groups:
        topology = str(value_at(group.members[0], "placementPolicy.tpuTopology"))
        pattern = group.node_pool_name or f"{group.key}-{topology}-{{n}}"
        given_names += [
            pattern.replace("{n}", str(number)).replace("{i}", str(number - 1))
            for number in group.numbers or range(1, len(group.members) + 1)
        ]
    assert sorted(given_names) == sorted(names)


def other_topology(names: list[str]) -> list[ApiObject]:
    return [{**each, "placementPolicy": {"tpuTopology": "4x4"}} for each in slices(*names)]


@pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 3, 4), (2, 3, 5)])
def test_slices_named_like_berths_with_other_numbers_are_all_adopted_by_their_names(
    numbers: tuple[int, int, int],
) -> None:
    here = {name: json.loads(text) for name, text in files(plan("multislice"), noise=True).items()}
    found = [each for each in here["node-pools.json"] if value_at(each, "placementPolicy.tpuTopology")]
    for node_pool, number in zip(found, numbers, strict=True):
        node_pool["name"] = f"v5e-2x4-{number}"
    texts = {name: json.dumps(each) for name, each in here.items()}
    evaluation = adopt_inventory(read_inventory(texts), "multislice")[2]
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    planned = [each.name for pool in evaluation.fleet_plan.pools for each in pool.node_pools]
    assert planned == [str(each["name"]) for each in found]
    assert len(evaluation.fleet_plan.own_pools) == 1


ZONES = st.sampled_from(["us-west4-a", "us-west4-b"])
STEMS = st.sampled_from(["v5e-2x4-", "v5e-2x2-", "np", "np-", "np-1-", "system", "a-long-name-of-a-pool-that-trains-"])
NUMBERS = st.sampled_from(["", "0", "1", "2", "3", "5", "10", "11", "01", "x"])
KINDS = st.sampled_from(["slice", "slice", "slice", "host", "scaled", "minimum", "disk"])
NODE_POOLS = st.lists(
    st.tuples(STEMS, NUMBERS, ZONES, KINDS),
    min_size=1,
    max_size=8,
    unique_by=lambda each: (each[0] + each[1]).strip("-"),
)


def multislice(wanted: list[tuple[str, str, str]]) -> dict[str, str]:
    """Return the answers of the tutorial's cluster with node pools of these names, zones and kinds."""
    answers = {file.name: json.loads(file.read_text(encoding="utf-8")) for file in (HERE / "multislice").glob("*.json")}
    model = next(each for each in answers["node-pools.json"] if each["name"] == "nodepool1")
    made = [each for each in answers["node-pools.json"] if each["name"] == "default-pool"]
    for name, zone, kind in wanted:
        node_pool = json.loads(json.dumps(model))
        node_pool |= {"name": name, "selfLink": model["selfLink"].replace("nodepool1", name), "locations": [zone]}
        if kind == "host":
            node_pool["placementPolicy"]["tpuTopology"], node_pool["initialNodeCount"] = "2x2", 1
        elif kind in ("scaled", "minimum"):
            node_pool["autoscaling"] = {"enabled": True, "totalMaxNodeCount": 2}
            node_pool["autoscaling"] |= {"totalMinNodeCount": 2} if kind == "minimum" else {}
        elif kind == "disk":
            node_pool["config"]["diskSizeGb"] = 200
        made.append(node_pool)
    return {name: json.dumps(answer) for name, answer in {**answers, "node-pools.json": made}.items()}


@example([("v5e-2x4-", "1", "us-west4-a", "slice"), ("v5e-2x4-", "2", "us-west4-b", "slice")])
@example([("v5e-2x4-", "1", "us-west4-a", "slice"), ("v5e-2x4-", "2", "us-west4-a", "disk")])
@example([("v5e-2x4-", "1", "us-west4-a", "scaled"), ("v5e-2x4-", "2", "us-west4-a", "minimum")])
@example([("v5e-2x4-", "1", "us-west4-a", "slice"), ("v5e-2x4-", "2", "us-west4-a", "scaled")])
@example([("v5e-2x4-", "1", "us-west4-a", "slice"), ("v5e-2x4-", "01", "us-west4-a", "slice")])
@given(NODE_POOLS)
def test_no_node_pool_is_lost_moved_or_changed_whatever_its_name_is(drawn: list[tuple[str, str, str, str]]) -> None:
    """Held to the answers: each node pool is planned once, by its name, in its zone and with its size."""
    wanted = [((stem + number).strip("-"), zone, kind) for stem, number, zone, kind in drawn]
    inventory = read_inventory(multislice(wanted), None, keeps_cluster=True)
    evaluation = adopt_inventory(inventory, "multislice")[2]
    assert [fault.line() for fault in evaluation.faults] == []
    plan_of_fleet = evaluation.fleet_plan
    assert isinstance(plan_of_fleet, FleetPlan)
    planned = [each for pool in plan_of_fleet.pools for each in pool.node_pools]
    sizes = {"slice": (2, 2), "disk": (2, 2), "host": (1, 1), "scaled": (0, 2), "minimum": (2, 2)}
    assert sorted((each.name, each.zones, bounds(each)) for each in planned) == sorted(
        (name, (zone,), sizes[kind]) for name, zone, kind in wanted
    )
    changes = [each.line() for each in first_update_changes(inventory, plan_of_fleet)]
    others = [line for line in changes if re.match("node pool (?!.*: (autoscaling|nodeCount))", line)]
    assert others == []  # limits of a slice are written for its zone, and its size is compared above


def test_slices_that_berth_makes_with_a_minimum_are_one_pool() -> None:
    kinds = ("minimum", "scaled", "scaled")
    texts = multislice([(f"v5e-2x4-{number}", "us-west4-a", kind) for number, kind in enumerate(kinds, 1)])
    fleet = adopt_inventory(read_inventory(texts, None, keeps_cluster=True), "multislice")[1].fleet
    assert {key: pool["slices"] for key, pool in fleet["pools"].items()} == {"v5e": {"min": 1, "max": 3}}


def bounds(node_pool: NodePoolPlan) -> tuple[int, int]:
    """Return the minimum and maximum of nodes of a planned node pool in one zone."""
    if node_pool.nodes_per_zone is not None:
        return node_pool.nodes_per_zone, node_pool.nodes_per_zone
    limits = node_pool.total_nodes or node_pool.zone_nodes
    assert limits is not None
    return limits.min, limits.max


def test_a_node_pool_that_no_pool_would_name_is_named_and_nothing_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where grouping loses a node pool; here it takes a gap for a count from 1."""

    def count_from_one(node_pools: list[ApiObject]) -> list[NodePoolGroup]:
        return [NodePoolGroup("v5e", node_pools, is_sliced=True)]

    monkeypatch.setattr("berth.adopt.pools.slice_groups", count_from_one)
    answers = multislice([("v5e-2x4-1", "us-west4-a", "slice"), ("v5e-2x4-3", "us-west4-a", "slice")])
    for name, text in answers.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["adopt", "multislice", *answers, "--keep-cluster"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.splitlines() == [
        "node pool v5e-2x4-3: no pool of the stack file would have this name, so `pulumi up` would create another "
        "beside it; remove it from the answers, and it stays as it is without Berth"
    ]
    assert not list(folder.glob("*multislice*"))


def test_add_ons_of_a_kept_cluster_are_stated() -> None:
    """Policies and lint read them: without the statement a volume of checkpoints would be refused."""
    original = plan("ironwood")
    inventory = read_inventory(files(original), keeps_cluster=True)
    text = render_stack_file(adopt_fleet(inventory, "ironwood"))
    fleet = drain.evaluate_drained(text, "ironwood").fleet_plan
    assert isinstance(fleet, FleetPlan)
    assert isinstance(fleet.cluster, ExistingGkeClusterPlan)
    assert isinstance(original.cluster, ClusterPlan)
    assert fleet.cluster.storage_drivers == original.cluster.storage_drivers
    stated, made = fleet.cluster.checkpointing, original.cluster.checkpointing
    assert stated is not None
    assert made is not None
    assert (stated.bucket, stated.machine_type, stated.memory) == (made.bucket, made.machine_type, made.memory)
    assert fleet.policies is not None
    assert fleet.policies.csi_drivers == (CHECKPOINT_DRIVER,)
    kinds = {each["kind"] for each in all_manifests(fleet)}
    assert "CheckpointConfiguration" not in kinds  # its owner has it
    assert [group.held for group in fleet_nodes(fleet).groups] == [group.held for group in fleet_nodes(original).groups]
