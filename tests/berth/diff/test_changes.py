"""What holds for every change, and the figures and judgements of a change worked out a second way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from msgspec import Struct
from msgspec.structs import asdict, replace

from berth.backends.interface import compare
from berth.cli.plan.fleet import as_json
from berth.diff.ack.resources import AckCluster, Membership
from berth.diff.entitlements import CountChange
from berth.diff.fields import FieldChange, compare_fields
from berth.diff.kinds import ChangeKind
from berth.diff.resource_changes import compare_resources
from berth.diff.resources import AlertSettings
from berth.diff.update_effects import UpdateEffect, find_update_rule, load_update_rules
from berth.engine import RecordedResource, run_program
from berth.evaluate import evaluate_stack
from berth.plan import accelerator_networks, ack, capacity, gke, kueue, monitoring, teams
from berth.plan.existing import ExistingClusterPlan, ExistingGkeClusterPlan
from berth.plan.fleet import FleetPlan
from berth.yaml_loader import load_table
from components.gke import node_pool
from tests.berth.diff.edits.edited import BASE, EDITS, changes, edited, plan, write
from tests.stack_files import GKE_STACKS, ROOT, every_stack
from tests.stack_files import plan as plan_of

every_edit = pytest.mark.parametrize("edit", EDITS)

# --- of every change --------------------------------------------------------------------------------------------------


@every_stack
def test_a_fleet_compared_with_itself_changes_nothing(stack: str) -> None:
    result = compare(plan_of(stack), plan_of(stack))
    assert result.is_empty
    assert not result.losses


def test_a_team_that_moves_to_another_file_is_no_change() -> None:
    assert changes("team-file-moved").is_empty


def _swapped(step: CountChange) -> CountChange:
    return CountChange(step.after, step.before)


@every_edit
def test_the_reverse_diff_mirrors_the_diff(edit: str) -> None:
    """Mirrored: the same lines with before and after exchanged, and new relations where there were lifted ones."""
    there, back = changes(edit), compare(plan(edit), plan())
    one, other = there.entitlements, back.entitlements
    for each in ("entitlements", "cohorts", "flavors"):
        mirrored = [
            replace(
                entry,
                **{
                    field: _swapped(value) if isinstance(value, CountChange) else tuple(reversed(value))
                    for field, value in asdict(entry).items()
                    if isinstance(value, (CountChange, tuple))
                },
            )
            for entry in getattr(one, each)
        ]
        assert mirrored == list(getattr(other, each))
    assert (one.new_relations, one.lifted_relations) == (other.lifted_relations, other.new_relations)
    sizes = {pool.pool: pool.accelerators for pool in there.pools if pool.accelerators[0] != pool.accelerators[1]}
    back_sizes = {pool.pool: pool.accelerators for pool in back.pools if pool.accelerators[0] != pool.accelerators[1]}
    assert sizes == {name: (after, before) for name, (before, after) in back_sizes.items()}
    if not any(each.is_moved for each in (*there.objects, *back.objects)):  # a range grows in place, and shrinks with
        assert {(o.kind, o.namespace, o.name) for o in there.objects} == {  # another cluster
            (o.kind, o.namespace, o.name) for o in back.objects
        }


def test_every_edit_but_the_moved_file_changes_something() -> None:
    assert [edit for edit in EDITS if changes(edit).is_empty] == ["team-file-moved"]


BY_EDIT = {
    "project": "project-and-region-moved",
    "region": "project-and-region-moved",
    "labels": "labels-given",
    "cluster": "cluster-renamed",
    "flavors": "oversubscribed",
    "held": "reservation-grown",
    "kueue": "fair-sharing-begun",
    "workload_policies": "slices-of-another-wiring-added",
    "allowances": "allowance-without-a-use",
}
"""Parts of a fleet that others refer to or repeat, so that none can go alone, and an edit that changes each."""


@pytest.mark.parametrize("part", [field for field in FleetPlan.__struct_fields__ if field != "stack"])
def test_the_diff_compares_every_part_of_a_fleet(part: str) -> None:
    """A new field of the plan that is not would change in silence. (Both sides are planned as one stack.)"""
    if edit := BY_EDIT.get(part):
        assert getattr(plan(), part) != getattr(plan(edit), part)
        assert not changes(edit).is_empty
        return
    whole = list(map(plan_of, GKE_STACKS))
    every = [*whole, *(worker.plan for fleet in whole for worker in fleet.workers)]
    fleets = [fleet for fleet in every if getattr(fleet, part)]
    nothing = {part: () if isinstance(getattr(plan(), part), tuple) else None}
    assert fleets, "no example has it: name an edit that changes it"
    assert not any(compare(fleet, replace(fleet, **nothing)).is_empty for fleet in fleets)


# --- figures, a second way --------------------------------------------------------------------------------------------


@cache
def _queues(edit: str | None) -> list[dict[str, Any]]:
    """Return the cluster queues of `berth plan --json`."""
    with TemporaryDirectory() as folder:
        write(Path(folder), edited(edit) if edit else BASE)
        return as_json(evaluate_stack("dev", Path(folder)))["clusterQueues"]


def _nominal(edit: str | None, by: str) -> Counter[tuple[str, str]]:
    """Accelerators guaranteed by team or cohort and flavor, summed from the queues."""
    result: Counter[tuple[str, str]] = Counter()
    for queue in _queues(edit):
        owner = queue["cohort"] if by == "cohort" else queue["teams"][0] if len(queue["teams"]) == 1 else None
        for quota in queue["quotas"]:
            if owner and quota["resource"] not in ("cpu", "memory"):
                result[owner, quota["flavor"]] += quota["nominal"]
    return result


@every_edit
def test_the_gain_of_teams_and_cohorts_is_the_difference_of_their_queues(edit: str) -> None:
    result = changes(edit).entitlements
    now = {each.renamed: each.team for each in result.teams if each.what == "renamed"}
    for by, lines in (("team", result.entitlements), ("cohort", result.cohorts)):
        before, after = _nominal(None, by), _nominal(edit, by)
        before = Counter({(now.get(owner, owner), flavor): n for (owner, flavor), n in before.items()})
        gains = {key: after[key] - before[key] for key in before | after if after[key] != before[key]}
        values = {(getattr(line, by), line.flavor): line.guaranteed.delta for line in lines if line.guaranteed.delta}
        assert values == gains, by


@every_edit
def test_affected_accelerators_are_those_of_the_node_pools(edit: str) -> None:
    gone = {
        c.key
        for c in compare_resources(plan(), plan(edit))
        if c.what in (ChangeKind.REPLACED, ChangeKind.DELETED, "recreated") and c.pool
    }
    after = {n.key: _by_zone(n) for p in plan(edit).pools for n in p.node_pools if n.key not in gone}
    for pool in changes(edit).pools:
        before = next((p for p in plan().pools if p.name == pool.pool), None)
        own = {n.key: _by_zone(n) for n in before.node_pools} if before else {}
        nodes = sum((zones - after.get(key, Counter())).total() for key, zones in own.items())
        assert pool.hit_nodes == nodes
        per_node = before.accelerators.max // before.nodes.max if before else 0
        assert pool.hit_accelerators == nodes * per_node


def _by_zone(node_pool: gke.NodePoolPlan) -> Counter[str]:
    """Return the most nodes in each zone; for a pool that scales over all zones, those of one zone."""
    if node_pool.nodes_per_zone is not None:
        return Counter(dict.fromkeys(node_pool.zones, node_pool.nodes_per_zone))
    bounds = node_pool.total_nodes or node_pool.zone_nodes
    assert bounds is not None
    return Counter({"any": bounds.max})


# --- what forces a replacement ----------------------------------------------------------------------------------------

PLANS = (
    gke.WebhookFirewallPlan,
    gke.NodePoolPlan,
    gke.ClusterPlan,
    gke.ReservationPlan,
    gke.NetworkPlan,
    gke.ServiceAccountPlan,
    capacity.WorkloadPolicyPlan,
    capacity.FutureReservationPlan,
    accelerator_networks.AcceleratorNetworksPlan,
    kueue.ChartPlan,
    teams.IdentityPlan,
    teams.AccessPlan,
    monitoring.AlertPlan,
    AlertSettings,
    ack.AckOnePlan,
    ack.AckNodePoolPlan,
    AckCluster,
    Membership,
    ExistingClusterPlan,
    ExistingGkeClusterPlan,
)


@pytest.mark.parametrize("kind", PLANS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_plan_has_a_row_and_every_row_a_field(kind: type[Struct]) -> None:
    """A field without a row could replace a pool in silence: a new field wants a row in update_effects.yaml."""
    fields = set(kind.__struct_fields__)
    rows = load_update_rules()[kind.__name__]
    assert fields - rows.keys() == set()
    assert {path.split(".")[0] for path in rows} - fields == set()
    assert {row.does for row in rows.values()} <= set(UpdateEffect)


def test_the_table_has_no_other_plans() -> None:
    assert load_update_rules().keys() == {kind.__name__ for kind in PLANS}


def test_public_nodes_stay_public_until_the_stack_file_changes_them() -> None:
    """What pools no longer say the provider keeps; the cluster says it always, for pools to come."""
    back = compare(plan("nodes-made-public"), plan())
    private = {f.does for pool in back.pools for f in pool.fields if f.path.endswith("private_nodes")}
    assert private == {UpdateEffect.KEPT}


@pytest.mark.parametrize(
    ("before", "after", "does"),
    [
        (None, False, "recreate"),
        (None, True, "update"),
        (True, False, "recreate"),
        (False, True, "recreate"),
        (False, None, UpdateEffect.KEPT),
        (True, None, UpdateEffect.KEPT),
    ],
)
def test_false_is_a_value(before: bool | None, after: bool | None, does: str) -> None:
    assert find_update_rule("NodePoolPlan", FieldChange("network.private_nodes", before, after)).does == does


@cache
def _provider() -> Mapping[str, list[str]]:
    return load_table(Path(__file__).parent / "edits" / "provider_replaces.yaml")


def _within(path: str, fields: list[str]) -> bool:
    """Return whether the provider marks an input or a block that contains it; `nodeConfig` is marked as a whole."""
    return any(path == each or (path.startswith(f"{each}.") and each != "nodeConfig") for each in fields)


ON_ACK = (ack.AckOnePlan, ack.AckNodePoolPlan, AckCluster, Membership)


@cache
def _update_effects() -> Mapping[str, Any]:
    return load_table(ROOT / "berth" / "diff" / "update_effects.yaml")


@pytest.mark.parametrize("kind", [*PLANS[:8], *ON_ACK])
def test_the_table_equals_the_providers_schema(kind: type) -> None:
    """Except for keys, which are names in the program, and fields described in words or replaced by the component."""
    table = _update_effects()[kind.__name__]
    marked = [*_provider()[table["resource"]], *(() if kind in ON_ACK else ("name",))]
    ours = {"placementPolicy", "nodeConfig.gpudirectStrategy"}
    values = {
        path: row["does"] == "replace"
        for path, row in table["fields"].items()
        if path != "key" and "wider" not in row and " " not in row["input"] and row["input"] not in UNMARKED
    }
    expected = {path: _within(table["fields"][path]["input"], [*marked, *ours]) for path in values}
    assert values == expected


UNMARKED = {"placementPolicy.tpuTopology", "ignoreChanges"}
"""Inputs whose block is what the component has replaced, and options of resources, which no provider marks."""


def test_a_slice_is_replaced_on_the_fields_of_its_component() -> None:
    """One truth: `replace_on_changes` of the component, and the rows for slices."""
    rows = load_update_rules()["NodePoolPlan"]
    replaced = {row.input for row in rows.values() if row.slice == "replace"}
    assert replaced | {"placementPolicy"} == set(node_pool._SLICE_FIELDS)


@pytest.mark.parametrize(
    ("path", "does"),
    [
        ("network.interfaces[0].network", "replace"),
        ("network.subnetwork", "update"),
        ("labels[a.example/b]", "update"),
        ("taints[1].value", "update"),
        ("nobody.knows[0].this", "replace"),
    ],
)
def test_a_field_inside_another_has_the_row_that_is_nearest_to_it(path: str, does: str) -> None:
    assert find_update_rule("NodePoolPlan", FieldChange(path, "a", "b")).does == does


@pytest.mark.parametrize(
    ("before", "after", "does"),
    [("10.40.0.0/22", "10.40.0.0/21", "update"), ("10.40.0.0/22", "10.40.0.0/23", "replace")],
)
def test_a_range_grows_in_place_and_shrinks_by_replacement(before: str, after: str, does: str) -> None:
    (change,) = compare_fields({"node_range": before}, {"node_range": after})
    assert find_update_rule("NetworkPlan", change).does == does


# --- judged from the resources themselves -----------------------------------------------------------------------------

MACHINES = (
    "topology-changed",
    "machine-changed",
    "capacity-model-changed",
    "slice-moved",
    "reservation-moved",
    "cluster-renamed",
)


@cache
def _resources(edit: str | None) -> dict[str, RecordedResource]:
    """What the real program registers of the kinds whose marks are known, by name."""
    with TemporaryDirectory() as folder:
        write(Path(folder), edited(edit) if edit else BASE)
        file = evaluate_stack("dev", Path(folder)).file
        assert file is not None
        config = {key: value for key, value in file.config.items() if key != "berth:fleet"}
        fleet = {key: value for key, value in cast("dict[str, object]", file.fleet).items() if key != "teamFiles"}
        preview = run_program(ROOT, "dev", fleet, config, preview=False)
    return {each.name: each for each in preview.resources if each.type in _provider()}


@pytest.mark.parametrize("edit", MACHINES)
def test_replacements_follow_from_resource_inputs(edit: str) -> None:
    """The plan's fields against the provider's marks on what the program really registers.

    That the engine does not know a name yet is in no input, so what is replaced with another thing need not show.
    """
    before, after = _resources(None), _resources(edit)
    forced = {name for name in before.keys() & after.keys() if any(_forcing(before[name], after[name]))}
    kinds = {"node pool": "{}-pool", "system pool": "{}-pool", "cluster": "{}-cluster", "reservation": "{}-reservation"}
    result = compare_resources(plan(), plan(edit))
    replaced = {kinds[c.kind].format(c.key): c for c in result if c.kind in kinds and c.what == ChangeKind.REPLACED}
    # Nodes that all move to other zones go, whatever the provider calls it.
    by_itself = {
        name for name, change in replaced.items() if any(f.input and f.path != "zones" for f in change.because)
    }
    seen = {name for name in forced if name.endswith(("-pool", "-cluster", "-reservation"))}
    assert by_itself <= seen <= replaced.keys()
    gone = {kinds[c.kind].format(c.key) for c in result if c.kind in kinds and c.what == ChangeKind.DELETED}
    assert before.keys() - after.keys() == gone


def _forcing(before: RecordedResource, after: RecordedResource) -> Iterator[str]:
    marked = _provider()[before.type]
    for change in compare_fields(before.inputs, after.inputs):
        path = change.path.replace("[0]", "")
        ignored = any(_within(path, [each]) for each in after.ignore_changes)
        if not ignored and (_within(path, marked) or _within(path, list(after.replace_on_changes))):
            yield path
