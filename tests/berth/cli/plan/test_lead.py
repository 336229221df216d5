"""`berth plan --team`: every figure a second way, in one screen."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest
import yaml
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.document.text import render_text
from berth.evaluate import evaluate_values
from berth.jobs.pod_set import PodSet
from berth.manifests.fleet import all_manifests
from berth.overview.lead import lead_answer, lead_document
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.scheduler.model import Job
from berth.simulator.scheduler.simulate import Simulator
from tests.stack_files import ALL_STACKS, GKE_STACKS, evaluation, plan_json


def answer(stack: str, team: str, *words: str) -> str:
    done = CliRunner().invoke(app, ["plan", str(ALL_STACKS[stack]), "--team", team, *words])
    assert done.exit_code == 0, done.output
    return done.stdout


TEAMS = [(stack, team["name"]) for stack in GKE_STACKS for team in plan_json(stack)["teams"]]
every_team = pytest.mark.parametrize(("stack", "team"), TEAMS)


class Share(NamedTuple):
    """What a queue has of a flavor, as rendered for the cluster, and the most that Kueue's simulation gives it."""

    nominal: int
    ceiling: int
    lendable: bool


def rendered_queues(stack: str) -> dict[str, dict[str, Any]]:
    fleet = evaluation(stack).fleet_plan
    assert fleet is not None
    objects = [json.loads(json.dumps(each)) for each in all_manifests(fleet)]
    return {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "ClusterQueue"}


