"""What keeps large fleets fast, held without a clock: what is the same is worked out once.

`make bench` has the times.
"""

from __future__ import annotations

import io
import pathlib
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from berth.cli.render import output
from berth.diff.objects import compare_objects, render_clusters
from berth.evaluate import evaluate_stack
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.planner.queueing.quota_tree import QuotaTree
from tests import fleets, managed_fleets, stack_files

TEAMS, MANAGED = 20, 200
"""Teams on one cluster, and on a manager's workers; with fewer there would be nobody to borrow from."""


@pytest.fixture(scope="module")
def managed(tmp_path_factory: pytest.TempPathFactory) -> FleetPlan:
    """The plan of a manager with 20 workers."""
    file = managed_fleets.write(tmp_path_factory.mktemp("managed") / "project", MANAGED)
    evaluation = evaluate_stack(str(file), file.parent)
    assert evaluation.faults == ()
    assert evaluation.fleet_plan is not None
    return evaluation.fleet_plan


def test_the_generated_fleet_matches_its_parameters(managed: FleetPlan) -> None:
    """20 clusters, 200 pools, a tree of cohorts five deep; every team runs on some worker."""
    parents = {cohort.name: cohort.parent for cohort in managed.cohorts}

    def depth(name: str) -> int:
        above = parents[name]
        return 1 if above is None else 1 + depth(above)

    assert (len(managed.workers), len(managed.pools), len(managed.teams)) == (20, 200, MANAGED)
    assert max(map(depth, parents)) == 5
    assert {team.name for worker in managed.workers for team in worker.plan.teams} == {t.name for t in managed.teams}


@pytest.mark.parametrize("stack", ["dev", "multikueue"])
def test_the_planner_and_the_validation_share_one_quota_tree(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for a fleet, and one for each of its workers, however many queues and checks ask."""
    grown: list[QuotaTree] = []
    grow = QuotaTree.__init__

    def counted(tree: QuotaTree, *of: object) -> None:
        grown.append(tree)
        grow(tree, *of)  # pyright: ignore[reportArgumentType]: whatever it was called with

    monkeypatch.setattr(QuotaTree, "__init__", counted)
    plan = evaluate_stack(str(stack_files.GKE_STACKS[stack]), stack_files.ROOT).fleet_plan
    assert plan is not None
    assert len(grown) == 1 + len(plan.workers)


def test_shared_parts_of_objects_are_written_once(managed: FleetPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the whole is what each cluster would be by itself."""
    plans = {"manager": managed} | {f"worker-{worker.name}": worker.plan for worker in managed.workers}
    objects = [(name, list(all_manifests(plan))) for name, plan in plans.items()]
    alone = "".join(f"# cluster: {name}\n" + "".join(map(output.yaml_document, each)) for name, each in objects)
    written: Counter[str] = Counter()

    def counted(mapping: dict[str, object]) -> str:
        text = yaml.safe_dump(mapping)
        written[text] += 1
        return write(mapping)

    write = output._text
    monkeypatch.setattr(output, "_text", counted)
    for cache in (output._scalar, output._header, output._list):
        cache.cache_clear()
    output.write_objects(managed, out := io.StringIO())
    assert out.getvalue() == alone
    assert max(written.values()) <= 3, "at the most once for each depth at which it stands"
    assert written.total() < alone.count("\n---\n")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FleetPlan, FleetPlan]]:
    """A fleet before and after a change of one team, a queue of another, and a pool."""
    plans: list[FleetPlan] = []
    for number, before, after in ((0, "", ""), (1, "guaranteed: 1 slice", "guaranteed: 2 slices")):
        file = fleets.write(tmp_path_factory.mktemp("two") / f"project{number}", TEAMS)
        file.write_text(file.read_text().replace(f'"slices": {TEAMS}', f'"slices": {TEAMS + number}'))
        team = file.parent / "teams" / "team-00003.yaml"
        team.write_text(team.read_text().replace(before, after))
        if number:
            (file.parent / "teams" / "team-00007.yaml").unlink()
        evaluation = evaluate_stack(str(file), file.parent)
        assert evaluation.fleet_plan is not None
        plans.append(evaluation.fleet_plan)
    yield plans[0], plans[1]


def test_objects_of_teams_that_stay_are_left_out_and_the_answer_is_the_same(two: tuple[FleetPlan, FleetPlan]) -> None:
    """Against the long way: every object of both sides, compared."""

    def every(plan: FleetPlan) -> dict[tuple[str, str, str], object]:
        return {_key(manifest): manifest for manifest in all_manifests(plan)}

    before, after = map(every, two)
    values = {
        (each.kind, each.namespace, each.name): each.what for each in compare_objects(*two, render_clusters(*two))
    }
    assert values.keys() == {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert {key for key, what in values.items() if what == "deleted"} == before.keys() - after.keys()
    changed = {"", "team-00003", "team-00007"}
    assert {namespace for _, namespace, _ in values} >= changed
    others = {kind for kind, namespace, _ in values if namespace not in changed}
    assert others == {"ResourceQuota"}, "a team may ask for all machines of its pools, of which one grew"


def _key(manifest: dict[str, object]) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return str(manifest["kind"]), str(metadata.get("namespace", "")), str(metadata["name"])


def test_every_team_file_of_a_folder_counts(tmp_path: pathlib.Path) -> None:
    """A folder is resolved once, and a link in it still leads where it leads: outside is refused."""
    file = fleets.write(tmp_path / "project", TEAMS)
    outside = tmp_path / "other.yaml"
    outside.write_text(fleets.team_file(19).replace("00019", "00020"))
    (file.parent / "teams" / "team-00020.yaml").symlink_to(outside)
    (file.parent / "teams" / "again.yaml").symlink_to("team-00004.yaml")
    evaluation = evaluate_stack(str(file), file.parent)
    assert [(fault.code, "team-00020.yaml" in fault.message) for fault in evaluation.faults] == [("outside-root", True)]
    assert evaluation.fleet_plan is not None
    assert len(evaluation.fleet_plan.teams) == TEAMS
