"""What holds for every change, and the figures and judgements of a change worked out a second way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import pytest
from msgspec.structs import asdict, replace

from berth.alibaba import fleet as alibaba_fleet
from berth.backends.interface import compare
from berth.cli.plan.fleet import fleet_plan_as_json
from berth.diff.changes import Changes
from berth.diff.document import changes_document
from berth.diff.entitlements import CountChange
from berth.diff.fields import FieldChange, compare_fields
from berth.diff.headline import headline
from berth.diff.kinds import ChangeKind
from berth.diff.provider_inputs.effects import (
    UpdateEffect,
    effect_of_input,
    input_rules,
    without_indexes,
    word_for_input,
)
from berth.diff.resource_changes import compare_resources
from berth.document import Lines
from berth.engine import RecordedResource, run_program
from berth.evaluate import evaluate_stack
from berth.google import fleet as google_fleet
from berth.names import to_camel
from berth.plan import gke
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.upgrade.findings import Upgrade
from berth.yaml_loader import load_table
from tests.berth.diff.edits.edited import BASE, EDITS, changes, edited, plan, write
from tests.berth.diff.edits.engine_changes import TABLES, is_within
from tests.berth.google.test_spelling import class_of_block, declared, sdk_class
from tests.stack_files import ACK_STACKS, GKE_STACKS, ROOT, evaluation, every_stack
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


def test_a_slice_that_is_kept_spare_or_no_longer_is_named_in_the_headline() -> None:
    before, after = plan(), plan("slice-kept-spare")
    spare = 2 * 4  # a 2x4 slice of v5e chips
    assert f"{spare} v5e chips of v5e are kept spare" in headline(changes("slice-kept-spare"))
    assert f"{spare} v5e chips of v5e are no longer spare" in headline(compare(after, before))


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


STATED = ("operators",)
"""What a stack file says of a cluster and Berth does not make: the list of differences of the file has it."""


@pytest.mark.parametrize("part", [field for field in FleetPlan.__struct_fields__ if field != "stack"])
def test_the_diff_compares_every_part_of_a_fleet(part: str) -> None:
    """A new field of the plan that is not would change in silence. (Both sides are planned as one stack.)"""
    if part in STATED:
        assert any(getattr(plan_of(stack), part) for stack in GKE_STACKS)
        return
    if part == "calendar":  # no example's guarantee ends
        in_time = evaluate_stack("fairness", ROOT / "tests/berth/full_fleets").plan
        assert isinstance(in_time, FleetPlan) and in_time.calendar
        assert not compare(in_time, replace(in_time, calendar=())).is_empty
        return
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
def _plan_json(edit: str | None) -> dict[str, Any]:
    """Return what `berth plan --json` prints."""
    with TemporaryDirectory() as folder:
        write(Path(folder), edited(edit) if edit else BASE)
        return fleet_plan_as_json(evaluate_stack("dev", Path(folder)))


def _nominal(edit: str | None, by: str) -> Counter[tuple[str, str]]:
    """Accelerators guaranteed by team or cohort and flavor, summed from the queues."""
    result: Counter[tuple[str, str]] = Counter()
    for queue in _plan_json(edit)["clusterQueues"]:
        owner = queue["cohort"] if by == "cohort" else queue["teams"][0] if len(queue["teams"]) == 1 else None
        for quota in queue["quotas"]:
            if owner and quota["resource"] not in ("cpu", "memory", "pods"):
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
def test_the_pods_of_a_queue_follow_from_its_accelerators(edit: str) -> None:
    """So a gain of accelerators says what is gained of pods too: each brings its part of those of the flavor."""
    fleet = _plan_json(edit)
    flavors = {flavor["name"]: flavor for flavor in fleet["flavors"]}
    for queue in fleet["clusterQueues"]:
        amounts = {(quota["flavor"], quota["resource"]): quota["nominal"] for quota in queue["quotas"]}
        for name in {flavor for flavor, _ in amounts}:
            flavor = flavors[name]
            accelerators, capacity = amounts[name, flavor["resource"]], flavor["capacity"]["max"]
            assert amounts[name, "pods"] * capacity == accelerators * flavor["pods"]


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

NODE_POOL: Final = "gcp:container/nodePool:NodePool"
HAND_ROWS: Final[Mapping[str, Mapping[str, Any]]] = load_table(TABLES / "effects.yaml")
REPLACES: Final[Mapping[str, list[str]]] = load_table(TABLES / "replaces.yaml")
KEEPS: Final[Mapping[str, list[str]]] = load_table(TABLES / "keeps.yaml")


def _registered_types() -> set[str]:
    on_google = (each for stack in GKE_STACKS for each in google_fleet.google_resources(plan_of(stack)))
    fleets = (evaluation(stack).plan for stack in ACK_STACKS)
    on_alibaba = (
        each for fleet in fleets if isinstance(fleet, AckFleetPlan) for each in alibaba_fleet.alibaba_resources(fleet)
    )
    return {made.type for each in (*on_google, *on_alibaba) for made in each.registrations().values()}


def test_every_type_that_a_fleet_registers_has_rows() -> None:
    """Without rows, an input could force a replacement in silence."""
    assert all(input_rules(each) for each in _registered_types())
    with pytest.raises(KeyError):
        input_rules("gcp:nobody/knows:This")


@pytest.mark.parametrize("resource_type", sorted({*HAND_ROWS, *KEEPS}))
def test_every_row_is_an_input_of_the_provider(resource_type: str) -> None:
    """A misspelt row would do nothing. What the provider of a resource adds has no argument."""
    paths = {without_indexes(path) for path in (*HAND_ROWS.get(resource_type, {}), *KEEPS.get(resource_type, ()))}
    if resource_type.startswith("alicloud:"):
        paths -= {"region", "vpc"}
    assert [path for path in sorted(paths) if not _is_declared(resource_type, path)] == []


def _is_declared(resource_type: str, path: str) -> bool:
    """Whether the SDK's class of arguments has an input, also inside blocks."""
    cls: type | None = sdk_class(resource_type)
    for step in path.split("."):
        types = {to_camel(name): text for name, text in declared(cls).items()} if cls is not None else {}
        if cls is None or step not in types:
            return False
        cls = class_of_block(cls, types[step])
    return True