def shares(stack: str) -> dict[str, dict[str, Share]]:
    """Return the shares by queue and flavor, a second way: from rendered objects, and a simulated fleet."""
    fleet = evaluation(stack).fleet_plan
    assert fleet is not None
    states = Simulator(build_simulated_fleet(fleet).setup).queue_states
    flavors = {each.name: each for each in fleet.flavors}
    result: dict[str, dict[str, Share]] = {}
    for name, spec in rendered_queues(stack).items():
        for entry in (entry for group in spec["resourceGroups"] for entry in group["flavors"]):
            flavor = flavors[entry["name"]]
            for quota in entry["resources"]:
                if quota["name"] == flavor.resource:
                    ceiling = states[name].node.quota_state((flavor.name, flavor.resource)).ceiling
                    scale = 1000 if flavor.resource == "cpu" else 1
                    nominal = states[name].node.quotas[flavor.name, flavor.resource].nominal // scale
                    written = re.sub("k$", "000", quota["nominalQuota"])
                    assert str(nominal) == written
                    most = min(ceiling // scale, flavor.capacity.max)
                    share = Share(nominal, most, quota.get("lendingLimit") != "0" and nominal > 0)
                    result.setdefault(name, {})[flavor.name] = share
    return result


def roots(stack: str) -> dict[str, str]:
    """Return the root cohort of each queue that has a cohort, by the names of their parents."""
    parents = {each["name"]: each.get("parent") for each in plan_json(stack)["cohorts"]}
    found: dict[str, str] = {}
    for queue in plan_json(stack)["clusterQueues"]:
        at = queue["cohort"]
        while at and parents.get(at):
            at = parents[at]
        if at:
            found[queue["name"]] = at
    return found


def own_queues(stack: str, team: str) -> list[str]:
    return [each["name"] for each in plan_json(stack)["clusterQueues"] if team in each["teams"]]


def said_of(lines: list[str], queue: str) -> list[str]:
    """Return what the lines say of a queue."""
    subjects = [line.partition(": ") for line in lines]
    return [
        what for who, _, what in subjects
        if what and (who == "every queue" or queue in re.split(", | and ", who))
    ]  # fmt: skip


@every_team
def test_what_is_mine(stack: str, team: str) -> None:
    """Every guarantee as rendered, every ceiling as simulated, where machines are from, and what is held."""
    value = json.loads(answer(stack, team, "--json"))
    found = {
        (row["queue"].partition(" (with")[0], row["flavor"]): (
            int(row["guaranteed"].split(",")[0]),
            int(row["ceiling"]),
        )
        for row in value["mine"]
    }
    known = shares(stack)
    assert found == {
        (queue, flavor): (share.nominal, share.ceiling)
        for queue in own_queues(stack, team)
        for flavor, share in known[queue].items()
    }
    capacities = {each["flavor"]: set[str]() for each in plan_json(stack)["pools"]}
    for pool in plan_json(stack)["pools"]:
        capacities[pool["flavor"]].add("reservation" if pool["reservation"] else pool["capacity"])
    for row in value["mine"]:
        assert all(word in row["machines"] for word in capacities[row["flavor"]] if "class" not in row["machines"])
    spot = {flavor for flavor, kinds in capacities.items() if kinds == {"spot"}}
    assert {row["flavor"] for row in value["mine"] if "all spot" in row["guaranteed"]} <= spot
    rendered = rendered_queues(stack)
    held = {queue for queue in own_queues(stack, team) if rendered[queue].get("stopPolicy", "None") != "None"}
    assert {line.partition(" is ")[0] for line in value["stopped"]} >= held


def test_a_held_queue_that_is_drained_for_a_team_is_said_in_one_order() -> None:
    """Whatever the order of a set is: what is true of the queue first."""
    values = yaml.safe_load("""
    project: acme-ml-dev
    region: us-central1
    cluster: {name: acme, controlPlane: {publicEndpoint: false}}
    pools: {v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 3, zone: us-central1-a}}
    teams: {vision: {state: drained, queues: {}}, speech: {}}
    clusterQueues: {both: {teams: [vision, speech], stopPolicy: Hold, flavors: [{pool: v5e, guaranteed: all}]}}
    """)
    plan = evaluate_values("held", values).fleet_plan
    assert plan is not None
    stopped = lead_answer(plan, next(each for each in plan.teams if each.name == "vision")).stopped
    assert [line.partition(":")[0] for line in stopped] == ["both is held", "both is drained"]


@every_team
def test_who_can_take_it_and_when(stack: str, team: str) -> None:
    value, known, root, rendered = (
        json.loads(answer(stack, team, "--json")),
        shares(stack),
        roots(stack),
        rendered_queues(stack),
    )
    capacities = {pool["flavor"]: pool["capacity"] for pool in plan_json(stack)["pools"]}
    for queue in own_queues(stack, team):
        lines = said_of(value["taken"], queue)
        preemption = rendered[queue].get("preemption", {})
        within = preemption.get("withinClusterQueue", "Never")
        assert any(line.startswith("at any time, a job of higher priority") for line in lines) == (within != "Never")
        for flavor, share in known[queue].items():
            about = [line for line in lines if f" of {flavor} " in line and "need their guarantee" in line]
            for policy, words in (("Any", "when jobs of "), ("LowerPriority", "when jobs of higher priority of ")):
                owners = {
                    other
                    for other, theirs in known.items()
                    if other != queue and root.get(other) is not None and root.get(other) == root.get(queue)
                    and flavor in theirs and theirs[flavor].lendable
                    and rendered[other].get("preemption", {}).get("reclaimWithinCohort", "Never") == policy
                }  # fmt: skip
                told = [line for line in about if words in line and (policy != "Any" or "higher" not in line)]
                names = [name for line in told for name in re.split(", | and ", line.rpartition(words)[2])]
                names = [name.removesuffix(" need their guarantee") for name in names]
                expected = owners if share.ceiling > share.nominal else set[str]()
                assert set(names) == expected or (names[-1].endswith(" more") and set(names[:-1]) < expected)
            ends = any(re.search(rf"(^| ){flavor}(,| )", line) and "at the latest" in line for line in lines)
            assert ends == (capacities[flavor] in ("queued", "flex-start"))


@every_team
def test_what_i_can_take(stack: str, team: str) -> None:
    value, known = json.loads(answer(stack, team, "--json")), shares(stack)
    for queue in own_queues(stack, team):
        more = {
            match[2]: int(match[1])
            for line in said_of(value["takes"], queue)
            if (match := re.match(r"up to (\d+) more of ([^,]+), idle quota of ", line))
        }
        assert more == {
            flavor: share.ceiling - share.nominal
            for flavor, share in known[queue].items()
            if share.ceiling > share.nominal
        }
        back = {match[2]: int(match[1]) for line in said_of(value["takes"], queue)
                if (match := re.match(r"its (\d+) of (\S+) back: ", line))}  # fmt: skip
        assert all(known[queue][flavor].nominal == amount for flavor, amount in back.items())


@every_team
def test_what_happens_to_a_running_job(stack: str, team: str) -> None:
    value, known = json.loads(answer(stack, team, "--json")), shares(stack)
    events = {each["event"]: each["then"] for each in value["events"]}
    assert [*events] == ["spot loss", "node failure", "upgrade of nodes", "hold of a queue", "a neighbour's return"]
    mine = [share for queue in own_queues(stack, team) for share in known[queue].items()]
    spot = [p["name"] for p in plan_json(stack)["pools"] if p["capacity"] == "spot" and p["flavor"] in dict(mine)]
    assert all(name in events["spot loss"] for name in spot)
    assert (events["spot loss"] == "none of your machines is spot") == (not spot)
    borrows = any(share.ceiling > share.nominal for _, share in mine)
    assert (events["a neighbour's return"] == "nothing: no queue of yours borrows") == (not borrows)


@every_team
def test_each_question_is_answered_in_one_screen(stack: str, team: str) -> None:
    """A question in 24 rows of 80 columns; all four in 40 rows of 100, for a team with at most four shares."""
    plan = evaluation(stack).fleet_plan
    assert plan is not None
    document = list(lead_document(lead_answer(plan, next(each for each in plan.teams if each.name == team))))
    titles = [getattr(block, "title", "") for block in document if render_text([block])]
    questions = ["What is mine", "Who can take it, and when", "What I can take", "What happens to a running job"]
    assert [title for title in titles if title] == questions
    for block in document:
        assert rows(render_text([block], width=80), 80) <= 22
    if len(document[1].rows) <= 4:  # pyright: ignore[reportAttributeAccessIssue]
        assert rows(render_text(document, width=100), 100) <= 39


def rows(text: str, columns: int) -> int:
    """Return how many rows of a terminal a text takes."""
    return sum(max(1, -(-len(line) // columns)) for line in text.splitlines())


def test_a_team_without_queues_is_told_so() -> None:
    plan = evaluation("dev").fleet_plan
    assert plan is not None
    text = render_text(lead_document(lead_answer(replace(plan, cluster_queues=()), plan.teams[0])))
    assert "What is mine: nothing, language has no queue" in text


def test_what_borrows_is_taken_back_and_what_is_guaranteed_is_not() -> None:
    """By simulation: vision-train uses its ceiling of v5e, then a job of speech-train wants its guarantee."""
    value = json.loads(answer("dev", "vision", "--json"))
    (line,) = (each for each in value["taken"] if "of v5e above 8" in each)
    assert line == (
        "vision-train: what it uses of v5e above 8 (at most 16), when jobs of language-train and speech-train need "
        "their guarantee"
    )
    plan = evaluation("dev").fleet_plan
    assert plan is not None
    for owner in ("language-train", "speech-train"):
        for held, is_taken in ((8, False), (24, True)):
            simulator = Simulator(build_simulated_fleet(plan).setup)
            simulator.submit(job("mine", "vision-train", held))
            assert simulator.workloads["mine"].has_quota()
            simulator.submit(job("theirs", owner, 8))
            assert simulator.workloads["theirs"].has_quota()
            assert simulator.workloads["mine"].has_quota() != is_taken


def job(name: str, queue: str, chips: int) -> Job:
    return Job(
        name=name, queue=queue, priority=10,
        pod_sets=(PodSet(name="main", count=chips // 4, requests={"google.com/tpu": 4}),),
    )  # fmt: skip


def test_a_hold_a_loss_and_a_return_are_answered() -> None:
    value = json.loads(answer("dev", "language", "--json"))
    events = {each["event"]: each["then"] for each in value["events"]}
    assert [*events] == ["spot loss", "node failure", "upgrade of nodes", "hold of a queue", "a neighbour's return"]
    assert events["spot loss"] == "on l4-spot: as node failure"
    assert "unless all are ready again within 1h, it is queued again" in events["node failure"]
    assert "language-batch: l4-spot, at any time, Google Cloud (spot machines)" in value["taken"]
    assert re.search("at most 600 s", events["a neighbour's return"])


def test_an_exclusion_of_upgrades_is_told_with_its_end() -> None:
    """The stack dev has one without a date, which lasts as long as GKE supports the version."""
    (row,) = re.findall(r"^  upgrade of nodes .*", answer("dev", "vision"), re.MULTILINE)
    assert row.endswith("GKE upgrades at any time, but not from 2026-12-01 until the end of support")


def test_upgrades_are_those_of_the_clusters_that_run_the_jobs() -> None:
    """A manager's own window says nothing of its workers."""
    (row,) = re.findall(r"GKE upgrades (.*)", answer("multikueue", "vision"))
    assert row == "at any time, but not from 2026-12-01 until 2027-01-05 in central, and at any time in east"


def test_a_window_is_told_as_people_say_it() -> None:
    (row,) = re.findall(r"GKE upgrades (.*)", answer("hotswap", "training"))
    assert row == "every Saturday and Sunday from 03:00 to 09:00 UTC, but not from 2026-12-01 until 2027-01-10"


def test_a_reservation_that_begins_later_is_told_with_its_time() -> None:
    text = answer("reservations", "research")
    assert "reservation reservations-december, from 2026-12-01 until 2026-12-15" in text
    assert "research-later is held: what runs in it runs on, and no further job starts" in text


def test_a_team_that_is_not_there_gets_the_nearest_name() -> None:
    done = CliRunner().invoke(app, ["plan", "dev", "--team", "visio"])
    assert (done.exit_code, done.stderr) == (1, "no team 'visio' in dev; did you mean 'vision'?\n")
