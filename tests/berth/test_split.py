"""What a team costs in resources, and the stacks that a large fleet falls into."""

from __future__ import annotations

import json
import pathlib

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.engine import RecordedResource
from berth.evaluate import evaluate_stack
from berth.plan.fleet import FleetPlan
from berth.split import indivisible_groups, propose_stacks, team_resources
from tests import fleets
from tests.small_fleets import REMOVED, fleet_with
from tests.small_fleets import plan as small_plan
from tests.stack_files import every_stack, plan, resources


def generated(folder: pathlib.Path, teams: int) -> FleetPlan:
    fleets.write(folder / "project", teams)
    evaluation = evaluate_stack("bench", folder / "project")
    assert evaluation.faults == ()
    assert evaluation.fleet_plan is not None
    return evaluation.fleet_plan


def is_of_teams(one: RecordedResource) -> bool:
    """Whether a resource is a team's, a cohort or a queue, by the types above it."""
    kinds = ("berth:tenancy:Team", "berth:kueue:TeamQueues$", "berth:kueue:Cohorts$")
    return one.urn.split("::")[2].startswith(kinds)


@every_stack
def test_the_counts_are_those_of_the_registered_resources(stack: str) -> None:
    """One count comes from the plan, the other one from the recorded requests; on workers too."""
    made = [one for one in resources(stack, True) if is_of_teams(one)]
    assert sum(part.resources for part in indivisible_groups(plan(stack))) == len(made)


def test_a_team_with_one_queue_costs_at_most_eight_resources() -> None:
    """Each further queue costs two: the ClusterQueue and its LocalQueue."""
    for queues in (1, 2, 5):
        named = {f"q{n}": {"flavors": [{"pool": "l4", "guaranteed": 1}]} for n in range(queues)}
        result = small_plan(fleet_with({"teams": {"vision": {"queues": named}}, "cohorts": REMOVED}))
        (part,) = indivisible_groups(result)
        assert part.resources == 8 + 2 * (queues - 1)


@pytest.mark.parametrize("teams", [10, 50])
def test_teams_of_generated_fleets_cost_what_their_queues_say(tmp_path: pathlib.Path, teams: int) -> None:
    """Three queues each: twelve resources, and a cohort for ten of them."""
    result = generated(tmp_path, teams)
    assert {count + 3 for count in team_resources(result).values()} == {12}
    assert sum(part.resources for part in indivisible_groups(result)) == 12 * teams + teams // fleets.COHORT


def roots(result: FleetPlan) -> dict[str, str]:
    """The root of each cohort's tree."""
    parents = {cohort.name: cohort.parent for cohort in result.cohorts}

    def root(name: str) -> str:
        above = parents.get(name)
        return root(above) if above else name

    return {name: root(name) for name in parents}


@pytest.mark.parametrize("most", [1, 200, 2000])
def test_queues_of_one_cohort_stay_together_and_nothing_is_lost(tmp_path: pathlib.Path, most: int) -> None:
    result = generated(tmp_path, 50)
    parts = propose_stacks(result, most)
    assert sorted(team for part in parts for team in part.teams) == [team.name for team in result.teams]
    assert sorted(queue for part in parts for queue in part.cluster_queues) == sorted(
        q.name for q in result.cluster_queues
    )
    where = {queue: n for n, part in enumerate(parts) for queue in part.cluster_queues}
    homes: dict[str, set[int]] = {}
    for queue in result.cluster_queues:
        homes.setdefault(roots(result)[queue.cohort or ""], set()).add(where[queue.name])
    assert all(len(each) == 1 for each in homes.values())
    assert all(part.resources <= most or len(part.cohorts) == 1 for part in parts)


@every_stack
def test_queues_of_a_cohort_tree_and_of_shared_local_queues_form_one_part(stack: str) -> None:
    fleet_plan = plan(stack)
    where = {name: n for n, part in enumerate(indivisible_groups(fleet_plan)) for name in part.cluster_queues}
    home = {team: n for n, part in enumerate(indivisible_groups(fleet_plan)) for team in part.teams}
    trees: dict[str, set[int]] = {}
    for queue in fleet_plan.cluster_queues:
        assert {home[team] for team in queue.teams} <= {where[queue.name]}
        if queue.cohort:
            trees.setdefault(roots(fleet_plan).get(queue.cohort, queue.cohort), set()).add(where[queue.name])
    assert all(len(parts) == 1 for parts in trees.values())


def test_the_command_prints_text_and_json() -> None:
    finished = CliRunner().invoke(app, ["split", "stacks/examples/batch-platform.yaml", "--most", "40"])
    assert finished.exit_code == 0
    assert "team-a-b" in finished.stdout
    result = json.loads(
        CliRunner().invoke(app, ["split", "stacks/examples/batch-platform.yaml", "--most", "40", "--json"]).stdout
    )
    assert [each["cohorts"] for each in result["stacks"]] == [["team-a-b"], ["team-c-d"]]
    assert result["resources"] == sum(each["resources"] for each in result["stacks"])


def test_one_team_is_no_teams() -> None:
    result = CliRunner().invoke(app, ["split", "stacks/examples/dws.yaml"])
    assert result.stdout.splitlines()[0] == "dws · 3 resources of 1 team, cohorts and queues; at most 2000 a stack"