def test_no_row_says_otherwise_than_the_provider() -> None:
    """Except for the block of nodes, marked for being taken away, and for the members of bindings."""
    otherwise = {
        (resource_type, path)
        for resource_type, rows in HAND_ROWS.items()
        for path, row in rows.items()
        if path in REPLACES.get(resource_type, ()) and row.get("does", "replace") != "replace"
    }
    bindings = {each for each in HAND_ROWS if each.lower().endswith("iammember")}
    assert otherwise == {(NODE_POOL, "nodeConfig"), *((each, "member") for each in bindings)}


def test_public_nodes_stay_public_until_the_stack_file_changes_them() -> None:
    """What pools no longer say the provider keeps; the cluster says it always, for pools to come."""
    back = compare(plan("nodes-made-public"), plan())
    private = {f.does for pool in back.pools for f in pool.fields if f.path == "privateNodes"}
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
    change = FieldChange("networkConfig.enablePrivateNodes", before, after)
    assert effect_of_input(input_rules(NODE_POOL), change) == does


@pytest.mark.parametrize(
    ("path", "does"),
    [
        ("networkConfig.additionalNodeNetworkConfigs[0].network", "replace"),
        ("nodeConfig.labels[a.example/b]", "update"),
        ("nodeConfig.taints[1].value", "update"),
        ("nodeConfig.kubeletConfig.cpuManagerPolicy", "recreate"),
        ("nodeConfig.spot", "replace"),
        ("management.autoRepair", "update"),
    ],
)
def test_an_input_inside_a_block_has_the_row_that_is_nearest_to_it(path: str, does: str) -> None:
    assert effect_of_input(input_rules(NODE_POOL), FieldChange(path, "a", "b")) == does


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("nodeConfig.labels[a.example/b]", "labels[a.example/b]"),
        ("nodeConfig.kubeletConfig.cpuManagerPolicy", "kubeletConfig.cpuManagerPolicy"),
        ("nodeLocations", "zones"),
        ("placementPolicy.tpuTopology", "topology"),
        ("upgradeSettings", "upgradeSettings"),
        ("upgradeSettings.maxSurge", "maxSurge"),
        ("networkConfig.podRange", "networkConfig.podRange"),
    ],
)
def test_people_read_the_word_of_an_input_or_its_path(path: str, word: str) -> None:
    assert word_for_input(input_rules(NODE_POOL), path) == word


@pytest.mark.parametrize(
    ("before", "after", "does"),
    [("10.40.0.0/22", "10.40.0.0/21", "update"), ("10.40.0.0/22", "10.40.0.0/23", "replace")],
)
def test_a_range_grows_in_place_and_shrinks_by_replacement(before: str, after: str, does: str) -> None:
    (change,) = compare_fields({"ipCidrRange": before}, {"ipCidrRange": after})
    assert effect_of_input(input_rules("gcp:compute/subnetwork:Subnetwork"), change) == does


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
    return {each.name: each for each in preview.resources if each.type in REPLACES}


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
    marked = REPLACES[before.type]
    for change in compare_fields(before.inputs, after.inputs):
        path = change.path.replace("[0]", "")
        ignored = is_within(path, after.ignore_changes)
        if not ignored and (is_within(path, marked) or is_within(path, after.replace_on_changes)):
            yield path


def test_what_nobody_may_miss_is_never_folded() -> None:
    """In a comment on a pull request a long list of anything else opens on a click."""
    found = Changes(stack="dev", upgrade=Upgrade(stack="dev", moves=()))
    lists = [each for each in changes_document(found) if isinstance(each, Lines)]
    assert [each.title for each in lists if each.whole] == [
        "Blocked: the stack file does not allow these changes",
        "Beside the fleet",
        "Guarantees in time",
        "Capacity buffers",
        "Stacks that use this cluster",
        "Stacks on this platform",
        "Restarts, in this order",
        "New warnings",
        "Versions: unknown",
        "Versions: what breaks",
    ]
    assert [each.title for each in lists if each.folded] == ["Kubernetes objects (0)", "Stack file and team files (0)"]
